// SPDX-License-Identifier: GPL-3.0-or-later
// Starts, stops and queries a control server.

#include "control_rig.h"

#include "set_by_name.h"
#include "suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

ControlRig rig;

static void
fill_audio(void* const context, ControlAudio* const audio)
{
  (void)context;
  while (rig.hold) {
    rig.is_held = true;
    usleep(1000);
  }
  rig.is_held = false;
  ++rig.n_asked;
  *audio = (ControlAudio){ .driver = "dummy",
                           .device = "none",
                           .xruns = 7,
                           .overlaps = 3,
                           .hang_s = 2.5,
                           .transport_bpm = rig.transport_bpm };
  strcpy(audio->state, rig.audio_state ? "waiting" : "running");
}

static void
count_latency_change(void* const context)
{
  (void)context;
  struct pollfd watcher = { .fd = rig.other->fd, .events = POLLIN };
  rig.is_watcher_ahead = poll(&watcher, 1, 0) != 0;
  ++rig.n_latency_changes;
}

static void
count_quit(void* const context)
{
  (void)context;
  ++rig.n_quits;
}

// ---- plugins ----

/// The words, joined.
static char*
list_plugins(void* const context, const char* const* const words, const uint32_t n_words)
{
  (void)context;
  char text[256] = "plugins";
  for (uint32_t w = 0; w < n_words; ++w) {
    snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s", words[w]);
  }
  return strdup(text);
}

/// Two presets of one plugin, and one that names the effect for the others.
static char*
list_presets(void* const context, const FxInfo* const fx)
{
  (void)context;
  char text[128];
  snprintf(text, sizeof(text), "of %s\n", fx->name);
  return strdup(strcmp(fx->name, "ZamTube") != 0 ? text : "Warm\nVery cold\n");
}

static Status
describe_plugin(void* const context, const char* const format, const char* const id,
                char** const text, Error* const error)
{
  (void)context;
  if (strcmp(id, "long") != 0) {
    return error_set(error, STATUS_NOT_FOUND, "no %s plugin \"%s\"", format, id);
  }
  *text = calloc(1, 10001);
  memset(*text, 'x', 10000);
  return STATUS_OK;
}

static void
end_scan(void* const context)
{
  (void)context;
  atomic_fetch_add(&rig.n_scans, 1);
}

static void
fill_scan(void* const context, ControlScan* const scan)
{
  (void)context;
  *scan = (ControlScan){ .n_ended = (uint64_t)atomic_load(&rig.n_scans),
                         .n_plugins = 7,
                         .n_unusable = 2,
                         .n_failed = 1,
                         .text = "found" };
}

static Status
begin_check(void* const context, const char* const text, Error* const error)
{
  (void)context;
  if (rig.check_state) {
    return error_set(error, STATUS_LIMIT, "another check runs");
  }
  snprintf(rig.check_text, sizeof(rig.check_text), "%s", text);
  rig.check_state = 1;
  return STATUS_OK;
}

static bool
take_check(void* const context, char** const lines, Error* const why)
{
  (void)context;
  const int state = rig.check_state;
  if (state < 2) {
    return false;
  }
  *lines = state == 2 ? strdup("needs_us\tf\t12.5\nnot a line\nbackend\ts\tcpu\nbad\tq\t1\n"
                               "memory_bytes\th\t5000000000\n\th\t1\n")
                      : NULL;
  error_set(why, STATUS_LIMIT, "the check took too long");
  rig.check_state = 0;
  return true;
}

static pthread_mutex_t warnings_lock = PTHREAD_MUTEX_INITIALIZER;
static char warnings[4096]; // all of them

static void
keep_warning(void* const context, const char* const lines)
{
  (void)context;
  pthread_mutex_lock(&warnings_lock);
  const size_t n = strlen(warnings);
  snprintf(warnings + n, sizeof(warnings) - n, "%s", lines);
  pthread_mutex_unlock(&warnings_lock);
}

bool
control_rig_has_warned(const char* const text)
{
  pthread_mutex_lock(&warnings_lock);
  const bool has = strstr(warnings, text);
  pthread_mutex_unlock(&warnings_lock);
  return has;
}

void
control_rig_start(void)
{
  memset(&rig, 0, sizeof(rig));
  rig.port_keeper = -1;
  rig.folder = scratch_new();
  rig.engine = fake_engine_new();
  Rack* const rack = rack_of("lowcut: highpass 80 | vol: gain -6dB", NULL);
  static const ControlPlugins plugins = { list_plugins, list_presets, describe_plugin, end_scan,
                                          fill_scan };
  static const ControlChecks checks = { begin_check, take_check };
  const ControlConfig config = { .engine = rig.engine,
                                 .checks = &checks,
                                 .root = rig.folder.directory,
                                 .audio = fill_audio,
                                 .plugins = &plugins,
                                 .latency_changed = count_latency_change,
                                 .warned = keep_warning,
                                 .quit = count_quit };
  OK(control_start(&config, rack, &rig.control, &error));
  rack_free(rack);
  snprintf(rig.port, sizeof(rig.port), "%u", control_port(rig.control));
  rig.client = client_new(control_port(rig.control));
  rig.other = client_new(control_port(rig.control));
}

void
control_rig_stop(void)
{
  control_stop(rig.control);
  if (rig.port_keeper >= 0) {
    close(rig.port_keeper);
  }
  client_free(rig.client);
  client_free(rig.other);
  fake_engine_free(rig.engine);
  scratch_remove(&rig.folder);
}

void
control_rig_stop_server(void)
{
  const struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons(control_port(rig.control)),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  control_stop(rig.control);
  rig.control = NULL;
  // A socket that is connected to itself gets no packets from others: the system refuses them.
  rig.port_keeper = socket(AF_INET, SOCK_DGRAM, 0);
  ck_assert_int_eq(bind(rig.port_keeper, (const struct sockaddr*)&address, sizeof(address)), 0);
  ck_assert_int_eq(connect(rig.port_keeper, (const struct sockaddr*)&address, sizeof(address)), 0);
}

double
control_rig_number(const char* const answer, const char* const key)
{
  char pattern[64];
  snprintf(pattern, sizeof(pattern), " %s ", key);
  const char* const at = strstr(answer, pattern);
  ck_assert_msg(at != NULL, "no \"%s\" in %s", key, answer);
  return strtod(at + strlen(pattern), NULL);
}

double
control_rig_status(const char* const key)
{
  client_send(rig.client, "/server/status", "");
  return control_rig_number(client_receive(rig.client), key);
}

void
control_rig_expect_rack(const char* const text)
{
  client_send(rig.client, "/rack/get", "");
  const char* const answer = client_receive(rig.client);
  assert_says(answer, text);
}

double
control_rig_newest_value(void)
{
  const uint32_t n = fake_engine_n_sets(rig.engine);
  ck_assert_uint_gt(n, 0);
  return fake_engine_set(rig.engine, n - 1U).messages[0].value;
}
