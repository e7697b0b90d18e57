// SPDX-License-Identifier: GPL-3.0-or-later
// A live run under a session manager.

#include "live_nsm.h"

#include "live_signals.h"

#include "engine/base/time.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_NS (5U * NS_PER_S)   // a manager that has not answered by then does not answer
#define STEP_NS   (10U * NS_PER_MS) // between two looks for the first project
#define CHECK_NS  NS_PER_S          // between two looks whether the manager is there

static bool
has_manager(const LiveNsm* const nsm)
{
  return nsm->nsm.socket >= 0;
}

static void
note(void* const context, const char* const text)
{
  live_log_event(((const LiveNsm*)context)->log, EVENT_NSM_NOTE, text);
}

/// Go on without the manager.
static void
lose_manager(LiveNsm* const nsm, const LiveEvent event, const char* const why)
{
  char text[NSM_TEXT_BYTES + 64U];
  snprintf(text, sizeof(text), "%s; going on without a session manager", why);
  pthread_mutex_lock(&nsm->lock); // tell_event() may be sending
  nsm_close(&nsm->nsm);
  pthread_mutex_unlock(&nsm->lock);
  live_log_event(nsm->log, event, text);
}

// ---- events for the manager ----

/// The priority of an event for the manager, 0 to 3; 0: it does not get the event.
static int
priority_of(const LiveEventInfo* const info)
{
  return !strcmp(info->level, "error")     ? 3
         : !strcmp(info->level, "warning") ? 2
         : !strcmp(info->level, "notice")  ? 1
                                           : 0;
}

/// Tell the manager about an event, as often as the log has it at most.  A LiveLogTee.
static void
tell_event(void* const context, const LiveEvent event, const char* const text)
{
  LiveNsm* const nsm = context;
  const LiveEventInfo info = live_event_info(event);
  const uint64_t now_ns = time_now_ns();
  pthread_mutex_lock(&nsm->lock);
  uint64_t* const told_ns = &nsm->told_ns[event];
  const bool is_due =
      priority_of(&info) && (!*told_ns || now_ns - *told_ns >= info.interval_s * NS_PER_S);
  if (is_due && has_manager(nsm)) {
    *told_ns = now_ns;
    nsm_tell(&nsm->nsm, priority_of(&info), text);
  }
  pthread_mutex_unlock(&nsm->lock);
}

// ---- open ----

/// Refuse an order.
static void
refuse(LiveNsm* const nsm, const char* const address, const NsmCode code, const char* const why)
{
  char text[1024];
  snprintf(text, sizeof(text), "%s: %.900s", address, why);
  live_log_event(nsm->log, EVENT_NSM_REFUSED, text);
  if (has_manager(nsm)) {
    nsm_fail(&nsm->nsm, address, code, why);
  }
}

/// Open a project for the next run.  Returns false after an error, which the manager gets.
static bool
open_next(LiveNsm* const nsm, const NsmProject* const at)
{
  NsmCode code = NSM_GENERAL;
  Error error;
  project_clear(&nsm->next);
  if (project_open(at, nsm->given, nsm->missing, note, nsm, &nsm->next, &code, &error)) {
    refuse(nsm, NSM_ADDRESS_OPEN, code, error.text);
    return false;
  }
  nsm->is_answered = false;
  return true;
}

/// Make the next project that of the next run.
static void
begin_project(LiveNsm* const nsm)
{
  nsm->has_project = true;
  nsm->at = nsm->next.at;
  nsm->rack = nsm->next.rack;
  nsm->next.rack = (RackArg){ 0 };
  nsm->is_switching = false;
  pthread_mutex_lock(&nsm->lock);
  free(nsm->saved);
  nsm->saved = nsm->next.saved;
  nsm->next.saved = NULL;
  free(nsm->text);
  nsm->text = NULL;
  nsm->told_dirty = -1;
  pthread_mutex_unlock(&nsm->lock);
  char text[sizeof(nsm->at.path) + sizeof(nsm->at.display) + 40U];
  snprintf(text, sizeof(text), "the project is %s, of the session \"%s\"", nsm->at.path,
           nsm->at.display);
  note(nsm, text);
}

static void
note_manager(LiveNsm* const nsm, const char* const name)
{
  char text[NSM_TEXT_BYTES + 32U];
  snprintf(text, sizeof(text), "the session manager is %s", name);
  note(nsm, text);
}

