// SPDX-License-Identifier: GPL-3.0-or-later
/**
   reverb: a feedback delay network of 16 lines.

     in[n] ──▶ H ──▶ scatter ──▶ H ──▶ scatter ──▶ H ──▶ + ──▶ line ─┬─▶ H ──▶ wet[n]
                     (predelay)                          ▲           ▼
                                                         └── H ◀── turn ◀── damp

   Sources
   - J.-M. Jot, A. Chaigne, "Digital Delay Networks for Designing Artificial Reverberators", 90th
     AES convention, 1991, preprint 3030: a lossless network, then in every line of L frames the
     gain 10^(-3 L / (rate decay)) and a first-order low-pass, so that all modes decay equally fast.
   - S. J. Schlecht, E. A. P. Habets, "On Lossless Feedback Delay Networks", IEEE Trans. Signal
     Process. 65(6), 2017: any unitary mixing matrix is lossless for any lengths.  Here the matrix
     is H/4 with H Hadamard's matrix, all entries of which have the same magnitude.
   - S. J. Schlecht, E. A. P. Habets, "Time-Varying Feedback Matrices in Feedback Delay Networks and
     Their Application in Artificial Reverberation", J. Acoust. Soc. Am. 138(3), 2015: modulation by
     a matrix that changes with time and stays unitary.  Here each of eight pairs of lines is
     rotated by a slowly changing angle.  Unlike modulated lengths, this needs no interpolator,
     which would filter every pass.
   - S. J. Schlecht, E. A. P. Habets, "Scattering in Feedback Delay Networks", IEEE/ACM Trans. Audio
     Speech Lang. Process. 28, 2020: delays between unitary matrices raise the echo density.  Here
     two stages before the network: 256 echoes enter the lines before the first one returns.

   Design
   - size: the mean line lasts 10 ms * 10^size.  Lengths are spaced evenly in the logarithm over 1.4
     octaves and are primes, hence mutually prime.  A new size is a new node.
   - decay is RT60 at low frequencies; RT60 at `damping` Hz is exactly half of it.  With r the gain
     of a line and c = cos w the pole is b = Q / (P + sqrt(P^2 - Q^2)), Q = 1 - r^2, P = 1 - c r^2.
   - Level: without damping, an impulse in one channel of n has a total wet energy of 1 in all
     outputs, for any size and decay; each output has 1/n of it.
   - Channels are mixed into and out of the lines by rows of H. Up to 16 rows are orthogonal, so the
     outputs are uncorrelated.  Each further group of 16 channels changes the signs of the lines by
     another quadratic function of four bits, written as Tr(a x^3) + Tr(b x^5) with a in GF(16), b
     in GF(4) and the traces to GF(2).  These are the 64 cosets of the first-order Reed-Muller code
     in the second-order one (F. J. MacWilliams, N. J. A. Sloane, "The Theory of Error-Correcting
     Codes", 1977, chapter 15).  Rows of different groups correlate by at most 1/2, and there is no
     65th group: 1024 channels are the most.
   - Angles are computed every 32 frames, counted from the start; cosine and sine are interpolated
     linearly in between.  The gain of an interpolated rotation is at most 1, and at 44.1 kHz at
     least 1 - 1.4e-5, so the loop is never unstable.
     They come from integers (dsp_cpu/shared/swing.h), with the same bits as on a device.
   - Memory: 16 lines and 16 predelays of 200 ms, about 1 MB at 48 kHz for any number of channels.
   - A chunk of 32 frames goes from row to row of reverb_rows.h, which are read from and written to
     the delay lines in place (reverb_bank.h).
*/

#include "delay_line.h"
#include "reverb_bank.h"
#include "reverb_rows.h"

