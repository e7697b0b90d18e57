// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Reads the rack file again on SIGHUP: a `/rack/load` to our own OSC port, so that it is one more
   edit in the control's order, with undo, and nobody else touches the document. [main]
*/
#ifndef WARPRACK_TOOLS_RELOAD_H
#define WARPRACK_TOOLS_RELOAD_H

#include "../engine/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Reload {
  int socket; ///< -1: none
  char name[4096];
} Reload;

/// Connect to the OSC port.  `name` is that of the rack file in the server's folder; copied.
NODISCARD Status reload_open(Reload* reload, const char* bind_address, uint16_t port,
                             const char* name, Error* error);

void reload_close(Reload* reload);

/// Ask for it; never waits.
NODISCARD Status reload_ask(const Reload* reload, Error* error);

/// True when an answer has come: `text` says what became of it.
bool reload_answer(const Reload* reload, char* text, size_t n_bytes);

#endif
