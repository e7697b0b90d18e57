// SPDX-License-Identifier: GPL-3.0-or-later
/**
   matrix: any number of inputs and outputs.  Each output is the sum of all inputs, each times its
   coefficient:

     out[r][i] = sum over c of coefficients[r][c] * in[c][i],   added in the order of c

   Coefficients are structural: the engine cross-fades when they change.
*/

#include "engine/base/number.h"
#include "engine/base/simd.h"
#include "engine/contract/effect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_COEFFICIENT 1000.0 // 60 dB: a larger value is probably a typing error

// Tile of kernels/fx_matrix.cu.
#define TILE_ROWS   8U
#define TILE_FRAMES 64U

enum { ROWS, FILE_NAME };

// clang-format off
static const FxParam matrix_params[] = {
  //              id      kind        unit       min  max  initial
  [ROWS]      = { "rows", PARAM_TEXT, UNIT_NONE, 0.0, 0.0,     0.0, .structural = true, .help = "A row of coefficients per output, as in \"1 0; 0.5 -6dB\"; none passes all" },
  [FILE_NAME] = { "file", PARAM_FILE, UNIT_NONE, 0.0, 0.0,     0.0, .structural = true, .help = "Text file with a row of coefficients per output, instead of rows" },
  FX_ENGINE_PARAMS,
};
// clang-format on

typedef struct MatrixNode {
  uint32_t n_in; ///< Connected inputs; the inputs of further columns are silent
  uint32_t n_rows, n_columns;
  uint32_t max_block_frames;
  float coefficients[]; ///< [n_rows][n_columns]
} MatrixNode;

static MatrixNode*
matrix_alloc(const size_t n_coefficients, Error* const error)
{
  MatrixNode* const matrix = calloc(1, sizeof(MatrixNode) + n_coefficients * sizeof(float));
  if (!matrix) {
    error_set(error, STATUS_NO_MEM, "matrix: out of memory");
  }
  return matrix;
}

/// Read a coefficient, linear or followed by "dB", and move `at` past it; NaN if there is none.
static double
read_coefficient(const char** const at)
{
  Decimal decimal;
  if (!number_scan(*at, &decimal)) {
    return NAN;
  }
  double value = number_value(&decimal, 0);
  *at = decimal.end;
  if (!strncasecmp(*at, "dB", 2)) {
    value = pow(10.0, value / 20.0);
    *at += 2;
  }
  return **at == '\0' || strchr(" \t,;", **at) ? value : NAN;
}

static Status
check_coefficient(const double value, const uint32_t row, const uint32_t column, Error* const error)
{
  return fabs(value) <= MAX_COEFFICIENT // false for NaN
             ? STATUS_OK
             : error_set(error, STATUS_BAD_RACK,
                         "matrix: row %u has no coefficient from -1000 to 1000 in place %u; write "
                         "0.5 or -6dB",
                         row + 1U, column + 1U);
}

/// Check a row that has been read; the first row sets the number of columns.
static Status
end_row(MatrixNode* const matrix, const uint32_t n_columns, Error* const error)
{
  if (matrix->n_rows == 0U) {
    matrix->n_columns = n_columns;
  }
  const uint32_t row = ++matrix->n_rows;
  if (n_columns != matrix->n_columns) {
    return error_set(error, STATUS_BAD_RACK,
                     "matrix: row %u has %u coefficients, the first has %u; make them equal", row,
                     n_columns, matrix->n_columns);
  }
  if (row > FX_MAX_CHANNELS || n_columns > FX_MAX_CHANNELS) {
    return error_set(error, STATUS_LIMIT, "matrix: at most %u rows and %u columns", FX_MAX_CHANNELS,
                     FX_MAX_CHANNELS);
  }
  return STATUS_OK;
}

/// Read all rows: they end with ";", and spaces or commas separate coefficients.
static Status
read_rows(const char* const text, MatrixNode* const matrix, Error* const error)
{
  size_t n = 0;
  uint32_t column = 0;
  for (const char* at = text;;) {
    at += strspn(at, " \t,");
    const bool ends_row = *at == ';' || *at == '\0';
    if (ends_row && column) {
      const Status status = end_row(matrix, column, error);
      if (status || *at == '\0') {
        return status;
      }
      column = 0;
      ++at;
      continue;
    }
    const double value = read_coefficient(&at); // NaN where a row is empty
    const Status status = check_coefficient(value, matrix->n_rows, column, error);
    if (status) {
      return status;
    }
    matrix->coefficients[n++] = (float)value;
    ++column;
  }
}

