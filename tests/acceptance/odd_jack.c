// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A wrapper around libjack, loaded with LD_PRELOAD, that fails on demand.  Files in the folder that
   ODD_JACK names select the fault.  It reads `fail` when a client is opened; the other files count
   as long as they exist:

     short   periods are 16 frames too short
     twice   a second thread delivers each period, too, at the same time
     none    no period is delivered
     slow    opening a client stops after the server has accepted it; makes the file `opening`
     hang    setting a property of a port hangs; makes the file `hanging`
     fail    contains "FUNCTION N": call N of that function fails, counted from the opening of the
             client.  With a third word, all calls of all functions fail from then on, no more
             periods are delivered, and the client is notified that the server has ended.  Makes
             the file `failed`
     end     at the next period, the client is notified that the server has ended; removes the file

   A call that fails is not passed on to libjack.  It returns the value that libjack returns without
   a server: NULL, 0 or -1.  When a client is closed, the file `calls` lists how often each function
   was called.
*/

#include <dlfcn.h>
#include <fcntl.h>
#include <jack/jack.h>
#include <jack/metadata.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MISSING 16U

// Functions that only pass the call on: type, name, parameters, arguments, value on failure.
#define PASSED_ON(CALL)                                                                            \
  CALL(int, jack_activate, (jack_client_t * client), (client), -1)                                 \
  CALL(int, jack_connect, (jack_client_t * client, const char* from, const char* to),              \
       (client, from, to), -1)                                                                     \
  CALL(jack_nframes_t, jack_get_buffer_size, (jack_client_t * client), (client), 0)                \
  CALL(char*, jack_get_client_name, (jack_client_t * client), (client), NULL)                      \
  CALL(const char**, jack_get_ports,                                                               \
       (jack_client_t * client, const char* name, const char* type, unsigned long flags),          \
       (client, name, type, flags), NULL)                                                          \
  CALL(jack_nframes_t, jack_get_sample_rate, (jack_client_t * client), (client), 0)                \
  CALL(jack_nframes_t, jack_last_frame_time, (const jack_client_t* client), (client), 0)           \
  CALL(jack_port_t*, jack_port_by_name, (jack_client_t * client, const char* name),                \
       (client, name), NULL)                                                                       \
  CALL(int, jack_port_connected, (const jack_port_t* port), (port), -1)                            \
  CALL(int, jack_port_flags, (const jack_port_t* port), (port), -1)                                \
  CALL(const char**, jack_port_get_all_connections,                                                \
       (const jack_client_t* client, const jack_port_t* port), (client, port), NULL)               \
  CALL(void*, jack_port_get_buffer, (jack_port_t * port, jack_nframes_t n), (port, n), NULL)       \
  CALL(const char*, jack_port_name, (const jack_port_t* port), (port), NULL)                       \
  CALL(jack_port_t*, jack_port_register,                                                           \
       (jack_client_t * client, const char* name, const char* type, unsigned long flags,           \
        unsigned long size),                                                                       \
       (client, name, type, flags, size), NULL)                                                    \
  CALL(const char*, jack_port_type, (const jack_port_t* port), (port), NULL)                       \
  CALL(jack_uuid_t, jack_port_uuid, (const jack_port_t* port), (port), 0)                          \
  CALL(int, jack_recompute_total_latencies, (jack_client_t * client), (client), -1)                \
  CALL(int, jack_set_buffer_size_callback,                                                         \
       (jack_client_t * client, JackBufferSizeCallback function, void* context),                   \
       (client, function, context), -1)                                                            \
  CALL(int, jack_set_freewheel_callback,                                                           \
       (jack_client_t * client, JackFreewheelCallback function, void* context),                    \
       (client, function, context), -1)                                                            \
  CALL(int, jack_set_latency_callback,                                                             \
       (jack_client_t * client, JackLatencyCallback function, void* context),                      \
       (client, function, context), -1)                                                            \
  CALL(int, jack_set_port_connect_callback,                                                        \
       (jack_client_t * client, JackPortConnectCallback function, void* context),                  \
       (client, function, context), -1)                                                            \
  CALL(int, jack_set_thread_init_callback,                                                         \
       (jack_client_t * client, JackThreadInitCallback function, void* context),                   \
       (client, function, context), -1)                                                            \
  CALL(int, jack_set_xrun_callback,                                                                \
       (jack_client_t * client, JackXRunCallback function, void* context),                         \
       (client, function, context), -1)

