// SPDX-License-Identifier: GPL-3.0-or-later
/**
   How a RACK on a command line is read, the same for render, run and check: a word that ends in
   ".rack", or that names a file, is read as a file; any other is a chain in the rack language.

   File names inside a rack file are relative to the folder of that file; inside a chain, to the
   present folder.
*/
#ifndef WARPRACK_TOOLS_RACK_ARG_H
#define WARPRACK_TOOLS_RACK_ARG_H

#include "engine/base/status.h"
#include "engine/contract/effect.h"
#include "engine/rack/rack.h"

#include <stdbool.h>

typedef struct RackArg {
  Rack* rack;
  char* root;   ///< Folder that file names in the rack are relative to
  bool is_file; ///< The word named a file
} RackArg;

/// Read the rack that `word` names.  On error `arg` is empty.
NODISCARD Status rack_arg_read(const char* word, RackArg* arg, Error* error);

/// The same, but on error `arg` has all that does not depend on the rack; clear it anyway.
NODISCARD Status rack_arg_try(const char* word, RackArg* arg, Error* error);

/// The whole text of a file, as large as a rack may be; the caller frees it.
NODISCARD Status rack_arg_read_text(const char* name, char** text, Error* error);

void rack_arg_clear(RackArg* arg);

/// Put another folder in place of the root, `--root`.
NODISCARD Status rack_arg_set_root(RackArg* arg, const char* root, Error* error);

/// Stay with the folder that the root is now, whatever links in its name lead to later.
void rack_arg_hold_root(RackArg* arg);

/// How the rack file that `word` names is called below the root; the caller frees it.  NULL when
/// the word named no file, or one that is not there.
char* rack_arg_name(const RackArg* arg, const char* word);

/// Loaders for EngineConfig with a RackArg as the context.  Files that its rack names may be
/// anywhere; others, of racks that came later and from elsewhere, are found below the root only, as
/// control/folder.h has it. [builder]
Status rack_arg_load_file(void* arg, const char* name, double rate_hz, FxFile** file, Error* error);
Status rack_arg_read_file(void* arg, FxFile* file, Error* error);
void rack_arg_free_file(void* arg, FxFile* file);

#endif
