// SPDX-License-Identifier: GPL-3.0-or-later
// The worker process carries out the server's messages, plays blocks, and reports the results.  It
// continues after a request that fails, and ends with the connection or after an invalid message.

#include "engine/base/recorder.h"
#include "engine/base/sealed_text.h"
#include "engine/base/time.h"
#include "engine/ring/ring.h"
#include "engine/worker/worker_loop.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"
#include "tests/support/wire_ends.h"

#include <dirent.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK 64U
#define RATE  48000.0

/// A worker in a forked process; the test plays the server.
typedef struct Rig {
  Wire* wire;
  pid_t worker;
  WireMessage last;                  ///< The last message received
  uint32_t n_received[WIRE_N_KINDS]; ///< Number of messages received, by kind
} Rig;

// ---- in the worker ----

static pthread_mutex_t plugins_lock = PTHREAD_MUTEX_INITIALIZER;
static char plugins[32]; // the catalogue of this process

static Status
load_file(void* const context, const char* const name, const double rate_hz, FxFile** const file,
          Error* const why)
{
  static const float samples[] = { 0.0F, 0.0F, 0.5F };
  (void)rate_hz;
  if (strcmp(context, "/files") != 0 || strcmp(name, "late.wav") != 0) {
    SCOPED_LOCK(&plugins_lock);
    return error_set(why, STATUS_FILE, "%s is not in %s, with plugins \"%s\"", name,
                     (const char*)context, plugins);
  }
  *file = calloc(1, sizeof(FxFile));
  **file = (FxFile){
    .name = "late.wav", .n_channels = 1, .n_frames = 3, .samples = samples, .is_audio = true
  };
  return STATUS_OK;
}

static void
free_file(void* const context, FxFile* const file)
{
  (void)context;
  free(file);
}

static Status
use_plugins(const int fd, Error* const why)
{
  char* text = NULL;
  size_t n_bytes = 0;
  const Status status = sealed_text_read(fd, sizeof(plugins) - 1U, &text, &n_bytes, why);
  if (!status) {
    SCOPED_LOCK(&plugins_lock);
    strcpy(plugins, text);
    free(text);
  }
  return status;
}

static Status
open_files(const char* const root, const Rack* const rack, FxFiles* const opened, Error* const why)
{
  (void)rack;
  *opened = (FxFiles){ .load = load_file, .free = free_file, .context = strdup(root) };
  return strcmp(root, "/nowhere") != 0 ? STATUS_OK
                                       : error_set(why, STATUS_FILE, "no folder of that name");
}

static const WorkerLoopFiles files = { .use_plugins = use_plugins,
                                       .open = open_files,
                                       .close = free };

// ---- in the server ----

static void
start(Rig* const rig)
{
  int sockets[2];
  OK(wire_pair(sockets, &error));
  *rig = (Rig){ .worker = fork() };
  ck_assert_int_ge(rig->worker, 0);
  if (!rig->worker) {
    close(sockets[0]);
    Error why = { STATUS_OK, "" };
    const WorkerLoopEnd end = worker_loop_run(sockets[1], &files, &why);
    _exit(!end == !why.status || end == WORKER_LOOP_CLOSED ? (int)end : 99);
  }
  close(sockets[1]);
  OK(wire_new(sockets[0], WIRE_SERVER, &rig->wire, &error));
}

static void
send_message(const Rig* const rig, const WireMessage message)
{
  OK(wire_send(rig->wire, &message, &error));
}

/// Receive messages up to one of this kind, which rig->last has until the next call.
static const WireMessage*
await(Rig* const rig, const WireKind kind)
{
  do {
    wire_message_clear(&rig->last);
    rig->last = wire_next(rig->wire);
    ++rig->n_received[rig->last.kind];
  } while (rig->last.kind != kind);
  return &rig->last;
}

