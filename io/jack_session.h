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

typedef struct JackSession {
  Session base; ///< First, so that a Session* is a JackSession*
  // Set before jack_session_open()
  const char* client_name;
  const char* server_name; ///< NULL: the default server
  const char* place;       ///< The server, for messages
  bool connect;            ///< jack_session_start() connects to the physical ports
  JackLinks to_restore;    ///< Changed only while no call runs
  // The client
  jack_client_t* client;
  jack_port_t** ports;  ///< [n_in + n_out], inputs first
  const float** in;     ///< [n_in] this period's buffers
  float** out;          ///< [n_out]
  uint32_t n_connected; ///< Connections made by jack_session_start()
  bool is_described;    ///< jack_session_describe() has been called
  // Of the main thread: what it saw when it looked for periods last, at seen_ns
  uint64_t seen_ns;
  uint64_t seen_periods;
  jack_nframes_t seen_time; ///< The server's, in frames
  uint32_t n_skipped;       ///< Looks since the last period at which the server's time had gone on
  // Set by JACK's callbacks
  atomic_bool freewheeling;
  atomic_bool links_changed;
} JackSession;

/// NULL when out of memory. [main]
JackSession* jack_session_new(Io* io);
/// Connect to the server (which is never started), set the callbacks, make the ports. [errand]
void jack_session_open(void* session);
/// Let periods come, restore the connections that can be. [errand]
void jack_session_start(void* session);
/// Try again to restore connections; what libjack says against it is dropped. [errand]
void jack_session_restore(void* session);
/// Give the ports their pretty names and their order, which patch bays show.  Decoration, so a
/// server without metadata is no fault.  Takes a millisecond for each port, and may hang where
/// another client has died over the database behind it: nothing that sounds waits for it. [errand]
void jack_session_describe(void* session);
/// Tell the server that the latency has changed. [errand]
void jack_session_tell_latency(void* session);
/// Close the client, if it is open, and free it all. [errand]
void jack_session_close(void* session);

#endif
