// SPDX-License-Identifier: GPL-3.0-or-later
/// A JACK server played by a test: libjack's functions for ports and connections are defined in
/// played_jack.c, so that each order of events can be had, and each answer.
#ifndef WARPRACK_TESTS_PLAYED_JACK_H
#define WARPRACK_TESTS_PLAYED_JACK_H

#include <jack/jack.h>
#include <stdbool.h>

struct _jack_port {
  char name[64];
  const char* type;
  unsigned long flags;
  bool is_active; ///< Its client is; else it cannot be connected
  bool is_gone;   ///< The server does not know it any more
  char alias[64];
};

extern unsigned n_wires;
extern unsigned n_refused; ///< Attempts to connect what is not active
extern bool graph_is_gone; ///< libjack answers with NULL and -1

/// Begin with no port and no connection.
void play_jack(const char* client_name);

/// Ports are listed in the order in which they were added.
jack_port_t* add_port(const char* name, unsigned long flags);

/// It goes with its connections.
void remove_port(jack_port_t* port);

void add_wire(const char* from, const char* to);
bool has_wire(const char* from, const char* to);
void cut(const char* from, const char* to);

#endif
