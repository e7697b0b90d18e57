// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What another thread could see of this one at any moment: a function is run instruction by
   instruction, and between any two of them somebody looks.  On x86-64, whose stores become visible
   in their order, that is every state that there is.
*/
#ifndef WARPRACK_TESTS_STEPS_H
#define WARPRACK_TESTS_STEPS_H

#include <stdint.h>

/// Run run(context), with look(context) after each instruction of it; `look` must not fail a test,
/// nor wait for what `run` does.  Returns the number of looks, 0 where there is no single step:
/// then nothing was run.
uint64_t steps_run(void (*run)(void* context), void (*look)(void* context), void* context);

#endif
