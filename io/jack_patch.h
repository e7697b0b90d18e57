// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The connections of a JACK client across all its sessions: existing connections and those to
   restore (jack_connections.h), automatic connections (jack_places.h), and the times of scans,
   retries and reports.
*/
#ifndef WARPRACK_IO_JACK_PATCH_H
#define WARPRACK_IO_JACK_PATCH_H

#include "jack_places.h"
#include "jack_session.h"

typedef struct JackPatch {
  JackPlaces places;
  JackConnections connections;
  bool is_settled;         ///< No change is expected until the server reports one
  uint64_t connections_ns; ///< Time of the last report of a changed connection
  uint64_t ports_ns;       ///< Time of the last report of a new or removed port; 0: handled
  uint64_t restore_ns;     ///< Time of the last attempt to restore
  uint64_t rest_ns;        ///< Pause until the next attempt
  uint32_t n_away;         ///< Number of missing connections, since away_ns
  uint64_t away_ns;
  uint32_t n_reported; ///< Number of missing connections in the last report
} JackPatch;

/// Initialise a patch.  Fails as jack_places_init() does. [main]
NODISCARD Status jack_patch_init(JackPatch* patch, const IoConfig* config, Error* error);

/// Set the connections that an open session makes at its start.  Returns false if out of memory.
/// [main]
bool jack_patch_prepare(JackPatch* patch, JackSession* session);

/// Begin to follow a session that has started. [main]
void jack_patch_begin(JackPatch* patch, JackSession* session, uint64_t now_ns);

/**
   Update the list of connections.  [main]

   @param played_ns Time at which the server last ran.  While it has stopped, no connection leaves
   the list, because a server that ends removes ports and connections before its end is detected.
   @return As jack_connections_update().
*/
bool jack_patch_update(JackPatch* patch, const JackSession* session, uint64_t played_ns);

/// Scan connections when due, fill open places with new ports, and report connections that are
/// missing for long.  Call it at each poll while no call to the server runs. [main]
void jack_patch_follow(JackPatch* patch, JackSession* session, uint64_t played_ns);

/// True if the caller should call jack_session_restore() now; prepares its list.  Call it while no
/// call runs. [main]
bool jack_patch_must_restore(JackPatch* patch, JackSession* session);

void jack_patch_clear(JackPatch* patch); // [main]

#endif
