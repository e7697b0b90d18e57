// SPDX-License-Identifier: GPL-3.0-or-later
// The names that are built into nvcc, for kernels that are compiled as C++ for checked_gpu.h.

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct CheckedDim {
  unsigned x, y;
};

extern "C" CheckedDim checked_thread();
extern "C" CheckedDim checked_group();
extern "C" CheckedDim checked_n_groups();
extern "C" void checked_barrier();
extern "C" int checked_any(int is_true);
extern "C" void checked_add(unsigned* word, unsigned n);

#define threadIdx checked_thread()
#define blockIdx  checked_group()
#define gridDim   checked_n_groups()

#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(threads, groups)
#define __shared__                static __attribute__((section("local_memory")))
#define __syncthreads()           checked_barrier()
#define __syncthreads_or(is_true) checked_any(is_true)

#define CLOCK_NS() 0U

#define make_float2(x, y)       (float2{ (x), (y) })
#define make_float4(x, y, z, w) (float4{ (x), (y), (z), (w) })
#define __fmul_rn(a, b)         ((a) * (b)) // compiled without contraction to fma
#define __float_as_uint(x)      __builtin_bit_cast(unsigned, (float)(x))
#define __uint_as_float(x)      __builtin_bit_cast(float, (unsigned)(x))
#define atomicAdd(word, n)      checked_add(word, n)
#define fabsf                   __builtin_fabsf
#define floorf                  __builtin_floorf
#define fmaf                    __builtin_fmaf
#define fmaxf                   __builtin_fmaxf
#define fminf                   __builtin_fminf
#define sqrtf                   __builtin_sqrtf

template <typename T>
static T
min(const T a, const T b)
{
  return b < a ? b : a;
}

template <typename T>
static T
max(const T a, const T b)
{
  return a < b ? b : a;
}

// Begin and end of local memory.  The linker defines them if the file has local memory.
extern "C" char __start_local_memory[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_local_memory[] __attribute__((weak, visibility("hidden")));

extern "C" void
checked_local(char** const at, unsigned long* const n_bytes)
{
  *at = __start_local_memory;
  *n_bytes = __stop_local_memory - __start_local_memory;
}
