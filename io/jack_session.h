// SPDX-License-Identifier: GPL-3.0-or-later
/**
   One life of a JACK client: from the server's answer to its death.  A server that comes back gets
   a new session.

   Every call to the server is a function of one argument, so that it can be made as an errand: a
   server that hangs then hangs a thread that nobody needs.  Its result is left in `status`,
   `error`.
*/
#ifndef WARPRACK_IO_JACK_SESSION_H
#define WARPRACK_IO_JACK_SESSION_H

#include "jack_links.h"
#include "reviver.h"

#include <jack/jack.h>

/// What a second client found out about a server that stands still.
typedef enum JackProbe {
  JACK_PROBE_NONE,      ///< No probe was made, or the session got a period meanwhile
  JACK_PROBE_NO_SERVER, ///< The server takes no client
  JACK_PROBE_PLAYS,     ///< The new client gets periods, the session none
  JACK_PROBE_STANDS     ///< The new client gets none either
} JackProbe;

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
/// Connect to the server (which is never started), set the callbacks, make the ports. [errand]
void jack_session_open(void* session);
/// Let periods come, make the connections of `to_restore` that can be made. [errand]
void jack_session_start(void* session);
/// Try again to restore connections; what libjack says against it is dropped. [errand]
void jack_session_restore(void* session);
/// Give the ports their pretty names and their order, which patch bays show.  Decoration, so a
/// server without metadata is no fault.  Takes a millisecond for each port, and may hang where
/// another client has died over the database behind it: nothing that sounds waits for it. [errand]
void jack_session_describe(void* session);
/// Ask a server that stands still whether it lives, by means of a second client, into `probe`.
/// PipeWire's libjack tells nobody that the daemon has ended, and goes on answering from what it
/// knows; a new client is refused at once, or gets periods from a daemon that was started since.  A
/// server that is stopped leaves the call waiting until it goes on. [errand]
void jack_session_probe(void* session);
/// Tell the server that the latency has changed, this client's or, with `defers_latency`, any.
/// [errand]
void jack_session_tell_latency(void* session);
/// Close the client, if it is open, and free it all. [errand]
void jack_session_close(void* session);

#endif
