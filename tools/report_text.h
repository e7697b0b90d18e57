// SPDX-License-Identifier: GPL-3.0-or-later
/// The report of a probe (plugins/report.h) in words and in JSON.
#ifndef WARPRACK_TOOLS_REPORT_TEXT_H
#define WARPRACK_TOOLS_REPORT_TEXT_H

#include "plugins/plugin.h"

#include <jansson.h>

/// Print what is known of a plugin, as lines of `info`. [main]
void report_text_print(const Plugin* plugin);

/// The report; null if there is none. [main]
json_t* report_text_json(const Plugin* plugin);

/// Print the plugins of this process's catalogue that could not be probed, and what the reports of
/// the others promise. [main]
void report_text_print_all(void);

/// Print what a rack can expect of the plugin of a node: a comment after its text. [main]
void report_text_print_node(const char* node, const Plugin* plugin, uint32_t block_frames);

/// Why a rack with this plugin may not have the same samples live and offline; NULL if it has.
/// [any]
const char* report_doubt(const Plugin* plugin);

#endif
