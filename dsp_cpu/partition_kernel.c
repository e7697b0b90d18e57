// SPDX-License-Identifier: GPL-3.0-or-later
// The host's half of convolution on a device; see partition_kernel.h.

#include "partition_kernel.h"

#include "fft.h"

#include "dsp_cpu/shared/partition_layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_POINTS     32U   // shorter rows would be read in part
#define MAX_POINTS     2048U // two times 16 KB of local memory, of the 48 that every GPU has
#define MAX_TAIL_HOPS  16U
#define MIN_TAIL_HOPS  4U
#define MIN_TAIL_PARTS 2U

// A large GPU needs about 2^17 threads, half of its maximum, to read memory at full speed.  A group
// whose threads read fewer than 16 rows each costs more time than it saves.
#define WANTED_THREADS (1U << 17U)
#define MIN_ROWS       16U

// A group does all the work of a unit in one launch if its products read at most 256 KB, about 20
// microseconds; then more launches would take longer.
#define MAX_WHOLE_POINTS 16384U

// Groups that share the pieces of long blocks, for all units: some for each multiprocessor of a
// large GPU.  More would repeat the work of reading the tables.
#define MANY_GROUPS 2048U

/// The transforms of the head or of the tail, and their work memory in PartitionKernel::scratch.
typedef struct Table {
  uint32_t n_points;
  const FftDouble* fft;
  double* roots;  ///< [n_points] complex
  double* folds;  ///< [n_points] complex, after the roots
  double* points; ///< [n_points] complex
  double* bins;   ///< [n_points] complex
} Table;

struct PartitionKernel {
  PartitionKernelSpec spec;
  uint32_t hop, points, n_parts, n_slots, slices;
  uint32_t tail_hops, tail_points, tail_parts, tail_slices; ///< All 0 without a tail
  uint32_t ring_frames;
  uint32_t group_size;
  uint32_t max_pieces; ///< Largest number of pieces of hops in a block
  uint32_t groups;     ///< That share the pieces of a unit
  bool is_single;      ///< One partition holds the response
  bool is_whole;       ///< One launch does all the work, with one group for a unit
  uint64_t tables_at, tail_tables_at, filters_at, tail_at, data_words;
  uint64_t lines_at, tail_lines_at, rings_at, sums_at, tail_sums_at, tail_out_at, is_bad_at;
  uint64_t state_words;
  // For partition_kernel_data()
  FftDouble* fft;      ///< Of `points`
  FftDouble* tail_fft; ///< Of `tail_points`, or NULL
  double* scratch;     ///< 64-byte aligned
};

// ---- sizes ----

static uint64_t
parts(const uint64_t n, const uint64_t each)
{
  return (n + each - 1U) / each;
}

static uint32_t
power_of_two(const uint32_t at_least)
{
  uint32_t n = 1;
  while (n < at_least) {
    n *= 2U;
  }
  return n;
}

/// Choose the hop: a longer block consists of complete hops, and a hop consists of complete shorter
/// blocks.
static uint32_t
choose_hop(const uint32_t block)
{
  return block > MAX_POINTS ? (uint32_t)parts(block, parts(block, MAX_POINTS))
                            : block * (uint32_t)parts(MIN_POINTS, block);
}

static void
cut(PartitionKernel* const k)
{
  const uint64_t n_taps = k->spec.n_taps;
  uint32_t tail_hops = MAX_TAIL_HOPS;
  while (tail_hops * k->points > MAX_POINTS) {
    tail_hops /= 2U;
  }
  const uint64_t period = (uint64_t)tail_hops * k->hop;
  if (tail_hops >= MIN_TAIL_HOPS && n_taps >= (2U + MIN_TAIL_PARTS) * period) {
    k->tail_hops = tail_hops;
    k->tail_points = tail_hops * k->points;
    k->tail_parts = (uint32_t)parts(n_taps - 2U * period, period);
    k->n_parts = 2U * tail_hops;
  } else {
    k->n_parts = (uint32_t)parts(n_taps, k->hop);
  }
  k->n_slots = k->n_parts + k->max_pieces - 1U;
}

/// Choose the groups for each output, so that all units together keep a large GPU busy.
static void
slice(PartitionKernel* const k)
{
  const uint32_t lanes = k->points / 2U < k->group_size ? k->points / 2U : k->group_size;
  const uint64_t least = (uint64_t)MIN_ROWS * (k->group_size / lanes);
  const uint64_t n_rows = (uint64_t)(k->n_parts + k->tail_parts) * k->spec.n_in;
  const uint64_t n_outs = (uint64_t)k->spec.n_units * k->spec.n_out;
  const uint64_t each = parts(n_rows * n_outs, WANTED_THREADS / k->group_size);
  const uint64_t rows = each > least ? each : least;
  k->slices = (uint32_t)parts((uint64_t)k->n_parts * k->spec.n_in, rows);
  k->tail_slices = (uint32_t)parts((uint64_t)k->tail_parts * k->spec.n_in, rows);
}

