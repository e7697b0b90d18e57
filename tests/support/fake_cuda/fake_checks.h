// SPDX-License-Identifier: GPL-3.0-or-later
/// What a test expects of the calls and operations that the fake driver has recorded.
#ifndef WARPRACK_TESTS_FAKE_CUDA_FAKE_CHECKS_H
#define WARPRACK_TESTS_FAKE_CUDA_FAKE_CHECKS_H

#include "fake_cuda.h"

/// fake_find() of the first such operation, which must be there.
uint32_t fake_must_find(uint32_t launch, FakeKind kind, const char* kernel);

/// All copies are pinned.  From launch number `first_launch` on (0: also outside of graphs) there
/// are `n_copies` copies; copies in, copies out, and kernels but "warprack_done" each have a stream
/// of their own.
void fake_assert_transfers(uint32_t first_launch, uint32_t n_copies);

/// Launch number `launch` has no operations but these kernels, each of which waits for the one
/// before; all run in one stream.  Returns the first kernel's index; the others follow it.
uint32_t fake_assert_chain(uint32_t launch, const char* const* kernels, uint32_t n_kernels);

/// The calls since fake_forget_calls() are `n_launches` launches of graphs, and calls that do not
/// stall.
void fake_assert_launches(uint32_t n_launches);

/// Teach the kernels that begin and end recordings: warprack_await, warprack_done, warprack_ended.
void fake_teach_ends(void);

#endif
