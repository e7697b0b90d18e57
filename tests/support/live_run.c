// SPDX-License-Identifier: GPL-3.0-or-later
// Starts a `warprack run` and controls it.

#include "live_run.h"

#include "scoped.h"
#include "suite.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

#define MAX_WORDS 32U
#define PORT_KEY  "\"osc_port\":"

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
  program_start(&program, words);
  program_expect(&program, PORT_KEY);
  ck_assert_int_eq(sscanf(strstr(program_peek(&program), PORT_KEY), PORT_KEY "%7[0-9]", live_port),
                   1);
}

void
live_end(const int number)
{
  kill(program.pid, number);
  program_wait(&program);
  ck_assert_msg(program.exit_code == (number == SIGTERM ? 0 : -1), "%d: %s%s", program.exit_code,
                program.out, program.err);
}

void
live_assert_said(const char* const part)
{
  assert_says(program_peek(&program), part);
}

const char*
live_ask(const char* const* const more)
{
  static char answer[8192];
  const char* const first[] = { "send", "--osc-port", live_port, "--timeout", "60", NULL };
  const char* words[MAX_WORDS];
  SCOPED(program_clear) Program sender = { .pid = 0 };
  join_words(words, first, more);
  program_start(&sender, words);
  program_wait(&sender);
  ck_assert_msg(sender.exit_code == 0, "%s: %s%s", more[0], sender.out, sender.err);
  snprintf(answer, sizeof(answer), "%s", sender.out);
  return answer;
}

void
live_assert_plays(const char* const part)
{
  const char* const rack = LIVE_ASK("/rack/get");
  assert_says(rack, part);
}