#include "dsp_cpu/shared/reverb_words.h"
#include "dsp_cpu/shared/swing.h"
#include "engine/base/simd.h"
#include "engine/contract/effect.h"
#include "engine/contract/ramp.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#define N_LINES        16U
#define N_PAIRS        (N_LINES / 2U)
#define CHUNK          32U // frames of the rows, and of the grid of the angles
#define DAMPING_OFF_HZ 20000.0
#define MAX_PREDELAY   200.0 // ms
#define SPREAD_OCTAVES 1.4   // approximate ratio of the longest line to the shortest
#define MAX_TURNS      0.5
#define DEPTH_SECONDS  0.5                 // modulation ramp: chords without audible corners
#define GOLDEN         0.61803398874989485 // multiples of it are evenly spread modulo 1

enum { SIZE, DECAY, DAMPING, MODULATION, PREDELAY, MIX, N_PARAMS };
enum { SCATTER_1, SCATTER_2, LINE, N_BANKS }; // banks of 16 delay lines

// clang-format off
static const FxParam reverb_params[] = {
  //               id            kind          unit         min             max  initial
  [SIZE]       = { "size",       PARAM_NUMBER, UNIT_NONE,   0.0,            1.0,     0.7,                     .structural = true, .help = "Room: mean path from 10 ms (0) over 32 ms (0.5) to 100 ms (1)" },
  [DECAY]      = { "decay",      PARAM_NUMBER, UNIT_MS,   100.0,        60000.0,  2000.0, .taper = TAPER_LOG,                     .help = "Time in which the sound falls by 60 dB" },
  [DAMPING]    = { "damping",    PARAM_NUMBER, UNIT_HZ,   200.0, DAMPING_OFF_HZ,  6000.0, .taper = TAPER_LOG,                     .help = "Frequency at which decay is half as long; 20 kHz is off" },
  [MODULATION] = { "modulation", PARAM_NUMBER, UNIT_NONE,   0.0,            1.0,     0.5,                                         .help = "How far the mixing of the lines moves" },
  [PREDELAY]   = { "predelay",   PARAM_NUMBER, UNIT_MS,     0.0,   MAX_PREDELAY,    10.0, .taper = TAPER_LOG,                     .help = "Time before the reverberation begins" },
  [MIX]        = { "mix",        PARAM_NUMBER, UNIT_NONE,   0.0,            1.0,     0.3,                                         .help = "0: only the input; 1: only the reverberation" },
  FX_ENGINE_PARAMS,
};
// clang-format on

/// Bit l is set where a group of 16 channels changes the sign of line l.  Group a + 16 k has the
/// sum of cubic_masks[a], Tr(a l^3), and fifth_masks[k], Tr(b l^5) with b the k-th element of
/// GF(4).
static const uint16_t cubic_masks[] = { 0x0000, 0xFF3C, 0x8E18, 0x7124, 0x2728, 0xD814,
                                        0xA930, 0x560C, 0xF9F6, 0x06CA, 0x77EE, 0x88D2,
                                        0xDEDE, 0x21E2, 0x50C6, 0xAFFA };
static const uint16_t fifth_masks[] = { 0x0000, 0x6AFC, 0xBD8E, 0xD772 };

static_assert(N_LINES == REVERB_LINES && N_PAIRS == REVERB_PAIRS && CHUNK == REVERB_GRID &&
                  N_BANKS == REVERB_BANKS,
              "a device counts as we do");
static_assert(FX_MAX_CHANNELS <= N_LINES * ARRAY_LEN(cubic_masks) * ARRAY_LEN(fifth_masks),
              "every group has a mask of its own");

typedef struct ReverbNode {
  double rate_hz;
  double values[N_PARAMS];
  uint32_t n_channels;
  uint32_t max_block_frames;
  uint32_t ramp_frames;
  uint32_t depth_steps; // length of the modulation ramp, in steps of CHUNK frames
  ReverbBank banks[N_BANKS];
  size_t rings_at[N_BANKS]; // in the unit's rings, floats
  uint64_t swing_step[N_PAIRS],
      swing_start[N_PAIRS]; // phases of the pairs: per chunk, at the start
  // Targets
  float gain[N_LINES], pole[N_LINES]; // damping of each line: y = gain x + pole y
  float input_gain, mix;
  float depth; // of the modulation, in turns
  uint32_t predelay_frames;
  _Atomic uint64_t tail_frames; // relaxed: written by `set`, read by any thread
} ReverbNode;