/// Receive all messages until the connection ends.  Returns the worker's exit code.
static int
await_end(Rig* const rig)
{
  int status = 0;
  wire_message_clear(&rig->last);
  Error error;
  while (!wire_receive(rig->wire, &rig->last, &error)) {
    ++rig->n_received[rig->last.kind];
    wire_message_clear(&rig->last);
    struct pollfd there = { .fd = wire_fd(rig->wire), .events = POLLIN };
    ck_assert_int_eq(poll(&there, 1, 20000), 1);
  }
  ck_assert_int_eq(error.status, STATUS_NET);
  ck_assert_int_eq(waitpid(rig->worker, &status, 0), rig->worker);
  wire_free(rig->wire);
  ck_assert(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/// Close the connection; the worker must end.
static void
stop(Rig* const rig)
{
  int status = 0;
  wire_message_clear(&rig->last);
  wire_free(rig->wire);
  ck_assert_int_eq(waitpid(rig->worker, &status, 0), rig->worker);
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), WORKER_LOOP_CLOSED);
}

static void
configure(Rig* const rig, const char* const root)
{
  WireMessage message = { .kind = WIRE_CONFIG };
  message.config.engine =
      (EngineConfig){ .n_in = 1, .n_out = 1, .depth = 1, .backend = ENGINE_BACKEND_CPU };
  strcpy(message.config.root, root);
  Recorder* recorder = NULL;
  OK(recorder_new(&recorder, &error));
  message.config.recorder_fd = recorder_fd(recorder);
  send_message(rig, message);
  recorder_free(recorder);
}

static void
start_ready(Rig* const rig)
{
  start(rig);
  configure(rig, "/files");
  const WorkerStatus* const status = &await(rig, WIRE_READY)->status;
  ck_assert(status->uses_cpu);
  ck_assert_int_eq(status->gpu, ENGINE_BACKEND_CPU);
}

static Ring*
new_ring(void)
{
  const RingShape shape = {
    .n_in = 1, .n_out = 1, .block_frames = BLOCK, .n_slots = 4, .n_messages = 64
  };
  Ring* ring = NULL;
  OK(ring_new(&shape, &ring, &error));
  return ring;
}

static WireMessage
arm_message(const int fd)
{
  return (WireMessage){
    .kind = WIRE_ARM,
    .arm = { .format = { .rate_hz = RATE, .block_frames = BLOCK, .n_in = 1, .n_out = 1 },
             .ring_fd = fd }
  };
}

/// Play a block of `value` through the ring.  Returns the last sample of its output.
static float
play(Ring* const ring, const float value)
{
  const uint64_t sequence = ring_next(ring);
  float* const in = ring_input(ring, sequence, 0);
  for (uint32_t i = 0; i < BLOCK; ++i) {
    in[i] = value;
  }
  *ring_slot(ring, sequence) =
      (SlotHeader){ .frame = sequence * BLOCK, .n_frames = BLOCK, .flags = SLOT_WAITED };
  ring_submit(ring);
  ck_assert(ring_wait_finished(ring, sequence, 20000000000U));
  return ring_output(ring, sequence, 0)[BLOCK - 1U];
}

/// Play until all fades have ended.  Returns the last sample.
static float
settle(Ring* const ring, const float value)
{
  float last = 0.0F;
  for (uint32_t b = 0; b < 40U; ++b) {
    last = play(ring, value);
  }
  return last;
}

static void
arm(Rig* const rig, const Ring* const ring)
{
  send_message(rig, arm_message(ring_fd(ring)));
  const WireArmed* const armed = &await(rig, WIRE_ARMED)->armed;
  ck_assert_msg(!armed->error.status, "%s", armed->error.text);
  ck_assert_uint_eq(armed->facts.n_out, 1);
}

/// Send a rack, and play silence until the worker replies.
static const WireReply*
edit(Rig* const rig, Ring* const ring, const uint64_t id, const Rack* const rack)
{
  send_message(rig, (WireMessage){ .kind = WIRE_EDIT, .edit = { .id = id, .rack = rack } });
  do {
    play(ring, 0.0F);
    wire_message_clear(&rig->last);
    OK(wire_receive(rig->wire, &rig->last, &error));
    ++rig->n_received[rig->last.kind];
  } while (rig->last.kind != WIRE_REPLY);
  ck_assert_uint_eq(rig->last.reply.id, id);
  return &rig->last.reply;
}

static const WireReply*
edit_text(Rig* const rig, Ring* const ring, const uint64_t id, const char* const document)
{
  SCOPED_RACK Rack* const rack = rack_of(document, NULL);
  return edit(rig, ring, id, rack);
}

