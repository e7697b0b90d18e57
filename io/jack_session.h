// SPDX-License-Identifier: GPL-3.0-or-later
/**
   One life of a JACK client: from the server's answer to its death.  A server that comes back gets
   a new session.

   Every call to the server is a function of one argument, so that it can be made as an call: a
   server that hangs then hangs a thread that nobody needs.  Its result is left in `status`,
   `error`.
*/
#ifndef WARPRACK_IO_JACK_SESSION_H
#define WARPRACK_IO_JACK_SESSION_H

#include "jack_links.h"
#include "reconnect.h"

#include "io/quirks/jack_probe.h"

#include <jack/jack.h>

typedef struct JackSession {
  Session base; ///< First, so that a Session* is a JackSession*
  // Set before jack_session_open()
  const char* client_name;
  const char* server_name; ///< NULL: the default server
  const char* place;       ///< The server, for messages
  const char* hint;        ///< After "... does not run", what may help, or ""
  JackLinks to_restore;    ///< Changed only while no call runs
  // The client
  jack_client_t* client;
  jack_port_t** ports;  ///< [n_in + n_out], inputs first
  const float** in;     ///< [n_in] this period's buffers
  float** out;          ///< [n_out]
  uint32_t n_connected; ///< Connections made by jack_session_start()
  bool is_described;    ///< jack_session_describe() has been called
  JackProbe probe;      ///< Of jack_session_probe()
  bool defers_latency;  ///< jack_session_tell_latency() tells it, and the callback does not
  // Set by JACK's callbacks
  atomic_bool freewheeling;
  atomic_bool links_changed;
  atomic_bool ports_changed;   ///< Anybody's
  atomic_bool latency_changed; ///< Somebody's, with `defers_latency`
} JackSession;

/// NULL when out of memory. [main]
JackSession* jack_session_new(Io* io);
/// Connect to the server (which is never started), set the callbacks, make the ports. [async call]
void jack_session_open(void* session);
/// Let periods come, make the connections of `to_restore` that can be made. [async call]
void jack_session_start(void* session);
/// Try again to restore connections; what libjack says against it is dropped. [async call]
void jack_session_restore(void* session);
/// Give the ports their pretty names and their order, which patch bays show.  Decoration, so a
/// server without metadata is no fault.  Takes a millisecond for each port, and may hang where
/// another client has died over the database behind it: nothing that sounds waits for it. [async
/// call]
void jack_session_describe(void* session);
/// jack_probe() into `probe`. [async call]
void jack_session_probe(void* session);
/// Tell the server that the latency has changed, this client's or, with `defers_latency`, any.
/// [async call]
void jack_session_tell_latency(void* session);
/// Close the client, if it is open, and free it all. [async call]
void jack_session_close(void* session);

#endif
