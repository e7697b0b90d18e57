// SPDX-License-Identifier: GPL-3.0-or-later
// One segment of a partitioned convolution; see segment.h for the method.
//
// With n = rows x cols points z[r cols + c], and w(x) = exp(-2 pi i x), the weighted transform is
//
//   Z[q + rows p] = sum_c w(c p / cols) w(c (q + 1/4) / n)
//                   sum_r w(r q / rows) w(r / (4 rows)) z[r cols + c]
//
// The factors, from right to left: the weights of rows, the transforms of columns, the twiddles,
// the transforms of rows.  Afterwards row q of a plane has the bins q + rows p.

#include "segment.h"

#include "fft.h"
#include "spectrum.h"

#include "engine/base/rt.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS           64U   // FFTW's fast path ends here: longer columns are slower (measured)
#define MIN_SLICED         256U  // shorter transforms are not split
#define MIN_SLICED_AT_ONCE 8192U // shorter ones are faster unsplit (measured)
#define FOLD_COST          6U // relative costs per point, in products of one partition (measured)
#define ROW_FFT_COST       6U
#define MAX_PIECE_COST     3072U // of a piece of a row's products: less than a microsecond

struct Segment {
  const SpectrumOps* ops;
  uint32_t n_parts, n_in, n_out;
  uint32_t ticks; ///< Partitions of output whose products a row computes together; a power of two
  uint32_t rows, cols;
  uint32_t pitch;      ///< Points from row to row: cols, rounded up to whole cells
  uint32_t batch;      ///< Columns per column unit
  uint32_t n_batches;  ///< pitch / batch
  uint32_t row_cells;  ///< Cells per row
  uint32_t pieces;     ///< Units of a row of an output; divides row_cells
  size_t plane_floats; ///< One plane of rows
  uint64_t cost;       ///< Of all units
  Fft* row_fft;
  Fft* column_fft; ///< NULL for a single row
  float* weights;  ///< [rows] complex
  float* twiddles; ///< [n_batches][rows][batch] in cells
  float* filters;  ///< Cells [rows * row_cells][n_out][n_in][n_parts]
};

/// Followed by planes [max(n_in, n_out)][rows][pitch], interleaved, by the sums of products for the
/// next partitions, [ticks - 1][n_out][rows][pitch], and by the delay lines, cells [rows *
/// row_cells][n_in][n_parts].
typedef struct SegmentState {
  uint32_t newest; ///< Slot of the newest spectrum
  uint32_t tick;   ///< Number of the partition, modulo the ticks
  uint32_t padding[14];
} SegmentState;

static float*
plane_of(const Segment* const segment, void* const state, const uint32_t plane)
{
  return (float*)((SegmentState*)state + 1) + plane * segment->plane_floats;
}

static uint32_t
n_planes(const Segment* const segment)
{
  return segment->n_in > segment->n_out ? segment->n_in : segment->n_out;
}

static uint32_t
n_sums(const Segment* const segment)
{
  return (segment->ticks - 1U) * segment->n_out;
}

/// The plane with the sums that an output needs at a later phase, which the first phase computes.
static float*
sums_of(const Segment* const segment, void* const state, const uint32_t phase, const uint32_t o)
{
  return plane_of(segment, state, n_planes(segment) + (phase - 1U) * segment->n_out + o);
}

/// 0 when a row reads its lines completely, then the number of partitions since.
static uint32_t
phase_of(const Segment* const segment, const void* const state, const uint32_t row)
{
  return (((const SegmentState*)state)->tick + row) & (segment->ticks - 1U);
}

/// Floats of a delay line of one cell.
static uint32_t
line_floats(const Segment* const segment)
{
  return segment->n_parts * SPECTRUM_CELL_FLOATS;
}

/// The delay lines of a row.
static float*
lines_of(const Segment* const segment, void* const state, const uint32_t row)
{
  const size_t first_cell = (size_t)segment->row_cells * row;
  return plane_of(segment, state, n_planes(segment) + n_sums(segment)) +
         first_cell * segment->n_in * line_floats(segment);
}

/// Floats of the filters' spectra.
static size_t
n_filters(const Segment* const segment)
{
  return segment->plane_floats * segment->n_out * segment->n_in * segment->n_parts;
}

/// Bytes of a state.
static size_t
state_bytes(const Segment* const segment)
{
  const size_t delay_floats = segment->plane_floats * segment->n_in * segment->n_parts;
  return sizeof(SegmentState) +
         ((n_planes(segment) + n_sums(segment)) * segment->plane_floats + delay_floats) *
             sizeof(float);
}

