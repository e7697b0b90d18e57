// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Stands before libjack (LD_PRELOAD) and does on demand what a client library should not: while the
   folder ODD_JACK has a file `short`, periods come 16 frames short; while it has `twice`, each
   comes from another thread as well, at the same time; while it has `none`, none comes at all.
   While it has `slow`, a client is opened no further than to where the server knows of it, and a
   file `opening` appears; while it has `hang`, a port is given no property, and `hanging` appears.
*/

#include <dlfcn.h>
#include <fcntl.h>
#include <jack/jack.h>
#include <jack/metadata.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MISSING 16U

static JackProcessCallback process;
static void* process_context;

static int
is_wanted(const char* const name)
{
  char path[4096];
  snprintf(path, sizeof(path), "%s/%s", getenv("ODD_JACK"), name);
  return access(path, F_OK) == 0;
}

static void*
process_again(void* const n_frames)
{
  process(*(const jack_nframes_t*)n_frames, process_context);
  return NULL;
}

static int
odd_process(jack_nframes_t n_frames, void* const context)
{
  (void)context;
  if (is_wanted("none")) {
    return 0;
  }
  if (is_wanted("short")) {
    n_frames -= MISSING;
  }
  pthread_t other;
  const int has_other =
      is_wanted("twice") && !pthread_create(&other, NULL, process_again, &n_frames);
  const int result = process(n_frames, process_context);
  if (has_other) {
    pthread_join(other, NULL);
  }
  return result;
}

int
jack_set_process_callback(jack_client_t* const client, const JackProcessCallback callback,
                          void* const context)
{
  int (*set)(jack_client_t*, JackProcessCallback, void*) = NULL;
  *(void**)&set = dlsym(RTLD_NEXT, "jack_set_process_callback");
  process = callback;
  process_context = context;
  return set(client, odd_process, NULL);
}

// Show a file as long as another one is there.
static void
wait_beside(const char* const name, const char* const shown)
{
  while (is_wanted(name)) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", getenv("ODD_JACK"), shown);
    close(open(path, O_CREAT | O_WRONLY, 0644));
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
  }
}

// libjack opens the server's memory once the server has answered that it has the client.
int
shm_open(const char* const name, const int flags, const mode_t mode)
{
  int (*open_memory)(const char*, int, mode_t) = NULL;
  *(void**)&open_memory = dlsym(RTLD_NEXT, "shm_open");
  if (strncmp(name, "/jack-", 6) == 0 && strcmp(name, "/jack-shm-registry") != 0) {
    wait_beside("slow", "opening");
  }
  return open_memory(name, flags, mode);
}

int
jack_set_property(jack_client_t* const client, const jack_uuid_t subject, const char* const key,
                  const char* const value, const char* const type)
{
  int (*set)(jack_client_t*, jack_uuid_t, const char*, const char*, const char*) = NULL;
  *(void**)&set = dlsym(RTLD_NEXT, "jack_set_property");
  wait_beside("hang", "hanging");
  return set(client, subject, key, value, type);
}
