// SPDX-License-Identifier: GPL-3.0-or-later
// A seccomp filter (seccomp(2), SECCOMP_MODE_FILTER): refuses a list of calls, and allows all
// others, because plugins and their libraries use many.

#include "scan_filter.h"

#include "engine/base/macros.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#ifdef __x86_64__

#define FIRST_OF_X32 0x40000000U // numbers of the x32 ABI, which would pass the list

#define LOAD(member)   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define ALLOW          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define SKIP_UNLESS(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (n), 0, 1)
// A refused call; the number of the call is loaded.
#define REFUSE_CALL(name) SKIP_UNLESS(SYS_##name), REFUSE
// A call that is refused unless its first argument is `value`.
#define CHECK_CALL(name, value)                                                                    \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4), LOAD(args[0]), SKIP_UNLESS(value), ALLOW, \
      REFUSE

bool
scan_filter_install(void)
{
  struct sock_filter program[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
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
    REFUSE_CALL(process_vm_readv),
    REFUSE_CALL(process_vm_writev),
    REFUSE_CALL(ptrace),
    REFUSE_CALL(userfaultfd),
    CHECK_CALL(socket, AF_UNIX),
    ALLOW,
  };
  const struct sock_fprog filter = { .len = ARRAY_LEN(program), .filter = program };
  return !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) || errno == EINVAL; // no such kernel
}

#else

bool
scan_filter_install(void)
{
  return true;
}

#endif
