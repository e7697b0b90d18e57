// SPDX-License-Identifier: GPL-3.0-or-later
// Convert steps to tables and launches.

#include "stage_tables.h"

#include "stage_parts.h"

#include "dsp_gpu/kernels/layout.h"
#include "engine/contract/mix_link.h"

#include <stdlib.h>
#include <string.h>

#define ROW_ALIGNMENT 16U // words: 64 bytes
#define END_GROUP     64U // threads of stage_end

/// The unit that wrote a row: the last one of a chain so far.
typedef struct Writer {
  const FxKernel* kernel; ///< NULL: no unit wrote it
  const DeviceMemory* memory;
  uint32_t word;      ///< Its UNIT_ words
  uint32_t head_word; ///< UNIT_ words of the chain's first unit
  uint32_t n_chained; ///< Units in the chain
  uint32_t n_parts;   ///< Parts of these units
  uint32_t n_readers; ///< Connections that read the output
} Writer;

/// State of the traversal of the steps.
typedef struct Follow {
  const StageSpec* spec;
  StageTables* tables;
  uint32_t* written;    ///< [n_rows] the row's number on the device + 1, or 0: not written yet
  Writer* writers;      ///< [n_rows]
  const MixRow** mixed; ///< [n_rows] the mix that produces the row, or NULL
  uint32_t* n_readers;  ///< [all units + 1] connections that read the unit's output; [0]: of rows
                        ///< that no unit wrote
  uint32_t n_before;    ///< Units of the steps before the current one
  uint32_t* host_row;   ///< [n_rows] place among the rows from the host + 1, or 0
  bool* is_read;        ///< [n_rows] by that place
  uint32_t* input;      ///< [n_rows] word of the row's INPUT_ words when it is mixed, or 0
  uint32_t* param_word; ///< [n_nodes] word of the node's parameters, or 0
} Follow;

// ---- words ----

static void
ramp_words(const Ramp* const ramp, uint32_t* const words)
{
  _Static_assert(sizeof(Ramp) == RAMP_WORDS * sizeof(uint32_t), "as layout.h says");
  memcpy(words, ramp, sizeof(Ramp));
}

void
stage_link_words(const MixLink* const link, const uint32_t n_frames, uint32_t* const words)
{
  words[LINK_IS_STEADY] = mix_link_is_steady(link, n_frames);
  memcpy(&words[LINK_GAIN], &link->gain.target, sizeof(float));
  words[LINK_HOLD] = link->hold_frames;
  ramp_words(&link->gain, words + LINK_RAMP);
  ramp_words(&link->next, words + LINK_NEXT);
}

// ---- connections ----

static int
compare_links(const void* const a, const void* const b)
{
  const MixLink* const left = ((const TableLink*)a)->link;
  const MixLink* const right = ((const TableLink*)b)->link;
  return (left > right) - (left < right);
}

/// List all connections of the stage, each with its words in `live`; the first is a constant gain
/// of 1.
static Status
list_links(const StageSpec* const spec, StageTables* const tables, Error* const error)
{
  uint32_t n = 0;
  for (uint32_t s = 0; s < spec->n_steps; ++s) {
    n += spec->steps[s].n_links;
  }
  tables->links = arena_take(&tables->arena, n, sizeof(TableLink));
  if (!tables->links) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t s = 0; s < spec->n_steps; ++s) {
    for (uint32_t l = 0; l < spec->steps[s].n_links; ++l) {
      tables->links[tables->n_links++].link = spec->steps[s].links[l];
    }
  }
  qsort(tables->links, tables->n_links, sizeof(TableLink), compare_links);
  const MixLink unity = { .gain = ramp_at(1.0F), .next = ramp_at(1.0F) };
  uint32_t words[LINK_WORDS];
  stage_link_words(&unity, 1U, words);
  words_add(&tables->live, words, LINK_WORDS);
  for (uint32_t l = 0; l < tables->n_links; ++l) {
    stage_link_words(&unity, 1U, words); // the first block sends the current values
    tables->links[l].live = words_add(&tables->live, words, LINK_WORDS);
  }
  return STATUS_OK;
}

static uint32_t
link_word(const StageTables* const tables, MixLink* const link)
{
  const TableLink key = { .link = link };
  const TableLink* const found =
      bsearch(&key, tables->links, tables->n_links, sizeof(TableLink), compare_links);
  return found ? found->live : UNITY_LINK;
}

// ---- rows ----

