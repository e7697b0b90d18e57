// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What FxInfo::save returns: the content of a state's file, or a package of that and the files that
   the state names:

       # warprack package 1
       file state 812
       ... 812 bytes: the state
       file wav 96044
       ... 96044 bytes: a file that it names

   The name of each file is made from its content (fx_file_name()), so that the server, which writes
   the files, and the state, which names them, need not agree on names.  A worker may send anything:
   all of a package is checked.
*/
#ifndef WARPRACK_ENGINE_CONTRACT_PACKAGE_H
#define WARPRACK_ENGINE_CONTRACT_PACKAGE_H

#include "effect.h"

#include "engine/base/text_buffer.h"

#define PACKAGE_MAX_FILES    64U // of a state, with its own
#define PACKAGE_SUFFIX_BYTES 9U  // with the final zero

/// A file of a package.
typedef struct PackageFile {
  char suffix[PACKAGE_SUFFIX_BYTES]; ///< Lower case letters and digits; the first file has "state"
  const char* bytes;                 ///< [n_bytes] borrowed from the package; not a text
  size_t n_bytes;
} PackageFile;

/// The files of a package or of a state without files, the state first.  STATUS_FILE if it is
/// damaged, STATUS_LIMIT. [any]
NODISCARD Status package_read(const void* bytes, size_t n_bytes,
                              PackageFile files[PACKAGE_MAX_FILES], uint32_t* n_files,
                              Error* error);

/// Append a file to the files of a package.  Returns false if the buffer has failed, or would have
/// more than FX_STATE_MAX_BYTES. [any, not rt]
bool package_add(TextBuffer* files, const char* suffix, const void* bytes, size_t n_bytes);

/// Put a state before the files of a package; without files, the state stays as it is.
/// STATUS_LIMIT, STATUS_NO_MEM. [any, not rt]
NODISCARD Status package_finish(TextBuffer* state, const TextBuffer* files, Error* error);

/// The suffix for the file of this name: its own, or "data" if a package may not have that one.
/// [any]
void package_suffix(const char* name, char suffix[PACKAGE_SUFFIX_BYTES]);

/// The name of a file of a package. [any]
void package_name(const FxInfo* fx, const PackageFile* file, char name[FX_STATE_NAME_BYTES]);

#endif