/// Floats of scratch memory that a unit needs.
static size_t
scratch_floats(const Segment* const segment)
{
  const size_t columns = segment->rows > 1U ? 4U * (size_t)segment->rows * segment->batch : 0U;
  const size_t row = 2U * (size_t)segment->pitch;
  return columns > row ? columns : row;
}

/// Number of rows for n points.  There are a few times more columns than rows, so that both passes
/// have sizes that FFTW transforms fast.  1 if n cannot be split into rows of complete cells.
static uint32_t
choose_rows(const uint32_t n_points, const bool at_once)
{
  uint32_t rows = 1;
  while (n_points >= (at_once ? MIN_SLICED_AT_ONCE : MIN_SLICED) && rows < MAX_ROWS &&
         n_points / rows > 16U * rows && n_points % (2U * rows * SPECTRUM_CELL) == 0) {
    rows *= 2U;
  }
  return rows;
}

// ---- the transform, in units ----

static void
columns_in(const Segment* const segment, const float* const early, const float* const late,
           const uint32_t batch, float* const plane, float* const scratch)
{
  const SpectrumOps* const ops = segment->ops;
  const uint32_t at = batch * segment->batch;
  const float* const twiddles = segment->twiddles + 2U * (size_t)at * segment->rows;
  if (!segment->column_fft) {
    ops->fold(early, late, 0, segment->weights, 1, segment->pitch, plane);
    ops->twist(plane, 0, twiddles, 1, segment->pitch, plane, 0);
    return;
  }
  float* const folded = scratch;
  float* const columns = scratch + 2U * (size_t)segment->rows * segment->batch;
  ops->fold(early + at, late + at, segment->cols, segment->weights, segment->rows, segment->batch,
            folded);
  fft_forward(segment->column_fft, folded, columns);
  ops->twist(columns, segment->batch, twiddles, segment->rows, segment->batch, plane + 2U * at,
             segment->pitch);
}

static void
columns_out(const Segment* const segment, float* const plane, const uint32_t batch,
            float* const scratch, float* const sum)
{
  const SpectrumOps* const ops = segment->ops;
  const uint32_t at = batch * segment->batch;
  const float* const twiddles = segment->twiddles + 2U * (size_t)at * segment->rows;
  if (!segment->column_fft) {
    ops->untwist(plane, 0, twiddles, 1, segment->pitch, plane, 0);
    ops->unfold(plane, segment->weights, 1, segment->pitch, 0, sum);
    return;
  }
  float* const columns = scratch;
  float* const folded = scratch + 2U * (size_t)segment->rows * segment->batch;
  ops->untwist(plane + 2U * at, segment->pitch, twiddles, segment->rows, segment->batch, columns,
               segment->batch);
  fft_inverse(segment->column_fft, columns, folded);
  ops->unfold(folded, segment->weights, segment->rows, segment->batch, segment->cols, sum + at);
}

/// Transform a row of a plane into every `stride`-th float of `cells`.
static void
row_in(const Segment* const segment, const float* const row, float* const scratch,
       float* const cells, const uint32_t stride)
{
  fft_forward(segment->row_fft, row, scratch);
  segment->ops->pack(scratch, segment->pitch, cells, stride);
}

/// Compute the spectrum of a row of an output, or a piece of it, `at` floats from the first row.
/// At the first of `ticks` phases the row reads its lines completely, for all phases; at a later
/// one it adds the products of the newer inputs.
static void
multiply_row(const Segment* const segment, const SegmentIo* const io, const SpectrumMac* const mac,
             const uint32_t phase, const size_t at, const uint32_t o, float* const spectrum)
{
  if (phase) {
    segment->ops->mac_newest(mac, phase, sums_of(segment, io->state, phase, o) + at, spectrum);
    return;
  }
  float* out[SPECTRUM_TICKS] = { spectrum };
  for (uint32_t t = 1; t < segment->ticks; ++t) {
    out[t] = sums_of(segment, io->state, t, o) + at;
  }
  segment->ops->mac(mac, segment->ticks, out);
}

/// Transform a row of all inputs into the delay lines.
static void
row_of_inputs(const Segment* const segment, const SegmentIo* const io, const uint32_t row)
{
  const uint32_t newest = ((const SegmentState*)io->state)->newest;
  const size_t row_floats = 2U * (size_t)segment->pitch * row;
  for (uint32_t i = 0; i < segment->n_in; ++i) {
    row_in(segment, plane_of(segment, io->state, i) + row_floats, io->scratch,
           lines_of(segment, io->state, row) + (size_t)i * line_floats(segment) +
               (size_t)newest * SPECTRUM_CELL_FLOATS,
           segment->n_in * line_floats(segment));
  }
}

