// SPDX-License-Identifier: GPL-3.0-or-later
// One level of a partitioned convolution; see level.h for the method.
//
// With n = rows x cols points z[r cols + c], and w(x) = exp(-2 pi i x), the weighted transform is
//
//   Z[q + rows p] = sum_c w(c p / cols) w(c (q + 1/4) / n)
//                   sum_r w(r q / rows) w(r / (4 rows)) z[r cols + c]
//
// The factors, from right to left: the weights of rows, the transforms of columns, the twiddles,
// the transforms of rows.  Afterwards row q of a plane has the bins q + rows p.

#include "level.h"

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

struct Level {
  const SpectrumOps* ops;
  uint32_t n_parts, n_in, n_out;
  uint32_t rows, cols;
  uint32_t pitch;      ///< Points from row to row: cols, rounded up to whole cells
  uint32_t batch;      ///< Columns per column unit
  uint32_t n_batches;  ///< pitch / batch
  uint32_t row_cells;  ///< Cells per row
  size_t plane_floats; ///< One plane of rows
  Fft* row_fft;
  Fft* column_fft; ///< NULL for a single row
  float* weights;  ///< [rows] complex
  float* twiddles; ///< [n_batches][rows][batch] in cells
  float* filters;  ///< Cells [rows * row_cells][n_out][n_in][n_parts]
};

/// Followed by planes [max(n_in, n_out)][rows][pitch], interleaved, and by the delay lines, cells
/// [rows * row_cells][n_in][n_parts].
typedef struct LevelState {
  uint32_t newest; ///< Slot of the newest spectrum
  uint32_t padding[15];
} LevelState;

static float*
plane_of(const Level* const level, void* const state, const uint32_t plane)
{
  return (float*)((LevelState*)state + 1) + plane * level->plane_floats;
}

static uint32_t
n_planes(const Level* const level)
{
  return level->n_in > level->n_out ? level->n_in : level->n_out;
}

static float*
delays_of(const Level* const level, void* const state)
{
  return plane_of(level, state, n_planes(level));
}

/// Floats of the filters' spectra.
static size_t
n_filters(const Level* const level)
{
  return level->plane_floats * level->n_out * level->n_in * level->n_parts;
}

/// Bytes of a state.
static size_t
state_bytes(const Level* const level)
{
  const size_t delay_floats = level->plane_floats * level->n_in * level->n_parts;
  return sizeof(LevelState) +
         (n_planes(level) * level->plane_floats + delay_floats) * sizeof(float);
}