/// The place of a row among the rows from the host.
static uint32_t
host_place(Follow* const follow, const uint32_t row)
{
  StageTables* const tables = follow->tables;
  if (!follow->host_row[row]) {
    tables->in_rows[tables->n_in++] = row;
    follow->host_row[row] = tables->n_in;
  }
  return follow->host_row[row] - 1U;
}

/// The current number of a row that a kernel reads.
static uint32_t
row_number(Follow* const follow, const uint32_t row)
{
  if (follow->written[row]) {
    return follow->written[row] - 1U;
  }
  const uint32_t place = host_place(follow, row);
  follow->is_read[place] = true;
  return ROW_FROM_HOST | place;
}

/// List the rows from the host that kernels read.
static void
list_read_rows(const Follow* const follow)
{
  StageTables* const tables = follow->tables;
  tables->read_rows = tables->table.n;
  for (uint32_t place = 0; place < tables->n_in; ++place) {
    if (follow->is_read[place]) {
      words_add(&tables->table, &place, 1U);
      ++tables->n_read;
    }
  }
}

static TableLaunch*
launch_add(StageTables* const tables)
{
  return &tables->launches[tables->n_launches++];
}

/// Give the delayed terms of a mix their own rows; one launch for each chunk that has lines.
static void
delay_terms(Follow* const follow, const StageStep* const step, uint32_t* const delayed)
{
  StageTables* const tables = follow->tables;
  const Chunk* chunk = NULL; // of the current launch
  uint32_t t = 0;
  for (uint32_t r = 0; r < step->n_rows; ++r) {
    for (uint32_t i = 0; i < step->rows[r].n_terms; ++i, ++t) {
      const MixTerm* const term = &step->rows[r].terms[i];
      const DeviceMemory* const lines = term->link->device;
      if (!lines) {
        continue;
      }
      delayed[t] = tables->n_rows++;
      const uint32_t words[LINE_WORDS] = { [LINE_FROM] = row_number(follow, term->from),
                                           [LINE_TO] = delayed[t],
                                           [LINE_MEMORY] = device_unit_quad(lines, term->channel),
                                           [LINE_DELAY] = term->link->delay_frames,
                                           [LINE_MASK] = term->link->line_mask };
      const uint32_t at = words_add(&tables->table, words, LINE_WORDS);
      if (device_memory_place(lines).chunk != chunk) {
        chunk = device_memory_place(lines).chunk;
        *launch_add(tables) = (TableLaunch){ .file = "stage.cu",
                                             .entry = "stage_delay",
                                             .group_size = STAGE_COPY_GROUP,
                                             .groups = { 0, 1 },
                                             .chunk = chunk,
                                             .first = at };
      }
      TableLaunch* const launch = &tables->launches[tables->n_launches - 1U];
      launch->groups[0] = ++launch->n_units;
    }
  }
}

/// The INPUT_ words of a row: those of its mix, or the row itself.
static void
input_words(Follow* const follow, const uint32_t row, uint32_t* const words)
{
  StageTables* const tables = follow->tables;
  if (follow->input[row]) {
    if (!tables->table.failed) {
      memcpy(words, tables->table.at + follow->input[row], INPUT_WORDS * sizeof(uint32_t));
    }
    return;
  }
  const uint32_t term[TERM_WORDS] = {
    [TERM_FROM] = row_number(follow, row), [TERM_LINK] = UNITY_LINK
  };
  words[INPUT_TERMS] = words_add(&tables->table, term, TERM_WORDS);
  words[INPUT_N_TERMS] = 1U;
  memcpy(words + INPUT_FIRST, term, sizeof(term));
}

/// Record the unit that has written a row, and the row's number for the kernels.
static void
note_written(Follow* const follow, const uint32_t row, const uint32_t number, const Writer writer)
{
  follow->written[row] = number + 1U;
  follow->writers[row] = writer;
  follow->mixed[row] = NULL;
  follow->input[row] = 0U;
}

/// Add the STORE_ words of a mixed row, which stage_store then writes.
static void
store_row(Follow* const follow, const uint32_t row)
{
  Words* const table = &follow->tables->table;
  uint32_t words[STORE_WORDS] = { [STORE_TO] = row };
  input_words(follow, row, words + STORE_INPUT);
  words_add(table, words, STORE_WORDS);
  note_written(follow, row, row, (Writer){ .kernel = NULL });
}