/// Choose the launches.
static void
choose_launches(PartitionKernel* const k)
{
  const bool has_one_of_each = k->spec.n_in == 1U && k->spec.n_out == 1U;
  const uint64_t points = (uint64_t)(k->n_parts + k->tail_parts) * k->points;
  const bool is_quick = points <= MAX_WHOLE_POINTS || (k->slices == 1U && k->tail_slices <= 1U);
  const bool is_long = k->max_pieces > 2U;
  const uint32_t groups = (MANY_GROUPS + k->spec.n_units - 1U) / k->spec.n_units;
  k->is_single = has_one_of_each && k->n_parts == 1U;
  k->is_whole = has_one_of_each && is_quick && !is_long;
  k->groups = !is_long ? 1U : groups < k->max_pieces ? groups : k->max_pieces;
  if (k->is_whole) {
    k->slices = 1U;
    k->tail_slices = k->tail_parts ? 1U : 0U;
  }
}

static uint64_t
take(uint64_t* const end, const uint64_t n_words)
{
  const uint64_t at = *end;
  *end += parts(n_words, 4U) * 4U;
  return at;
}

static void
lay_out(PartitionKernel* const k)
{
  const uint64_t n_in = k->spec.n_in;
  const uint64_t n_out = k->spec.n_out;
  const uint64_t row = 2U * (uint64_t)k->points;
  const uint64_t tail_row = 2U * (uint64_t)k->tail_points;
  uint64_t end = PARTITION_HEAD;
  k->tables_at = take(&end, 2U * row);
  k->tail_tables_at = take(&end, 2U * tail_row);
  k->filters_at = take(&end, k->spec.n_sets * n_out * n_in * k->n_parts * row);
  k->tail_at = take(&end, k->spec.n_sets * n_out * n_in * k->tail_parts * tail_row);
  k->data_words = end;
  end = PARTITION_STATE_HEAD;
  k->lines_at = take(&end, k->is_single ? 0U : n_in * k->n_slots * row);
  k->tail_lines_at = take(&end, n_in * k->tail_parts * tail_row);
  k->rings_at = take(&end, n_in * k->ring_frames);
  k->sums_at =
      take(&end, k->is_single || k->is_whole ? 0U : k->max_pieces * n_out * k->slices * row);
  k->tail_sums_at = take(&end, n_out * k->tail_slices * tail_row);
  k->tail_out_at = take(&end, 2U * n_out * k->tail_points);
  k->is_bad_at = take(&end, n_out);
  k->state_words = end;
}

/// Make what partition_kernel_data() needs.
static Status
prepare_data(PartitionKernel* const k, Error* const error)
{
  k->scratch = aligned_alloc(64U, 8U * (size_t)MAX_POINTS * sizeof(double));
  if (!k->scratch) {
    return error_set(error, STATUS_NO_MEM, "no memory for a convolution");
  }
  const Status status = fft_double_new(k->points, &k->fft, error);
  return status || !k->tail_points ? status : fft_double_new(k->tail_points, &k->tail_fft, error);
}

static void
end_data(PartitionKernel* const k)
{
  fft_double_free(k->fft);
  fft_double_free(k->tail_fft);
  free(k->scratch);
  k->fft = k->tail_fft = NULL;
  k->scratch = NULL;
}

Status
partition_kernel_new(const PartitionKernelSpec* const spec, PartitionKernel** const kernel,
                     Error* const error)
{
  const uint32_t block = spec->max_block_frames;
  const uint32_t hop = choose_hop(block);
  if (spec->n_taps > UINT32_MAX / 2U) {
    return error_set(error, STATUS_LIMIT, "an impulse response of %llu frames is too long",
                     (unsigned long long)spec->n_taps);
  }
  PartitionKernel* const k = calloc(1, sizeof(PartitionKernel));
  if (!k) {
    return error_set(error, STATUS_NO_MEM, "no memory for a convolution");
  }
  *k = (PartitionKernel){ .spec = *spec,
                          .hop = hop,
                          .points = power_of_two(hop),
                          .max_pieces = (uint32_t)parts(hop - 1U + block, hop) };
  k->group_size = k->points < 128U ? 2U * k->points : 256U;
  cut(k);
  slice(k);
  choose_launches(k);
  // A launch reads two hops or two periods of the past and writes a block.
  const uint32_t past = 2U * hop * (k->tail_hops ? k->tail_hops : 1U);
  k->ring_frames = power_of_two(past + block);
  lay_out(k);
  Status status = STATUS_OK;
  if (k->tail_at > UINT32_MAX || k->is_bad_at > UINT32_MAX) {
    status = error_set(error, STATUS_LIMIT, "%u responses of %llu frames are too many for one node",
                       spec->n_sets * spec->n_in * spec->n_out, (unsigned long long)spec->n_taps);
  }
  status = status ? status : prepare_data(k, error);
  if (status) {
    partition_kernel_free(k);
    return status;
  }
  *kernel = k;
  return STATUS_OK;
}