/// Compute a piece of a row of an output, after the rows of all inputs, one of which it replaces.
/// A row that does not read its lines completely is computed by its first piece.
static void
work_row(const Segment* const segment, const SegmentIo* const io, const uint32_t row,
         const uint32_t o, const uint32_t piece)
{
  const uint32_t phase = phase_of(segment, io->state, row);
  if (phase && piece) {
    return;
  }
  if (o == 0 && piece == 0) {
    row_of_inputs(segment, io, row);
  }
  const uint32_t n_cells = phase ? segment->row_cells : segment->row_cells / segment->pieces;
  const uint32_t first = piece * n_cells;
  const size_t row_at = 2U * (size_t)segment->pitch * row;
  const size_t piece_at = (size_t)first * SPECTRUM_CELL_FLOATS;
  const size_t cell = (size_t)segment->row_cells * row + first;
  const uint32_t filter_floats = segment->n_in * line_floats(segment);
  float* const plane = plane_of(segment, io->state, o) + row_at;
  const bool is_last = first + n_cells == segment->row_cells;
  const SpectrumMac mac = { .delays =
                                lines_of(segment, io->state, row) + (size_t)first * filter_floats,
                            .filters =
                                segment->filters + (cell * segment->n_out + o) * filter_floats,
                            .filter_stride = segment->n_out * filter_floats,
                            .n_cells = n_cells,
                            .n_in = segment->n_in,
                            .n_parts = segment->n_parts,
                            .newest = ((const SegmentState*)io->state)->newest };
  multiply_row(segment, io, &mac, phase, row_at + piece_at, o,
               (is_last ? io->scratch : plane) + piece_at);
  if (is_last) {
    memcpy(io->scratch, plane, piece_at * sizeof(float)); // of the pieces before
    fft_inverse(segment->row_fft, io->scratch, plane);
  }
}

/// How many partitions of output a row computes together.  Neighbouring rows are at different
/// phases, so that each partition takes the same time.
static uint32_t
choose_ticks(const SegmentSpec* const spec, const uint32_t rows)
{
  const bool shares = !spec->at_once && rows >= SPECTRUM_TICKS && spec->n_parts >= SPECTRUM_TICKS;
  return shares ? SPECTRUM_TICKS : 1U;
}

/// How many units share the products of a row that reads its lines completely.  Each of them begins
/// with waiting for memory; with more states, a row is a smaller part of all work.
static uint32_t
choose_pieces(const SegmentSpec* const spec, const uint32_t cols, const uint32_t row_cells)
{
  const uint64_t cost = (uint64_t)cols * spec->n_in * spec->n_parts;
  const uint64_t limit = (uint64_t)MAX_PIECE_COST * (spec->n_states ? spec->n_states : 1U);
  uint32_t pieces = 1;
  while (!spec->at_once && cost > pieces * limit && row_cells % (2U * pieces) == 0) {
    pieces *= 2U;
  }
  return pieces;
}

// ---- costs ----

static uint64_t
column_cost(const Segment* const segment)
{
  return (uint64_t)FOLD_COST * segment->rows * segment->batch;
}

static uint64_t
row_cost(const Segment* const segment, const uint32_t phase, const uint32_t o, const uint32_t piece)
{
  if (phase && piece) { // as in work_row()
    return 0;
  }
  const bool is_last = phase || piece + 1U == segment->pieces;
  const uint32_t n_transforms = (is_last ? 1U : 0U) + (o == 0 && piece == 0 ? segment->n_in : 0U);
  const uint64_t of_products =
      (uint64_t)segment->cols * segment->n_in * (phase ? phase : segment->n_parts);
  return (uint64_t)segment->cols * ROW_FFT_COST * n_transforms +
         (phase ? of_products : of_products / segment->pieces);
}

/// The cost of all units.
static uint64_t
total_cost(const Segment* const segment)
{
  uint64_t of_rows = 0;
  for (uint32_t phase = 0; phase < segment->ticks; ++phase) { // as many rows at each
    for (uint32_t piece = 0; piece < segment->pieces; ++piece) {
      of_rows += row_cost(segment, phase, 0, piece) +
                 (segment->n_out - 1U) * row_cost(segment, phase, 1, piece);
    }
  }
  of_rows *= segment->rows / segment->ticks;
  return (segment->n_in + segment->n_out) * segment->n_batches * column_cost(segment) + of_rows;
}