/// Refuse decimal commas in rows that end with ";".
static Status
check_commas(const char* const text, Error* const error)
{
  NumberCommas commas = { 0 };
  char* const rows = strdup(text);
  if (!rows) {
    return error_set(error, STATUS_NO_MEM, "matrix: out of memory");
  }
  char* rest = NULL;
  for (char* row = strtok_r(rows, ";", &rest); row; row = strtok_r(NULL, ";", &rest)) {
    number_commas_look(&commas, row);
  }
  free(rows);
  return number_commas_are_decimal(&commas, false)
             ? error_set(error, STATUS_BAD_RACK, "matrix: " NUMBER_COMMAS_HINT)
             : STATUS_OK;
}

static Status
from_text(const char* const text, MatrixNode** const matrix, Error* const error)
{
  const Status status = check_commas(text, error);
  if (status) {
    return status;
  }
  *matrix =
      matrix_alloc(strlen(text) / 2U + 1U,
                   error); // upper bound: "1 1" has a digit and a separator for each coefficient
  return *matrix ? read_rows(text, *matrix, error) : STATUS_NO_MEM;
}

static Status
from_file(const FxFile* const file, MatrixNode** const matrix, Error* const error)
{
  if (file->is_audio) {
    return error_set(error, STATUS_BAD_RACK,
                     "matrix: \"%s\" holds audio; a text file with rows of numbers is needed",
                     file->name);
  }
  if (file->n_channels > FX_MAX_CHANNELS || file->n_frames > FX_MAX_CHANNELS) {
    return error_set(error, STATUS_LIMIT, "matrix: \"%s\" has more than %u rows or columns",
                     file->name, FX_MAX_CHANNELS);
  }
  const uint32_t n_columns = (uint32_t)file->n_frames;
  *matrix = matrix_alloc((size_t)file->n_channels * n_columns, error);
  if (!*matrix) {
    return STATUS_NO_MEM;
  }
  for (uint32_t r = 0; r < file->n_channels; ++r) {
    for (uint32_t c = 0; c < n_columns; ++c) {
      const float value = file->samples[(size_t)r * n_columns + c];
      const Status status = check_coefficient(value, r, c, error);
      if (status) {
        return status;
      }
      (*matrix)->coefficients[(size_t)r * n_columns + c] = value;
    }
  }
  (*matrix)->n_rows = file->n_channels;
  (*matrix)->n_columns = n_columns;
  return STATUS_OK;
}

static Status
identity(const uint32_t n, MatrixNode** const matrix, Error* const error)
{
  *matrix = matrix_alloc((size_t)n * n, error);
  if (!*matrix) {
    return STATUS_NO_MEM;
  }
  (*matrix)->n_rows = (*matrix)->n_columns = n;
  for (uint32_t i = 0; i < n; ++i) {
    (*matrix)->coefficients[(size_t)i * n + i] = 1.0F;
  }
  return STATUS_OK;
}

static Status
matrix_create(const FxSetup* const setup, FxShape* const shape, void** const node,
              Error* const error)
{
  const char* const rows = setup->texts[ROWS];
  const FxFile* const file = setup->files[FILE_NAME];
  MatrixNode* matrix = NULL;
  Status status = STATUS_OK;
  if (rows && *rows && file) {
    return error_set(error, STATUS_BAD_RACK, "matrix: both rows and file are given; keep one");
  }
  if (rows && *rows) {
    status = from_text(rows, &matrix, error);
  } else if (file) {
    status = from_file(file, &matrix, error);
  } else {
    status = identity(setup->n_in, &matrix, error);
  }
  if (!status && setup->n_in > matrix->n_columns) {
    status = error_set(
        error, STATUS_BAD_RACK,
        "matrix: the input has %u channels, but rows have %u coefficients; write one for each",
        setup->n_in, matrix->n_columns);
  }
  if (status) {
    free(matrix);
    return status;
  }
  matrix->n_in = setup->n_in;
  matrix->max_block_frames = setup->max_block_frames;
  shape->unit_in = setup->n_in;
  shape->unit_out = matrix->n_rows;
  *node = matrix;
  return STATUS_OK;
}

static void
matrix_unit_init(const void* const node, void* const state, const uint32_t channel)
{
  (void)node; // the node has no state
  (void)state;
  (void)channel;
}

VECTOR_CLONES static void
add_scaled(const float* const restrict in, float* const restrict out, const float coefficient,
           const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; ++i) {
    out[i] += in[i] * coefficient;
  }
}

