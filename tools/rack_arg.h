// SPDX-License-Identifier: GPL-3.0-or-later
/**
   How a RACK on a command line is read, the same for render, run and check: a word that ends in
   ".rack", or that names a file, is read as a file; any other is a chain in the rack language.

   File names inside a rack file are relative to the folder of that file; inside a chain, to the
   present folder.
*/
#ifndef WARPRACK_TOOLS_RACK_ARG_H
#define WARPRACK_TOOLS_RACK_ARG_H

#include "../engine/effect.h"
#include "../engine/rack.h"
#include "../engine/status.h"

#include <stdbool.h>

typedef struct RackArg {
  Rack* rack;
  char* root;   ///< Folder that file names in the rack are relative to
  bool is_file; ///< The word named a file
} RackArg;

/// Read and check (rack_check()) the rack that `word` names.  On error `arg` is empty.
NODISCARD Status rack_arg_read(const char* word, RackArg* arg, Error* error);

void rack_arg_clear(RackArg* arg);

/// Loaders for EngineConfig with a RackArg as the context: audio_file_load() below its root.
Status rack_arg_load_file(void* arg, const char* name, double rate_hz, FxFile** file, Error* error);
void rack_arg_free_file(void* arg, FxFile* file);

#endif
