// SPDX-License-Identifier: GPL-3.0-or-later
/// A compiler that compiles nothing, built as libnvrtc.so.13: its machine code is the source, for
/// fake_cuda.h to load.  Its calls are logged, and made to fail, there too.
#ifndef WARPRACK_TESTS_FAKE_CUDA_FAKE_NVRTC_H
#define WARPRACK_TESTS_FAKE_CUDA_FAKE_NVRTC_H

#define FAKE_CUBIN_MAGIC "fake cubin: " // what machine code begins with

/// Let compilations fail with a log, NULL: succeed.  Kept by pointer.
void fake_nvrtc_refuse(const char* log);

/// Options of the last compilation, joined by spaces.
const char* fake_nvrtc_options(void);

#endif
