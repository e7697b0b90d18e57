// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Refuses to open a JACK client where libjack would end the process by SIGBUS.

   jack_client_open() of jackd's libjack maps the files of a Berkeley DB for metadata,
   /dev/shm/jack_db-UID/__db.00?, before it looks for a server.  A file that a jackd or a client
   left empty, because it was killed between creating the file and extending it, kills every client
   from then on.  So does a /dev/shm without space for the pages of these files.

   For that, jack_client_open() is defined here in front of libjack's, for PortAudio's client too.
   Where libjack would crash, the function returns NULL and the status JackShmFailure, which
   libjack itself never sets, and passes the reason to jack_error_callback().
*/
#ifndef WARPRACK_IO_QUIRKS_JACK_DATABASE_H
#define WARPRACK_IO_QUIRKS_JACK_DATABASE_H

#include <stdbool.h>
#include <stddef.h>

/**
   Whether opening a client would crash.  Looks twice, 20 ms apart, at a file that is empty: a
   server that is starting may be about to extend it.  [async call]

   @param shm_folder Where libjack keeps the folder of the database: "/dev/shm".
   @param why The file or file system, and the remedy; undefined if false is returned.
*/
bool jack_database_would_crash(const char* shm_folder, char* why, size_t why_bytes);

#endif