void
partition_kernel_free(PartitionKernel* const kernel)
{
  if (kernel) {
    end_data(kernel);
    free(kernel);
  }
}

void
partition_kernel_shape(const PartitionKernel* const kernel, FxKernelShape* const shape)
{
  const PartitionKernel* const k = kernel;
  const uint32_t parts_of_work = k->groups + (k->tail_parts ? 1U : 0U);
  const uint32_t n_sums = k->spec.n_out * (k->groups * k->slices + k->tail_slices);
  const FxKernelPass end = { "fx_convolver_end", k->group_size, 1U, 1U };
  *shape = (FxKernelShape){
    .sizes = { { "POINTS", k->points }, { "TAIL_POINTS", k->tail_points } },
    .param_words = PARTITION_PARAM_WORDS,
    .data_words = k->data_words,
    .state_words = k->state_words,
  };
  if (k->is_whole || k->is_single) {
    shape->file = "fx_convolver.cu";
    shape->passes[0] = (FxKernelPass){ k->is_single ? "fx_convolver_short" : "fx_convolver",
                                       k->group_size, 1U, k->groups };
    shape->passes[1] = end;
    shape->n_passes = k->groups > 1U ? 2U : 1U;
    return;
  }
  shape->file = "fx_convolver_steps.cu";
  shape->passes[0] =
      (FxKernelPass){ "fx_convolver_in", k->group_size, 1U, k->spec.n_in * parts_of_work };
  shape->passes[1] = (FxKernelPass){ "fx_convolver_products", k->group_size, 1U, n_sums };
  shape->passes[2] =
      (FxKernelPass){ "fx_convolver_out", k->group_size, 1U, k->spec.n_out * parts_of_work };
  shape->passes[3] = end;
  shape->n_passes = 4U;
}

// ---- constants ----

static void
write_floats(const double* const from, const size_t n, uint32_t* const words)
{
  for (size_t i = 0; i < n; ++i) {
    const float value = (float)from[i];
    memcpy(&words[i], &value, sizeof(value));
  }
}

/// Make a table and write it; afterwards its folds include the scale of the filters' spectra.
static void
make_table(double* const scratch, const FftDouble* const fft, const uint32_t n_points,
           uint32_t* const words, Table* const table)
{
  *table = (Table){ .n_points = n_points,
                    .fft = fft,
                    .roots = scratch,
                    .folds = scratch + 2U * (size_t)n_points,
                    .points = scratch + 4U * (size_t)n_points,
                    .bins = scratch + 6U * (size_t)n_points };
  for (uint32_t k = 0; k < n_points; ++k) {
    table->roots[2U * k] = cos(2.0 * M_PI * k / n_points);
    table->roots[2U * k + 1U] = -sin(2.0 * M_PI * k / n_points);
    table->folds[2U * k] = cos(M_PI / 2.0 * k / n_points);
    table->folds[2U * k + 1U] = -sin(M_PI / 2.0 * k / n_points);
  }
  write_floats(table->roots, 4U * (size_t)n_points, words);
  for (uint32_t k = 0; k < 2U * n_points; ++k) {
    table->folds[k] /= n_points; // a power of two: exact
  }
}

/// The spectrum of n taps, n <= n_points, as a filter: folded like the first half of a window.
static const double*
spectrum(const Table* const table, const float* const taps, const size_t n)
{
  double* const restrict points = table->points;
  const double* const restrict folds = table->folds;
  for (size_t k = 0; k < n; ++k) {
    const double tap = taps[k];
    points[2U * k] = tap * folds[2U * k];
    points[2U * k + 1U] = tap * folds[2U * k + 1U];
  }
  memset(points + 2U * n, 0, 2U * (table->n_points - n) * sizeof(double));
  fft_double_forward(table->fft, points, table->bins);
  return table->bins;
}