/// Floats of scratch memory that a unit needs.
static size_t
scratch_floats(const Level* const level)
{
  const size_t columns = level->rows > 1U ? 4U * (size_t)level->rows * level->batch : 0U;
  const size_t row = 2U * (size_t)level->pitch;
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
columns_in(const Level* const level, const float* const early, const float* const late,
           const uint32_t batch, float* const plane, float* const scratch)
{
  const SpectrumOps* const ops = level->ops;
  const uint32_t at = batch * level->batch;
  const float* const twiddles = level->twiddles + 2U * (size_t)at * level->rows;
  if (!level->column_fft) {
    ops->fold(early, late, 0, level->weights, 1, level->pitch, plane);
    ops->twist(plane, 0, twiddles, 1, level->pitch, plane, 0);
    return;
  }
  float* const folded = scratch;
  float* const columns = scratch + 2U * (size_t)level->rows * level->batch;
  ops->fold(early + at, late + at, level->cols, level->weights, level->rows, level->batch, folded);
  fft_forward(level->column_fft, folded, columns);
  ops->twist(columns, level->batch, twiddles, level->rows, level->batch, plane + 2U * at,
             level->pitch);
}

static void
columns_out(const Level* const level, float* const plane, const uint32_t batch,
            float* const scratch, float* const sum)
{
  const SpectrumOps* const ops = level->ops;
  const uint32_t at = batch * level->batch;
  const float* const twiddles = level->twiddles + 2U * (size_t)at * level->rows;
  if (!level->column_fft) {
    ops->untwist(plane, 0, twiddles, 1, level->pitch, plane, 0);
    ops->unfold(plane, level->weights, 1, level->pitch, 0, sum);
    return;
  }
  float* const columns = scratch;
  float* const folded = scratch + 2U * (size_t)level->rows * level->batch;
  ops->untwist(plane + 2U * at, level->pitch, twiddles, level->rows, level->batch, columns,
               level->batch);
  fft_inverse(level->column_fft, columns, folded);
  ops->unfold(folded, level->weights, level->rows, level->batch, level->cols, sum + at);
}

/// Transform a row of a plane into every `stride`-th float of `cells`.
static void
row_in(const Level* const level, const float* const row, float* const scratch, float* const cells,
       const uint32_t stride)
{
  fft_forward(level->row_fft, row, scratch);
  level->ops->pack(scratch, level->pitch, cells, stride);
}

static void
work_row(const Level* const level, const LevelIo* const io, const uint32_t row)
{
  const uint32_t newest = ((const LevelState*)io->state)->newest;
  const size_t row_floats = 2U * (size_t)level->pitch * row;
  const uint32_t line_floats = level->n_parts * SPECTRUM_CELL_FLOATS;
  const size_t first_cell = (size_t)level->row_cells * row;
  float* const delays = delays_of(level, io->state) + first_cell * level->n_in * line_floats;
  for (uint32_t i = 0; i < level->n_in; ++i) {
    row_in(level, plane_of(level, io->state, i) + row_floats, io->scratch,
           delays + (size_t)i * line_floats + (size_t)newest * SPECTRUM_CELL_FLOATS,
           level->n_in * line_floats);
  }
  const uint32_t filter_floats = level->n_in * line_floats;
  for (uint32_t o = 0; o < level->n_out; ++o) {
    const SpectrumMac mac = { .delays = delays,
                              .filters =
                                  level->filters + (first_cell * level->n_out + o) * filter_floats,
                              .filter_stride = level->n_out * filter_floats,
                              .n_cells = level->row_cells,
                              .n_in = level->n_in,
                              .n_parts = level->n_parts,
                              .newest = newest };
    level->ops->mac(&mac, io->scratch);
    fft_inverse(level->row_fft, io->scratch, plane_of(level, io->state, o) + row_floats);
  }
}

// ---- making a level ----

static void
design_tables(const Level* const level)
{
  for (uint32_t r = 0; r < level->rows; ++r) {
    const double angle = -M_PI / 2.0 * r / level->rows;
    level->weights[2U * r] = (float)cos(angle);
    level->weights[2U * r + 1U] = (float)sin(angle);
  }
  const double n_points = (double)level->rows * level->cols;
  float* t = level->twiddles;
  for (uint32_t b = 0; b < level->n_batches; ++b) {
    for (uint32_t r = 0; r < level->rows; ++r) {
      for (uint32_t k = 0; k < level->batch; ++k) {
        const double angle = -2.0 * M_PI * (b * level->batch + k) * (r + 0.25) / n_points;
        float* const cell = t + (size_t)(k / SPECTRUM_CELL) * SPECTRUM_CELL_FLOATS;
        cell[k % SPECTRUM_CELL] = (float)cos(angle);
        cell[k % SPECTRUM_CELL + SPECTRUM_CELL] = (float)sin(angle);
      }
      t += 2U * (size_t)level->batch;
    }
  }
}

/// Compute the spectrum of one partition of one response with the same steps as for the input.
static void
design_partition(const Level* const level, const float* const window, float* const plane,
                 float* const scratch, float* const cells)
{
  const uint32_t stride = level->n_out * level->n_in * level->n_parts * SPECTRUM_CELL_FLOATS;
  for (uint32_t b = 0; b < level->n_batches; ++b) {
    columns_in(level, window, window + level->plane_floats / 2U, b, plane, scratch);
  }
  for (uint32_t r = 0; r < level->rows; ++r) {
    row_in(level, plane + 2U * (size_t)level->pitch * r, scratch,
           cells + (size_t)r * level->row_cells * stride, stride);
  }
}

static void
design_filters(const Level* const level, const LevelSpec* const spec, float* const window,
               float* const plane, float* const scratch)
{
  const float scale = 1.0F / (float)spec->n_points; // of the transform and its inverse
  for (uint32_t pair = 0; pair < level->n_in * level->n_out; ++pair) {
    const uint32_t i = pair / level->n_out;
    const uint32_t o = pair % level->n_out;
    for (uint32_t p = 0; p < level->n_parts; ++p) {
      for (uint32_t k = 0; k < spec->frames; ++k) {
        const uint64_t tap = spec->first_tap + (uint64_t)p * spec->frames + k;
        window[k] = tap < spec->n_taps ? spec->taps[pair][tap] * scale : 0.0F;
      }
      const size_t line = ((size_t)o * level->n_in + i) * level->n_parts + p;
      design_partition(level, window, plane, scratch, level->filters + line * SPECTRUM_CELL_FLOATS);
    }
  }
}

static float*
alloc_floats(const size_t n_floats)
{
  return rt_memory(n_floats * sizeof(float));
}

static Status
design(Level* const level, const LevelSpec* const spec, Error* const error)
{
  level->weights = alloc_floats(2U * (size_t)level->rows);
  level->twiddles = alloc_floats(level->plane_floats);
  level->filters = alloc_floats(n_filters(level));
  float* const window = alloc_floats(level->plane_floats);
  float* const plane = alloc_floats(level->plane_floats);
  float* const scratch = alloc_floats(scratch_floats(level));
  const bool enough =
      level->weights && level->twiddles && level->filters && window && plane && scratch;
  if (enough) {
    design_tables(level);
    design_filters(level, spec, window, plane, scratch);
  }
  free(scratch);
  free(plane);
  free(window);
  return enough
             ? STATUS_OK
             : error_set(error, STATUS_NO_MEM, "no memory for an impulse response of %llu frames",
                         (unsigned long long)spec->n_taps);
}

/// Compute all members of a level that follow from its spec, without allocating.
static Level
level_of(const LevelSpec* const spec)
{
  const uint32_t rows = choose_rows(spec->n_points, spec->at_once);
  const uint32_t cols = spec->n_points / rows;
  const uint32_t row_cells = (cols + SPECTRUM_CELL - 1U) / SPECTRUM_CELL;
  return (Level){ .ops = spectrum_ops(),
                  .n_parts = spec->n_parts,
                  .n_in = spec->n_in,
                  .n_out = spec->n_out,
                  .rows = rows,
                  .cols = cols,
                  .pitch = row_cells * SPECTRUM_CELL,
                  .batch = rows > 1U ? SPECTRUM_CELL : row_cells * SPECTRUM_CELL,
                  .n_batches = rows > 1U ? row_cells : 1U,
                  .row_cells = row_cells,
                  .plane_floats = 2U * (size_t)rows * row_cells * SPECTRUM_CELL };
}

LevelBytes
level_measure(const LevelSpec* const spec)
{
  const Level level = level_of(spec);
  const size_t constant_floats = 2U * (size_t)level.rows + level.plane_floats + n_filters(&level);
  const size_t design_floats = 2U * level.plane_floats + scratch_floats(&level);
  return (LevelBytes){ .constant = sizeof(Level) + constant_floats * sizeof(float),
                       .design = design_floats * sizeof(float),
                       .state = state_bytes(&level),
                       .scratch_floats = scratch_floats(&level) };
}

Status
level_new(const LevelSpec* const spec, Level** const level, Error* const error)
{
  Level* const made = calloc(1, sizeof(Level));
  if (!made) {
    return error_set(error, STATUS_NO_MEM, "no memory for a convolution");
  }
  *made = level_of(spec);
  Status status = fft_acquire(made->cols, 1, &made->row_fft, error);
  if (!status && made->rows > 1U) {
    status = fft_acquire(made->rows, SPECTRUM_CELL, &made->column_fft, error);
  }
  status = status ? status : design(made, spec, error);
  if (status) {
    level_free(made);
    return status;
  }
  *level = made;
  return STATUS_OK;
}

void
level_free(Level* const level)
{
  if (level) {
    fft_release(level->row_fft);
    fft_release(level->column_fft);
    free(level->weights);
    free(level->twiddles);
    free(level->filters);
    free(level);
  }
}

// ---- running it ----

void
level_rest(void* const state)
{
  ((LevelState*)state)->newest = 0;
}

uint32_t
level_n_units(const Level* const level)
{
  return (level->n_in + level->n_out) * level->n_batches + level->rows;
}

uint64_t
level_cost(const Level* const level)
{
  const uint32_t first_row = level->n_in * level->n_batches;
  return (uint64_t)(level->n_in + level->n_out) * level->n_batches * level_unit_cost(level, 0) +
         (uint64_t)level->rows * level_unit_cost(level, first_row);
}

uint32_t
level_unit_cost(const Level* const level, const uint32_t unit)
{
  const uint32_t first_row = level->n_in * level->n_batches;
  if (unit < first_row || unit >= first_row + level->rows) {
    return FOLD_COST * level->rows * level->batch;
  }
  return level->cols * (ROW_FFT_COST * (level->n_in + level->n_out) +
                        level->n_in * level->n_out * level->n_parts);
}

void
level_step(const Level* const level, void* const state)
{
  LevelState* const now = state;
  now->newest = (now->newest ? now->newest : level->n_parts) - 1U;
}

void
level_work(const Level* const level, const LevelIo* const io, const uint32_t unit)
{
  const uint32_t first_row = level->n_in * level->n_batches;
  const uint32_t first_out = first_row + level->rows;
  if (unit < first_row) {
    const uint32_t i = unit / level->n_batches;
    columns_in(level, io->early + i * io->in_stride, io->late + i * io->in_stride,
               unit % level->n_batches, plane_of(level, io->state, i), io->scratch);
  } else if (unit < first_out) {
    work_row(level, io, unit - first_row);
  } else {
    const uint32_t o = (unit - first_out) / level->n_batches;
    columns_out(level, plane_of(level, io->state, o), (unit - first_out) % level->n_batches,
                io->scratch, io->sum + o * io->sum_stride);
  }
}