// ---- making a segment ----

static void
design_tables(const Segment* const segment)
{
  for (uint32_t r = 0; r < segment->rows; ++r) {
    const double angle = -M_PI / 2.0 * r / segment->rows;
    segment->weights[2U * r] = (float)cos(angle);
    segment->weights[2U * r + 1U] = (float)sin(angle);
  }
  const double n_points = (double)segment->rows * segment->cols;
  float* t = segment->twiddles;
  for (uint32_t b = 0; b < segment->n_batches; ++b) {
    for (uint32_t r = 0; r < segment->rows; ++r) {
      for (uint32_t k = 0; k < segment->batch; ++k) {
        const double angle = -2.0 * M_PI * (b * segment->batch + k) * (r + 0.25) / n_points;
        float* const cell = t + (size_t)(k / SPECTRUM_CELL) * SPECTRUM_CELL_FLOATS;
        cell[k % SPECTRUM_CELL] = (float)cos(angle);
        cell[k % SPECTRUM_CELL + SPECTRUM_CELL] = (float)sin(angle);
      }
      t += 2U * (size_t)segment->batch;
    }
  }
}

/// What the design needs temporarily; see design_bytes().
typedef struct Design {
  FftDouble* fft; ///< Of all points
  double* points; ///< [n_points] complex
  double* bins;   ///< [n_points] complex
} Design;

/// Compute the spectrum of one partition of one response, in double precision and in the order of
/// the transform: its rounding errors would add to those of the input's spectra.
static void
design_partition(const Segment* const segment, const Design* const design, const float* const taps,
                 const uint32_t n, float* const cells)
{
  const uint32_t n_points = segment->rows * segment->cols;
  const size_t stride =
      (size_t)segment->n_out * segment->n_in * segment->n_parts * SPECTRUM_CELL_FLOATS;
  memset(design->points, 0, 2U * n_points * sizeof(double));
  const double angle = -M_PI / 2.0 / n_points;
  const double turn_re = cos(angle);
  const double turn_im = sin(angle);
  double re = 1.0 / n_points; // the scale of the transform and its inverse
  double im = 0.0;
  for (uint32_t k = 0; k < n;
       ++k) { // each weight of the fold is the last one, turned; the error is below 1e-11
    design->points[2U * k] = taps[k] * re;
    design->points[2U * k + 1U] = taps[k] * im;
    const double next_re = re * turn_re - im * turn_im;
    im = re * turn_im + im * turn_re;
    re = next_re;
  }
  fft_double_forward(design->fft, design->points, design->bins);
  for (uint32_t c = 0; c < segment->row_cells; ++c) { // cells of all rows: their bins lie together
    for (uint32_t r = 0; r < segment->rows; ++r) {
      float* const cell = cells + ((size_t)segment->row_cells * r + c) * stride;
      for (uint32_t k = 0; k < SPECTRUM_CELL && SPECTRUM_CELL * c + k < segment->cols; ++k) {
        const size_t bin = (size_t)segment->rows * (SPECTRUM_CELL * c + k) + r;
        cell[k] = (float)design->bins[2U * bin];
        cell[SPECTRUM_CELL + k] = (float)design->bins[2U * bin + 1U];
      }
    }
  }
}

static void
design_filters(const Segment* const segment, const SegmentSpec* const spec,
               const Design* const design)
{
  for (uint32_t pair = 0; pair < segment->n_in * segment->n_out; ++pair) {
    const uint32_t i = pair / segment->n_out;
    const uint32_t o = pair % segment->n_out;
    for (uint32_t p = 0; p < segment->n_parts; ++p) {
      const uint64_t first = spec->first_tap + (uint64_t)p * spec->frames;
      const uint64_t left = first < spec->n_taps ? spec->n_taps - first : 0U;
      const size_t line = ((size_t)o * segment->n_in + i) * segment->n_parts + p;
      design_partition(segment, design, left ? spec->taps[pair] + first : NULL,
                       left < spec->frames ? (uint32_t)left : spec->frames,
                       segment->filters + line * SPECTRUM_CELL_FLOATS);
    }
  }
}

/// Bytes of points or bins.
static size_t
design_bytes(const SegmentSpec* const spec)
{
  return 2U * spec->n_points * sizeof(double);
}

static float*
alloc_floats(const size_t n_floats)
{
  return rt_memory(n_floats * sizeof(float));
}

