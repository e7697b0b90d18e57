// SPDX-License-Identifier: GPL-3.0-or-later
// Checks of racks for clients: one at a time, with a result, a failure or a limit of time.  The
// child is this program, which then takes the part of `warprack check`.

#include "tests/support/suite.h"
#include "tools/live_checks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PART     "WARPRACK_TEST_CHECK" // environment: what the child does
#define BEGIN_NS UINT64_C(1000000000)

/// Answer as a check does, before main(), if this process is the child.
__attribute__((constructor)) static void
be_child(const int argc, char** const argv)
{
  const char* const part = getenv(PART);
  if (argc != 2 || strcmp(argv[1], "check") != 0 || !part || !child_mail_begin()) {
    return;
  }
  Error error;
  char* request = NULL;
  size_t n_bytes = 0;
  const Status status = child_mail_receive(PROCESS_SOCKET, 4096, &request, &n_bytes, &error);
  if (!strcmp(part, "hang")) {
    pause();
  } else if (!strcmp(part, "crash")) {
    raise(SIGKILL);
  } else if (!status) {
    const bool has_all = strstr(request, "\n/a folder\nreverb | gain");
    const char* const answer = !has_all ? "the request is incomplete" : part;
    _exit(child_mail_send(PROCESS_SOCKET, answer, strlen(answer), &error) ? 1 : 0);
  }
  _exit(1);
}

static LiveChecks checks;
static EngineConfig engine;

/// Begin with a check whose child does this.
static void
begin(const char* const part)
{
  const CheckRequest request = {
    .root = "/a folder", .engine = &engine, .rate_hz = 48000.0, .block_frames = 64
  };
  setenv(PART, part, 1);
  live_checks_init(&checks);
  OK(live_checks_want(&checks, "reverb | gain", &error));
  live_checks_poll(&checks, &request, BEGIN_NS);
  ck_assert(checks.child.process);
}

/// Poll at a time.  Returns true if there is a result then.
static bool
ends_at(const uint64_t now_ns, char** const lines, Error* const why)
{
  live_checks_poll(&checks, NULL, now_ns);
  return live_checks_take(&checks, lines, why);
}

static const struct {
  const char* part;
  const char* lines; ///< NULL: it fails
  Status status;
  const char* why;
} parts[] = {
  { "nodes\th\t1\n", "nodes\th\t1\n", STATUS_OK, "" },
  { "fail\t2\track:1: a bad rack\n", NULL, STATUS_BAD_RACK, "rack:1: a bad rack" },
  { "fail\t999\tnonsense\n", NULL, STATUS_WORKER, "nonsense" },
  { "crash", NULL, STATUS_FILE, "the check killed by SIGKILL: perhaps out of memory" },
};

TEST_ROWS(a_check_ends_with_a_result_or_a_reason, parts)
{
  begin(parts[row].part);
  char* lines = NULL;
  Error why = { STATUS_OK, "" };
  AWAIT(ends_at(BEGIN_NS, &lines, &why));
  ck_assert_msg(!lines == !parts[row].lines, "%s", why.text);
  ck_assert(!lines || !strcmp(lines, parts[row].lines));
  ck_assert_int_eq(why.status, parts[row].status);
  ck_assert_str_eq(why.text, parts[row].why);
  free(lines);
  live_checks_stop(&checks);
}

/// The request has a line for the root.
TEST(a_folder_with_a_new_line_in_its_name_is_refused)
{
  const CheckRequest request = {
    .root = "/a\nfolder", .engine = &engine, .rate_hz = 48000.0, .block_frames = 64
  };
  char* lines = NULL;
  Error why = { STATUS_OK, "" };
  live_checks_init(&checks);
  OK(live_checks_want(&checks, "gain", &error));
  live_checks_poll(&checks, &request, BEGIN_NS);
  ck_assert(live_checks_take(&checks, &lines, &why));
  ck_assert_ptr_null(lines);
  ck_assert_int_eq(why.status, STATUS_BAD_ARG);
  assert_says(why.text, "new line");
}

TEST(one_check_runs_at_a_time_and_not_for_longer_than_its_limit)
{
  begin("hang");
  const pid_t child = process_id(checks.child.process);
  char* lines = NULL;
  Error why = { STATUS_OK, "" };
  ck_assert_int_eq(live_checks_want(&checks, "gain", &why), STATUS_LIMIT);
  ck_assert(!ends_at(BEGIN_NS + LIVE_CHECKS_LIMIT_NS - 1U, &lines, &why));
  ck_assert(ends_at(BEGIN_NS + LIVE_CHECKS_LIMIT_NS, &lines, &why));
  ck_assert_ptr_null(lines);
  ck_assert_int_eq(why.status, STATUS_LIMIT);
  ck_assert(kill(child, 0) != 0 && errno == ESRCH);
  OK(live_checks_want(&checks, "gain", &error));
  live_checks_stop(&checks);
}

SUITE_MAIN("live_checks")
