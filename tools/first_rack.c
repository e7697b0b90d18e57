// SPDX-License-Identifier: GPL-3.0-or-later
// Which rack a live run begins with.

#include "first_rack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MUTED_FROM 3U // starts in a row that have not lived
#define EMPTY_FROM 5U

typedef enum Source { SOURCE_GIVEN, SOURCE_PRESENT, SOURCE_GOOD, SOURCE_EMPTY } Source;

static const char* const source_names[] = { [SOURCE_GIVEN] = "the rack of the command line",
                                            [SOURCE_PRESENT] = "the rack that played last",
                                            [SOURCE_GOOD] = "the last good rack",
                                            [SOURCE_EMPTY] = "the empty rack" };

bool
first_rack_is_muted(const State* const state)
{
  return state && state_starts(state) >= MUTED_FROM;
}

/// True when the RACK of the command line is the one that the present state was begun with.
static bool
is_same_origin(const FirstRack* const first)
{
  char* const text = rack_print(first->arg->rack);
  const bool is_same = text && state_origin(text) == state_text_origin(first->state);
  free(text);
  return is_same;
}

/// The sources to try, best first; returns how many.
static uint32_t
order_sources(const FirstRack* const first, Source sources[3])
{
  const uint32_t starts = state_starts(first->state);
  if (starts >= EMPTY_FROM) {
    sources[0] = SOURCE_EMPTY;
    return 1;
  }
  if (starts >= MUTED_FROM) {
    sources[0] = SOURCE_GOOD;
    sources[1] = SOURCE_EMPTY;
    return 2;
  }
  const bool is_given_new = !first->unread && !is_same_origin(first);
  sources[0] = is_given_new ? SOURCE_GIVEN : SOURCE_PRESENT;
  sources[1] = is_given_new ? SOURCE_PRESENT : SOURCE_GIVEN;
  sources[2] = SOURCE_GOOD;
  return 3;
}

/// Parse the rack of a source that is not the command line; false when there is none.
static bool
read_source(const FirstRack* const first, const Source source, Rack** const rack,
            Status* const status, Error* const error)
{
  const char* const text =
      source == SOURCE_EMPTY
          ? ""
          : state_text(first->state, source == SOURCE_GOOD ? STATE_GOOD : STATE_PRESENT);
  *status = text ? rack_arg_parse(text, source_names[source], rack, error) : STATUS_NOT_FOUND;
  return text != NULL;
}

static void
say_refused(const FirstRack* const first, const Source source, const Error* const error)
{
  char text[sizeof(error->text) + 64U];
  snprintf(text, sizeof(text), "%s cannot be played: %s", source_names[source], error->text);
  live_log_event(first->log, EVENT_STATE_REFUSED, text);
}

/// Plan a rack as `arg->rack`, whose files may be anywhere; on error nothing has changed, else the
/// rack is given away.
static Status
plan_as_ours(const FirstRack* const first, Rack* const rack, Error* const error)
{
  RackArg* const arg = first->arg;
  Rack* const before = arg->rack;
  arg->rack = rack;
  const Status status = first->plan(first->context, rack, error);
  if (status) {
    arg->rack = before;
  } else if (rack != before) {
    rack_free(before);
  }
  return status;
}

/// Try a source; true when its rack is planned, and `arg->rack`.  What speaks against it is said,
/// and `error`.
static bool
use_source(const FirstRack* const first, const Source source, Error* const error)
{
  Rack* rack = first->arg->rack;
  Status status = STATUS_OK;
  if (source == SOURCE_GIVEN && first->unread) {
    *error = *first->unread;
    status = error->status;
  } else if (source != SOURCE_GIVEN && !read_source(first, source, &rack, &status, error)) {
    return false;
  }
  if (!status) {
    status = plan_as_ours(first, rack, error);
    if (status && source != SOURCE_GIVEN) {
      rack_free(rack);
    }
  }
  if (status) {
    say_refused(first, source, error);
  } else if (source != SOURCE_GIVEN) {
    live_log_event(first->log, EVENT_STATE_RESTORED, source_names[source]);
  }
  return !status;
}

static void
say_loop(const FirstRack* const first)
{
  if (first_rack_is_muted(first->state)) {
    char text[128];
    snprintf(text, sizeof(text),
             "start %" PRIu32 " in a row of which none has lived for %u s: muted for so long",
             state_starts(first->state), STATE_LIVED_S);
    live_log_event(first->log, EVENT_STATE_LOOP, text);
  }
}

static Status
use_given(const FirstRack* const first, Error* const error)
{
  if (first->unread) {
    *error = *first->unread;
    return error->status;
  }
  return first->plan(first->context, first->arg->rack, error);
}

Status
first_rack_choose(const FirstRack* const first, Error* const error)
{
  if (!first->state || first->fresh) {
    return use_given(first, error);
  }
  say_loop(first);
  Source sources[3];
  const uint32_t n = order_sources(first, sources);
  Error given = { STATUS_NOT_FOUND, "there is no rack to begin with" };
  for (uint32_t s = 0; s < n; ++s) {
    Error why;
    if (use_source(first, sources[s], &why)) {
      return STATUS_OK;
    }
    if (sources[s] == SOURCE_GIVEN) {
      given = why;
    }
  }
  *error = given;
  return error->status;
}
