// SPDX-License-Identifier: GPL-3.0-or-later
// Chooses the rack with which a live run starts.

#include "first_rack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The first line of a saved rack whose plugins were missing: a comment.
#define MARK "# saved while plugins were missing\n"

#define MUTED_FROM 3U // successive starts that crashed early
#define EMPTY_FROM 5U

typedef enum Source { SOURCE_GIVEN, SOURCE_PRESENT, SOURCE_GOOD, SOURCE_EMPTY } Source;

static const char* const source_names[] = { [SOURCE_GIVEN] = "the rack of the command line",
                                            [SOURCE_PRESENT] = "the rack that played last",
                                            [SOURCE_GOOD] = "the last good rack",
                                            [SOURCE_EMPTY] = "the empty rack" };

char*
first_rack_mark(const Rack* const rack, char* const text)
{
  char* marked = NULL;
  if (!rack_has_missing(rack)) {
    return text;
  }
  if (asprintf(&marked, MARK "%s", text) < 0) {
    marked = NULL;
  }
  free(text);
  return marked;
}

Status
first_rack_parse(const char* const text, const char* const place, const uint32_t missing,
                 Rack** const rack, Error* const error)
{
  const bool is_marked = !strncmp(text, MARK, strlen(MARK));
  return (is_marked ? rack_parse_bypass : rack_arg_reader(missing))(text, place, NULL, rack, error);
}

bool
first_rack_is_muted(const State* const state)
{
  return state && state_starts(state) >= MUTED_FROM;
}

/// True if the RACK of the command line is the origin of the saved state.
static bool
is_same_origin(const FirstRack* const first)
{
  char* const text = rack_arg_print(first->arg);
  const bool is_same = text && state_origin(text) == state_text_origin(first->state);
  free(text);
  return is_same;
}

/// List the sources to try, best first.  Returns their number.
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

/// The text of a source other than the command line; NULL if there is none.
static const char*
source_text(const FirstRack* const first, const Source source)
{
  return source == SOURCE_EMPTY
             ? ""
             : state_text(first->state, source == SOURCE_GOOD ? STATE_GOOD : STATE_PRESENT);
}

/// Read the rack of the command line; the caller frees it.
static Status
copy_given(const FirstRack* const first, Rack** const rack, Error* const error)
{
  if (first->unread) {
    *error = *first->unread;
    return error->status;
  }
  *rack = rack_copy(first->arg->rack);
  return *rack ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
}

/// Read and plan the rack of a source; the caller frees it.
static Status
plan_source(const FirstRack* const first, const Source source, Rack** const rack,
            Error* const error)
{
  Status status = source == SOURCE_GIVEN
                      ? copy_given(first, rack, error)
                      : first_rack_parse(source_text(first, source), source_names[source],
                                         first->missing, rack, error);
  if (!status) {
    status = first->plan(first->context, *rack, error);
    if (status) {
      rack_free(*rack);
      *rack = NULL;
    }
  }
  return status;
}

static void
log_refused(const FirstRack* const first, const Source source, const Error* const error)
{
  char text[sizeof(error->text) + 64U];
  snprintf(text, sizeof(text), "%s cannot be played: %s", source_names[source], error->text);
  live_log_event(first->log, EVENT_STATE_REFUSED, text);
}

static void
log_loop(const FirstRack* const first)
{
  if (first_rack_is_muted(first->state)) {
    char text[128];
    snprintf(text, sizeof(text),
             "start %" PRIu32 " in a row, none of which has run for %u s: muted for that time",
             state_starts(first->state), STATE_LIVED_S);
    live_log_event(first->log, EVENT_STATE_LOOP, text);
  }
}

Status
first_rack_choose(const FirstRack* const first, Rack** const rack, Error* const error)
{
  *rack = NULL;
  if (!first->state || first->fresh) {
    return plan_source(first, SOURCE_GIVEN, rack, error);
  }
  log_loop(first);
  Source sources[3];
  const uint32_t n = order_sources(first, sources);
  error_set(error, STATUS_NOT_FOUND, "no rack can be played at the start");
  for (uint32_t s = 0; s < n; ++s) {
    Error why;
    if (sources[s] != SOURCE_GIVEN && !source_text(first, sources[s])) {
      continue;
    }
    if (!plan_source(first, sources[s], rack, &why)) {
      if (sources[s] != SOURCE_GIVEN) {
        live_log_event(first->log, EVENT_STATE_RESTORED, source_names[sources[s]]);
      }
      return STATUS_OK;
    }
    log_refused(first, sources[s], &why);
    if (sources[s] == SOURCE_GIVEN) {
      *error = why;
    }
  }
  return error->status;
}
