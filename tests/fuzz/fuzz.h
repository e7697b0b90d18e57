// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A fuzz target: one function that takes any bytes, and initial examples.

   Each fuzz_<name>.c is linked twice: with libFuzzer (-Dfuzz=true), which generates the bytes, and
   with replay.c in every build, which tries the examples and earlier findings of libFuzzer.
*/
#ifndef WARPRACK_TESTS_FUZZ_FUZZ_H
#define WARPRACK_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

typedef void FuzzVisit(void* context, const void* bytes, size_t n_bytes);

/// Defined by the target: survive these bytes, or abort().  Returns 0.
int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t n_bytes);

/// Defined by the target: visit each example.
void fuzz_examples(FuzzVisit* visit, void* context);

/// Abort with the reason unless the condition holds: for properties that no sanitizer checks.
void fuzz_check(int holds, const char* promise);

/// Visit each file of the folder `name` below the folder that the environment variable holds; none
/// if the folder does not exist.
void fuzz_visit_files(const char* variable, const char* name, FuzzVisit* visit, void* context);

#endif
