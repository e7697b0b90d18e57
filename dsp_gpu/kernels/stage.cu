// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels of a stage that belong to no effect: they apply changes, bring rows from the host, write
// the rows to the host, delay connections and store sums of connections.

#include "stage.h"

#define IN_FLIGHT 4 // reads of host memory per thread at once

// Apply n changes: pairs { word, value } after the head.  With its first block a new plan sends all
// its words.
DEVICE void
apply_changes(GLOBAL const u32* const changes, GLOBAL u32* const live, const u32 n,
              const u32 n_groups)
{
  for (u32 i = GROUP_X * GROUP_SIZE + LOCAL_ID; i < n; i += n_groups * GROUP_SIZE) {
    live[changes[CHANGES_HEAD + 2 * i]] = changes[CHANGES_HEAD + 2 * i + 1];
  }
}

// Copy the first n_quads of the host's rows whose places are n_rows words of the table from
// first_row on.
DEVICE void
bring_rows(GLOBAL const u32* const table, GLOBAL const float4* const from, const u32 n_quads,
           GLOBAL float4* const host_rows, const u32 first_row, const u32 n_rows, const u32 group,
           const u32 n_groups)
{
  const u32 row_quads = table[TABLE_ROW_STRIDE] / 4;
  const u32 step = n_groups * GROUP_SIZE;
  for (u32 i = group * GROUP_SIZE + LOCAL_ID; i < n_rows * row_quads; i += IN_FLIGHT * step) {
    u32 at[IN_FLIGHT];
    u32 counts[IN_FLIGHT];
    float4 x[IN_FLIGHT];
    for (u32 b = 0; b < IN_FLIGHT; ++b) {
      const u32 row = min((i + b * step) / row_quads, n_rows - 1);
      const u32 quad = i + b * step - row * row_quads;
      at[b] = table[first_row + row] * row_quads + quad;
      counts[b] = quad < n_quads;
    }
    for (u32 b = 0; b < IN_FLIGHT; ++b) {
      x[b] = counts[b] ? from[at[b]] : F4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    for (u32 b = 0; b < IN_FLIGHT; ++b) {
      if (counts[b]) {
        host_rows[at[b]] = x[b];
      }
    }
  }
}

// The first n_apply groups apply changes, the others bring rows; both wait for host memory twice.
// n_rows is 0 if the rows from the host are on the device already.  Rows keep the alignment
// of their quads, so they begin up to three words after the start of their place.
KERNEL
stage_begin(GLOBAL const u32* const changes, GLOBAL u32* const live,
            GLOBAL const u32* const RESTRICT table, GLOBAL const f32* const from_host,
            GLOBAL float4* const host_rows, const u32 first_row, const u32 n_rows,
            const u32 n_apply)
{
  const u32 is_void = live[LIVE_IS_VOID];
  const u32 n_frames = changes[CHANGES_N_FRAMES];
  const u32 n_changes = changes[CHANGES_N];
  const u32 began_ns = CLOCK_NS();
  const u32 in_at = changes[CHANGES_IN_AT];
  const u32 out_at = changes[CHANGES_OUT_AT];
  const u32 late = in_at % 4;
  if (is_void) { // the host may be writing the next block at this moment
    if (GROUP_X == 0 && LOCAL_ID == 0) {
      live[LIVE_N_FRAMES] = 0;
    }
    return;
  }
  if (GROUP_X < n_apply) {
    apply_changes(changes, live, n_changes, n_apply);
  } else {
    bring_rows(table, (GLOBAL const float4*)(from_host + (in_at - late)), (late + n_frames + 3) / 4,
               host_rows, first_row, n_rows, GROUP_X - n_apply, N_GROUPS_X - n_apply);
  }
  if (GROUP_X == 0 && LOCAL_ID == 0) {
    live[LIVE_N_FRAMES] = n_frames;
    live[LIVE_BEGAN_NS] = began_ns;
    live[LIVE_IN_AT] = n_rows > 0 ? late : in_at;
    live[LIVE_OUT_AT] = out_at;
  }
}

// One group for each line (LINE_ words instead of a unit's): fill the rows with the output of
// delayed connections.
KERNEL
stage_delay(STAGE_ARGS)
{
  const Stage stage = STAGE;
  GLOBAL const u32* const line = table + first_unit + GROUP_X * LINE_WORDS;
  GLOBAL f32* const head = memory_at(stage, line[LINE_MEMORY]);
  GLOBAL f32* const ring = head + LINE_HEAD;
  GLOBAL const f32* const in = row_at(stage, line[LINE_FROM]);
  GLOBAL f32* const out = rows + (u64)line[LINE_TO] * stage.row_stride;
  const u32 position = BITS_OF_F32(head[0]);
  const u32 mask = line[LINE_MASK];
  for (u32 i = LOCAL_ID; i < stage.n_frames; i += GROUP_SIZE) {
    ring[(position + i) & mask] = in[i];
  }
  BARRIER();
  for (u32 i = LOCAL_ID; i < stage.n_frames; i += GROUP_SIZE) {
    out[i] = ring[(position + i - line[LINE_DELAY]) & mask];
  }
  if (LOCAL_ID == 0 && stage.n_frames > 0) {
    head[0] = F32_OF_BITS((position + stage.n_frames) & mask);
  }
}

// One group for each row (STORE_ words instead of a unit's): fill it with the sum of connections,
// in which a sample that is not finite counts as silence.
KERNEL
stage_store(STAGE_ARGS)
{
  const Stage stage = STAGE;
  const u32 at = first_unit + GROUP_X * STORE_WORDS;
  const Input input = input_of(stage, at + STORE_INPUT);
  GLOBAL f32* const out = rows + (u64)table[at + STORE_TO] * stage.row_stride;
  for (u32 i = LOCAL_ID; i < stage.n_frames; i += GROUP_SIZE) {
    const f32 y = input_at(stage, input, i);
    out[i] = is_finite(y) ? y : 0.0f;
  }
}

// The groups of each x write a row to the host (INPUT_ words instead of a unit's), one thread for
// each frame; there is at least one group.  report: REPORT_WORDS words.
KERNEL
stage_end(STAGE_ARGS, GLOBAL u32* const report)
{
  const Stage stage = STAGE;
  const u32 frame = GROUP_Y * GROUP_SIZE + LOCAL_ID;
  if (GROUP_X < n_units && frame < stage.n_frames) {
    const Input input = input_of(stage, first_unit + GROUP_X * INPUT_WORDS);
    stage.to_host[(u64)GROUP_X * stage.row_stride + frame] = input_at(stage, input, frame);
  }
  if (GROUP_X == 0 && GROUP_Y == 0 && LOCAL_ID == 0) {
    report[REPORT_N_RESETS] = live[LIVE_N_RESETS];
    report[REPORT_NS] = CLOCK_NS() - live[LIVE_BEGAN_NS];
  }
}
