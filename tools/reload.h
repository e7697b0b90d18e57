// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Reloads the rack file on SIGHUP: sends a `/rack/load` to the program's own OSC port.  The reload
   is therefore an ordinary edit, in the order of the control thread and with undo, and no other
   thread changes the document.  Several requests during a reload cause one further reload. [main]
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
  bool bypasses;     ///< The rack may have plugins that are missing
  uint64_t asked_ns; ///< Time of the request; 0: none is open
  bool is_wanted;    ///< Reload again when the open request is answered
} Reload;

typedef enum ReloadNews {
  RELOAD_NOTHING, ///< No result yet
  RELOAD_DONE,
  RELOAD_REFUSED, ///< Refused, or not answered within 10 s
} ReloadNews;

/// Connect to the OSC port.  `name`: the rack file in the server's folder; copied.  `bypasses`:
/// load the rack although plugins are missing.
NODISCARD Status reload_open(Reload* reload, const Peer* server, const char* name, bool bypasses,
                             Error* error);

void reload_close(Reload* reload);

/// Request a reload.
void reload_want(Reload* reload);

/// True while a reload is requested or running.
bool reload_is_open(const Reload* reload);

/// Send the request when it is due, and read the reply; `text` gets the result.  Never waits.
ReloadNews reload_poll(Reload* reload, uint64_t now_ns, char* text, size_t n_bytes);

#endif
