// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The filters of fx_cascade.cu for few channels and long blocks: cascade_segments.h.  The errors are
  those of fx_cascade.cu.
*/

#include "cascade_segments.h"

KERNEL
cascade_begin(STAGE_ARGS)
{
  LOCAL_ARRAY(f32, in, TILE_WORDS);
  LOCAL_ARRAY(f32, out, TILE_WORDS);
  LOCAL_ARRAY(f32, rest, TILE_WORDS);
  LOCAL_ARRAY(u32, scratch, SCRATCH_WORDS);
  block_begin(STAGE, tiles_of(in, out, rest), scratch);
}

KERNEL
cascade_probe(STAGE_ARGS)
{
  LOCAL_ARRAY(f32, out, SIGNAL_WORDS);
  LOCAL_ARRAY(f32, rest, SIGNAL_WORDS);
  LOCAL_ARRAY(u32, flag, 1);
  signals_run(STAGE, tiles_of(out, out, rest), 0, flag);
}

KERNEL
cascade_starts(STAGE_ARGS)
{
  LOCAL_ARRAY(f32, turn, 2 * COLUMNS * COLUMNS);
  LOCAL_ARRAY(f32, now, 2 * COLUMNS);
  LOCAL_ARRAY(u32, flag, 1);
  starts_run(STAGE, turn, now, flag);
}

KERNEL
cascade_play(STAGE_ARGS)
{
  LOCAL_ARRAY(f32, out, SIGNAL_WORDS);
  LOCAL_ARRAY(f32, rest, SIGNAL_WORDS);
  LOCAL_ARRAY(u32, flag, 1);
  signals_run(STAGE, tiles_of(out, out, rest), 1, flag);
}

KERNEL
cascade_end(STAGE_ARGS)
{
  LOCAL_ARRAY(f32, in, TILE_WORDS);
  LOCAL_ARRAY(f32, out, TILE_WORDS);
  LOCAL_ARRAY(f32, rest, TILE_WORDS);
  LOCAL_ARRAY(u32, scratch, SCRATCH_WORDS);
  block_end(STAGE, tiles_of(in, out, rest), scratch);
}