/// Frames of a run that lie within one chunk of the grid and within one cross-fade.
typedef struct Chunk {
  uint32_t first, n_frames;
  float input_gain[CHUNK], mix[CHUNK];
  bool damping_moves;
  ReverbDamping damping[CHUNK]; // of each frame, if it moves
} Chunk;

typedef struct ReverbUnit {
  uint64_t frame; // since the start
  Tap predelay;
  Ramp input_gain, mix;
  Ramp depth; // counts steps of 32 frames
  Ramp gain[N_LINES], pole[N_LINES];
  ReverbDamping damping;  // of the last frame
  double damped[N_LINES]; // y
  ReverbTurn turn;
  DelayLine lines[N_BANKS]; // where all lines of a bank are
  _Alignas(64) float rings[];
} ReverbUnit;

static bool
is_prime(const uint32_t n)
{
  for (uint32_t d = 2; d * d <= n; ++d) {
    if (n % d == 0U) {
      return false;
    }
  }
  return n > 1U;
}

/// Delays of all banks, in frames.
static void
design_delays(ReverbNode* const node)
{
  const double mean = 0.01 * pow(10.0, node->values[SIZE]) * node->rate_hz;
  uint32_t last = CHUNK; // lines are longer than a chunk, so that a chunk reads only frames that
                         // are already written
  for (uint32_t l = 0; l < N_LINES; ++l) {
    const double octaves = ((l + 0.5) / N_LINES - 0.5) * SPREAD_OCTAVES;
    const uint32_t wanted = (uint32_t)lrint(mean * exp2(octaves));
    last = wanted > last ? wanted : last + 1U;
    while (!is_prime(last)) {
      ++last;
    }
    // Scattering delays up to 15 % (first bank) and 40 % (second bank) of the mean length, in a
    // different order in each bank.
    const double jitter = fmod((l + 1.0) * GOLDEN, 1.0);
    node->banks[LINE].delay_frames[l] = last;
    node->banks[SCATTER_1].delay_frames[l] =
        (uint32_t)lrint(0.15 * mean * (l * 7U % N_LINES + jitter) / N_LINES);
    node->banks[SCATTER_2].delay_frames[l] =
        (uint32_t)lrint(0.40 * mean * (l * 11U % N_LINES + 1.0 - jitter) / N_LINES);
  }
}

/// Assign a place to the rings of every bank; returns the total number of floats.
static size_t
design_rings(ReverbNode* const node)
{
  const uint32_t predelay = (uint32_t)ceil(MAX_PREDELAY * 1e-3 * node->rate_hz);
  size_t at = 0;
  for (uint32_t b = 0; b < N_BANKS; ++b) {
    node->rings_at[b] = at;
    at += reverb_bank_design(&node->banks[b], b == SCATTER_1 ? predelay : 0U);
  }
  return at;
}

static void
design_damping(ReverbNode* const node, const uint32_t l)
{
  const double decay_frames = node->values[DECAY] * 1e-3 * node->rate_hz;
  const double r = pow(10.0, -3.0 * node->banks[LINE].delay_frames[l] / decay_frames);
  double pole = 0.0;
  if (node->values[DAMPING] < DAMPING_OFF_HZ) {
    const double w = 2.0 * M_PI * fmin(node->values[DAMPING] / node->rate_hz, 0.49);
    const double q = 1.0 - r * r;
    const double p = 1.0 - r * r * cos(w);
    pole = q / (p + sqrt(p * p - q * q));
  }
  node->pole[l] = (float)pole;
  node->gain[l] = (float)(r * (1.0 - pole));
}

static double
mean_length(const ReverbNode* const node)
{
  double sum = 0.0;
  for (uint32_t l = 0; l < N_LINES; ++l) {
    sum += node->banks[LINE].delay_frames[l];
  }
  return sum / N_LINES;
}