// ---- tests ----

TEST(racks_run_through_the_ring)
{
  Rig rig;
  start_ready(&rig);
  SCOPED_RING Ring* ring = new_ring();
  arm(&rig, ring);
  ck_assert(settle(ring, 0.5F) == 0.5F); // the empty rack
  const uint32_t n_placements = rig.n_received[WIRE_PLACEMENTS];
  const WireReply* const reply = edit_text(&rig, ring, 7, "chain a: invert");
  ck_assert_msg(!reply->reply.status, "%s", reply->reply.text);
  ck_assert_uint_eq(reply->facts.n_nodes, 1);
  ck_assert_uint_gt(rig.n_received[WIRE_PLACEMENTS], n_placements); // sent before the reply
  ck_assert(settle(ring, 0.25F) == -0.25F);
  ck_assert(!edit_text(&rig, ring, 8, "chain a: invert | b: invert")->reply.status);
  ck_assert(settle(ring, 0.25F) == 0.25F);
  while (await(&rig, WIRE_STATUS)->status.counts.worker_blocks < 120U) {
  }
  ck_assert_uint_ge(rig.last.status.counts.plans, 2U);
  stop(&rig); // while the worker is armed
}

TEST(places_come_again_for_the_times_of_their_nodes)
{
  Rig rig;
  start_ready(&rig);
  SCOPED_RING Ring* const ring = new_ring();
  arm(&rig, ring);
  await(&rig, WIRE_PLACEMENTS);
  stop(&rig);
}

TEST(reports_come_at_most_four_times_a_second)
{
  Rig rig;
  start_ready(&rig);
  ck_assert_int_eq(poll(&(struct pollfd){ .fd = wire_fd(rig.wire), .events = POLLIN }, 1, 250), 0);
  const uint64_t began = time_now_ns();
  SCOPED_RING Ring* ring = new_ring();
  arm(&rig, ring);
  while (rig.n_received[WIRE_STATUS] < 5U) { // each block changes it; the time limit ends this
    struct pollfd there = { .fd = wire_fd(rig.wire), .events = POLLIN };
    play(ring, 0.0F);
    if (poll(&there, 1, 2) == 1) {
      wire_message_clear(&rig.last);
      OK(wire_receive(rig.wire, &rig.last, &error));
      ++rig.n_received[rig.last.kind];
    }
  }
  const uint64_t periods = (time_now_ns() - began) / 250000000U;
  ck_assert_msg(periods >= 5U - 2U, "5 in %u periods", (unsigned)periods); // one comes at ARMED
  stop(&rig);
}

TEST(another_ring_takes_the_place_of_the_first)
{
  SCOPED(stop) Rig rig;
  start_ready(&rig);
  for (uint32_t i = 0; i < 3U; ++i) {
    SCOPED_RING Ring* const ring = new_ring();
    arm(&rig, ring);
    if (i == 0U) {
      ck_assert(!edit_text(&rig, ring, 1, "chain a: invert")->reply.status);
    }
    ck_assert(settle(ring, 0.5F) == -0.5F);
    send_message(&rig, (WireMessage){ .kind = WIRE_DISARM });
    await(&rig, WIRE_DISARMED);
    send_message(&rig, (WireMessage){ .kind = WIRE_DISARM }); // again, without a ring
    await(&rig, WIRE_DISARMED);
  }
}

TEST(parameters_arrive_with_and_without_a_ring)
{
  Rig rig;
  start_ready(&rig);
  Rack* const rack = rack_of("chain a: gain 0dB", NULL);
  const RackUid uid = 4711;
  OK(rack_set_uids(rack, &uid, 1, 5000, &error));
  Ring* ring = new_ring();
  arm(&rig, ring);
  ck_assert(!edit(&rig, ring, 1, rack)->reply.status);
  rack_free(rack);
  const ParamMessage down = { .uid = uid, .param = 0, .value = -120.0 };
  const ParamMessage up = { .uid = uid, .param = 0, .value = 0.0 };
  ck_assert(ring_send(ring, &down, 1));
  ck_assert(settle(ring, 0.5F) < 1e-5F);
  ck_assert(ring_send(ring, &up, 1));
  ck_assert(settle(ring, 0.5F) == 0.5F);
  send_message(&rig, (WireMessage){ .kind = WIRE_DISARM });
  await(&rig, WIRE_DISARMED);
  ring_free(ring);

  send_message(&rig, (WireMessage){ .kind = WIRE_SET, .set = { &down, 1 } });
  send_message(&rig, (WireMessage){ .kind = WIRE_RESET_LOAD });
  ring = new_ring();
  arm(&rig, ring);
  ck_assert(settle(ring, 0.5F) < 1e-5F);
  stop(&rig);
  ring_free(ring);
}

