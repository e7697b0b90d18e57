// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The client's side of the protocol of the New Session Manager (NSM), API 1.1: OSC over UDP with a
   session manager, the *manager*.

   Source: Liles, Hilbricht, "New Session Manager - API", API 1.1.2, docs/src/api/index.adoc of
   jackaudio/new-session-manager.

       client ── /nsm/server/announce ─────────▶ manager
              ◀─ /reply, or /error ────────────
              ◀─ /nsm/client/open, save ───────
              ── /reply, or /error, when done ─▶
              ── is_dirty, is_clean, message ──▶

   Packets count only if they come from the manager: from its address and port, or if the manager is
   on this machine, from its port of this machine.
*/
#ifndef WARPRACK_TOOLS_NSM_H
#define WARPRACK_TOOLS_NSM_H

#include "control/net/peer.h"
#include "engine/base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define NSM_CLIENT_BYTES                                                                           \
  64U // of the id, which names the client of JACK: jackd allows 63 characters
#define NSM_TEXT_BYTES 512U

/// The error codes of the API that this client sends.
typedef enum NsmCode {
  NSM_GENERAL = -1,
  NSM_NOT_NOW = -8,
  NSM_BAD_PROJECT = -9,
  NSM_CREATE_FAILED = -10
} NsmCode;

typedef enum NsmNews {
  NSM_NOTHING,
  NSM_ACCEPTED, ///< The manager has answered the announcement; `text` is its name
  NSM_REFUSED,  ///< It has refused it; `text` is the reason
  NSM_OPEN,     ///< Open the project
  NSM_SAVE      ///< Save it
} NsmNews;

/// A project, as /nsm/client/open names it.  The texts come from the manager, unchecked.
typedef struct NsmProject {
  char path[PATH_MAX];
  char display[NSM_TEXT_BYTES]; ///< Name of the session for people; cut if it is longer
  char client[NSM_CLIENT_BYTES];
} NsmProject;

typedef struct Nsm {
  int socket;
  Peer manager;
  bool is_local; ///< The manager has an address of the loopback interface
} Nsm;

/// Make a socket for the manager that a URL names, as "osc.udp://host:port/".  Asks the system for
/// the address of a name, which may take seconds.  STATUS_BAD_ARG for another text, STATUS_NET.
/// [main]
NODISCARD Status nsm_open(Nsm* nsm, const char* url, Error* error);

/// Close the socket.  Accepts a closed one (-1).
void nsm_close(Nsm* nsm);

/// Announce the client.  `executable`: argv[0], with which the manager can start it again.
void nsm_announce(const Nsm* nsm, const char* executable);

/// Read the next packet of the manager that counts; never waits.  `project` is set with NSM_OPEN,
/// `text` with NSM_ACCEPTED and NSM_REFUSED.
NsmNews nsm_receive(const Nsm* nsm, NsmProject* project, char text[NSM_TEXT_BYTES]);

#define NSM_ADDRESS_OPEN "/nsm/client/open"
#define NSM_ADDRESS_SAVE "/nsm/client/save"

// Messages to the manager.  If the system refuses to send one, it is lost. [any, not rt]
void nsm_reply(const Nsm* nsm, const char* address, const char* text);
void nsm_fail(const Nsm* nsm, const char* address, NsmCode code, const char* text);
void nsm_tell_dirty(const Nsm* nsm, bool is_dirty);
/// `priority`: 0 to 3, the most important.
void nsm_tell(const Nsm* nsm, int priority, const char* text);

/// True if no program has the manager's port open; of a manager on another machine always false.
bool nsm_is_gone(const Nsm* nsm);

#endif
