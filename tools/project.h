// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The project of a run under a session manager: a folder with the rack, as main.rack, and with all
   files that the rack names.

   A project that does not exist yet begins with the RACK of the command line.  Files outside of the
   folder are copied into it, and the rack gets their new names: the session can then be moved as a
   whole, and the server's folder, outside of which it reads no files, is that of the project.  NSM
   recommends links instead, which the server refuses if they lead out of its folder.
*/
#ifndef WARPRACK_TOOLS_PROJECT_H
#define WARPRACK_TOOLS_PROJECT_H

#include "nsm.h"
#include "rack_arg.h"

#include "engine/base/status.h"

#include <stdint.h>

#define PROJECT_DOCUMENT "main.rack"

typedef struct Project {
  NsmProject at;
  RackArg rack; ///< Its root is the folder
  char* saved;  ///< The document on the disk, canonical; NULL: there is none
} Project;

/// Receives a line for the log for each file that is copied. [main]
typedef void (*ProjectNote)(void* context, const char* text);

/**
   Open a project: check its path and its client id, make its folder unless it exists, read its
   rack, and copy files.

   @param given RACK of the command line; @param missing index in rack_arg_missing.
   @param[out] code for the manager, if it fails.  Then `project` is empty. [main]
*/
NODISCARD Status project_open(const NsmProject* at, const char* given, uint32_t missing,
                              ProjectNote note, void* context, Project* project, NsmCode* code,
                              Error* error);

/// Open a project again with the text of the rack that played.  `saved`: copied, may be NULL.
/// [main]
NODISCARD Status project_reopen(const NsmProject* at, const char* text, const char* saved,
                                Project* project, Error* error);

/// Read the document as it is on the disk; the caller frees it. [main]
NODISCARD Status project_read_document(const NsmProject* at, char** text, Error* error);

/// Free the rack and the texts.
void project_clear(Project* project);

#endif