static Status
design(Segment* const segment, const SegmentSpec* const spec, Error* const error)
{
  segment->weights = alloc_floats(2U * (size_t)segment->rows);
  segment->twiddles = alloc_floats(segment->plane_floats);
  segment->filters = alloc_floats(n_filters(segment));
  Design design = { .points = rt_memory(design_bytes(spec)),
                    .bins = rt_memory(design_bytes(spec)) };
  const bool enough =
      segment->weights && segment->twiddles && segment->filters && design.points && design.bins;
  Status status =
      enough ? fft_double_new(spec->n_points, &design.fft, error)
             : error_set(error, STATUS_NO_MEM, "no memory for an impulse response of %llu frames",
                         (unsigned long long)spec->n_taps);
  if (!status) {
    design_tables(segment);
    design_filters(segment, spec, &design);
  }
  fft_double_free(design.fft);
  free(design.bins);
  free(design.points);
  return status;
}

/// Compute all members of a segment that follow from its spec, without allocating.
static Segment
segment_of(const SegmentSpec* const spec)
{
  const uint32_t rows = choose_rows(spec->n_points, spec->at_once);
  const uint32_t cols = spec->n_points / rows;
  const uint32_t row_cells = (cols + SPECTRUM_CELL - 1U) / SPECTRUM_CELL;
  Segment segment = { .ops = spectrum_ops(),
                      .n_parts = spec->n_parts,
                      .n_in = spec->n_in,
                      .n_out = spec->n_out,
                      .ticks = choose_ticks(spec, rows),
                      .rows = rows,
                      .cols = cols,
                      .pitch = row_cells * SPECTRUM_CELL,
                      .batch = rows > 1U ? SPECTRUM_CELL : row_cells * SPECTRUM_CELL,
                      .n_batches = rows > 1U ? row_cells : 1U,
                      .row_cells = row_cells,
                      .pieces = choose_pieces(spec, cols, row_cells),
                      .plane_floats = 2U * (size_t)rows * row_cells * SPECTRUM_CELL };
  segment.cost = total_cost(&segment);
  return segment;
}

SegmentBytes
segment_measure(const SegmentSpec* const spec)
{
  const Segment segment = segment_of(spec);
  const size_t constant_floats =
      2U * (size_t)segment.rows + segment.plane_floats + n_filters(&segment);
  return (SegmentBytes){ .constant = sizeof(Segment) + constant_floats * sizeof(float),
                         .design = 2U * design_bytes(spec),
                         .state = state_bytes(&segment),
                         .scratch_floats = scratch_floats(&segment) };
}

Status
segment_new(const SegmentSpec* const spec, Segment** const segment, Error* const error)
{
  Segment* const made = calloc(1, sizeof(Segment));
  if (!made) {
    return error_set(error, STATUS_NO_MEM, "no memory for a convolution");
  }
  *made = segment_of(spec);
  Status status = fft_acquire(made->cols, 1, &made->row_fft, error);
  if (!status && made->rows > 1U) {
    status = fft_acquire(made->rows, SPECTRUM_CELL, &made->column_fft, error);
  }
  status = status ? status : design(made, spec, error);
  if (status) {
    segment_free(made);
    return status;
  }
  *segment = made;
  return STATUS_OK;
}

void
segment_free(Segment* const segment)
{
  if (segment) {
    fft_release(segment->row_fft);
    fft_release(segment->column_fft);
    free(segment->weights);
    free(segment->twiddles);
    free(segment->filters);
    free(segment);
  }
}

// ---- running it ----

static uint32_t
n_row_units(const Segment* const segment)
{
  return segment->rows * segment->n_out * segment->pieces;
}

/// The place of a unit among those of rows.
typedef struct RowUnit {
  uint32_t row, o, piece;
} RowUnit;

static RowUnit
row_unit(const Segment* const segment, const uint32_t unit)
{
  const uint32_t line = unit / segment->pieces;
  return (RowUnit){ line / segment->n_out, line % segment->n_out, unit % segment->pieces };
}

void
segment_rest(void* const state)
{
  ((SegmentState*)state)->newest = 0;
  ((SegmentState*)state)->tick = 0;
}

uint32_t
segment_n_units(const Segment* const segment)
{
  return (segment->n_in + segment->n_out) * segment->n_batches + n_row_units(segment);
}

uint64_t
segment_cost(const Segment* const segment)
{
  return segment->cost;
}