/// One segment: n_parts spectra of `frames` taps each, from first_tap to end_tap, for every
/// response; cut into slices of `points`: [set][out][slice][in][part][points].
typedef struct SegmentData {
  uint64_t first_tap, end_tap;
  uint32_t frames, n_parts, n_slices;
} SegmentData;

static void
write_segment(const PartitionKernel* const k, const Table* const table,
              const SegmentData* const segment, uint32_t* const words)
{
  const uint32_t n_in = k->spec.n_in;
  const uint32_t n_out = k->spec.n_out;
  const size_t row_words = 2U * (size_t)k->points;
  for (uint32_t response = 0; response < k->spec.n_sets * n_in * n_out; ++response) {
    const float* const taps = k->spec.taps + response * k->spec.n_taps;
    const uint32_t set = response / (n_in * n_out);
    const uint32_t in = response / n_out % n_in;
    const uint32_t out = response % n_out;
    for (uint32_t p = 0; p < segment->n_parts; ++p) {
      const uint64_t first = segment->first_tap + (uint64_t)p * segment->frames;
      const uint64_t left = segment->end_tap - first;
      const double* const bins =
          spectrum(table, taps + first, left < segment->frames ? left : segment->frames);
      for (uint32_t s = 0; s < segment->n_slices; ++s) {
        const size_t line = ((size_t)set * n_out + out) * segment->n_slices + s;
        const size_t row = (line * n_in + in) * segment->n_parts + p;
        write_floats(bins + s * row_words, row_words, words + row * row_words);
      }
    }
  }
}

static void
write_head(const PartitionKernel* const k, uint32_t* const words)
{
  words[PARTITION_N_IN] = k->spec.n_in;
  words[PARTITION_N_OUT] = k->spec.n_out;
  words[PARTITION_N_SETS] = k->spec.n_sets;
  words[PARTITION_HOP] = k->hop;
  words[PARTITION_N_PARTS] = k->n_parts;
  words[PARTITION_N_SLOTS] = k->n_slots;
  words[PARTITION_SLICES] = k->slices;
  words[PARTITION_TAIL_PARTS] = k->tail_parts;
  words[PARTITION_TAIL_HOPS] = k->tail_hops;
  words[PARTITION_TAIL_SLICES] = k->tail_slices;
  words[PARTITION_RING_MASK] = k->ring_frames - 1U;
  words[PARTITION_TABLES] = (uint32_t)k->tables_at;
  words[PARTITION_TAIL_TABLES] = (uint32_t)k->tail_tables_at;
  words[PARTITION_FILTERS] = (uint32_t)k->filters_at;
  words[PARTITION_TAIL] = (uint32_t)k->tail_at;
  words[PARTITION_LINES] = (uint32_t)k->lines_at;
  words[PARTITION_TAIL_LINES] = (uint32_t)k->tail_lines_at;
  words[PARTITION_RINGS] = (uint32_t)k->rings_at;
  words[PARTITION_SUMS] = (uint32_t)k->sums_at;
  words[PARTITION_TAIL_SUMS] = (uint32_t)k->tail_sums_at;
  words[PARTITION_TAIL_OUT] = (uint32_t)k->tail_out_at;
  words[PARTITION_IS_BAD] = (uint32_t)k->is_bad_at;
}

void
partition_kernel_data(PartitionKernel* const kernel, uint32_t* const words)
{
  PartitionKernel* const k = kernel;
  const uint64_t period = (uint64_t)k->tail_hops * k->hop;
  Table table;
  write_head(k, words);
  make_table(k->scratch, k->fft, k->points, words + k->tables_at, &table);
  const SegmentData head = { .end_tap = k->tail_parts ? 2U * period : k->spec.n_taps,
                             .frames = k->hop,
                             .n_parts = k->n_parts,
                             .n_slices = 1U };
  write_segment(k, &table, &head, words + k->filters_at);
  if (k->tail_parts) {
    make_table(k->scratch, k->tail_fft, k->tail_points, words + k->tail_tables_at, &table);
    const SegmentData tail = { .first_tap = 2U * period,
                               .end_tap = k->spec.n_taps,
                               .frames = (uint32_t)period,
                               .n_parts = k->tail_parts,
                               .n_slices = k->tail_hops };
    write_segment(k, &table, &tail, words + k->tail_at);
  }
  end_data(k);
}

void
partition_kernel_pack(const float dry, const float wet, const uint32_t ramp_frames,
                      uint32_t* const words)
{
  memcpy(&words[PARTITION_PARAM_DRY], &dry, sizeof(dry));
  memcpy(&words[PARTITION_PARAM_WET], &wet, sizeof(wet));
  words[PARTITION_PARAM_RAMP_FRAMES] = ramp_frames;
}
