// SPDX-License-Identifier: GPL-3.0-or-later
// A request and a result under a lock: the control thread asks, the main thread has the child.

#include "live_checks.h"

#include <stdlib.h>
#include <string.h>

void
live_checks_init(LiveChecks* const checks)
{
  *checks = (LiveChecks){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

Status
live_checks_want(LiveChecks* const checks, const char* const text, Error* const error)
{
  pthread_mutex_lock(&checks->lock);
  Status status = STATUS_OK;
  if (checks->is_busy) {
    status = error_set(error, STATUS_LIMIT, "another check runs; try again when it has ended");
  } else {
    checks->wanted = strdup(text);
    checks->is_busy = checks->wanted;
    status = checks->wanted ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
  }
  pthread_mutex_unlock(&checks->lock);
  return status;
}

bool
live_checks_are_busy(LiveChecks* const checks)
{
  pthread_mutex_lock(&checks->lock);
  const bool is_busy = checks->is_busy;
  pthread_mutex_unlock(&checks->lock);
  return is_busy;
}

bool
live_checks_take(LiveChecks* const checks, char** const lines, Error* const why)
{
  pthread_mutex_lock(&checks->lock);
  const bool has_ended = checks->has_ended;
  if (has_ended) {
    *lines = checks->lines;
    *why = checks->why;
    checks->lines = NULL;
    checks->has_ended = false;
    checks->is_busy = false;
  }
  pthread_mutex_unlock(&checks->lock);
  return has_ended;
}

/// Keep a result for the client.
static void
end(LiveChecks* const checks, char* const lines, const Error* const why)
{
  pthread_mutex_lock(&checks->lock);
  checks->lines = lines;
  checks->why = *why;
  checks->has_ended = true;
  pthread_mutex_unlock(&checks->lock);
}

static void
start(LiveChecks* const checks, const CheckRequest* const request, char* const text,
      const uint64_t now_ns)
{
  Error why = { STATUS_OK, "" };
  CheckRequest whole = *request;
  whole.text = text;
  checks->limit_ns = now_ns + LIVE_CHECKS_LIMIT_NS;
  if (check_child_start(&checks->child, &whole, &why)) {
    end(checks, NULL, &why);
  }
}

void
live_checks_poll(LiveChecks* const checks, const CheckRequest* const request, const uint64_t now_ns)
{
  Error why = { STATUS_OK, "" };
  char* lines = NULL;
  pthread_mutex_lock(&checks->lock);
  char* const wanted = checks->wanted;
  checks->wanted = NULL;
  pthread_mutex_unlock(&checks->lock);
  if (wanted) {
    start(checks, request, wanted, now_ns);
    free(wanted);
  } else if (checks->child.process && check_child_has_ended(&checks->child, &lines, &why)) {
    end(checks, lines, &why);
  } else if (checks->child.process && now_ns >= checks->limit_ns) {
    check_child_stop(&checks->child);
    error_set(&why, STATUS_LIMIT, "the check took longer than %u s",
              (unsigned)(LIVE_CHECKS_LIMIT_NS / NS_PER_S));
    end(checks, NULL, &why);
  }
}

void
live_checks_stop(LiveChecks* const checks)
{
  check_child_stop(&checks->child);
  free(checks->wanted);
  free(checks->lines);
  pthread_mutex_destroy(&checks->lock);
}
