// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Reads the RACK of a command line, for render, run and check.  A word that ends in ".rack" or
   names a file is a file; any other word is a chain in the rack language.

   File names inside a rack file are relative to the folder of that file; inside a chain, to the
   current folder.
*/
#ifndef WARPRACK_TOOLS_RACK_ARG_H
#define WARPRACK_TOOLS_RACK_ARG_H

#include "engine/base/status.h"
#include "engine/contract/effect.h"
#include "engine/rack/rack.h"

#include <stdbool.h>

typedef struct RackArg {
  Rack* rack;
  char* text;   ///< Of which the rack was read; NULL: of none
  char* root;   ///< Folder that file names in the rack are relative to
  bool is_file; ///< The word named a file
} RackArg;

// clang-format off
/// The row of an option table for plugins that are missing: an index in rack_arg_missing.
#define MISSING_OPTION(missing) \
  { "missing", 0, OPTION_CHOICE, .choices = rack_arg_missing, .to.choice = (missing), .help = "Plugins that are not there: refuse the rack (default), or bypass their nodes" }
// clang-format on

extern const char* const rack_arg_missing[]; ///< NULL-terminated

/// The reader of racks for an index in rack_arg_missing.
RackReader rack_arg_reader(uint32_t missing);

/// Read the rack that `word` names.  On error `arg` is empty.
NODISCARD Status rack_arg_read(const char* word, RackReader read, RackArg* arg, Error* error);

/// The folder of a file; the caller frees it.  NULL: out of memory.
char* rack_arg_folder(const char* path);

/// As rack_arg_read(), but on error `arg` keeps everything that does not depend on the rack, and
/// must be cleared.
NODISCARD Status rack_arg_try(const char* word, RackReader read, RackArg* arg, Error* error);

/// Print the rack as it is read without any plugin, so that the text is the same whatever plugins
/// this machine has; the caller frees it.  NULL: out of memory, or without a text.
char* rack_arg_print(const RackArg* arg);

/// Read the text of a file of at most RACK_MAX_TEXT bytes; the caller frees it.
NODISCARD Status rack_arg_read_text(const char* name, char** text, Error* error);

void rack_arg_clear(RackArg* arg);

/// Replace the root by another folder: `--root`.
NODISCARD Status rack_arg_set_root(RackArg* arg, const char* root, Error* error);

/// Resolve links in the root's name, so that later changes of links have no effect.
void rack_arg_hold_root(RackArg* arg);

/// The name of the rack file `word`, relative to the root; the caller frees it.  NULL if the word
/// is not a file, or the file does not exist.
char* rack_arg_name(const RackArg* arg, const char* word);

/// The files that racks may name, for EngineConfig; borrows `arg`.  Files named by its rack may be
/// anywhere; files of racks that arrive later must be below the root, see control/folder.h.
FxFiles rack_arg_files(RackArg* arg);

#endif
