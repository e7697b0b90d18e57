// SPDX-License-Identifier: GPL-3.0-or-later
/**
   VECTOR_CLONES before a function makes the compiler emit it twice: for baseline x86-64 and for
   AVX2 with FMA (x86-64-v3), chosen once when the program is loaded.  On other processors the macro
   is empty.  VECTOR_CLONES_512 adds a third version, for AVX-512 (x86-64-v4): for loops that gain
   from its 32 registers.

   It is also empty under the sanitizers, because the loader calls the functions that choose a clone
   before it initialises the sanitizer's runtime.
*/
#ifndef WARPRACK_ENGINE_BASE_SIMD_H
#define WARPRACK_ENGINE_BASE_SIMD_H

#if defined(__clang__)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SIMD_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SIMD_SANITIZED 1
#endif

#if defined(__x86_64__) && defined(__linux__) && !defined(SIMD_SANITIZED)
#define VECTOR_CLONES __attribute__((target_clones("default", "arch=x86-64-v3")))
#define VECTOR_CLONES_512                                                                          \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define VECTOR_CLONES
#define VECTOR_CLONES_512
#endif

#endif
