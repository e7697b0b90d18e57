// SPDX-License-Identifier: GPL-3.0-or-later
/// The states of plugins that servers have saved in a folder, with the files that plugins made for
/// them, and the racks that name them.
#ifndef WARPRACK_TOOLS_STATE_LIST_H
#define WARPRACK_TOOLS_STATE_LIST_H

#include "engine/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/**
   List the states and files directly in a folder, by name: {name, bytes, uses}.  `uses` counts the
   rack files in the folder and below it, and in the other files and folders, in whose text the name
   occurs; of a file that is no state also the states of its plugin.

   @param others [n_others] rack files, or folders with rack files.
   @param unused Only those without uses.  STATUS_EXISTS while a server uses the folder: its
   document, undo and redo may need them.
   @return STATUS_FILE if a file or folder cannot be read, because it may name a state;
   STATUS_NO_MEM.
*/
NODISCARD Status state_list(char* folder, char* const* others, uint32_t n_others, bool unused,
                            json_t** rows, Error* error);

#endif
