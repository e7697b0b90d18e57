// SPDX-License-Identifier: GPL-3.0-or-later
// convolver and fir, where one group would take too long for a unit (dsp_cpu/partition_kernel.c):
// several inputs or outputs, many products, long blocks.  convolver.h has the method.
//
// There are four launches, with these groups for each unit in y.  *Pieces* is the number of groups
// that take the pieces of a block in turn.
//
//   in         n_in x pieces      hop -> spectrum -> delay line of spectra;  samples -> ring
//   (tail)   + n_in               ring -> spectrum of a partition, at the start of a period
//   products   n_out x slices x pieces   sums over inputs and partitions, the slices' own
//   (tail)   + n_out x slices            a part of the bins in every hop of the period
//   out        n_out x pieces     sums -> samples, + the tail's, mixed with the input
//   (tail)   + n_out              sums -> samples for the next period, in its last hop
//   end        1                  resets a unit with non-finite output; stores the progress
//
// Sizes: those of convolver.h.  Local memory: two transforms of the larger size, 32 KB at most; a
// row and 4 KB for products.

#include "convolver.h"

KERNEL
fx_convolver_in(STAGE_ARGS)
{
  LOCAL_ARRAY(float2, a, MOST_POINTS);
  LOCAL_ARRAY(float2, b, MOST_POINTS);
  const Stage stage = STAGE;
  const Place place = place_of(stage, GROUP_X);
  const u32 n_groups = N_GROUPS_Y / place.n_in - (TAIL_POINTS ? 1 : 0); // for the pieces
  const u32 group = GROUP_Y / place.n_in;
  take_in(stage, place, TAIL_POINTS && group == n_groups, GROUP_X, GROUP_Y % place.n_in, group,
          n_groups, a, b);
}

KERNEL_OF(512)
fx_convolver_products(STAGE_ARGS)
{
  LOCAL_ARRAY(float4, sums, ROW_QUADS);
  LOCAL_ARRAY(float4, scratch, GROUP_SIZE);
  const Stage stage = STAGE;
  const Place place = place_of(stage, GROUP_X);
  const u32 n_slices = word_of(place.data, PARTITION_SLICES);
  const u32 n_tail_slices = word_of(place.data, PARTITION_TAIL_SLICES);
  const u32 n_head = place.n_out * n_slices; // groups that share a piece
  const u32 n_groups = (N_GROUPS_Y - place.n_out * n_tail_slices) / n_head; // for the pieces
  const u32 is_tail = TAIL_POINTS && GROUP_Y >= n_groups * n_head;
  const u32 sum = is_tail ? GROUP_Y - n_groups * n_head : GROUP_Y % n_head;
  const u32 n_each = is_tail ? n_tail_slices : n_slices;
  sum_products(stage, place, is_tail, GROUP_X, sum / n_each, sum % n_each, GROUP_Y / n_head,
               n_groups, sums, scratch);
}

KERNEL
fx_convolver_out(STAGE_ARGS)
{
  LOCAL_ARRAY(float2, a, MOST_POINTS);
  LOCAL_ARRAY(float2, b, MOST_POINTS);
  const Stage stage = STAGE;
  const Place place = place_of(stage, GROUP_X);
  const u32 output = GROUP_Y % place.n_out;
  const u32 n_groups = N_GROUPS_Y / place.n_out - (TAIL_POINTS ? 1 : 0); // for the pieces
  const u32 group = GROUP_Y / place.n_out;
  if (give_out(stage, place, TAIL_POINTS && group == n_groups, GROUP_X, output, group, n_groups, a,
               b)) {
    note_bad(place, output);
  }
}

KERNEL
fx_convolver_end(STAGE_ARGS)
{
  LOCAL_ARRAY(u32, flag, 1);
  const Stage stage = STAGE;
  end_unit(stage, GROUP_X, flag);
}
