// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The connections of a JACK client over all its sessions: those that are there and those that are
   to come (jack_links.h), those that it makes by itself (jack_places.h), and when to look, to
   try again and to report.
*/
#ifndef WARPRACK_IO_JACK_PATCH_H
#define WARPRACK_IO_JACK_PATCH_H

#include "jack_places.h"
#include "jack_session.h"

typedef struct JackPatch {
  JackPlaces places;
  JackLinks links;
  bool is_settled;     ///< Nothing is to be seen before the server reports a change
  uint64_t links_ns;   ///< When it reported one
  uint64_t ports_ns;   ///< When it reported a port that came or went; 0: that has been dealt with
  uint64_t restore_ns; ///< When restoring was tried last
  uint64_t rest_ns;    ///< For how long it is not tried again
  uint32_t n_away;     ///< Connections that are not there, since away_ns
  uint64_t away_ns;
  uint32_t n_reported; ///< How many were reported
} JackPatch;

/// Fails as jack_places_init() does. [main]
NODISCARD Status jack_patch_init(JackPatch* patch, const IoConfig* config, Error* error);

/// A session is open: what it is to connect when it starts.  False when out of memory. [main]
bool jack_patch_prepare(JackPatch* patch, JackSession* session);

/// It has started. [main]
void jack_patch_begin(JackPatch* patch, JackSession* session, uint64_t now_ns);

/**
   Remember the connections that there are.  [main]

   @param played_ns When the server was last seen to play: while it stands, nothing is forgotten,
   because a server that ends takes ports and connections down before it is missed.
   @return As jack_links_look().
*/
bool jack_patch_look(JackPatch* patch, const JackSession* session, uint64_t played_ns);

/// Each poll, beside no call: look, where that is due; give open places to ports that have come;
/// report what is away for long. [main]
void jack_patch_follow(JackPatch* patch, JackSession* session, uint64_t played_ns);

/// Beside no call: whether jack_session_restore() is to be called now, with what it needs. [main]
bool jack_patch_must_restore(JackPatch* patch, JackSession* session);

void jack_patch_clear(JackPatch* patch); // [main]

#endif