/// Add the launch for n rows whose words begin at `first`.
static void
launch_store(StageTables* const tables, const uint32_t first, const uint32_t n)
{
  if (n) {
    *launch_add(tables) = (TableLaunch){ .file = "stage.cu",
                                         .entry = "stage_store",
                                         .group_size = STAGE_COPY_GROUP,
                                         .groups = { n, 1U },
                                         .first = first,
                                         .n_units = n };
  }
}

/// Store the rows that a mix for switches reads, and that units only have summed so far.
static void
store_inputs(Follow* const follow, const StageStep* const step)
{
  const uint32_t first = follow->tables->table.n;
  uint32_t n = 0;
  for (uint32_t r = 0; r < step->n_rows; ++r) {
    for (uint32_t t = 0; t < step->rows[r].n_terms; ++t) {
      const uint32_t from = step->rows[r].terms[t].from;
      if (follow->mixed[from]) {
        store_row(follow, from);
        ++n;
      }
    }
  }
  launch_store(follow->tables, first, n);
}

/// Store the rows of a mix for switches, which other mixes read.
static void
store_outputs(Follow* const follow, const StageStep* const step)
{
  const uint32_t first = follow->tables->table.n;
  for (uint32_t r = 0; r < step->n_rows; ++r) {
    store_row(follow, step->rows[r].to);
  }
  launch_store(follow->tables, first, step->n_rows);
}

