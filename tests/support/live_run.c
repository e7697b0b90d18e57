// SPDX-License-Identifier: GPL-3.0-or-later
// Starts a `warprack run` and controls it.

#include "live_run.h"

#include "suite.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

#define MAX_WORDS 32U
#define PORT_KEY  "\"osc_port\":"

Program live_run;
char live_port[8];

/// Append `more` to `first`; all three arrays end with NULL.
static void
join_words(const char* words[MAX_WORDS], const char* const* const first,
           const char* const* const more)
{
  uint32_t n = 0;
  for (uint32_t i = 0; first[i]; ++i) {
    words[n++] = first[i];
  }
  for (uint32_t i = 0; more[i]; ++i) {
    ck_assert_uint_lt(n + 1U, MAX_WORDS);
    words[n++] = more[i];
  }
  words[n] = NULL;
}

void
live_start(const char* const* const more)
{
  static const char* const first[] = { "run", "--io", "dummy", "--json", "--osc-port", "0", NULL };
  const char* words[MAX_WORDS];
  join_words(words, first, more);
  program_start(&live_run, words);
  program_expect(&live_run, PORT_KEY);
  ck_assert_int_eq(sscanf(strstr(program_peek(&live_run), PORT_KEY), PORT_KEY "%7[0-9]", live_port),
                   1);
}

void
live_end(const int number)
{
  kill(live_run.pid, number);
  program_wait(&live_run);
  ck_assert_msg(live_run.exit_code == (number == SIGTERM ? 0 : -1), "%d: %s%s", live_run.exit_code,
                live_run.out, live_run.err);
  program_clear(&live_run);
}

void
live_assert_said(const char* const part)
{
  assert_says(program_peek(&live_run), part);
}

const char*
live_ask(const char* const* const more)
{
  static char answer[8192];
  const char* const first[] = { "send", "--osc-port", live_port, NULL };
  const char* words[MAX_WORDS];
  Program sender;
  join_words(words, first, more);
  program_start(&sender, words);
  program_wait(&sender);
  ck_assert_msg(sender.exit_code == 0, "%s: %s%s", more[0], sender.out, sender.err);
  snprintf(answer, sizeof(answer), "%s", sender.out);
  program_clear(&sender);
  return answer;
}

void
live_assert_plays(const char* const part)
{
  const char* const rack = LIVE_ASK("/rack/get");
  assert_says(rack, part);
}
