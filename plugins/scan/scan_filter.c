// SPDX-License-Identifier: GPL-3.0-or-later
// A seccomp filter (seccomp(2), SECCOMP_MODE_FILTER): refuses a list of calls, and allows all
// others, because plugins and their libraries use many.

#include "scan_filter.h"

#include "engine/base/macros.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/falloc.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#if SCAN_HAS_FILTER

#if defined(__x86_64__)
#define PROCESSOR AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define PROCESSOR AUDIT_ARCH_AARCH64
#else
#define PROCESSOR AUDIT_ARCH_RISCV64
#endif

#define FIRST_OF_X32 0x40000000U // numbers of the x32 ABI, which would pass the list

#define LOAD(member)   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define ALLOW          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define SKIP_UNLESS(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (n), 0, 1)
// A refused call; the number of the call is loaded.
#define REFUSE_CALL(name) SKIP_UNLESS(SYS_##name), REFUSE
// A call that depends on an argument, which is compared (BPF_JEQ) with `value`, or has one of its
// bits (BPF_JSET): `then` and `otherwise` are ALLOW or REFUSE.
#define JUDGE_CALL(name, argument, test, value, then, otherwise)                                   \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4), LOAD(args[argument]),                     \
      BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), 0, 1), then, otherwise

#ifdef SYS_fork
#define REFUSE_FORKS REFUSE_CALL(fork), REFUSE_CALL(vfork),
#else // the processor has clone(2) for both
#define REFUSE_FORKS
#endif

// A process is a clone(2) without CLONE_THREAD; libraries use clone(2) when there is no clone3(2),
// whose flags a filter cannot read.
#define REFUSE_PROCESSES                                                                           \
  REFUSE_FORKS SKIP_UNLESS(SYS_clone3), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),     \
      JUDGE_CALL(clone, 0, BPF_JSET, CLONE_THREAD, ALLOW, REFUSE)

static bool
install(const struct sock_filter* const filter, const size_t n)
{
  const struct sock_fprog program = { .len = (unsigned short)n,
                                      .filter = (struct sock_filter*)filter };
  return !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) || errno == EINVAL; // no such kernel
}

bool
scan_filter_install(const bool may_fork)
{
  static const struct sock_filter processes[] = { LOAD(nr), REFUSE_PROCESSES, ALLOW };
  static const struct sock_filter calls[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROCESSOR, 1, 0),
    REFUSE,
    LOAD(nr),
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_OF_X32, 0, 1),
    REFUSE,
    REFUSE_CALL(bpf),
    REFUSE_CALL(execve),
    REFUSE_CALL(execveat),
    REFUSE_CALL(io_uring_setup),
    REFUSE_CALL(perf_event_open),
    REFUSE_CALL(pidfd_getfd),
    REFUSE_CALL(pidfd_send_signal),
    REFUSE_CALL(process_madvise),
    REFUSE_CALL(process_vm_readv),
    REFUSE_CALL(process_vm_writev),
    REFUSE_CALL(ptrace),
    REFUSE_CALL(userfaultfd),
    JUDGE_CALL(fallocate, 1, BPF_JSET, FALLOC_FL_PUNCH_HOLE, REFUSE, ALLOW),
    JUDGE_CALL(madvise, 2, BPF_JEQ, MADV_REMOVE, REFUSE, ALLOW),
    JUDGE_CALL(socket, 0, BPF_JEQ, AF_UNIX, ALLOW, REFUSE),
    ALLOW,
  };
  return install(calls, ARRAY_LEN(calls)) && (may_fork || install(processes, ARRAY_LEN(processes)));
}

#else

bool
scan_filter_install(const bool may_fork)
{
  (void)may_fork;
  return true;
}

#endif
