// SPDX-License-Identifier: GPL-3.0-or-later
// Captured messages of libraries: the first one is kept, and no thread of a library can block them.

#include "io/library_log.h"
#include "tests/support/suite.h"

#include <jack/jack.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

static char text[256];

/// Make libjack print an error.
static void
complain(void)
{
  (void)jack_activate(NULL);
}

static void
set_up(void)
{
  library_log_catch();
  complain(); // libjack's first message may load code
  library_log_take(text, sizeof(text));
}

TEST(the_first_message_is_taken_once)
{
  complain();
  (void)jack_deactivate(NULL);
  library_log_take(text, sizeof(text));
  assert_says(text, "jack_activate");
  library_log_take(text, sizeof(text));
  ck_assert_str_eq(text, "");
}

static void*
complain_for_ever(void* const is_ready)
{
  complain();
  atomic_store((atomic_bool*)is_ready, true);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL); // as the threads of libjack do
  for (;;) {
    complain();
  }
  return NULL;
}

TEST(a_thread_that_is_cancelled_while_it_complains_leaves_no_lock)
{
  for (unsigned n = 0; n < 500U; ++n) {
    atomic_bool is_ready = false;
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, complain_for_ever, &is_ready), 0);
    AWAIT(is_ready);
    usleep(n % 50U);
    library_log_take(text, sizeof(text)); // the next message is stored
    ck_assert_int_eq(pthread_cancel(thread), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    library_log_take(text, sizeof(text));
  }
}

SUITE_MAIN_WITH("library_log", set_up, NULL)
