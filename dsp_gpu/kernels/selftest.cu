// SPDX-License-Identifier: GPL-3.0-or-later
// Uses every name of the dialect once, for the tests of the drivers (tests/support/gpu_checks.c);
// and kernels that measure the cost of a submission and the speed of memory.

// Sum of an array in local memory, whose length is a power of two: halves it until one value is
// left.
DEVICE f32
local_sum(LOCAL_POINTER f32* const values)
{
  for (u32 width = GROUP_SIZE / 2; width > 0; width /= 2) {
    BARRIER();
    if (LOCAL_ID < width) {
      values[LOCAL_ID] += values[LOCAL_ID + width];
    }
  }
  BARRIER();
  return values[0];
}

// Grid in x and y; each thread writes its position. out: [y groups][x groups][GROUP_SIZE]
KERNEL
selftest_ids(GLOBAL u32* const out)
{
  const u32 group = GROUP_Y * N_GROUPS_X + GROUP_X;
  out[group * GROUP_SIZE + LOCAL_ID] =
      (N_GROUPS_Y << 28) | (N_GROUPS_X << 24) | (GROUP_Y << 20) | (GROUP_X << 16) | LOCAL_ID;
}

// One group in x for each row of `length` values; sums[row]: their sum, through local memory.
KERNEL
selftest_sums(GLOBAL const f32* const rows, GLOBAL f32* const sums, const u32 length)
{
  LOCAL_ARRAY(f32, values, GROUP_SIZE);

  f32 sum = 0.0f;
  for (u32 i = LOCAL_ID; i < length; i += GROUP_SIZE) {
    sum += rows[GROUP_X * length + i];
  }
  values[LOCAL_ID] = sum;
  const f32 group_sum = local_sum(values);
  if (LOCAL_ID == GROUP_SIZE - 1) {
    sums[GROUP_X] = group_sum;
  }
}

// any[i]: whether a flag of its group is not 0, as thread i sees it.
KERNEL
selftest_any(GLOBAL const u32* const flags, GLOBAL u32* const any)
{
  LOCAL_ARRAY(u32, flag, 1);
  const u32 i = GROUP_X * GROUP_SIZE + LOCAL_ID;
  any[i] = group_any(flags[i], flag) ? 1 : 0;
}

// One thread; results in the order of the lines below.
KERNEL
selftest_arithmetic(GLOBAL const float4* const in, GLOBAL float4* const vectors,
                    GLOBAL f32* const numbers, GLOBAL u32* const bits, const f32 tiny,
                    const u32 index)
{
  const float4 a = in[0];
  const float4 b = in[1];
  const float2 c = F2(a.x, a.y) * 2.0f + F2(b.z, b.w);
  if (GROUP_X == 0 && LOCAL_ID == 0) {
    vectors[0] = (a + b) * F4(1.0f, 2.0f, 3.0f, 4.0f) - b * 0.5f;
    vectors[1] = FMA(a, b, F4(c.x, c.y, 0.0f, 1.0f));
    numbers[0] = FMA(a.x, b.x, c.x);
    numbers[1] = FMA(c, c, c).y;
    numbers[2] = FMIN(a.x, b.x);
    numbers[3] = FMAX(a.x, b.x);
    numbers[4] = FABS(-a.y);
    numbers[5] = FLOOR(-a.y / 3.0f);
    numbers[6] = SQRT(a.w);
    numbers[7] = flush_denormal(tiny);
    numbers[8] = flush_denormal(-a.x);
    numbers[9] = F32_OF_BITS(BITS_OF_F32(a.x) ^ 0x80000000U);
    const float2 product = exact_product(b.x, -c.y);
    const float2 sum = exact_sum(b.x, product.x); // must not become a fused multiply-add
    const float2 ordered = exact_sum_ordered(a.w, b.x);
    numbers[10] = product.x;
    numbers[11] = product.y;
    numbers[12] = sum.x;
    numbers[13] = sum.y;
    numbers[14] = ordered.x;
    numbers[15] = ordered.y;
    bits[0] = BITS_OF_F32(a.x);
    bits[1] = (u32)min((i32)index - 5, -1);
    bits[2] = max(index, 2U);
    bits[3] = (u32)(((u64)index << 40) >> 32);
  }
}

// out[i] = in[i] * gain for i < length.
KERNEL_OF(512)
selftest_scale(GLOBAL const f32* const in, GLOBAL f32* const out, const f32 gain, const u32 length)
{
  const u32 i = GROUP_X * GROUP_SIZE + LOCAL_ID;
  if (i < length) {
    out[i] = in[i] * gain;
  }
}

// Quads of floats, one for each thread: full groups.
KERNEL
selftest_copy(GLOBAL const float4* const in, GLOBAL float4* const out)
{
  const u32 i = GROUP_X * GROUP_SIZE + LOCAL_ID;
  out[i] = in[i];
}

// state[i] = state[i] / 2 + in[i], and out[i] = state[i]: the result shows the order of
// submissions.
KERNEL
selftest_history(GLOBAL const f32* const in, GLOBAL f32* const state, GLOBAL f32* const out)
{
  const u32 i = GROUP_X * GROUP_SIZE + LOCAL_ID;
  const f32 value = state[i] * 0.5f + in[i];
  state[i] = value;
  out[i] = value;
}