static void
matrix_run(const FxUnit* const units, const uint32_t n_units, const uint32_t n_frames)
{
  for (uint32_t u = 0; u < n_units; ++u) {
    const MatrixNode* const matrix = units[u].node;
    for (uint32_t r = 0; r < matrix->n_rows; ++r) {
      const float* const row = matrix->coefficients + (size_t)r * matrix->n_columns;
      memset(units[u].out[r], 0, n_frames * sizeof(float));
      for (uint32_t c = 0; c < matrix->n_in; ++c) {
        if (row[c] != 0.0F) {
          add_scaled(units[u].in[c], units[u].out[r], row[c], n_frames);
        }
      }
    }
  }
}

// ---- the kernel: each tile of rows has an entry for each column with a nonzero coefficient ----

static uint32_t
n_row_tiles(const MatrixNode* const matrix)
{
  return (matrix->n_rows + TILE_ROWS - 1U) / TILE_ROWS;
}

/// Read the coefficients of an entry, 0 after the last row; returns false if all are 0.
static bool
read_entry(const MatrixNode* const matrix, const uint32_t tile, const uint32_t column,
           float* const coefficients)
{
  bool has_output = false;
  for (uint32_t r = 0; r < TILE_ROWS; ++r) {
    const uint32_t row = tile * TILE_ROWS + r;
    coefficients[r] = row < matrix->n_rows
                          ? matrix->coefficients[(size_t)row * matrix->n_columns + column]
                          : 0.0F;
    has_output = has_output || coefficients[r] != 0.0F;
  }
  return has_output;
}

static uint32_t
n_entries(const MatrixNode* const matrix)
{
  float coefficients[TILE_ROWS];
  uint32_t n = 0;
  for (uint32_t tile = 0; tile < n_row_tiles(matrix); ++tile) {
    for (uint32_t c = 0; c < matrix->n_in; ++c) {
      n += read_entry(matrix, tile, c, coefficients);
    }
  }
  return n;
}

/// Place of the first coefficient in words, a multiple of four: after the first entries of all
/// tiles and the columns of all entries.
static uint32_t
coefficients_word(const MatrixNode* const matrix, const uint32_t n)
{
  return (n_row_tiles(matrix) + 1U + n + 3U) / 4U * 4U;
}

static void
matrix_kernel_shape(const void* const node, FxKernelShape* const shape)
{
  const MatrixNode* const matrix = node;
  const uint32_t n = n_entries(matrix);
  const uint32_t n_frame_tiles = (matrix->max_block_frames + TILE_FRAMES - 1U) / TILE_FRAMES;
  *shape = (FxKernelShape){
    .sizes = { { "ROWS", TILE_ROWS }, { "FRAMES", TILE_FRAMES }, { "INPUTS", FX_MAX_CHANNELS } },
    .passes = { { "fx_matrix", 128U, 1U, n_row_tiles(matrix) * n_frame_tiles } },
    .n_passes = 1,
    .data_words = coefficients_word(matrix, n) + (uint64_t)n * TILE_ROWS,
    .state_words = 1, // the kernel's guard needs one word
  };
}

static void
matrix_data(void* const node, uint32_t* const words)
{
  const MatrixNode* const matrix = node;
  const uint32_t n_tiles = n_row_tiles(matrix);
  uint32_t* const columns = words + n_tiles + 1U;
  uint32_t* const coefficients = words + coefficients_word(matrix, n_entries(matrix));
  float entry[TILE_ROWS];
  uint32_t n = 0;
  for (uint32_t tile = 0; tile < n_tiles; ++tile) {
    words[tile] = n;
    for (uint32_t c = 0; c < matrix->n_in; ++c) {
      if (read_entry(matrix, tile, c, entry)) {
        columns[n] = c;
        memcpy(coefficients + (size_t)n * TILE_ROWS, entry, sizeof(entry));
        ++n;
      }
    }
  }
  words[n_tiles] = n;
}

static void
matrix_pack(const void* const node, uint32_t* const words)
{
  (void)node; // all parameters are structural
  (void)words;
}

static const FxKernel matrix_kernel = {
  .file = "fx_matrix.cu",
  .shape = matrix_kernel_shape,
  .data = matrix_data,
  .pack = matrix_pack,
};

const FxInfo fx_matrix_info = {
  .name = "matrix",
  .summary = "Mix any channels into any number of channels",
  .params = matrix_params,
  .n_params = ARRAY_LEN(matrix_params),
  .tolerance = 1e-5,
  .tolerance_reason = "sums of up to 1024 products in float, fused or not",
  .create = matrix_create,
  .destroy = free,
  .unit_init = matrix_unit_init,
  .run = matrix_run,
  .kernel = &matrix_kernel,
};
