// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The description of one plugin while it is read from Turtle.

   An error in a description that the host can mend is a note, such as a default value outside its
   range; any other is a fault, with which the plugin cannot be used.
*/
#ifndef WARPRACK_PLUGINS_LV2_LV2_DESCRIPTION_H
#define WARPRACK_PLUGINS_LV2_LV2_DESCRIPTION_H

#include "lv2_turtle.h"

#include "engine/base/arena.h"
#include "engine/base/text_buffer.h"
#include "plugins/plugin.h"

typedef struct Lv2Description {
  const LilvNode* node; ///< The plugin
  Plugin plugin;
  PluginPort* ports;       ///< Plugin::ports while they are read
  uint32_t* symbol_hashes; ///< One per port: some plugins have thousands
  Arena arena;             ///< Has all texts and tables of `plugin`
  TextBuffer notes;
  char fault[512]; ///< The first fault; "" if there is none
} Lv2Description;

/// Add a note. [scan]
void lv2_description_note(Lv2Description* description, const char* format, ...) PRINTF_LIKE(2, 3);

/// Set the fault, if there is none. [scan]
void lv2_description_fault(Lv2Description* description, const char* format, ...) PRINTF_LIKE(2, 3);

/// Read all ports, then the properties as ports of type PORT_PROPERTY. [scan]
void lv2_description_read_ports(Lv2Description* description);

/// Read unit, scale points, range and default value of a control port or a property, and mend them.
/// [scan]
void
lv2_description_read_numbers(Lv2Description* description, const LilvNode* node, PluginPort* port);

/// Read the presets, of all bundles. [scan]
void lv2_description_read_presets(Lv2Description* description);

/// The valid number of a port that is nearest to `number`. [scan]
double port_nearest(const PluginPort* port, double number);

#endif
