// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The folder that contains all files of commands.

   The kernel enforces this (openat2 with RESOLVE_BENEATH): it refuses absolute paths, ".." and
   symbolic links that leave the folder, without a delay between check and use.  Only regular files
   are read.
*/
#ifndef WARPRACK_CONTROL_FOLDER_H
#define WARPRACK_CONTROL_FOLDER_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Folder {
  int fd; ///< -1: none
} Folder;

/// Open the folder.  STATUS_FILE if it does not exist.
NODISCARD Status folder_open(Folder* folder, const char* path, Error* error);

void folder_close(Folder* folder);

/// Show other programs that this one uses the folder, until the descriptor is closed; -1: the file
/// system has no locks.
int folder_mark_used(const Folder* folder);

/// True if a program has marked the folder.
bool folder_is_used(const Folder* folder);

/// What servers have kept directly in a folder: states of plugins, and files that plugins made for
/// them.
typedef struct FolderKept {
  uint64_t n_states;
  uint64_t n_bytes; ///< Of states and files
} FolderKept;

NODISCARD Status folder_count_kept(const Folder* folder, FolderKept* kept, Error* error);

/// The length of the plugin's name in a name "plugin-hash.suffix", which has a hash of the content;
/// 0: it is no such name.  One with decimal digits only is a state; else it may be the time of a
/// recording. [any]
size_t folder_kept_name(const char* name, bool* is_state);

/// Open a regular file in the folder for reading, which the caller closes.  Does not block: pipes
/// and other special files are refused.
NODISCARD Status folder_open_file(const Folder* folder, const char* name, int* fd, Error* error);

/// Read a text of at most RACK_MAX_TEXT bytes; the caller frees it.
NODISCARD Status folder_read(const Folder* folder, const char* name, char** text, Error* error);

/// As folder_read(), for a rack.  The name must end in ".rack", because error texts quote the text,
/// and must not show parts of other files.
NODISCARD Status folder_read_rack(const Folder* folder, const char* name, char** text,
                                  Error* error);

/// Write a rack's text, completely or not at all: write a new file with the permissions of the old
/// one, then rename it.  The name must end in ".rack", so that a mistake cannot overwrite a
/// recording.
NODISCARD Status folder_write(const Folder* folder, const char* name, const char* text,
                              Error* error);

/// Make a file for a take directly in the folder, which the caller closes.  STATUS_EXISTS if there
/// is a file of that name, which stays.
NODISCARD Status folder_create(const Folder* folder, const char* name, int* fd, Error* error);

/// Append bytes to a file of folder_create().  On error the file is as long as before.  `is_last`:
/// its content is on the disk when this returns.
NODISCARD Status folder_append(int fd, const char* name, const void* bytes, size_t n_bytes,
                               bool is_last, Error* error);

#define FOLDER_MAX_STATES     1024U
#define FOLDER_MAX_KEPT_BYTES (1ULL << 30U) // of states and their files

/// Write a state, or a file of one, directly in the folder.  The name has a hash of the content: if
/// there is a file of that name, it stays, and STATUS_EXISTS if it has another content.  Completely
/// or not at all, and on the disk, as folder_replace().  STATUS_LIMIT if there are too many states
/// in the folder.
NODISCARD Status folder_keep(const Folder* folder, const char* name, const void* bytes,
                             size_t n_bytes, Error* error);

/// Write a file directly in the folder, with any name, completely or not at all.  Others cannot
/// write it, whatever the umask and the old file allow.  Its content and then its name are on the
/// disk when this returns.
NODISCARD Status folder_replace(const Folder* folder, const char* name, const char* text,
                                Error* error);

#define FOLDER_NAME_BYTES 256U         // of a name directly in the folder, with the final zero
#define FOLDER_COPY_MAX   (2LL << 30U) // bytes of a copied file: twice the samples that a rack reads

/// Copy an open file directly into the folder, completely or not at all.  `wanted` is a name
/// without "/", cut if it is too long.  If there is another file of that name, the copy gets a
/// number: "hall-2.wav"; a file with the same content is used instead of a copy.  `name` receives
/// the name.  Reads `fd` from its start.  A larger file than FOLDER_COPY_MAX is refused.
NODISCARD Status folder_copy(const Folder* folder, int fd, const char* wanted,
                             char name[FOLDER_NAME_BYTES], Error* error);

/// Remove temporary files directly in the folder that were written at least `age_s` ago; 0: all,
/// also if the clock was ahead then.  They remain if a program is killed during folder_write() or
/// folder_replace().
void folder_remove_leftovers(const Folder* folder, uint32_t age_s);

#endif