// Functions that do more than pass the call on.
#define OTHERS(NAME)                                                                               \
  NAME(jack_client_close)                                                                          \
  NAME(jack_client_open)                                                                           \
  NAME(jack_port_get_latency_range)                                                                \
  NAME(jack_port_set_latency_range)                                                                \
  NAME(jack_set_process_callback)                                                                  \
  NAME(jack_set_property)

#define INDEX(name)                                                 CALL_OF_##name
#define INDEX_PASSED_ON(type, name, parameters, arguments, failure) INDEX(name),
#define INDEX_OTHER(name)                                           INDEX(name),
enum { PASSED_ON(INDEX_PASSED_ON) OTHERS(INDEX_OTHER) N_FUNCTIONS };

#define NAME_PASSED_ON(type, name, parameters, arguments, failure) #name,
#define NAME_OTHER(name)                                           #name,
static const char* const names[N_FUNCTIONS] = { PASSED_ON(NAME_PASSED_ON) OTHERS(NAME_OTHER) };

static JackProcessCallback process;
static void* process_context;
static JackInfoShutdownCallback shutdown_callback;
static void* shutdown_context;

static atomic_uint n_calls[N_FUNCTIONS]; // since the client was opened
static unsigned failing;                 // index of the function that fails; N_FUNCTIONS: none
static unsigned failing_call;            // number of the call that fails, from 1
static bool fails_on;                    // all later calls fail, too
static atomic_bool is_gone;              // the client behaves as if the server had ended

// ---- the folder ----

static const char*
path_of(const char* const name, char path[static 4096])
{
  snprintf(path, 4096, "%s/%s", getenv("ODD_JACK"), name);
  return path;
}

static bool
is_wanted(const char* const name)
{
  char path[4096];
  return access(path_of(name, path), F_OK) == 0;
}

static void
show(const char* const name)
{
  char path[4096];
  close(open(path_of(name, path), O_CREAT | O_WRONLY, 0644));
}

static void
wait_beside(const char* const name, const char* const shown)
{
  while (is_wanted(name)) {
    show(shown);
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
  }
}

// ---- calls that fail ----

static void*
shut_down(void* const unused)
{
  (void)unused;
  shutdown_callback(JackFailure | JackServerError, "the stand-in says so", shutdown_context);
  return NULL;
}

// Call the shutdown callback in a thread of its own, as libjack does.  The calling thread may be
// one that libjack cancels as soon as the callback has been called.
static void
lose_server(void)
{
  pthread_t thread;
  int cancel_type;
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &cancel_type);
  if (!atomic_exchange(&is_gone, true) && shutdown_callback &&
      !pthread_create(&thread, NULL, shut_down, NULL)) {
    pthread_detach(thread);
  }
  pthread_setcanceltype(cancel_type, NULL);
}

static bool
fails(const unsigned function)
{
  const unsigned call = atomic_fetch_add(&n_calls[function], 1U) + 1U;
  const bool is_it = function == failing && call == failing_call;
  if (is_it) {
    show("failed");
  }
  if (is_it && fails_on) {
    lose_server();
  }
  return is_it || atomic_load(&is_gone);
}

static void
begin_client(void)
{
  char path[4096];
  char name[64] = "";
  char on[8] = "";
  FILE* const file = fopen(path_of("fail", path), "re");
  failing = N_FUNCTIONS;
  if (file && fscanf(file, "%63s %u %7s", name, &failing_call, on) >= 2) {
    for (failing = 0; failing < N_FUNCTIONS && strcmp(names[failing], name) != 0; ++failing) {
    }
  }
  if (file) {
    fclose(file);
  }
  fails_on = on[0] != '\0';
  shutdown_callback = NULL;
  for (unsigned n = 0; n < N_FUNCTIONS; ++n) {
    atomic_store(&n_calls[n], 0U);
  }
  atomic_store(&is_gone, false);
}

static void
show_calls(void)
{
  char path[4096];
  FILE* const file = fopen(path_of("calls", path), "we");
  for (unsigned n = 0; file && n < N_FUNCTIONS; ++n) {
    fprintf(file, "%s %u\n", names[n], atomic_load(&n_calls[n]));
  }
  if (file) {
    fclose(file);
  }
}

