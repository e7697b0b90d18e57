// SPDX-License-Identifier: GPL-3.0-or-later

#include "clap_threads.h"

static _Thread_local ClapThread kind;

ClapThread
clap_thread(void)
{
  return kind;
}

ClapThread
clap_thread_change(const ClapThread to)
{
  const ClapThread before = kind;
  kind = to;
  return before;
}
