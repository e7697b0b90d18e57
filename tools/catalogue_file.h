// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The user's catalogue of plugins on disk: reads it, renews it by a scan, writes it whole.

   Two processes may scan at once: each writes a file of its own and renames it, and both have found
   the same plugins.
*/
#ifndef WARPRACK_TOOLS_CATALOGUE_FILE_H
#define WARPRACK_TOOLS_CATALOGUE_FILE_H

#include "commands.h"

#include "plugins/scan/scan.h"

/// Scan the plugins of this machine; the user's catalogue has what is known of unchanged ones.
/// `*out` is the new catalogue, which is not written yet.  For threads and descriptors see
/// scan_run(). [main]
NODISCARD Status catalogue_file_scan(bool everything, Catalogue** out, ScanCounts* counts,
                                     Error* error);

/// Write a new catalogue as the user's; makes the folder.  STATUS_FILE. [main]
NODISCARD Status catalogue_file_write(const Catalogue* catalogue, Error* error);

/// Make the user's catalogue that of this process (catalogue_use()).  If it is missing or not
/// current, say so on stderr, scan and write it; a file that cannot be written is reported only.
/// [main]
NODISCARD Status catalogue_file_use(const Command* command, Error* error);

/// Receives a line for people.
typedef void (*CatalogueNote)(void* context, const char* text);

/// Let the first search for a plugin renew the user's catalogue, if that is missing or not current:
/// `warprack scan` runs in a child process, and the search waits for it; the result is used also if
/// the file cannot be written.  Without a search, nothing is read. [main]
void catalogue_file_renew_on_search(CatalogueNote note, void* context);

/// A CatalogueNote to stderr; `context` is a Command. [any]
void catalogue_file_print_note(void* command, const char* text);

#endif
