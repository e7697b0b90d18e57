// SPDX-License-Identifier: GPL-3.0-or-later
/// A compiler that compiles nothing, built as libnvrtc.so.13, and as libold_nvrtc.so, which has
/// version 12.0 and fewer architectures.  Its code is the source text, which the fake driver can
/// load.  fake_cuda.h also logs its calls and makes them fail.
#ifndef WARPRACK_TESTS_FAKE_CUDA_FAKE_NVRTC_H
#define WARPRACK_TESTS_FAKE_CUDA_FAKE_NVRTC_H

// The first bytes of the code: its form, "cubin" or "ptx", and the version of the compiler.
#define FAKE_CODE_FORMAT "fake %s %u: "
#define FAKE_CODE_SCAN   "fake %7s %u: "

/// Make compilations of libnvrtc.so.13 fail with this log, which must stay valid; NULL lets them
/// succeed.
void fake_nvrtc_refuse(const char* log);

/// Options of the last compilation of libnvrtc.so.13, separated by spaces.
const char* fake_nvrtc_options(void);

#endif