TEST(files_come_by_the_callers_loaders)
{
  Rig rig;
  start_ready(&rig);
  SCOPED_RING Ring* const ring = new_ring();
  arm(&rig, ring);
  ck_assert(!edit_text(&rig, ring, 1, "chain a: convolver late.wav mix=1")->reply.status);
  ck_assert(fabsf(settle(ring, 0.5F) - 0.25F) < 1e-6F);
  const WireReply* const refused = edit_text(&rig, ring, 2, "chain a: convolver other.wav");
  ck_assert_int_eq(refused->reply.status, STATUS_FILE);
  assert_says(refused->reply.text, "other.wav is not in /files");
  ck_assert(fabsf(settle(ring, 0.5F) - 0.25F) < 1e-6F);
  stop(&rig);
}

TEST(an_invalid_ring_is_refused_and_the_worker_continues)
{
  Rig rig;
  start_ready(&rig);
  const int no_ring = memfd_create("no ring", MFD_CLOEXEC);
  send_message(&rig, arm_message(no_ring));
  ck_assert_int_eq(await(&rig, WIRE_ARMED)->armed.error.status, STATUS_BAD_ARG);
  close(no_ring);
  SCOPED_RING Ring* const ring = new_ring();
  for (uint32_t field = 0; field < 3U; ++field) {
    WireMessage other = arm_message(ring_fd(ring));
    *(uint32_t*[]){ &other.arm.format.block_frames, &other.arm.format.n_in,
                    &other.arm.format.n_out }[field] = 2U;
    send_message(&rig, other);
    ck_assert_int_eq(await(&rig, WIRE_ARMED)->armed.error.status, STATUS_BAD_ARG);
  }
  arm(&rig, ring);
  ck_assert(settle(ring, 0.5F) == 0.5F);
  stop(&rig);
}

TEST(an_invalid_configuration_is_reported_before_the_end)
{
  Rig rig;
  start(&rig);
  configure(&rig, "/nowhere");
  const Error failed = await(&rig, WIRE_FAILED)->failed;
  ck_assert_int_eq(failed.status, STATUS_FILE);
  ck_assert_str_eq(failed.text, "no folder of that name");
  ck_assert_int_eq(await_end(&rig), WORKER_LOOP_FAILED);
}

static void
send_plugins(const Rig* const rig, const char* const text)
{
  SCOPED_FD int fd = -1;
  OK(sealed_text_new(text, strlen(text), &fd, &error));
  send_message(rig, (WireMessage){ .kind = WIRE_PLUGINS, .plugins_fd = fd });
}

static unsigned
descriptors_of(const Rig* const rig)
{
  char path[64];
  unsigned n = 0;
  snprintf(path, sizeof(path), "/proc/%d/fd", (int)rig->worker);
  DIR* const folder = opendir(path);
  ck_assert_ptr_nonnull(folder);
  while (readdir(folder)) {
    ++n;
  }
  closedir(folder);
  return n;
}

TEST(a_catalogue_leaves_no_descriptor_open)
{
  SCOPED(stop) Rig rig;
  start_ready(&rig);
  const unsigned before = descriptors_of(&rig);
  stop(&rig);
  start(&rig);
  send_plugins(&rig, "first");
  configure(&rig, "/files");
  await(&rig, WIRE_READY);
  send_plugins(&rig, "second");
  send_message(&rig, (WireMessage){ .kind = WIRE_DISARM });
  await(&rig, WIRE_DISARMED);
  ck_assert_uint_eq(descriptors_of(&rig), before);
}

