// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A fuzz target: one function that takes any bytes, and examples to begin with.

   Each fuzz_<name>.c is linked twice: with libFuzzer (-Dfuzz=true), which makes up the bytes, and
   with replay.c in every build, which tries the examples and what libFuzzer once found.
*/
#ifndef WARPRACK_TESTS_FUZZ_FUZZ_H
#define WARPRACK_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

typedef void FuzzVisit(void* context, const void* bytes, size_t n_bytes);

/// Defined by the target: survive these bytes, or abort(). 0: done.
int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t n_bytes);

/// Defined by the target: visit each example.
void fuzz_examples(FuzzVisit* visit, void* context);

/// Abort with a line that says why, unless it holds: for promises that no sanitizer knows.
void fuzz_check(int holds, const char* promise);

/// Visit each file of the folder `name` below the folder that the environment variable holds;
/// none when there is no such folder.
void fuzz_visit_files(const char* variable, const char* name, FuzzVisit* visit, void* context);

#endif
