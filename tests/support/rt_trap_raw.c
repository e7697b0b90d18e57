// SPDX-License-Identifier: GPL-3.0-or-later
/*
   Counts system calls that do not come from an interposed function, with Syscall User Dispatch
   (Documentation/admin-guide/syscall-user-dispatch.rst in the kernel's tree).  The kernel reads a
   selector byte of the thread before each system call.  If the byte is SELECTOR_BLOCK, the kernel
   raises SIGSYS instead of making the call.

   Calls from one range of addresses are exempt.  Our range has the two system call instructions
   that the handler needs: one makes the blocked call, the other one returns from the signal.  The
   latter is in the restorer of the signal action.  sigaction() would install the C library's
   restorer, so the action is installed by a direct system call.
*/

#include "rt_trap_net.h"

#include "engine/base/status.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#if defined(__x86_64__) && defined(PR_SET_SYSCALL_USER_DISPATCH)

// System calls between trap_code and trap_code_end are exempt.  The return from the signal has the
// same bytes as the C library's: debuggers and backtrace() recognise the frame by them, and read
// one byte before it.
__asm__(".text\n"
        ".hidden trap_code, trap_system_call, trap_code_end\n"
        ".globl trap_code, trap_system_call, trap_code_end\n"
        "  nop\n"
        "trap_code:\n" // returns from the signal
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

/// Calls that end the handler, start a thread or process, or end or replace this one, cannot be
/// made from the handler.
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
  // rt_sigreturn: a signal handler that interrupted the section returns; the section did not call
  // it.
  if (number != SYS_rt_sigreturn && !trap_count_futex(number, registers[REG_RSI])) {
    const uint32_t depth = trap_suspend();
    trap_note(CALL_raw, info->si_call_addr, number);
    trap_resume(depth);
  }
  if (must_be_made_in_place(number)) {
    trap_self.selector = SELECTOR_ALLOW; // until the next section
    registers[REG_RAX] = number;
    registers[REG_RIP] -= 2; // back by the length of `syscall`, so that it is executed again
    return;
  }
  registers[REG_RAX] =
      trap_system_call(number, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                       registers[REG_R10], registers[REG_R8], registers[REG_R9]);
}

/// struct sigaction as the kernel defines it.
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
