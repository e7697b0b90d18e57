// SPDX-License-Identifier: GPL-3.0-or-later
/**
   One language for kernels on CUDA C++ (NVRTC and nvcc) and OpenCL C 1.2.  gpu_compile.c puts this
   text in front of every kernel file; DIALECT.md explains each name and the rules of the subset
   that both languages understand.

   Every compilation defines GROUP_SIZE, the number of threads of a group: -DGROUP_SIZE=n.
*/
#ifndef WARPRACK_DSP_GPU_KERNELS_DIALECT_H
#define WARPRACK_DSP_GPU_KERNELS_DIALECT_H

#ifndef GROUP_SIZE
#error "GROUP_SIZE is not defined"
#elif GROUP_SIZE % 32 || GROUP_SIZE > 256 // hardware runs sets of 32 threads
#error "GROUP_SIZE has to be a multiple of 32 and at most 256"
#endif

#ifdef __OPENCL_C_VERSION__

// ---- OpenCL C ----

#pragma OPENCL FP_CONTRACT ON

typedef int i32;
typedef uint u32;
typedef ulong u64;
typedef float f32;
#if HAS_FAST_F64 // an option of the compilation
typedef double f64;
#endif

#define KERNEL        __kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1))) void
#define KERNEL_OF(n)  KERNEL
#define DEVICE        static inline
#define GLOBAL        __global
#define LOCAL_POINTER __local
#define RESTRICT      restrict

#define LOCAL_ARRAY(type, name, length) __local type name[length]

#define LOCAL_ID   ((u32)get_local_id(0))
#define GROUP_X    ((u32)get_group_id(0))
#define GROUP_Y    ((u32)get_group_id(1))
#define N_GROUPS_X ((u32)get_num_groups(0))
#define N_GROUPS_Y ((u32)get_num_groups(1))

#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

#define F2(x, y)       ((float2)(x, y))
#define F4(x, y, z, w) ((float4)(x, y, z, w))

// A fused multiply-add only if the device has the instruction; the emulation is many times slower.
#ifdef FP_FAST_FMAF
#define FMA(a, b, c) fma(a, b, c)
#else
#define FMA(a, b, c) ((a) * (b) + (c))
#endif

// A rounded product and its rounding error.
DEVICE float2
exact_product(const f32 a, const f32 b)
{
#pragma OPENCL FP_CONTRACT OFF
  const f32 rounded = a * b;
  return F2(rounded, fma(a, b, -rounded)); // not FMA(), which may round twice
}

// A barrier.  True if is_true is not 0 in any thread of the group.
DEVICE u32
group_any(const u32 is_true, __local u32* const flag)
{
  BARRIER();
  if (LOCAL_ID == 0) {
    flag[0] = 0;
  }
  BARRIER();
  if (is_true) {
    flag[0] = 1;
  }
  BARRIER();
  return flag[0];
}

#define ATOMIC_INC(word) atomic_inc((volatile __global uint*)(word))

#define CLOCK_NS() 0U // OpenCL has no clock for kernels

#define BITS_OF_F32(x) as_uint(x)
#define F32_OF_BITS(x) as_float(x)

#define BITS_OF_F64(x)    as_float2(x)
#define F64_OF_BITS(x, y) as_double(F2(x, y))

#define FABS(x)    fabs(x)
#define FLOOR(x)   floor(x)
#define FMAX(a, b) fmax(a, b)
#define FMIN(a, b) fmin(a, b)
#define SQRT(x)    sqrt(x)

#else

// ---- CUDA C++ ----

typedef int i32;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;

// Architectures with half as many units for doubles as for floats; others have a 32nd or a 64th.
#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000
#define HAS_FAST_F64 1
typedef double f64;
#endif

#define KERNEL       KERNEL_OF(GROUP_SIZE)
#define KERNEL_OF(n) extern "C" __global__ void __launch_bounds__(GROUP_SIZE, (n) / GROUP_SIZE)
#define DEVICE       __device__ __forceinline__
#define GLOBAL
#define LOCAL_POINTER
#define RESTRICT __restrict__

#define LOCAL_ARRAY(type, name, length) __shared__ type name[length]

#define LOCAL_ID   threadIdx.x
#define GROUP_X    blockIdx.x
#define GROUP_Y    blockIdx.y
#define N_GROUPS_X gridDim.x
#define N_GROUPS_Y gridDim.y

