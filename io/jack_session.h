// SPDX-License-Identifier: GPL-3.0-or-later
/**
   One life of a JACK client: from the server's answer to its end.  After a restart of the server a
   new session begins.

   Every call to the server is a function of one argument, so that it can run as an async call
   (engine/base/async_call.h): if the server hangs, only that thread hangs.  The function stores its
   result in `status` and `error`.
*/
#ifndef WARPRACK_IO_JACK_SESSION_H
#define WARPRACK_IO_JACK_SESSION_H

#include "jack_connections.h"
#include "reconnect.h"

#include "io/quirks/jack_probe.h"

#include <jack/jack.h>

typedef struct JackSession {
  IoSession base; ///< First member, so that an IoSession* is a JackSession*
  // Set before jack_session_open()
  const char* client_name;
  const char* server_name;    ///< NULL: the default server
  const char* place;          ///< The server, for messages
  char first_name[256];       ///< The client's name in the first session; "" if this is the first
  JackConnections to_restore; ///< Connections to make; changed only while no call runs
  // The client
  jack_client_t* client;
  jack_port_t** ports; ///< [n_ports] the audio inputs, the audio outputs, and with `midi` the MIDI
                       ///< input and output
  uint32_t n_ports;
  const float** in;     ///< [n_in] this period's buffers
  float** out;          ///< [n_out]
  MidiPeriod* midi;     ///< Of this period; NULL: the client has no MIDI ports
  uint32_t n_connected; ///< Connections made by jack_session_start()
  bool is_described;    ///< jack_session_describe() was called
  JackProbe probe;      ///< Result of jack_session_probe()
  bool defers_latency;  ///< jack_session_tell_latency() reports the latency instead of the callback
  // Set by JACK's callbacks
  atomic_bool freewheeling;
  _Atomic double transport_bpm; ///< As IoStatus::transport_bpm
  atomic_bool connections_changed;
  atomic_bool ports_changed;   ///< Of any client
  atomic_bool latency_changed; ///< Of any client, with `defers_latency`
} JackSession;

/// NULL when out of memory. [main]
JackSession* jack_session_new(Io* io, bool has_midi);
/// Connect to the server (without starting it), set the callbacks, and make the ports. [async call]
void jack_session_open(void* session);
/// Activate the client, and make the connections of `to_restore` that can be made. [async call]
void jack_session_start(void* session);
/// Try again to restore connections; libjack's error messages are dropped. [async call]
void jack_session_restore(void* session);
/// Set the pretty names and the order of the ports, which patch bays show.  A server without
/// metadata is no error.  Takes a millisecond for each port, and may hang if another client died
/// while it used the database; no audio waits for it. [async call]
void jack_session_describe(void* session);
/// jack_probe() into `probe`. [async call]
void jack_session_probe(void* session);
/// Report a changed latency to the server: that of this client or, with `defers_latency`, of any.
/// [async call]
void jack_session_tell_latency(void* session);
/// Close the client if it is open, and free the session. [async call]
void jack_session_close(void* session);

#endif
