// SPDX-License-Identifier: GPL-3.0-or-later
// The thread of plugins changes how memory is locked, and tells if the system refuses.

#include "engine/base/rt.h"
#include "plugins/plugin_thread.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/// Instead of the call of the system: refuses to lock memory on fault.
int
mlockall(const int flags)
{
  errno = EPERM;
  return flags & MCL_ONFAULT ? -1 : 0;
}

TEST(the_log_tells_once_why_reserved_memory_is_locked)
{
  char text[256] = "";
  FILE* const log = tmpfile();
  ck_assert_ptr_nonnull(log);
  if (rt_lock_memory(NULL)) { // not every user may
    return;
  }
  dup2(fileno(log), STDERR_FILENO);
  OK(plugin_thread_start(&error));
  OK(plugin_thread_start(&error));
  ck_assert_int_gt(pread(fileno(log), text, sizeof(text) - 1U, 0), 0);
  ck_assert_str_eq(text, "plugin: memory that plugins reserve is locked before they use it: "
                         "Operation not permitted\n");
}

SUITE_MAIN("plugin_thread")