/// Record the terms of the rows of a mix.
static Status
follow_mix(Follow* const follow, const StageStep* const step, Error* const error)
{
  StageTables* const tables = follow->tables;
  uint32_t n_terms = 0;
  for (uint32_t r = 0; r < step->n_rows; ++r) {
    n_terms += step->rows[r].n_terms;
  }
  uint32_t* const delayed = calloc(n_terms + 1U, sizeof(uint32_t));
  if (!delayed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  if (step->is_stored) {
    store_inputs(follow, step);
  }
  delay_terms(follow, step, delayed);
  uint32_t t = 0;
  for (uint32_t r = 0; r < step->n_rows; ++r) {
    const MixRow* const row = &step->rows[r];
    const uint32_t first = tables->table.n;
    for (uint32_t i = 0; i < row->n_terms; ++i, ++t) {
      const MixTerm* const term = &row->terms[i];
      const uint32_t words[TERM_WORDS] = { [TERM_FROM] = delayed[t]
                                                             ? delayed[t]
                                                             : row_number(follow, term->from),
                                           [TERM_LINK] = link_word(tables, term->link) };
      words_add(&tables->table, words, TERM_WORDS);
    }
    uint32_t input[INPUT_WORDS] = {
      [INPUT_TERMS] = first, [INPUT_N_TERMS] = row->n_terms, [INPUT_FIRST + TERM_LINK] = UNITY_LINK
    };
    if (row->n_terms && !tables->table.failed) {
      memcpy(input + INPUT_FIRST, tables->table.at + first, TERM_WORDS * sizeof(uint32_t));
    }
    follow->input[row->to] = words_add(&tables->table, input, INPUT_WORDS);
    follow->mixed[row->to] = row;
    follow->writers[row->to] = (Writer){ .kernel = NULL };
  }
  free(delayed);
  if (step->is_stored) {
    store_outputs(follow, step);
  }
  return STATUS_OK;
}

/// Write INPUT_ words of n rows in succession; returns the word of the first.
static uint32_t
inputs_add(Follow* const follow, const uint32_t* const rows, const uint32_t n)
{
  Words inputs = { 0 };
  for (uint32_t r = 0; r < n; ++r) {
    uint32_t words[INPUT_WORDS] = { 0 };
    input_words(follow, rows[r], words);
    words_add(&inputs, words, INPUT_WORDS);
  }
  follow->tables->table.failed |= inputs.failed;
  const uint32_t at = inputs.failed ? 0U : words_add(&follow->tables->table, inputs.at, inputs.n);
  free(inputs.at);
  return at;
}

// ---- units ----

/// The word of a node's parameters; its first unit adds them to `live`.
static uint32_t
params_of(Follow* const follow, const StageStep* const step, const BatchUnit* const unit)
{
  StageTables* const tables = follow->tables;
  uint32_t* const word = &follow->param_word[unit->node_index];
  if (!*word) {
    const uint32_t n_words = unit->device->shape.param_words;
    *word = words_add(&tables->live, NULL, n_words);
    tables->nodes[tables->n_nodes++] = (TableNode){ .kernel = step->fx->kernel,
                                                    .fx = step->fx,
                                                    .node = unit->node,
                                                    .switches = unit->switches,
                                                    .n_sets = unit->n_sets,
                                                    .is_dirty = true,
                                                    .node_index = unit->node_index,
                                                    .live = *word,
                                                    .n_words = n_words };
    tables->max_param_words = n_words > tables->max_param_words ? n_words : tables->max_param_words;
  }
  return *word;
}

static void
unit_words(Follow* const follow, const StageStep* const step, const uint32_t u,
           uint32_t* const words)
{
  const BatchUnit* const unit = &step->units[u];
  const DeviceMemory* const memory = unit->device;
  words[UNIT_STATE] = device_unit_quad(memory, unit->channel);
  words[UNIT_DATA] = device_memory_place(memory).first_quad;
  words[UNIT_PARAMS] = params_of(follow, step, unit);
  words[UNIT_CHANNEL] = unit->channel;
  words[UNIT_N_IN] = unit->n_in;
  words[UNIT_N_OUT] = unit->n_out;
  words[UNIT_IN] = inputs_add(follow, unit->in_rows, unit->n_in);
  words[UNIT_OUT] = words_add(&follow->tables->table, unit->out_rows, unit->n_out);
  words[UNIT_N_PARTS] = memory->shape.n_parts; // of the unit, until stage_parts_add()
}

/// True if the units of two nodes can share launches.
static bool
run_together(const DeviceMemory* const a, const DeviceMemory* const b)
{
  if (device_memory_place(a).chunk != device_memory_place(b).chunk ||
      a->shape.n_passes != b->shape.n_passes) {
    return false;
  }
  for (uint32_t s = 0; s < FX_KERNEL_SIZES; ++s) {
    if (a->shape.sizes[s].name != b->shape.sizes[s].name ||
        a->shape.sizes[s].value != b->shape.sizes[s].value) {
      return false;
    }
  }
  for (uint32_t p = 0; p < a->shape.n_passes; ++p) {
    const FxKernelPass* const left = &a->shape.passes[p];
    const FxKernelPass* const right = &b->shape.passes[p];
    if (strcmp(left->entry, right->entry) || left->group_size != right->group_size ||
        left->units_per_group != right->units_per_group ||
        left->groups_per_unit != right->groups_per_unit) {
      return false;
    }
  }
  return true;
}

// ---- launches ----

/// Add a launch for each pass over units in the table.
static void
launch_passes(StageTables* const tables, const FxKernel* const kernel,
              const DeviceMemory* const memory, const uint32_t first, const uint32_t n_units)
{
  for (uint32_t p = 0; p < memory->shape.n_passes; ++p) {
    const FxKernelPass* const pass = &memory->shape.passes[p];
    TableLaunch* const launch = launch_add(tables);
    *launch = (TableLaunch){
      .file = memory->shape.file ? memory->shape.file : kernel->file,
      .entry = pass->entry,
      .group_size = pass->group_size,
      .groups = { (n_units + pass->units_per_group - 1U) / pass->units_per_group,
                  pass->groups_per_unit },
      .chunk = device_memory_place(memory).chunk,
      .first = first,
      .n_units = n_units,
      .lists_parts = p == 0U && memory->shape.n_parts > 0U,
    };
    memcpy(launch->sizes, memory->shape.sizes, sizeof(launch->sizes));
  }
}

/// Add the launches of all units that run together with unit `first`, and mark the units as done.
static void
launch_units(Follow* const follow, const StageStep* const step, const uint32_t first,
             bool* const done)
{
  Words* const table = &follow->tables->table;
  const DeviceMemory* const memory = step->units[first].device;
  uint32_t n_units = 0;
  for (uint32_t u = first; u < step->n_units; ++u) {
    n_units += !done[u] && run_together(memory, step->units[u].device);
  }
  const uint32_t at = words_add(table, NULL, n_units * UNIT_WORDS);
  uint32_t word = at;
  for (uint32_t u = first; u < step->n_units; ++u) {
    const BatchUnit* const unit = &step->units[u];
    if (done[u] || !run_together(memory, unit->device)) {
      continue;
    }
    uint32_t words[UNIT_WORDS] = { 0 };
    unit_words(follow, step, u, words);
    if (!table->failed) {
      memcpy(table->at + word, words, sizeof(words));
    }
    const Writer writer = { .kernel = step->fx->kernel,
                            .memory = memory,
                            .word = word,
                            .head_word = word,
                            .n_chained = 1U,
                            .n_parts = memory->shape.n_parts,
                            .n_readers = follow->n_readers[follow->n_before + u + 1U] };
    for (uint32_t c = 0; c < unit->n_out; ++c) {
      note_written(follow, unit->out_rows[c], unit->out_rows[c], writer);
    }
    done[u] = true;
    word += UNIT_WORDS;
  }
  launch_passes(follow->tables, step->fx->kernel, memory, at, n_units);
}

// ---- chains ----

/// Count the connections that read the output of each unit. writer: [n_rows] zeros.
static void
count_readers(Follow* const follow, uint32_t* const writer)
{
  const StageSpec* const spec = follow->spec;
  uint32_t* const n_readers = follow->n_readers; // [0]: rows that no unit wrote
  uint32_t n_units = 0;
  for (uint32_t s = 0; s < spec->n_steps; ++s) {
    const StageStep* const step = &spec->steps[s];
    for (uint32_t r = 0; r < step->n_rows; ++r) {
      for (uint32_t t = 0; t < step->rows[r].n_terms; ++t) {
        ++n_readers[writer[step->rows[r].terms[t].from]];
      }
      writer[step->rows[r].to] = 0U;
    }
    for (uint32_t u = 0; u < step->n_units; ++u) {
      for (uint32_t c = 0; c < step->units[u].n_in; ++c) {
        ++n_readers[writer[step->units[u].in_rows[c]]];
      }
      ++n_units;
      for (uint32_t c = 0; c < step->units[u].n_out; ++c) {
        writer[step->units[u].out_rows[c]] = n_units;
      }
    }
  }
  for (uint32_t r = 0; r < spec->n_out_rows; ++r) {
    ++n_readers[writer[spec->out_rows[r]]];
  }
}

/// The unit that wrote all inputs of a unit, if both can run in one launch; otherwise NULL.
static const Writer*
writer_before(const Follow* const follow, const StageStep* const step, const uint32_t u)
{
  const BatchUnit* const unit = &step->units[u];
  if (!step->fx->kernel->chains || unit->n_in != 1U || unit->n_out != 1U ||
      unit->switches->is_placed) { // its input is read from a row
    return NULL;
  }
  const MixRow* const mix = follow->mixed[unit->in_rows[0]];
  if (!mix || mix->n_terms != 1U || mix->terms[0].link->device) {
    return NULL;
  }
  const Writer* const before = &follow->writers[mix->terms[0].from];
  const FxKernelShape* const shape = &unit->device->shape;
  const bool follows =
      before->kernel == step->fx->kernel && before->n_readers == 1U &&
      before->n_chained < CHAIN_UNITS &&
      (!shape->most_parts || before->n_parts + shape->n_parts <= shape->most_parts) &&
      run_together(before->memory, unit->device);
  return follows ? before : NULL;
}

/// Add a unit to the chain after `before`.  The chain runs at the position of its first unit, when
/// the plan may still use the row of the output for another signal: so the output gets its own row.
static void
chain_unit(Follow* const follow, const StageStep* const step, const uint32_t u, const Writer before)
{
  StageTables* const tables = follow->tables;
  Words* const table = &tables->table;
  uint32_t words[UNIT_WORDS] = { 0 };
  unit_words(follow, step, u, words);
  words[UNIT_IN] = link_word(tables, follow->mixed[step->units[u].in_rows[0]]->terms[0].link);
  const uint32_t word = words_add(table, words, UNIT_WORDS);
  if (table->failed) {
    return;
  }
  uint32_t* const out = &table->at[table->at[before.head_word + UNIT_OUT]];
  if (before.n_chained == 1U) {
    *out = tables->n_rows++;
  }
  table->at[before.word + UNIT_NEXT] = word;
  const Writer writer = { .kernel = step->fx->kernel,
                          .memory = step->units[u].device,
                          .word = word,
                          .head_word = before.head_word,
                          .n_chained = before.n_chained + 1U,
                          .n_parts = before.n_parts + step->units[u].device->shape.n_parts,
                          .n_readers = follow->n_readers[follow->n_before + u + 1U] };
  note_written(follow, step->units[u].out_rows[0], *out, writer);
}

static Status
follow_batch(Follow* const follow, const StageStep* const step, Error* const error)
{
  bool* const done = calloc(step->n_units + 1U, sizeof(bool));
  if (!done) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t u = 0; u < step->n_units; ++u) {
    const Writer* const before = writer_before(follow, step, u);
    if (before) {
      chain_unit(follow, step, u, *before);
      done[u] = true;
    }
  }
  for (uint32_t u = 0; u < step->n_units; ++u) {
    if (!done[u]) {
      launch_units(follow, step, u, done);
    }
  }
  free(done);
  follow->n_before += step->n_units;
  return STATUS_OK;
}