/// Compute all values that depend on parameters that may change while the node runs.
static void
design(ReverbNode* const node)
{
  const double decay_frames = node->values[DECAY] * 1e-3 * node->rate_hz;
  for (uint32_t l = 0; l < N_LINES; ++l) {
    design_damping(node, l);
  }
  // An energy of 1 in the lines comes out as 1 + q + q^2 + ... = 1 / (1 - q), q per round trip.
  const double q = pow(10.0, -6.0 * mean_length(node) / decay_frames);
  const double three_mixes = 1.0 / 64.0; // H, not normalised: input and two scattering stages
  node->input_gain = (float)(three_mixes * sqrt((1.0 - q) / node->n_channels));
  node->depth = (float)(MAX_TURNS * node->values[MODULATION]);
  node->mix = (float)node->values[MIX];
  node->predelay_frames = (uint32_t)lrint(node->values[PREDELAY] * 1e-3 * node->rate_hz);
  const double longest = node->banks[LINE].delay_frames[N_LINES - 1U] + mean_length(node);
  atomic_store_explicit(&node->tail_frames,
                        (uint64_t)(2.0 * decay_frames + longest) + node->predelay_frames,
                        memory_order_relaxed);
}

static void
reverb_set(void* const node, const uint32_t param, const double value, const uint32_t ramp_frames)
{
  ReverbNode* const reverb = node;
  reverb->values[param] = value;
  reverb->ramp_frames = ramp_frames;
  design(reverb);
}

static uint64_t
reverb_tail(const void* const node)
{
  return atomic_load_explicit(&((const ReverbNode*)node)->tail_frames, memory_order_relaxed);
}

/// Each pair swings at its own rate, 0.4 to 0.73 Hz.
static double
swing_hz(const uint32_t pair)
{
  const uint32_t n_pairs = N_PAIRS;
  return 0.4 * exp2((double)pair / n_pairs);
}

/// Convert turns to the unit of 2^-64 turns, modulo one turn.
static uint64_t
turn_part(const double turns)
{
  return (uint64_t)ldexp(turns - floor(turns), 64);
}

static void
design_swing(ReverbNode* const node)
{
  for (uint32_t p = 0; p < N_PAIRS; ++p) {
    node->swing_step[p] = turn_part(swing_hz(p) * CHUNK / node->rate_hz);
    node->swing_start[p] = turn_part(p * GOLDEN);
  }
}

static Status
reverb_create(const FxSetup* const setup, FxShape* const shape, void** const node,
              Error* const error)
{
  ReverbNode* const reverb = calloc(1, sizeof(ReverbNode));
  if (!reverb) {
    return error_set(error, STATUS_NO_MEM, "reverb: out of memory");
  }
  reverb->rate_hz = setup->rate_hz;
  reverb->n_channels = setup->n_in;
  reverb->max_block_frames = setup->max_block_frames;
  reverb->ramp_frames = fx_ramp_frames(setup->rate_hz);
  reverb->depth_steps = (uint32_t)lrint(DEPTH_SECONDS * setup->rate_hz / CHUNK);
  memcpy(reverb->values, setup->values, sizeof(reverb->values));
  design_swing(reverb);
  design_delays(reverb);
  const size_t n_floats = design_rings(reverb);
  design(reverb);
  shape->unit_in = shape->unit_out = setup->n_in;
  shape->unit_bytes = sizeof(ReverbUnit) + n_floats * sizeof(float);
  *node = reverb;
  return STATUS_OK;
}

/// Compute the cosines and sines of the pairs at the count-th point of the grid.
VECTOR_CLONES_512 static void
turn_to(const ReverbNode* const node, ReverbTurn* const turn, const float depth,
        const uint64_t count)
{
  for (uint32_t p = 0; p < N_PAIRS; ++p) {
    const uint32_t phase = swing_phase(node->swing_step[p], node->swing_start[p], count);
    const uint32_t angle = swing_angle(depth, phase);
    turn->cos_to[p] = sine_of(angle + 0x40000000U);
    turn->sin_to[p] = sine_of(angle);
  }
}

