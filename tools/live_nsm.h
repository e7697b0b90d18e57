// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A live run under a session manager (nsm.h), which started it with NSM_URL in the environment, and
   names a project (project.h).

       live_nsm_begin()      announces the program, and waits for the first project
       live_nsm_take_rack()  the rack of the project
       live_nsm_started()    answers /nsm/client/open
       live_nsm_poll()       saves, tells whether the document differs from the saved one; another
                             project ends the run, and the next one begins
       live_nsm_ended()      after each run: whether another one follows

   If there is no session manager, or it ends, the run goes on without one.
*/
#ifndef WARPRACK_TOOLS_LIVE_NSM_H
#define WARPRACK_TOOLS_LIVE_NSM_H

#include "live_log.h"
#include "nsm.h"
#include "project.h"
#include "rack_request.h"

#include "control/control.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct LiveNsm {
  LiveLog* log;
  const char* given; ///< RACK of the command line
  uint32_t missing;  ///< Index in rack_arg_missing
  Nsm nsm;
  bool has_project; ///< The run is in a project, even if the manager has ended since
  NsmProject at;    ///< The project of this run
  RackArg rack;     ///< Of this run, until live_nsm_take_rack()
  Project next;     ///< The project to which the run switches ...
  bool is_switching;
  bool is_answered; ///< The manager has an answer to its last order to open
  NsmProject last;  ///< The project before this one, to which a run returns if this one fails ...
  char* last_text;  ///< ... with the rack that played there; NULL: none
  char* last_saved;
  RackRequest save;
  uint16_t port; ///< OSC port of the last run; 0: none
  uint64_t check_ns;

  pthread_mutex_t lock;            ///< Guards the members below, and the closing of the socket
  char* text;                      ///< The active rack; NULL: not known yet
  char* saved;                     ///< The document on the disk; NULL: there is none
  int told_dirty;                  ///< -1: nothing
  char* subscribers;               ///< As text, for the next run; NULL: none
  uint64_t told_ns[N_LIVE_EVENTS]; ///< When the manager got an event
} LiveNsm;

/// Follow the manager of this URL; NULL: there is none.  Waits until the manager has named the
/// first project, or SIGTERM comes.  `given` and `missing`: as project_open(). [main]
void
live_nsm_begin(LiveNsm* nsm, const char* url, const char* given, uint32_t missing, LiveLog* log);

/// Give the rack of the project to the run. [main]
void live_nsm_take_rack(LiveNsm* nsm, RackArg* rack);

/// The run plays: answer the manager. [main]
NODISCARD Status live_nsm_started(LiveNsm* nsm, const Control* control, Error* error);

/// Do what the manager asks.  Returns true if the run must end, because another project follows.
/// [main]
bool live_nsm_poll(LiveNsm* nsm, uint64_t now_ns);

/// The run has ended, with this status.  Returns true if another run follows: of the next project,
/// or if that could not be opened, of the one before. [main]
bool live_nsm_ended(LiveNsm* nsm, Status status, const Error* error);

/// Close everything. [main]
void live_nsm_end(LiveNsm* nsm);

/// Record the active rack, or the subscribers.  Takes ownership of the text. [any, not rt]
void live_nsm_offer(LiveNsm* nsm, char* rack_text);
void live_nsm_offer_subscribers(LiveNsm* nsm, char* subscribers);

#endif