static void
end_stage(Follow* const follow)
{
  StageTables* const tables = follow->tables;
  const uint32_t n_out = follow->spec->n_out_rows;
  for (uint32_t l = 0; l < tables->n_launches; ++l) {
    const TableLaunch* const launch = &tables->launches[l];
    stage_parts_add(&tables->table, launch->first, launch->lists_parts ? launch->n_units : 0U);
  }
  const uint32_t first = inputs_add(follow, follow->spec->out_rows, n_out);
  *launch_add(tables) =
      (TableLaunch){ .file = "stage.cu",
                     .entry = "stage_end",
                     .group_size = END_GROUP,
                     .groups = { n_out ? n_out : 1U,
                                 (tables->row_stride + END_GROUP - 1U) / END_GROUP },
                     .first = first,
                     .n_units = n_out,
                     .reports = true };
}

// ---- tables ----

static Status
take_tables(Follow* const follow, Error* const error)
{
  const StageSpec* const spec = follow->spec;
  StageTables* const tables = follow->tables;
  size_t n_units = 0;
  size_t n_terms = 0;
  for (uint32_t s = 0; s < spec->n_steps; ++s) {
    n_units += spec->steps[s].n_units;
    for (uint32_t r = 0; r < spec->steps[s].n_rows; ++r) {
      n_terms += spec->steps[s].rows[r].n_terms;
    }
  }
  Arena* const arena = &tables->arena;
  tables->nodes = arena_take(arena, n_units, sizeof(TableNode));
  tables->launches =
      arena_take(arena, n_units * FX_KERNEL_PASSES + n_terms + 2U * (size_t)spec->n_steps + 1U,
                 sizeof(TableLaunch));
  tables->in_rows = arena_take(arena, spec->n_rows, sizeof(uint32_t));
  follow->written = arena_take(arena, spec->n_rows, sizeof(uint32_t));
  follow->writers = arena_take(arena, spec->n_rows, sizeof(Writer));
  follow->mixed = arena_take(arena, spec->n_rows, sizeof(MixRow*));
  follow->n_readers = arena_take(arena, n_units + 1U, sizeof(uint32_t));
  uint32_t* const writer = arena_take(arena, spec->n_rows, sizeof(uint32_t));
  follow->host_row = arena_take(arena, spec->n_rows, sizeof(uint32_t));
  follow->is_read = arena_take(arena, spec->n_rows, sizeof(bool));
  follow->input = arena_take(arena, spec->n_rows, sizeof(uint32_t));
  follow->param_word = arena_take(arena, spec->n_nodes, sizeof(uint32_t));
  if (arena->failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  count_readers(follow, writer);
  return STATUS_OK;
}

Status
stage_tables_new(const StageSpec* const spec, StageTables* const tables, Error* const error)
{
  *tables = (StageTables){ .n_rows = spec->n_rows,
                           .row_stride = (spec->max_block_frames + ROW_ALIGNMENT - 1U) &
                                         ~(ROW_ALIGNMENT - 1U) };
  Follow follow = { .spec = spec, .tables = tables };
  Status status = take_tables(&follow, error);
  words_add(&tables->table, NULL, TABLE_HEAD);
  words_add(&tables->live, NULL, LIVE_HEAD);
  status = status ? status : list_links(spec, tables, error);
  for (uint32_t c = 0; !status && c < spec->n_in; ++c) {
    host_place(&follow, c);
  }
  for (uint32_t s = 0; !status && s < spec->n_steps; ++s) {
    const StageStep* const step = &spec->steps[s];
    status = step->kind == STEP_MIX ? follow_mix(&follow, step, error)
                                    : follow_batch(&follow, step, error);
  }
  if (!status) {
    end_stage(&follow);
    list_read_rows(&follow);
    if (tables->table.failed || tables->live.failed) {
      status = error_set(error, STATUS_NO_MEM, "out of memory");
    } else {
      tables->table.at[TABLE_ROW_STRIDE] = tables->row_stride;
    }
  }
  if (status) {
    stage_tables_clear(tables);
  }
  return status;
}

void
stage_tables_clear(StageTables* const tables)
{
  arena_clear(&tables->arena);
  free(tables->table.at);
  free(tables->live.at);
  *tables = (StageTables){ .n_rows = 0 };
}