static void
reverb_unit_init(const void* const node, void* const state, const uint32_t channel)
{
  (void)channel;
  const ReverbNode* const reverb = node;
  ReverbUnit* const unit = state;
  unit->frame = 0;
  unit->predelay = tap_at(reverb->predelay_frames);
  unit->input_gain = ramp_at(reverb->input_gain);
  unit->mix = ramp_at(reverb->mix);
  unit->depth = ramp_at(reverb->depth);
  for (uint32_t l = 0; l < N_LINES; ++l) {
    unit->gain[l] = ramp_at(reverb->gain[l]);
    unit->pole[l] = ramp_at(reverb->pole[l]);
    unit->damping.gain[l] = reverb->gain[l];
    unit->damping.pole[l] = reverb->pole[l];
    unit->damped[l] = 0.0;
  }
  for (uint32_t b = 0; b < N_BANKS; ++b) {
    unit->lines[b] = delay_line_at_start(reverb->banks[b].ring_frames);
  }
  turn_to(reverb, &unit->turn, reverb->depth, 0U);
}

static uint32_t
group_mask(const uint32_t group)
{
  return (uint32_t)cubic_masks[group % N_LINES] ^ fifth_masks[group / N_LINES];
}

static uint32_t
n_groups(const ReverbNode* const node)
{
  return (node->n_channels + N_LINES - 1U) / N_LINES;
}

/// n_frames, rounded up to the frames that are loaded and stored together.
static uint32_t
whole(const uint32_t n_frames)
{
  return (n_frames + 7U) / 8U * 8U;
}

static uint32_t
group_width(const ReverbNode* const node, const uint32_t group)
{
  const uint32_t n_left = node->n_channels - group * N_LINES;
  return n_left < N_LINES ? n_left : N_LINES;
}

/// The inputs of a group of channels.
static void
find_inputs(const FxUnit* const io, const uint32_t group, const Chunk* const chunk,
            ReverbSources* const sources)
{
  const bool fits = whole(chunk->n_frames) == chunk->n_frames;
  for (uint32_t r = 0; r < group_width(io->node, group); ++r) {
    sources->rows[r] = io->in[group * N_LINES + r] + chunk->first;
    if (!fits) {
      memcpy(sources->scratch[r], sources->rows[r], chunk->n_frames * sizeof(float));
      sources->rows[r] = sources->scratch[r];
    }
  }
}

// ---- banks ----

static float*
rings_of(const ReverbNode* const node, ReverbUnit* const unit, const uint32_t bank)
{
  return unit->rings + node->rings_at[bank];
}

/// Where to write the frames of a chunk: in the first line of a bank, the others in steps of its
/// stride.  end_write() completes the write.
static float*
begin_write(const ReverbNode* const node, ReverbUnit* const unit, const uint32_t bank)
{
  return rings_of(node, unit, bank) + unit->lines[bank].position;
}

static void
end_write(const ReverbNode* const node, ReverbUnit* const unit, const uint32_t bank,
          const uint32_t n_frames)
{
  reverb_bank_wrote(&node->banks[bank], &unit->lines[bank], rings_of(node, unit, bank), n_frames);
}

static void
read_bank(const ReverbNode* const node, ReverbUnit* const unit, const uint32_t bank,
          const uint32_t delay, ReverbSources* const sources)
{
  reverb_bank_read(&node->banks[bank], &unit->lines[bank], rings_of(node, unit, bank), delay,
                   sources);
}

/// read_bank() for the first bank, with the delay of the predelay.
static void
read_predelay(const ReverbNode* const node, ReverbUnit* const unit, const Chunk* const chunk,
              ReverbSources* const sources)
{
  Tap* const tap = &unit->predelay;
  read_bank(node, unit, SCATTER_1, tap->now, sources);
  if (tap->next != tap->now) {
    float fade[CHUNK];
    tap_weights(tap, fade, chunk->n_frames);
    ReverbSources next;
    read_bank(node, unit, SCATTER_1, tap->next, &next);
    for (uint32_t l = 0; l < N_LINES; ++l) {
      for (uint32_t i = 0; i < chunk->n_frames; ++i) {
        const float now = sources->rows[l][i];
        sources->scratch[l][i] = now + fade[i] * (next.rows[l][i] - now);
      }
      sources->rows[l] = sources->scratch[l];
    }
  }
}

