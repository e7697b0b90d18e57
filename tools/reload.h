// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Reads the rack file again on SIGHUP: a `/rack/load` to our own OSC port, so that it is one more
   edit in the control's order, with undo, and nobody else touches the document.  One at a time: of
   many that are asked for meanwhile only one more follows. [main]
*/
#ifndef WARPRACK_TOOLS_RELOAD_H
#define WARPRACK_TOOLS_RELOAD_H

#include "control/net/peer.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Reload {
  int socket; ///< -1: none
  char name[4096];
  uint64_t asked_ns; ///< When; 0: there is no question open
  bool is_wanted;    ///< Once more, when the question that is open has been answered
} Reload;

typedef enum ReloadNews {
  RELOAD_NOTHING, ///< Has been heard
  RELOAD_DONE,
  RELOAD_REFUSED, ///< Or not answered within 10 s
} ReloadNews;

/// Connect to the OSC port.  `name` is that of the rack file in the server's folder; copied.
NODISCARD Status reload_open(Reload* reload, const Peer* server, const char* name, Error* error);

void reload_close(Reload* reload);

/// Want it.
void reload_want(Reload* reload);

/// True while it is wanted or asked for.
bool reload_is_open(const Reload* reload);

/// Ask when it is wanted and its turn, and hear what became of it, in words; never waits.
ReloadNews reload_look(Reload* reload, uint64_t now_ns, char* text, size_t n_bytes);

#endif