// ---- libjack's functions ----

static void* libjacks[N_FUNCTIONS];

// Look up all functions before any call: libjack cancels its threads at any instruction, and one
// that is cancelled inside dlsym() keeps a lock of the dynamic linker.
static void __attribute__((constructor)) find_functions(void)
{
  for (unsigned n = 0; n < N_FUNCTIONS; ++n) {
    libjacks[n] = dlsym(RTLD_NEXT, names[n]);
  }
}

#define LIBJACKS(variable, name) *(void**)&(variable) = libjacks[INDEX(name)]

#define PASS_ON(type, name, parameters, arguments, failure)                                        \
  type name parameters                                                                             \
  {                                                                                                \
    type(*passed_to) parameters = NULL;                                                            \
    LIBJACKS(passed_to, name);                                                                     \
    return fails(INDEX(name)) ? (failure) : passed_to arguments;                                   \
  }
PASSED_ON(PASS_ON)

jack_client_t*
jack_client_open(const char* const name, const jack_options_t options, jack_status_t* const status,
                 ...)
{
  jack_client_t* (*open_client)(const char*, jack_options_t, jack_status_t*, ...) = NULL;
  LIBJACKS(open_client, jack_client_open);
  va_list more;
  va_start(more, status);
  const char* const server = options & JackServerName ? va_arg(more, const char*) : NULL;
  va_end(more);
  begin_client();
  if (fails(INDEX(jack_client_open))) {
    *status = JackFailure | JackServerError;
    return NULL;
  }
  return open_client(name, options, status, server);
}

// libjack's function is called even if this call fails: else the client would stay open.
int
jack_client_close(jack_client_t* const client)
{
  int (*close_client)(jack_client_t*) = NULL;
  LIBJACKS(close_client, jack_client_close);
  const int result = close_client(client);
  const bool has_failed = fails(INDEX(jack_client_close));
  show_calls();
  return has_failed ? -1 : result;
}

void
jack_on_info_shutdown(jack_client_t* const client, const JackInfoShutdownCallback callback,
                      void* const context)
{
  void (*set)(jack_client_t*, JackInfoShutdownCallback, void*) = NULL;
  *(void**)&set = dlsym(RTLD_NEXT, "jack_on_info_shutdown");
  shutdown_context = context;
  shutdown_callback = callback;
  set(client, callback, context);
}

// If libjack's function fails, it does not change *range.
void
jack_port_get_latency_range(jack_port_t* const port, const jack_latency_callback_mode_t mode,
                            jack_latency_range_t* const range)
{
  void (*get)(jack_port_t*, jack_latency_callback_mode_t, jack_latency_range_t*) = NULL;
  LIBJACKS(get, jack_port_get_latency_range);
  if (!fails(INDEX(jack_port_get_latency_range))) {
    get(port, mode, range);
  }
}

void
jack_port_set_latency_range(jack_port_t* const port, const jack_latency_callback_mode_t mode,
                            jack_latency_range_t* const range)
{
  void (*set)(jack_port_t*, jack_latency_callback_mode_t, jack_latency_range_t*) = NULL;
  LIBJACKS(set, jack_port_set_latency_range);
  if (!fails(INDEX(jack_port_set_latency_range))) {
    set(port, mode, range);
  }
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
  if (is_wanted("end")) {
    char path[4096];
    unlink(path_of("end", path));
    lose_server();
  }
  if (atomic_load(&is_gone) || is_wanted("none")) {
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
  LIBJACKS(set, jack_set_process_callback);
  process = callback;
  process_context = context;
  return fails(INDEX(jack_set_process_callback)) ? -1 : set(client, odd_process, NULL);
}

int
jack_set_property(jack_client_t* const client, const jack_uuid_t subject, const char* const key,
                  const char* const value, const char* const type)
{
  int (*set)(jack_client_t*, jack_uuid_t, const char*, const char*, const char*) = NULL;
  LIBJACKS(set, jack_set_property);
  wait_beside("hang", "hanging");
  return fails(INDEX(jack_set_property)) ? -1 : set(client, subject, key, value, type);
}

// libjack calls this to open the server's memory, after the server has accepted the client.
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