// ---- a chunk ----

/// Mix the channels into the lines of the first bank.
static void
spread(const FxUnit* const io, const Chunk* const chunk)
{
  const ReverbNode* const node = io->node;
  float* const to = begin_write(node, io->state, SCATTER_1);
  for (uint32_t g = 0; g < n_groups(node); ++g) {
    ReverbSources in;
    find_inputs(io, g, chunk, &in);
    reverb_spread(in.rows, group_width(node, g), group_mask(g), chunk->input_gain, g > 0U, to,
                  node->banks[SCATTER_1].stride, whole(chunk->n_frames));
  }
  end_write(node, io->state, SCATTER_1, chunk->n_frames);
}

/// Delay the rows of the first bank, after the predelay, and mix them into the second.
static void
scatter(const ReverbNode* const node, ReverbUnit* const unit, const Chunk* const chunk)
{
  ReverbSources from;
  read_predelay(node, unit, chunk, &from);
  reverb_scatter(from.rows, begin_write(node, unit, SCATTER_2), node->banks[SCATTER_2].stride,
                 whole(chunk->n_frames));
  end_write(node, unit, SCATTER_2, chunk->n_frames);
}

/// out = the channels' mixes of the lines + dry.
static void
gather(const FxUnit* const io, const Chunk* const chunk, const ReverbSources* const lines)
{
  const ReverbNode* const node = io->node;
  const uint32_t n_frames = chunk->n_frames;
  const bool fits = whole(n_frames) == n_frames;
  for (uint32_t g = 0; g < n_groups(node); ++g) {
    ReverbSources in;
    find_inputs(io, g, chunk, &in);
    const uint32_t width = group_width(node, g);
    ReverbRows scratch;
    float* out[N_LINES];
    for (uint32_t r = 0; r < width; ++r) {
      out[r] = fits ? io->out[g * N_LINES + r] + chunk->first : scratch[r];
    }
    reverb_gather(lines->rows, group_mask(g), in.rows, chunk->mix, out, width, whole(n_frames));
    for (uint32_t r = 0; r < width && !fits; ++r) {
      memcpy(io->out[g * N_LINES + r] + chunk->first, scratch[r], n_frames * sizeof(float));
    }
  }
}

/// Close the loop: damp, turn and mix the lines, add the second bank, write the sum into the lines.
static void
feed_lines(const ReverbNode* const node, ReverbUnit* const unit, const Chunk* const chunk,
           const ReverbSources* const lines)
{
  ReverbRows turned;
  reverb_damp(lines->rows, chunk->damping_moves ? chunk->damping : &unit->damping,
              chunk->damping_moves, unit->damped, &unit->turn, (uint32_t)(unit->frame % CHUNK),
              turned, chunk->n_frames);
  ReverbSources scattered;
  read_bank(node, unit, SCATTER_2, 0U, &scattered);
  reverb_close(turned, scattered.rows, begin_write(node, unit, LINE), node->banks[LINE].stride,
               whole(chunk->n_frames));
  end_write(node, unit, LINE, chunk->n_frames);
}

/// The damping of each frame; the clamp keeps the gain of a pass at or below 1 while a ramp
/// overshoots.
static void
fill_damping(ReverbUnit* const unit, ReverbDamping* const damping, const uint32_t n_frames)
{
  for (uint32_t l = 0; l < N_LINES; ++l) {
    float gain[CHUNK], pole[CHUNK];
    ramp_fill(&unit->gain[l], gain, n_frames);
    ramp_fill_within(&unit->pole[l], 0.0F, 1.0F, pole, n_frames);
    for (uint32_t i = 0; i < n_frames; ++i) {
      damping[i].gain[l] = gain[i] > 1.0F - pole[i] ? 1.0F - pole[i] : gain[i];
      damping[i].pole[l] = pole[i];
    }
  }
  unit->damping = damping[n_frames - 1U];
}

