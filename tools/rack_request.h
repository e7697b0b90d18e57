// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Loads or saves a rack file by a `/rack/load` or `/rack/save` to the program's own OSC port: on
   SIGHUP, and for a session manager.  It is therefore an ordinary edit or command, in the order of
   the control thread, and no other thread changes the document.  Several requests during one cause
   one further request. [main]
*/
#ifndef WARPRACK_TOOLS_RACK_REQUEST_H
#define WARPRACK_TOOLS_RACK_REQUEST_H

#include "control/net/peer.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum RackRequestKind {
  RACK_REQUEST_LOAD,
  RACK_REQUEST_LOAD_BYPASS, ///< The rack may have plugins that are missing
  RACK_REQUEST_SAVE
} RackRequestKind;

typedef struct RackRequest {
  RackRequestKind kind;
  int socket; ///< -1: none, or after a lost answer none yet
  Peer server;
  char name[4096];   ///< Empty: there is no file
  uint64_t asked_ns; ///< Time of the request; 0: none is open
  bool is_wanted;    ///< Request again when the open request is answered
} RackRequest;

typedef enum RackRequestNews {
  RACK_REQUEST_NOTHING, ///< No result yet
  RACK_REQUEST_DONE,
  RACK_REQUEST_REFUSED,
  RACK_REQUEST_LATE, ///< Not answered within 10 s; it may still be carried out
} RackRequestNews;

/// Connect to the OSC port.  `name`: the rack file in the server's folder; copied.
NODISCARD Status rack_request_open(RackRequest* request, RackRequestKind kind, const Peer* server,
                                   const char* name, Error* error);

void rack_request_close(RackRequest* request);

/// Request it.
void rack_request_want(RackRequest* request);

/// True while a request is wanted or open.
bool rack_request_is_open(const RackRequest* request);

/// Send the request when it is due, and read the reply; `text` gets the result.  Never waits.
RackRequestNews
rack_request_poll(RackRequest* request, uint64_t now_ns, char* text, size_t n_bytes);

#endif
