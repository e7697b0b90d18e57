// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Builds the description of a plugin, for the formats whose binaries describe their plugins (CLAP,
   LADSPA).

   A wrong or missing fact that a host can do without is mended and noted (Plugin::notes).  With any
   other one the plugin cannot be used (Plugin::fault).
*/
#ifndef WARPRACK_PLUGINS_DESCRIPTION_H
#define WARPRACK_PLUGINS_DESCRIPTION_H

#include "format.h"
#include "plugin_names.h"

#define DESCRIPTION_MAX_MENDS 16U

/// A kind of mended facts.
typedef struct Mend {
  const char* what;  ///< "no name"
  const char* where; ///< Name of the first port
  uint32_t n;
} Mend;

/// Begins as zeros, except for `plugin`.
typedef struct Description {
  Plugin plugin;         ///< bundle, binary and binary_key are given
  PluginPort* ports;     ///< Plugin::ports
  NameSet symbols[2][2]; ///< Of audio and other ports, inputs and outputs
  char fault[256];
  Mend mends[DESCRIPTION_MAX_MENDS];
  uint32_t n_mends;
  Arena arena; ///< Memory of all texts and ports
} Description;

/// A printable copy, shortened; "" for NULL and when out of memory. [scan]
const char* description_text(Description* description, const char* text);

/// Set the fault, if there is none. [scan]
void description_fault(Description* description, const char* format, ...) PRINTF_LIKE(2, 3);

/// Note that a fact was mended.  `what` is a constant. [scan]
void description_mend(Description* description, const char* what, const char* where);

/// The decimal number with the fewest digits that is this float: 0.1, not 0.10000000149011612.
/// [scan]
double description_shortest(float number);

/// Take memory for the ports; false, with a fault, if there are too many. [scan]
bool description_reserve(Description* description, uint64_t n_ports);

/// Add a port to those that are reserved, with its symbol from its name. [scan]
PluginPort* description_add_port(Description* description, const PluginPort* port);

/// Pass the plugin on, and clear the description.  STATUS_NO_MEM. [scan]
NODISCARD Status description_finish(Description* description, PluginFound found, void* context,
                                    Error* error);

#endif