static void
run_chunk(const FxUnit* const io, Chunk* const chunk)
{
  const ReverbNode* const node = io->node;
  ReverbUnit* const unit = io->state;
  ramp_fill(&unit->input_gain, chunk->input_gain, chunk->n_frames);
  ramp_fill_within(&unit->mix, 0.0F, 1.0F, chunk->mix, chunk->n_frames);
  if (chunk->damping_moves) {
    fill_damping(unit, chunk->damping, chunk->n_frames);
  }
  spread(io, chunk);
  scatter(node, unit, chunk);
  ReverbSources lines;
  read_bank(node, unit, LINE, 0U, &lines);
  gather(io, chunk, &lines);
  feed_lines(node, unit, chunk, &lines);
  for (uint32_t b = 0; b < N_BANKS; ++b) {
    delay_line_advance(&unit->lines[b], chunk->n_frames);
  }
  unit->frame += chunk->n_frames;
}

/// Set the targets of the ramps.  Returns true if a damping moves.
static bool
aim(const ReverbNode* const node, ReverbUnit* const unit)
{
  ramp_aim(&unit->input_gain, node->input_gain, node->ramp_frames);
  ramp_aim(&unit->mix, node->mix, node->ramp_frames);
  uint32_t frames_left = 0;
  for (uint32_t l = 0; l < N_LINES; ++l) {
    ramp_aim(&unit->gain[l], node->gain[l], node->ramp_frames);
    ramp_aim(&unit->pole[l], node->pole[l], node->ramp_frames);
    frames_left |= unit->gain[l].frames_left | unit->pole[l].frames_left;
  }
  return frames_left != 0U;
}

/// Every CHUNK frames: compute the angles at the end of the next CHUNK.
static void
next_angles(const ReverbNode* const node, ReverbUnit* const unit)
{
  memcpy(unit->turn.cos_from, unit->turn.cos_to, sizeof(unit->turn.cos_from));
  memcpy(unit->turn.sin_from, unit->turn.sin_to, sizeof(unit->turn.sin_from));
  ramp_aim(&unit->depth, node->depth, node->depth_steps);
  turn_to(node, &unit->turn, ramp_next(&unit->depth), unit->frame / CHUNK + 1U);
}

static void
reverb_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    const ReverbNode* const node = units[u].node;
    ReverbUnit* const unit = units[u].state;
    Chunk chunk;
    chunk.damping_moves = aim(node, unit);
    for (chunk.first = 0; chunk.first < n_frames; chunk.first += chunk.n_frames) {
      const uint32_t n_left = n_frames - chunk.first;
      const uint32_t phase = (uint32_t)(unit->frame % CHUNK);
      const uint32_t to_grid = CHUNK - phase;
      if (phase == 0U) {
        next_angles(node, unit);
      }
      tap_aim(&unit->predelay, node->predelay_frames, node->ramp_frames);
      chunk.n_frames = tap_span(&unit->predelay, n_left < to_grid ? n_left : to_grid);
      run_chunk(&units[u], &chunk);
    }
  }
}

// ---- on a device ----

// Upper limit of the groups of threads that spread and gather a long block.
#define MAX_TILES 8U

static uint32_t
n_slices(const ReverbNode* const node)
{
  return (n_groups(node) + REVERB_SLICE_GROUPS - 1U) / REVERB_SLICE_GROUPS;
}

/// Lay out the parts of a unit; returns its size in words.
static uint32_t
place_words(const ReverbNode* const node, uint32_t* const words)
{
  const uint32_t predelay = (uint32_t)ceil(MAX_PREDELAY * 1e-3 * node->rate_hz);
  uint32_t at = REVERB_HEAD;
  for (uint32_t b = 0; b < N_BANKS; ++b) {
    // Scattering lines are written before they are read.
    uint32_t size = b == LINE ? 0U : REVERB_TILE;
    size += b == SCATTER_1 ? predelay : 0U;
    size += node->banks[b].longest;
    words[REVERB_SIZE + b] = size;
    words[REVERB_RINGS + b] = at;
    at += N_LINES * size;
  }
  words[REVERB_STRIDE] = node->max_block_frames;
  words[REVERB_SUMS] = at;
  at += n_slices(node) * N_LINES * node->max_block_frames;
  words[REVERB_WET] = at;
  return at + (N_LINES + 1U) * node->max_block_frames;
}

