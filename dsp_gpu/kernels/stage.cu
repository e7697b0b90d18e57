// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels of a stage that belong to no effect: they apply changes, write the output rows, delay
// connections and store sums of connections.

#include "stage.h"

// Apply the host's changes: CHANGES_HEAD words, then pairs { word, value }.  With its first block a
// new plan sends all its words.  Each iteration of the loop waits for one latency of host memory:
// hence many groups.
KERNEL
stage_begin(GLOBAL const u32* const changes, GLOBAL u32* const live)
{
  const u32 n = changes[CHANGES_N];
  for (u32 i = GROUP_X * GROUP_SIZE + LOCAL_ID; i < n; i += N_GROUPS_X * GROUP_SIZE) {
    live[changes[CHANGES_HEAD + 2 * i]] = changes[CHANGES_HEAD + 2 * i + 1];
  }
  if (GROUP_X == 0 && LOCAL_ID == 0) {
    live[LIVE_N_FRAMES] = changes[CHANGES_N_FRAMES];
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

// One group for each row that goes to the host (INPUT_ words instead of a unit's), at least one.
// report: REPORT_WORDS words.
KERNEL
stage_end(STAGE_ARGS, GLOBAL u32* const report)
{
  const Stage stage = STAGE;
  if (GROUP_X < n_units) {
    const Input input = input_of(stage, first_unit + GROUP_X * INPUT_WORDS);
    GLOBAL f32* const out = stage.to_host + (u64)GROUP_X * stage.row_stride;
    for (u32 i = LOCAL_ID; i < stage.n_frames; i += GROUP_SIZE) {
      out[i] = input_at(stage, input, i);
    }
  }
  if (GROUP_X == 0 && LOCAL_ID == 0) {
    report[REPORT_N_RESETS] = live[LIVE_N_RESETS];
  }
}
