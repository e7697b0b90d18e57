// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The one folder that file names in commands may lead to.

   The kernel keeps the rule (openat2 with RESOLVE_BENEATH): no absolute path, no "..", no symbolic
   link that leaves the folder, and no moment between check and use.  Only regular files are read.
*/
#ifndef WARPRACK_CONTROL_FOLDER_H
#define WARPRACK_CONTROL_FOLDER_H

#include "engine/base/status.h"

#include <stdbool.h>

typedef struct Folder {
  int fd; ///< -1: none
} Folder;

/// STATUS_FILE when there is no such folder.
NODISCARD Status folder_open(Folder* folder, const char* path, Error* error);

void folder_close(Folder* folder);

/// Open a regular file in the folder for reading, without waiting for anything: a pipe is refused
/// like all else that is no regular file.  The caller closes it.
NODISCARD Status folder_open_file(const Folder* folder, const char* name, int* fd, Error* error);

/// Read a text of at most RACK_MAX_TEXT bytes; the caller frees it.
NODISCARD Status folder_read(const Folder* folder, const char* name, char** text, Error* error);

/// The same for a rack.  The name must end in ".rack": a message about an error quotes the text,
/// which must not show parts of other files.
NODISCARD Status folder_read_rack(const Folder* folder, const char* name, char** text,
                                  Error* error);

/// Write a rack's text as a whole or not at all: a new file that then takes the name, and the
/// permissions of the one that had it.  The name must end in ".rack", so that a slip cannot
/// overwrite a recording.
NODISCARD Status folder_write(const Folder* folder, const char* name, const char* text,
                              Error* error);

/// Write a file of the folder itself, whatever its name, as a whole or not at all: its content and
/// then its name are on the disk before this returns.
NODISCARD Status folder_replace(const Folder* folder, const char* name, const char* text,
                                Error* error);

/// True for the name of a file that folder_write() or folder_replace() was killed over.
bool folder_is_leftover(const char* name);

#endif