uint64_t
segment_unit_cost(const Segment* const segment, const void* const state, const uint32_t unit)
{
  const uint32_t first_row = segment->n_in * segment->n_batches;
  if (unit < first_row || unit >= first_row + n_row_units(segment)) {
    return column_cost(segment);
  }
  const RowUnit at = row_unit(segment, unit - first_row);
  return row_cost(segment, phase_of(segment, state, at.row), at.o, at.piece);
}

void
segment_step(const Segment* const segment, void* const state)
{
  SegmentState* const now = state;
  now->newest = (now->newest ? now->newest : segment->n_parts) - 1U;
  now->tick = (now->tick + 1U) % segment->ticks;
}

/// Begin to load n_rows rows of n_floats, `stride` floats apart.
static void
prefetch_rows(const float* const from, const size_t n_rows, const size_t stride,
              const size_t n_floats)
{
  for (size_t r = 0; r < n_rows; ++r) {
    for (size_t k = 0; k < n_floats; k += SPECTRUM_CELL) { // a cache line
      __builtin_prefetch(from + r * stride + k);
    }
  }
}

/// What a row of an output reads, except complete lines, which the products prefetch themselves.
static void
prefetch_row(const Segment* const segment, const SegmentIo* const io, const uint32_t row,
             const uint32_t o)
{
  const uint32_t phase = phase_of(segment, io->state, row);
  const size_t row_floats = 2U * (size_t)segment->pitch;
  for (uint32_t i = 0; i < segment->n_in && o == 0; ++i) {
    prefetch_rows(plane_of(segment, io->state, i) + row_floats * row, 1, 0, row_floats);
  }
  if (phase) {
    const uint32_t newest = ((const SegmentState*)io->state)->newest;
    prefetch_rows(sums_of(segment, io->state, phase, o) + row_floats * row, 1, 0, row_floats);
    prefetch_rows(lines_of(segment, io->state, row) + (size_t)newest * SPECTRUM_CELL_FLOATS,
                  (size_t)segment->row_cells * segment->n_in, line_floats(segment),
                  (size_t)(phase + 1U) * SPECTRUM_CELL_FLOATS);
  }
}

void
segment_prefetch(const Segment* const segment, const SegmentIo* const io, const uint32_t next)
{
  const uint32_t first_row = segment->n_in * segment->n_batches;
  const uint32_t first_out = first_row + n_row_units(segment);
  const uint32_t n_units = segment_n_units(segment);
  uint32_t unit = next;
  while (unit < n_units && segment_unit_cost(segment, io->state, unit) == 0) {
    ++unit;
  }
  if (!segment->column_fft) {
    return;
  }
  if (unit < first_row) {
    const size_t at = unit / segment->n_batches * io->in_stride +
                      (size_t)(unit % segment->n_batches) * segment->batch;
    prefetch_rows(io->early + at, segment->rows, segment->cols, segment->batch);
    prefetch_rows(io->late + at, segment->rows, segment->cols, segment->batch);
  } else if (unit < first_out) {
    const RowUnit at = row_unit(segment, unit - first_row);
    if (at.piece == 0) {
      prefetch_row(segment, io, at.row, at.o);
    }
  } else if (unit < n_units) {
    const uint32_t o = (unit - first_out) / segment->n_batches;
    const size_t at = (size_t)((unit - first_out) % segment->n_batches) * segment->batch;
    prefetch_rows(plane_of(segment, io->state, o) + 2U * at, segment->rows,
                  2U * (size_t)segment->pitch, 2U * (size_t)segment->batch);
    prefetch_rows(io->sum + o * io->sum_stride + at, segment->rows, segment->cols, segment->batch);
  }
}

void
segment_work(const Segment* const segment, const SegmentIo* const io, const uint32_t unit)
{
  const uint32_t first_row = segment->n_in * segment->n_batches;
  const uint32_t first_out = first_row + n_row_units(segment);
  if (unit < first_row) {
    const uint32_t i = unit / segment->n_batches;
    columns_in(segment, io->early + i * io->in_stride, io->late + i * io->in_stride,
               unit % segment->n_batches, plane_of(segment, io->state, i), io->scratch);
  } else if (unit < first_out) {
    const RowUnit at = row_unit(segment, unit - first_row);
    work_row(segment, io, at.row, at.o, at.piece);
  } else {
    const uint32_t o = (unit - first_out) / segment->n_batches;
    columns_out(segment, plane_of(segment, io->state, o), (unit - first_out) % segment->n_batches,
                io->scratch, io->sum + o * io->sum_stride);
  }
}
