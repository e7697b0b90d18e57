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

#include "io_driver.h"
#include "jack_links.h"

#include <jack/jack.h>

typedef struct JackSession {
  // Set before jack_session_open()
  Io* io;
  const char* client_name;
  const char* server_name; ///< NULL: the default server
  bool connect;            ///< jack_session_start() connects to the physical ports
  JackLinks pending;       ///< Connections to restore; those that were leave the list
  // Results
  Status status;
  Error error;
  bool absent;         ///< jack_session_open(): there is no server
  uint32_t n_restored; ///< Connections made by the last call
  // The client
  jack_client_t* client;
  jack_port_t** ports; ///< [n_in + n_out], inputs first
  const float** in;    ///< [n_in] this period's buffers
  float** out;         ///< [n_out]
  // Set by JACK's callbacks
  atomic_bool lost; ///< The server is gone (release: after `reason`)
  char reason[128];
  atomic_bool freewheeling;
  atomic_bool links_changed;
  _Atomic uint64_t xruns;
} JackSession;

/// NULL when out of memory. [main]
JackSession* jack_session_new(Io* io);
/// Close a client that is still open, and free it all.  Accepts NULL. [errand]
void jack_session_free(JackSession* session);

/// Connect to the server (which is never started), set the callbacks, make the ports. [errand]
void jack_session_open(void* session);
/// Let periods come, restore the connections that can be. [errand]
void jack_session_start(void* session);
/// Restore further connections. [errand]
void jack_session_restore(void* session);
/// Tell the server that the latency has changed. [errand]
void jack_session_tell_latency(void* session);
/// As jack_session_free(). [errand]
void jack_session_close(void* session);

/// Keep libjack from printing: its words are kept until taken. [main]
void jack_words_catch(void);
/// The first words since the last call, "" for none. [main]
void jack_words_take(char* buffer, size_t buffer_bytes);

#endif
