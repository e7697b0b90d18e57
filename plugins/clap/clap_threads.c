// SPDX-License-Identifier: GPL-3.0-or-later

#include "clap_threads.h"

#include <pthread.h>

static _Thread_local ClapThread kind;
static pthread_mutex_t main_lock = PTHREAD_MUTEX_INITIALIZER;

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

void
clap_main_enter(void)
{
  pthread_mutex_lock(&main_lock);
  kind = CLAP_THREAD_MAIN;
}

void
clap_main_leave(void)
{
  kind = CLAP_THREAD_OTHER;
  pthread_mutex_unlock(&main_lock);
}
