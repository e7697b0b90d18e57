// SPDX-License-Identifier: GPL-3.0-or-later
// Passes racks to the program, and its lines to the client.

#include "checks.h"

#include "control_private.h"

#include <stdlib.h>
#include <string.h>

#define ADDRESS "/rack/check"

static void
remove_first(RackChecks* const checks)
{
  free(checks->of[0].text);
  --checks->n;
  memmove(&checks->of[0], &checks->of[1], checks->n * sizeof(RackCheck));
  checks->runs = false;
}

/// Begin the first check that can be begun, unless one runs.
static void
begin_next(Control* const control)
{
  RackChecks* const checks = &control->checks;
  Error why;
  while (checks->n && !checks->runs) {
    if (control->config.checks->begin(control->config.context, checks->of[0].text, &why)) {
      outlet_fail(&control->outlet, &checks->of[0].peer, 0, ADDRESS, &why);
      remove_first(checks);
    } else {
      checks->runs = true;
    }
  }
}

/// The clients that may have one check together: one of this machine, or all of another machine.
static PeerKey
sharers(const Peer* const peer)
{
  return peer_is_loopback(peer) ? peer_sender(peer) : peer_machine(peer);
}

static Status
find_room(const RackChecks* const checks, const Peer* const peer, Error* const error)
{
  const PeerKey client = sharers(peer);
  for (uint32_t c = 0; c < checks->n; ++c) {
    const PeerKey other = sharers(&checks->of[c].peer);
    if (peer_key_equal(&client, &other)) {
      return error_set(error, STATUS_LIMIT,
                       "a check of this client, or of another one on its machine, has not ended");
    }
  }
  return checks->n < RACK_CHECKS_MAX
             ? STATUS_OK
             : error_set(error, STATUS_LIMIT, "%u checks wait; try again later", checks->n);
}

Status
query_check(Control* const control, const Peer* const peer, Message* const message,
            Error* const error)
{
  RackChecks* const checks = &control->checks;
  if (outlet_check_trust(&control->outlet, peer, error)) {
    return error->status;
  }
  if (!control->config.checks) {
    return error_set(error, STATUS_NO_BACKEND, "this server checks no racks");
  }
  if (find_room(checks, peer, error)) {
    return error->status;
  }
  const char* const rack =
      message_n_arguments(message) ? message_text(message, 0) : control_rack_text(control);
  char* const text = rack ? strdup(rack) : NULL;
  if (!text) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  checks->of[checks->n++] = (RackCheck){ text, *peer };
  begin_next(control);
  return STATUS_OK; // the answer follows when the check has ended
}

/// Add the value of a line.  The line has run through a process with plugins: it may be anything.
static void
add_line(lo_message* const to, char* const line)
{
  char* rest = line;
  const char* const key = strsep(&rest, "\t");
  const char* const type = rest ? strsep(&rest, "\t") : "";
  if (!rest || !*key || strlen(type) != 1U) {
    return;
  }
  switch (*type) {
  case 'h':
    outlet_add(to, "sh", key, (int64_t)strtoll(rest, NULL, 10));
    break;
  case 'f':
    outlet_add(to, "sf", key, strtod(rest, NULL));
    break;
  case 's':
    outlet_add(to, "ss", key, rest);
    break;
  default:
    break;
  }
}

/// Answer the check that has ended.  `lines`: changed; NULL: it has failed.
static void
answer(Control* const control, const Peer* const peer, char* const lines, const Error* const why)
{
  if (!lines) {
    outlet_fail(&control->outlet, peer, 0, ADDRESS, why);
    return;
  }
  lo_message arguments = lo_message_new();
  char* rest = lines;
  for (char* line = NULL; (line = strsep(&rest, "\n"));) {
    add_line(&arguments, line);
  }
  outlet_send(&control->outlet, peer, 0, ADDRESS, arguments);
}

void
checks_run(Control* const control)
{
  RackChecks* const checks = &control->checks;
  char* lines = NULL;
  Error why;
  if (checks->runs && control->config.checks->take(control->config.context, &lines, &why)) {
    const Peer peer = checks->of[0].peer;
    remove_first(checks);
    answer(control, &peer, lines, &why);
    free(lines);
    begin_next(control);
  }
}

void
checks_clear(Control* const control)
{
  while (control->checks.n) {
    remove_first(&control->checks);
  }
}
