// SPDX-License-Identifier: GPL-3.0-or-later
/*
   System calls that no library function shows, by Syscall User Dispatch: per thread, the kernel
   looks at a selector byte before each system call and, where it says block, raises SIGSYS instead
   (Documentation/admin-guide/syscall-user-dispatch.rst in the kernel's tree).

   Calls from one range of addresses are exempt: ours holds the two instructions that the handler
   needs, one to carry out a call and one to return from the signal.  That return belongs to the
   action's restorer, so the action is installed by the bare system call.
*/

#include "rt_trap_net.h"

#include "engine/base/status.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#if defined(__x86_64__) && defined(PR_SET_SYSCALL_USER_DISPATCH)

// From trap_code on, to trap_code_end, system calls are exempt.  The return from the signal is
// written as the C library writes it: debuggers and backtrace() know the frame by these bytes, and
// look one byte before it.
__asm__(".text\n"
        ".hidden trap_code, trap_system_call, trap_code_end\n"
        ".globl trap_code, trap_system_call, trap_code_end\n"
        "  nop\n"
        "trap_code:\n" // return from the signal
        "  mov $15, %rax\n"
        "  syscall\n"
        "trap_system_call:\n" // (number, six arguments)
        "  mov %rdi, %rax\n"
        "  mov %rsi, %rdi\n"
        "  mov %rdx, %rsi\n"
        "  mov %rcx, %rdx\n"
        "  mov %r8, %r10\n"
        "  mov %r9, %r8\n"
        "  mov 8(%rsp), %r9\n"
        "  syscall\n"
        "  ret\n"
        "trap_code_end:\n");

void trap_code(void);
long trap_system_call(long number, long a, long b, long c, long d, long e, long f);
extern const char trap_code_end[];

/// Calls that change whose stack this is cannot be made from a handler.
static bool
must_be_made_in_place(const long number)
{
  static const long numbers[] = { SYS_rt_sigreturn, SYS_clone,  SYS_clone3, SYS_fork,
                                  SYS_vfork,        SYS_execve, SYS_exit,   SYS_exit_group };
  for (size_t i = 0; i < ARRAY_LEN(numbers); ++i) {
    if (numbers[i] == number) {
      return true;
    }
  }
  return false;
}

static void
on_system_call(const int signal, siginfo_t* const info, void* const context)
{
  (void)signal;
  greg_t* const registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const long number = info->si_syscall;
  // A signal handler that interrupted the section returns: nothing that the section did.
  if (number != SYS_rt_sigreturn && !trap_count_futex(number, registers[REG_RSI])) {
    const uint32_t depth = trap_suspend();
    trap_note(CALL_raw, info->si_call_addr, number);
    trap_resume(depth);
  }
  if (must_be_made_in_place(number)) {
    trap_self.selector = SELECTOR_ALLOW; // until the next section
    registers[REG_RAX] = number;
    registers[REG_RIP] -= 2; // the length of the instruction: it is executed again
    return;
  }
  registers[REG_RAX] =
      trap_system_call(number, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                       registers[REG_R10], registers[REG_R8], registers[REG_R9]);
}

/// The kernel's idea of struct sigaction.
typedef struct KernelAction {
  void (*handler)(int, siginfo_t*, void*);
  unsigned long flags;
  void (*restorer)(void);
  unsigned long mask;
} KernelAction;

#define KERNEL_SA_RESTORER 0x04000000UL

bool
trap_catch_raw_calls(void)
{
  const KernelAction action = { .handler = on_system_call,
                                .flags = SA_SIGINFO | SA_NODEFER | KERNEL_SA_RESTORER,
                                .restorer = trap_code };
  const long exempt = (long)(uintptr_t)trap_code;
  const long exempt_bytes = (long)((uintptr_t)trap_code_end - (uintptr_t)trap_code);
  return trap_system_call(SYS_rt_sigaction, SIGSYS, (long)&action, 0, sizeof(action.mask), 0, 0) ==
             0 &&
         trap_system_call(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, exempt,
                          exempt_bytes, (long)&trap_self.selector, 0) == 0;
}

#else

bool
trap_catch_raw_calls(void)
{
  return false;
}

#endif
