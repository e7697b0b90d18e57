// SPDX-License-Identifier: GPL-3.0-or-later
// Single-steps with the processor's trap flag, which raises SIGTRAP after each instruction.

#include "steps.h"

#if defined(__x86_64__)

#include <signal.h>
#include <stddef.h>

static void (*looker)(void*);
static void* look_context;
static uint64_t n_looks;

static void
on_step(const int number)
{
  (void)number;
  ++n_looks;
  looker(look_context);
}

uint64_t
steps_run(void (*const run)(void*), void (*const look)(void*), void* const context)
{
  const struct sigaction action = { .sa_handler = on_step };
  struct sigaction before;
  looker = look;
  look_context = context;
  n_looks = 0;
  sigaction(SIGTRAP, &action, &before);
  __asm__ volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "cc", "memory");
  run(context);
  __asm__ volatile("pushfq\n andq $~0x100, (%%rsp)\n popfq" ::: "cc", "memory");
  sigaction(SIGTRAP, &before, NULL);
  return n_looks;
}

#else

uint64_t
steps_run(void (*const run)(void*), void (*const look)(void*), void* const context)
{
  (void)run;
  (void)look;
  (void)context;
  return 0;
}

#endif
