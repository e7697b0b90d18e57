// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Runs a function instruction by instruction, and calls a second function after each instruction.
   The second function sees the memory as another thread could see it at that moment.  On x86-64,
   where stores become visible in program order, these are all states that a thread can see.
*/
#ifndef WARPRACK_TESTS_STEPS_H
#define WARPRACK_TESTS_STEPS_H

#include <stdint.h>

/// Run run(context), and call look(context) after each of its instructions.  `look` must not fail a
/// test, and must not wait for `run`.  Returns the number of calls of `look`; 0 on processors
/// without single steps, where it does not call `run` either.
uint64_t steps_run(void (*run)(void* context), void (*look)(void* context), void* context);

#endif
