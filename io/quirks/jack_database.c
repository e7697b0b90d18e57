// SPDX-License-Identifier: GPL-3.0-or-later
// Checks the Berkeley DB of jackd's libjack, and the limit of open files, before libjack opens it.

#include "jack_database.h"

#include "engine/base/time.h"

#include <dlfcn.h>
#include <jack/jack.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SHM_FOLDER "/dev/shm" // jack_client_dir of jack2
#define N_FILES    3U         // "__db.001" to "__db.003"
#define NEEDED     (1U << 20) // bytes of space: the files have 360 KiB, a client another page
#define N_OPEN     16U        // files: libjack opens 9, and one for each other client
#define EXTEND_NS  (20U * NS_PER_MS)

// Weak, so that a program may define the function itself.
#define BEFORE_LIBJACK __attribute__((weak))

// Find an empty file of the database.  Returns its number; 0 if there is none.
static unsigned
find_empty(const char* const database)
{
  for (unsigned n = 1; n <= N_FILES; ++n) {
    char path[256];
    struct stat file;
    snprintf(path, sizeof(path), "%s/__db.%03u", database, n);
    if (!stat(path, &file) && file.st_size == 0) {
      return n;
    }
  }
  return 0;
}

static bool
is_full(const char* const folder)
{
  struct statvfs space;
  return !statvfs(folder, &space) && space.f_blocks > 0 &&
         (uint64_t)space.f_bavail * space.f_frsize < NEEDED;
}

bool
jack_database_lacks_files(void)
{
  int files[N_OPEN];
  unsigned n = 0;
  while (n < N_OPEN && (files[n] = eventfd(0, EFD_CLOEXEC)) >= 0) {
    ++n;
  }
  for (unsigned i = 0; i < n; ++i) {
    close(files[i]);
  }
  return n < N_OPEN;
}

bool
jack_database_would_fail(const char* const shm_folder, char* const why, const size_t why_bytes)
{
  if (is_full(shm_folder)) {
    snprintf(why, why_bytes, "%s is full, which crashes libjack", shm_folder);
    return true;
  }
  if (jack_database_lacks_files()) {
    snprintf(why, why_bytes, "libjack needs to open %u more files; raise the limit (ulimit -n)",
             N_OPEN);
    return true;
  }
  char database[128];
  snprintf(database, sizeof(database), "%s/jack_db-%u", shm_folder, (unsigned)getuid());
  if (find_empty(database)) {
    time_sleep(EXTEND_NS);
  }
  const unsigned empty = find_empty(database);
  snprintf(why, why_bytes, "%s/__db.%03u is empty, which crashes libjack; remove %s", database,
           empty, database);
  return empty;
}

BEFORE_LIBJACK jack_client_t*
jack_client_open(const char* const name, const jack_options_t options, jack_status_t* const status,
                 ...)
{
  jack_client_t* (*libjacks)(const char*, jack_options_t, jack_status_t*, ...) = NULL;
  *(void**)&libjacks = dlsym(RTLD_NEXT, "jack_client_open");
  va_list arguments;
  va_start(arguments, status);
  const char* const server = options & JackServerName ? va_arg(arguments, const char*) : NULL;
  va_end(arguments);
  char why[384];
  const bool has_database = dlsym(RTLD_DEFAULT, "db_env_create"); // PipeWire's libjack has none
  if (!has_database || !jack_database_would_fail(SHM_FOLDER, why, sizeof(why))) {
    return libjacks(name, options, status, server);
  }
  jack_error_callback(why);
  if (status) {
    *status = JackFailure | JackShmFailure;
  }
  return NULL;
}