static void
reverb_kernel_shape(const void* const node, FxKernelShape* const shape)
{
  const ReverbNode* const reverb = node;
  uint32_t words[REVERB_SIGNS];
  uint32_t n_tiles = (reverb->max_block_frames + REVERB_ROWS_TILE - 1U) / REVERB_ROWS_TILE;
  n_tiles = n_tiles < MAX_TILES ? n_tiles : MAX_TILES;
  *shape = (FxKernelShape){
    .passes = { { "fx_reverb_spread", 256U, 1U, n_slices(reverb) * n_tiles },
                { "fx_reverb_network", REVERB_TILE, 1U, 1U },
                { "fx_reverb_gather", 256U, 1U, n_groups(reverb) * n_tiles } },
    .n_passes = 3,
    .param_words = REVERB_PARAM_WORDS,
    .data_words = REVERB_SIGNS + n_groups(reverb),
    .state_words = place_words(reverb, words),
  };
}

static void
put_u64(const uint64_t value, uint32_t* const words)
{
  words[0] = (uint32_t)value;
  words[1] = (uint32_t)(value >> 32U);
}

static void
reverb_data(void* const node, uint32_t* const words)
{
  const ReverbNode* const reverb = node;
  place_words(reverb, words);
  for (uint32_t b = 0; b < N_BANKS; ++b) {
    memcpy(words + REVERB_DELAY + b * N_LINES, reverb->banks[b].delay_frames,
           sizeof(reverb->banks[b].delay_frames));
  }
  const uint32_t shortest = reverb->banks[LINE].delay_frames[0];
  words[REVERB_TILE_FRAMES] = shortest < REVERB_TILE ? shortest : REVERB_TILE;
  words[REVERB_DEPTH_STEPS] = reverb->depth_steps;
  for (uint32_t p = 0; p < N_PAIRS; ++p) {
    put_u64(reverb->swing_step[p], words + REVERB_STEP + 2U * p);
    put_u64(reverb->swing_start[p], words + REVERB_START + 2U * p);
  }
  for (uint32_t g = 0; g < n_groups(reverb); ++g) {
    words[REVERB_SIGNS + g] = group_mask(g);
  }
}

static void
reverb_pack(const void* const node, uint32_t* const words)
{
  const ReverbNode* const reverb = node;
  memcpy(words + REVERB_GAIN, reverb->gain, sizeof(reverb->gain));
  memcpy(words + REVERB_POLE, reverb->pole, sizeof(reverb->pole));
  memcpy(words + REVERB_INPUT_GAIN, &reverb->input_gain, sizeof(float));
  memcpy(words + REVERB_DEPTH, &reverb->depth, sizeof(float));
  memcpy(words + REVERB_MIX, &reverb->mix, sizeof(float));
  words[REVERB_PREDELAY] = reverb->predelay_frames;
  words[REVERB_RAMP_FRAMES] = reverb->ramp_frames;
}

static const FxKernel reverb_kernel = {
  .file = "fx_reverb.cu",
  .shape = reverb_kernel_shape,
  .data = reverb_data,
  .pack = reverb_pack,
};

const FxInfo fx_reverb_info = {
  .name = "reverb",
  .summary = "A room: feedback delay network of 16 lines",
  .params = reverb_params,
  .n_params = ARRAY_LEN(reverb_params),
  .tolerance = 1e-5,
  .tolerance_reason = "single precision in the lines, over hundreds of round trips",
  .create = reverb_create,
  .destroy = free,
  .unit_init = reverb_unit_init,
  .set = reverb_set,
  .run = reverb_run,
  .tail = reverb_tail,
  .kernel = &reverb_kernel,
};
