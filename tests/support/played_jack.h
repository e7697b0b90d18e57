// SPDX-License-Identifier: GPL-3.0-or-later
/// A JACK server played by a test.  played_jack.c defines libjack's functions for ports and
/// connections, so that a test can choose the order of events and the results.
#ifndef WARPRACK_TESTS_PLAYED_JACK_H
#define WARPRACK_TESTS_PLAYED_JACK_H

#include <jack/jack.h>
#include <stdbool.h>

struct _jack_port {
  char name[64];
  const char* type;
  unsigned long flags;
  bool is_active; ///< Its client is active; without that, jack_connect() fails
  bool is_gone;   ///< remove_port() has removed it from the server
  char alias[64];
};

extern unsigned n_wires;
extern unsigned n_refused; ///< Calls of jack_connect() that failed
extern bool graph_is_gone; ///< libjack's functions return NULL or -1

/// Start again without ports and connections.
void play_jack(const char* client_name);

/// Add a port.  jack_get_ports() lists ports in the order in which they were added.
jack_port_t* add_port(const char* name, unsigned long flags);

/// Remove a port and its connections.
void remove_port(jack_port_t* port);

void add_wire(const char* from, const char* to);
bool has_wire(const char* from, const char* to);
void cut(const char* from, const char* to);

#endif
