// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Fourier transforms in local memory, of a power of two of complex points, by one group.

  Method: Stockham's transform, radix 4, whose output is in order without another pass; as in
  Govindaraju et al., "High Performance Discrete Fourier Transforms on Graphics Processors", SC
  2008, section 4.  The points move between two arrays, with one barrier for each pass.  The host
  supplies the roots of unity.
*/
#ifndef WARPRACK_DSP_GPU_KERNELS_FFT_H
#define WARPRACK_DSP_GPU_KERNELS_FFT_H

DEVICE float2
complex_times(const float2 a, const float2 b)
{
  return F2(FMA(a.x, b.x, -(a.y * b.y)), FMA(a.x, b.y, a.y * b.x));
}

// a times the conjugate of b.
DEVICE float2
complex_over(const float2 a, const float2 b)
{
  return F2(FMA(a.x, b.x, a.y * b.y), FMA(a.y, b.x, -(a.x * b.y)));
}

// First pass: transforms of two points each; nothing for n = 0.
DEVICE void
fft_pairs(LOCAL_POINTER const float2* const from, LOCAL_POINTER float2* const to, const u32 n)
{
  for (u32 j = LOCAL_ID; j < n / 2; j += GROUP_SIZE) {
    const float2 a = from[j];
    const float2 b = from[j + n / 2];
    to[2 * j] = a + b;
    to[2 * j + 1] = a - b;
  }
  BARRIER();
}

// Combine transforms of `width` points to transforms of four times the length. step: n / (4
// width).
DEVICE void
fft_fours(LOCAL_POINTER const float2* const from, LOCAL_POINTER float2* const to,
          GLOBAL const float2* const roots, const u32 n, const u32 width, const u32 step,
          const f32 sign)
{
  for (u32 j = LOCAL_ID; j < n / 4; j += GROUP_SIZE) {
    const u32 k = j & (width - 1);
    const float2 w1 = roots[k * step];
    const float2 w2 = roots[2 * k * step];
    const float2 w3 = roots[3 * k * step];
    const float2 a = from[j];
    const float2 b = complex_times(from[j + n / 4], F2(w1.x, sign * w1.y));
    const float2 c = complex_times(from[j + n / 2], F2(w2.x, sign * w2.y));
    const float2 d = complex_times(from[j + 3 * (n / 4)], F2(w3.x, sign * w3.y));
    const float2 even = a + c;
    const float2 even_turned = a - c;
    const float2 odd = b + d;
    const float2 odd_turned = F2(sign * (b.y - d.y), sign * (d.x - b.x));
    const u32 at = 4 * (j - k) + k;
    to[at] = even + odd;
    to[at + width] = even_turned + odd_turned;
    to[at + 2 * width] = even - odd;
    to[at + 3 * width] = even_turned - odd_turned;
  }
  BARRIER();
}

// Transform n >= 8 points, or none, with all threads, which pass the same n.  The caller has a
// barrier before the call; the function ends with one.  Input in a; returns the array with the
// result, a or b.
// roots: n times exp(-2 pi i k / n). sign: 1, or -1 for the inverse, which is not scaled.
DEVICE LOCAL_POINTER float2*
fft(LOCAL_POINTER float2* const a, LOCAL_POINTER float2* const b, GLOBAL const float2* const roots,
    const u32 n, const f32 sign)
{
  // For PoCL, which copies all code after a barrier that depends on n, the first pass always runs.
  const u32 is_odd = (n & 0xAAAAAAAAU) != 0; // an odd power of two
  fft_pairs(a, b, is_odd ? n : 0);
  LOCAL_POINTER float2* from = is_odd ? b : a;
  LOCAL_POINTER float2* to = is_odd ? a : b;
  u32 width = is_odd ? 2 : 1;
  u32 step = n / (4 * width);
  do {
    fft_fours(from, to, roots, n, width, step, sign);
    LOCAL_POINTER float2* const swapped = from;
    from = to;
    to = swapped;
    step /= 4;
    width *= 4;
  } while (step > 0);
  return from;
}

#endif