/// Wait for the first project.
static void
wait_for_project(LiveNsm* const nsm)
{
  const uint64_t began_ns = time_now_ns();
  bool is_accepted = false;
  nsm->check_ns = began_ns;
  while (has_manager(nsm) && !nsm->has_project && !live_has_end_signal()) {
    NsmProject at;
    char text[NSM_TEXT_BYTES];
    const NsmNews news = nsm_receive(&nsm->nsm, &at, text);
    const uint64_t now_ns = time_now_ns();
    if (news == NSM_REFUSED) {
      lose_manager(nsm, EVENT_NSM_REFUSED, text);
    } else if (news == NSM_ACCEPTED) {
      is_accepted = true;
      note_manager(nsm, text);
    } else if (news == NSM_OPEN && open_next(nsm, &at)) {
      begin_project(nsm);
    } else if (!is_accepted && now_ns - began_ns > ANSWER_NS) {
      lose_manager(nsm, EVENT_NSM_LOST, "the session manager of NSM_URL does not answer");
    } else if (now_ns - nsm->check_ns > CHECK_NS) {
      nsm->check_ns = now_ns;
      if (nsm_is_gone(&nsm->nsm)) {
        lose_manager(nsm, EVENT_NSM_LOST, "the session manager of NSM_URL is not there");
      }
    }
    if (news == NSM_NOTHING) {
      time_sleep(STEP_NS);
    }
  }
}

void
live_nsm_begin(LiveNsm* const nsm, const char* const url, const char* const given,
               const uint32_t missing, LiveLog* const log)
{
  Error error;
  *nsm = (LiveNsm){ .log = log,
                    .given = given,
                    .missing = missing,
                    .nsm.socket = -1,
                    .is_answered = true,
                    .save.socket = -1,
                    .told_dirty = -1,
                    .lock = PTHREAD_MUTEX_INITIALIZER };
  if (!url) {
    return;
  }
  if (nsm_open(&nsm->nsm, url, &error)) {
    lose_manager(nsm, EVENT_NSM_LOST, error.text);
    return;
  }
  live_log_tee(log, tell_event, nsm);
  nsm_announce(&nsm->nsm, program_invocation_name);
  wait_for_project(nsm);
}

// ---- a run ----

void
live_nsm_take_rack(LiveNsm* const nsm, RackArg* const rack)
{
  *rack = nsm->rack;
  nsm->rack = (RackArg){ 0 };
}

Status
live_nsm_started(LiveNsm* const nsm, const Control* const control, Error* const error)
{
  if (!nsm->has_project) {
    return STATUS_OK;
  }
  const Peer server = control_own_peer(control);
  const Status status =
      rack_request_open(&nsm->save, RACK_REQUEST_SAVE, &server, PROJECT_DOCUMENT, error);
  if (status) {
    return status;
  }
  nsm->port = control_port(control);
  if (!nsm->is_answered && has_manager(nsm)) {
    char text[NSM_TEXT_BYTES];
    snprintf(text, sizeof(text), "OSC port %u", nsm->port);
    nsm_reply(&nsm->nsm, NSM_ADDRESS_OPEN, text);
  }
  nsm->is_answered = true;
  return STATUS_OK;
}

static void
poll_save(LiveNsm* const nsm, const uint64_t now_ns)
{
  char text[1024];
  char* saved = NULL;
  Error error;
  switch (rack_request_poll(&nsm->save, now_ns, text, sizeof(text))) {
  case RACK_REQUEST_DONE:
    if (project_read_document(&nsm->at, &saved, &error)) {
      refuse(nsm, NSM_ADDRESS_SAVE, NSM_GENERAL, error.text);
      return;
    }
    pthread_mutex_lock(&nsm->lock);
    free(nsm->saved);
    nsm->saved = saved;
    pthread_mutex_unlock(&nsm->lock);
    if (has_manager(nsm)) {
      nsm_reply(&nsm->nsm, NSM_ADDRESS_SAVE, text);
    }
    return;
  case RACK_REQUEST_REFUSED:
    refuse(nsm, NSM_ADDRESS_SAVE, NSM_GENERAL, text);
    return;
  case RACK_REQUEST_LATE:
    refuse(nsm, NSM_ADDRESS_SAVE, NSM_NOT_NOW, "an edit is being planned; save again later");
    return;
  case RACK_REQUEST_NOTHING:
    return;
  }
}

