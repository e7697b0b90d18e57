// SPDX-License-Identifier: GPL-3.0-or-later
/// A compiler that compiles nothing, built as libnvrtc.so.13.  Its machine code is the source text,
/// which the fake driver can load.  fake_cuda.h also logs its calls and makes them fail.
#ifndef WARPRACK_TESTS_FAKE_CUDA_FAKE_NVRTC_H
#define WARPRACK_TESTS_FAKE_CUDA_FAKE_NVRTC_H

#define FAKE_CUBIN_MAGIC "fake cubin: " // the first bytes of the machine code

/// Make compilations fail with this log, which must stay valid; NULL lets them succeed.
void fake_nvrtc_refuse(const char* log);

/// Options of the last compilation, separated by spaces.
const char* fake_nvrtc_options(void);

#endif
