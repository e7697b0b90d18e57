// SPDX-License-Identifier: GPL-3.0-or-later
/// The description of one plugin while it is read from Turtle.
#ifndef WARPRACK_PLUGINS_LV2_LV2_DESCRIPTION_H
#define WARPRACK_PLUGINS_LV2_LV2_DESCRIPTION_H

#include "lv2_turtle.h"

#include "plugins/description.h"

typedef struct Lv2Description {
  Description common;
  const LilvNode* node; ///< The plugin
  NameSet symbols;      ///< Of all ports
} Lv2Description;

/// Read all ports, then the properties as ports of type PORT_PROPERTY. [scan]
void lv2_read_ports(Lv2Description* description);

/// Read unit, scale points, range and default value of a control port or a property, and mend them.
/// [scan]
void lv2_read_numbers(Lv2Description* description, const LilvNode* node, PluginPort* port);

/// Read the presets, of all bundles. [scan]
void lv2_read_presets(Lv2Description* description);

/// The file that has the state:state of a subject, of which it must have one; "" if none of the
/// files that describe it has it: its manifest, and those that rdfs:seeAlso names. [scan]
const char* lv2_state_file(Lv2Description* description, const LilvNode* subject);

/// The valid number of a port that is nearest to `number`. [scan]
double lv2_port_nearest(const PluginPort* port, double number);

#endif