#define BARRIER() __syncthreads()

#define F2(x, y)       make_float2(x, y)
#define F4(x, y, z, w) make_float4(x, y, z, w)

// A rounded product and its rounding error.
DEVICE float2
exact_product(const f32 a, const f32 b)
{
  const f32 rounded = __fmul_rn(a, b); // never contracted to a fused multiply-add
  return F2(rounded, fmaf(a, b, -rounded));
}

// A barrier.  True if is_true is not 0 in any thread of the group.
DEVICE u32
group_any(const u32 is_true, u32* const flag)
{
  (void)flag;
  return (u32)__syncthreads_or((int)is_true);
}

#define ATOMIC_INC(word) atomicAdd(word, 1U)

#ifndef CLOCK_NS
DEVICE u32
clock_ns(void)
{
  u64 now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return (u32)now;
}
#define CLOCK_NS() clock_ns()
#endif

#define BITS_OF_F32(x) __float_as_uint(x)
#define F32_OF_BITS(x) __uint_as_float(x)

#define BITS_OF_F64(x)    F2(__int_as_float(__double2loint(x)), __int_as_float(__double2hiint(x)))
#define F64_OF_BITS(x, y) __hiloint2double(__float_as_int(y), __float_as_int(x))

#define FABS(x)    fabsf(x)
#define FLOOR(x)   floorf(x)
#define FMAX(a, b) fmaxf(a, b)
#define FMIN(a, b) fminf(a, b)
#define SQRT(x)    sqrtf(x)

// Vector arithmetic, which OpenCL C has built in.
#define VECTOR_OPERATOR(op)                                                                        \
  DEVICE float2 operator op(const float2 a, const float2 b)                                        \
  {                                                                                                \
    return F2(a.x op b.x, a.y op b.y);                                                             \
  }                                                                                                \
  DEVICE float4 operator op(const float4 a, const float4 b)                                        \
  {                                                                                                \
    return F4(a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w);                                     \
  }                                                                                                \
  DEVICE float2 operator op(const float2 a, const f32 b)                                           \
  {                                                                                                \
    return F2(a.x op b, a.y op b);                                                                 \
  }                                                                                                \
  DEVICE float4 operator op(const float4 a, const f32 b)                                           \
  {                                                                                                \
    return F4(a.x op b, a.y op b, a.z op b, a.w op b);                                             \
  }
VECTOR_OPERATOR(+)
VECTOR_OPERATOR(-)
VECTOR_OPERATOR(*)
#undef VECTOR_OPERATOR

DEVICE f32
FMA(const f32 a, const f32 b, const f32 c)
{
  return fmaf(a, b, c);
}

DEVICE float2
FMA(const float2 a, const float2 b, const float2 c)
{
  return F2(FMA(a.x, b.x, c.x), FMA(a.y, b.y, c.y));
}

DEVICE float4
FMA(const float4 a, const float4 b, const float4 c)
{
  return F4(FMA(a.x, b.x, c.x), FMA(a.y, b.y, c.y), FMA(a.z, b.z, c.z), FMA(a.w, b.w, c.w));
}

#endif

// ---- both ----

// Flush denormals to 0: tails of recursions stay fast, and are equal on devices with and without
// denormals.
DEVICE f32
flush_denormal(const f32 x)
{
  return FABS(x) < 1.17549435e-38f ? 0.0f : x;
}

// The sum of two numbers and its rounding error: D. E. Knuth, "The Art of Computer Programming" 2,
// section 4.2.2, theorem B.
DEVICE float2
exact_sum(const f32 a, const f32 b)
{
  const f32 sum = a + b;
  const f32 b_in_sum = sum - a;
  return F2(sum, (a - (sum - b_in_sum)) + (b - b_in_sum));
}

// As exact_sum(), for |a| >= |b|, in half as many steps: T. J. Dekker, "A Floating-Point Technique
// for Extending the Available Precision", Numerische Mathematik 18, 1971.  If |a| < |b|, the error
// of the second number is at most a rounding of b.
DEVICE float2
exact_sum_ordered(const f32 a, const f32 b)
{
  const f32 sum = a + b;
  return F2(sum, b - (sum - a));
}

#endif