/// Tell the manager whether the document differs from the saved one, if that has changed.
static void
tell_dirty(LiveNsm* const nsm)
{
  pthread_mutex_lock(&nsm->lock);
  const int is_dirty = !nsm->saved || (nsm->text && strcmp(nsm->text, nsm->saved) != 0);
  const bool is_news = nsm->text && is_dirty != nsm->told_dirty;
  nsm->told_dirty = is_news ? is_dirty : nsm->told_dirty;
  pthread_mutex_unlock(&nsm->lock);
  if (is_news) {
    nsm_tell_dirty(&nsm->nsm, is_dirty);
  }
}

/// Keep the rack that plays, to return to it.
static void
remember_project(LiveNsm* const nsm)
{
  free(nsm->last_text);
  free(nsm->last_saved);
  nsm->last = nsm->at;
  pthread_mutex_lock(&nsm->lock);
  nsm->last_text = nsm->text;
  nsm->last_saved = nsm->saved;
  nsm->text = nsm->saved = NULL;
  pthread_mutex_unlock(&nsm->lock);
}

/// Carry out orders of the manager, one after the other: those that come during a save wait in the
/// socket.  A project is therefore opened as it was saved last.
static void
receive_orders(LiveNsm* const nsm)
{
  NsmProject at;
  char text[NSM_TEXT_BYTES];
  NsmNews news = NSM_NOTHING;
  while (!nsm->is_switching && !rack_request_is_open(&nsm->save) &&
         (news = nsm_receive(&nsm->nsm, &at, text)) != NSM_NOTHING) {
    if (news == NSM_SAVE) {
      rack_request_want(&nsm->save);
    } else if (news == NSM_OPEN) {
      nsm->is_switching = open_next(nsm, &at);
    }
  }
}

bool
live_nsm_poll(LiveNsm* const nsm, const uint64_t now_ns)
{
  if (!nsm->has_project || !has_manager(nsm)) {
    return false;
  }
  receive_orders(nsm);
  poll_save(nsm, now_ns);
  tell_dirty(nsm);
  if (now_ns - nsm->check_ns > CHECK_NS) {
    nsm->check_ns = now_ns;
    if (nsm_is_gone(&nsm->nsm)) {
      lose_manager(nsm, EVENT_NSM_LOST, "the session manager has ended");
    }
  }
  return nsm->is_switching;
}

// ---- the end of a run ----

/// Return to the project before the one that could not be opened.
static bool
go_back(LiveNsm* const nsm)
{
  Error why;
  if (!nsm->last_text) {
    return false;
  }
  project_clear(&nsm->next);
  const Status status =
      project_reopen(&nsm->last, nsm->last_text, nsm->last_saved, &nsm->next, &why);
  free(nsm->last_text);
  nsm->last_text = NULL;
  if (status) {
    live_log_event(nsm->log, EVENT_NSM_REFUSED, why.text);
    return false;
  }
  begin_project(nsm);
  return true;
}

bool
live_nsm_ended(LiveNsm* const nsm, const Status status, const Error* const error)
{
  rack_request_close(&nsm->save);
  rack_arg_clear(&nsm->rack); // if it was not taken
  if (!nsm->has_project || live_has_end_signal()) {
    return false;
  }
  if (!nsm->is_answered && !nsm->is_switching) { // it has not started
    const int exit_code = status_exit_code(status);
    const bool is_bad = exit_code == 2 || exit_code == 5; // its rack, or its files
    refuse(nsm, NSM_ADDRESS_OPEN, is_bad ? NSM_BAD_PROJECT : NSM_GENERAL, error->text);
    nsm->is_answered = true;
    return go_back(nsm);
  }
  if (nsm->is_switching) {
    remember_project(nsm);
    begin_project(nsm);
    return true;
  }
  return false;
}

void
live_nsm_end(LiveNsm* const nsm)
{
  live_log_tee(nsm->log, NULL, NULL);
  nsm_close(&nsm->nsm);
  project_clear(&nsm->next);
  rack_arg_clear(&nsm->rack);
  free(nsm->text);
  free(nsm->saved);
  free(nsm->last_text);
  free(nsm->last_saved);
  free(nsm->subscribers);
}

// ---- callbacks of the control thread ----

static void
replace_text(LiveNsm* const nsm, char** const place, char* const text)
{
  pthread_mutex_lock(&nsm->lock);
  free(*place);
  *place = text;
  pthread_mutex_unlock(&nsm->lock);
}

void
live_nsm_offer(LiveNsm* const nsm, char* const rack_text)
{
  replace_text(nsm, &nsm->text, rack_text);
}

void
live_nsm_offer_subscribers(LiveNsm* const nsm, char* const subscribers)
{
  replace_text(nsm, &nsm->subscribers, subscribers);
}
