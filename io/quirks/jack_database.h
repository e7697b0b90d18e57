// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Refuses to open a JACK client if libjack would end the process, or damage its database.

   jack_client_open() of jackd's libjack maps the files of a Berkeley DB for metadata,
   /dev/shm/jack_db-UID/__db.00?, before it looks for a server.  If a jackd or a client was killed
   between creating a file and extending it, the empty file crashes every later client.  A /dev/shm
   without space for the pages of these files has the same effect.

   With too few open files, libjack waits 12 s in Berkeley DB and leaves an empty file, or ends the
   process with SIGSEGV.

   Therefore this file defines jack_client_open(), which the linker finds before libjack's, also for
   PortAudio's client.  In the cases above it returns NULL and the status JackShmFailure, which
   libjack itself never sets, and passes the reason to jack_error_callback().  It runs on threads of
   async calls, and on the main thread for `list devices`.
*/
#ifndef WARPRACK_IO_QUIRKS_JACK_DATABASE_H
#define WARPRACK_IO_QUIRKS_JACK_DATABASE_H

#include <stdbool.h>
#include <stddef.h>

/**
   True if opening a client would crash this process or damage the database.  Checks an empty file
   twice, 20 ms apart, because a server that is starting may be about to extend it. [async call]

   @param shm_folder Folder that contains the folder of libjack's database: "/dev/shm".
   @param why Text with the file or file system, and the remedy; undefined if the result is false.
*/
bool jack_database_would_fail(const char* shm_folder, char* why, size_t why_bytes);

/// True if this process may not open as many more files as a client needs. [async call]
bool jack_database_lacks_files(void);

#endif