TEST(a_rack_finds_the_plugins_that_were_sent_before_it)
{
  SCOPED(stop) Rig rig;
  start(&rig);
  send_plugins(&rig, "none");
  send_plugins(&rig, "first");
  configure(&rig, "/files");
  await(&rig, WIRE_READY);
  SCOPED_RING Ring* const ring = new_ring();
  arm(&rig, ring);
  const WireReply* const before = edit_text(&rig, ring, 1, "chain a: convolver other.wav");
  assert_says(before->reply.text, "with plugins \"first\"");
  send_plugins(&rig, "second");
  const WireReply* const after = edit_text(&rig, ring, 2, "chain a: convolver other.wav");
  assert_says(after->reply.text, "with plugins \"second\"");
}

TEST(invalid_plugins_are_reported_before_the_end)
{
  Rig rig;
  SCOPED_FD const int unsealed = memfd_create("test", MFD_CLOEXEC);
  for (int is_late = 0; is_late < 2; ++is_late) {
    start(&rig);
    if (is_late) {
      configure(&rig, "/files");
      await(&rig, WIRE_READY);
    }
    send_message(&rig, (WireMessage){ .kind = WIRE_PLUGINS, .plugins_fd = unsealed });
    const Error failed = await(&rig, WIRE_FAILED)->failed;
    ck_assert_int_eq(failed.status, STATUS_BAD_ARG);
    ck_assert_str_eq(failed.text, "not a text in sealed memory");
    ck_assert_int_eq(await_end(&rig), WORKER_LOOP_FAILED);
  }
}

TEST(a_message_out_of_order_ends_the_worker)
{
  Rig rig;
  start(&rig);
  send_message(&rig, (WireMessage){ .kind = WIRE_DISARM }); // DISARM before CONFIG
  ck_assert_int_eq(await_end(&rig), WORKER_LOOP_PROTOCOL);

  start_ready(&rig);
  configure(&rig, "/files"); // a second CONFIG
  ck_assert_int_eq(await_end(&rig), WORKER_LOOP_PROTOCOL);

  start_ready(&rig);
  Ring* const ring = new_ring();
  send_message(&rig, arm_message(ring_fd(ring)));
  send_message(&rig, arm_message(ring_fd(ring))); // a second ARM
  ck_assert_int_eq(await_end(&rig), WORKER_LOOP_PROTOCOL);
  ck_assert_uint_eq(rig.n_received[WIRE_ARMED], 1);

  start_ready(&rig);
  const ParamMessage message = { .uid = 4711 };
  send_message(&rig, arm_message(ring_fd(ring)));
  send_message(&rig, (WireMessage){ .kind = WIRE_SET, .set = { &message, 1 } }); // a ring is armed
  ck_assert_int_eq(await_end(&rig), WORKER_LOOP_PROTOCOL);
  ring_free(ring);

  start_ready(&rig);
  const uint32_t garbage[] = { 0xDEADBEEFU, 0xDEADBEEFU };
  ck_assert_int_eq(write(wire_fd(rig.wire), garbage, sizeof(garbage)), sizeof(garbage));
  ck_assert_int_eq(await_end(&rig), WORKER_LOOP_PROTOCOL);
}

TEST(the_worker_ends_with_the_server)
{
  Rig rig;
  start(&rig);
  stop(&rig); // before CONFIG
  start_ready(&rig);
  stop(&rig);
}

TEST(a_socket_of_another_program_is_not_served)
{
  int sockets[2];
  OK(wire_pair(sockets, &error));
  const pid_t between = fork(); // the worker's parent: it has not made the socket
  if (!between) {
    const pid_t worker = fork();
    if (!worker) {
      Error why;
      _exit((int)worker_loop_run(sockets[1], &files, &why));
    }
    int status = 0;
    _exit(waitpid(worker, &status, 0) == worker ? WEXITSTATUS(status) : 99);
  }
  int status = 0;
  ck_assert_int_eq(waitpid(between, &status, 0), between);
  ck_assert_int_eq(WEXITSTATUS(status), WORKER_LOOP_ORPHAN);
}

SUITE_MAIN("worker_loop")
