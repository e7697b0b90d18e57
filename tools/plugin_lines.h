// SPDX-License-Identifier: GPL-3.0-or-later
/// Plugins as lines of fields between tabs, for OSC clients: /server/plugins and /server/plugin.
#ifndef WARPRACK_TOOLS_PLUGIN_LINES_H
#define WARPRACK_TOOLS_PLUGIN_LINES_H

#include "engine/base/status.h"
#include "engine/contract/effect.h"

#include <stdint.h>

/**
   List the usable plugins of the process in which all words occur, in any case, one per line:

       FORMAT  ID  SHORT_NAME  NAME  MAKER  CATEGORY

   The caller frees the text; NULL if out of memory. [any but rt]
*/
char* plugin_lines_list(const char* const* words, uint32_t n_words);

/// List the presets of the effect of a plugin, one per line.  The caller frees the text; NULL if
/// out of memory. [any but rt]
char* plugin_lines_presets(const FxInfo* fx);

/**
   Print a plugin: a line `KEY  VALUE` for each fact, then for each parameter

       param  ID  KIND  UNIT  MIN  MAX  DEFAULT  [CHOICE  NUMBER] ...

   MIN, MAX and DEFAULT are empty where they mean nothing.

   @param[out] text For the caller to free.
   @return As catalogue_find_plugin(). [any but rt]
*/
NODISCARD Status plugin_lines_print(const char* format, const char* id, char** text, Error* error);

#endif
