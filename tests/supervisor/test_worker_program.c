// SPDX-License-Identifier: GPL-3.0-or-later
// `warprack worker` is the program that the server starts.  It opens files below the server's
// folder only, ends when the server does and ignores signals until then, and refuses a start by
// hand.

#include "engine/base/process.h"
#include "engine/base/recorder.h"
#include "engine/base/sealed_text.h"
#include "engine/ring/ring.h"
#include "plugins/catalogue.h"
#include "plugins/format.h"
#include "tests/support/program.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"
#include "tests/support/wire_ends.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK   64U
#define RATE    48000.0
#define WAIT_NS 20000000000U

typedef struct Rig {
  Wire* wire;
  Process* worker;
  Recorder* recorder;
  Ring* ring;
  WireMessage last;
} Rig;

static const WireMessage*
await(Rig* const rig, const WireKind kind)
{
  do {
    wire_message_clear(&rig->last);
    rig->last = wire_next(rig->wire);
  } while (rig->last.kind != kind);
  return &rig->last;
}

/// Start the program.
static void
start_program(Rig* const rig)
{
  static char name[] = "warprack";
  static char command[] = "worker";
  static char* const argv[] = { name, command, NULL };
  int sockets[2];
  *rig = (Rig){ .wire = NULL };
  OK(wire_pair(sockets, &error));
  OK(wire_new(sockets[0], WIRE_SERVER, &rig->wire, &error));
  OK(process_start(getenv("WARPRACK_PROGRAM"), argv, sockets[1], &rig->worker, &error));
  close(sockets[1]);
}

/// Start the program, configure it and arm it.
static void
start(Rig* const rig, const char* const root, const char* const named)
{
  start_program(rig);
  Rack* const rack = rack_of(named, NULL);
  OK(recorder_new(&rig->recorder, &error));
  WireMessage config = { .kind = WIRE_CONFIG,
                         .config = { .rack = rack, .recorder_fd = recorder_fd(rig->recorder) } };
  config.config.engine.backend = ENGINE_BACKEND_CPU;
  strcpy(config.config.root, root);
  OK(wire_send(rig->wire, &config, &error));
  rack_free(rack);

  const RingShape shape = { 1, 1, BLOCK, 4, 64, 0 };
  OK(ring_new(&shape, &rig->ring, &error));
  const WireMessage arm = {
    .kind = WIRE_ARM,
    .arm = { .format = { .rate_hz = RATE, .block_frames = BLOCK, .n_in = 1, .n_out = 1 },
             .ring_fd = ring_fd(rig->ring) }
  };
  OK(wire_send(rig->wire, &arm, &error));
  ck_assert_msg(!await(rig, WIRE_ARMED)->armed.error.status, "%s", rig->last.armed.error.text);
}

/// Close the server's socket; the worker must end by itself, with code 0.
static void
stop(Rig* const rig)
{
  char reason[PROCESS_REASON_BYTES] = "";
  struct pollfd end = { .fd = process_fd(rig->worker), .events = POLLIN };
  wire_message_clear(&rig->last);
  wire_free(rig->wire);
  ck_assert_int_eq(poll(&end, 1, 20000), 1);
  ck_assert(process_has_ended(rig->worker, reason));
  ck_assert_str_eq(reason, "exited with 0");
  process_free(rig->worker);
  recorder_free(rig->recorder);
  ring_free(rig->ring);
}

/// Edit the rack, and play silence until the reply.  Returns its status.
static Status
edit(Rig* const rig, const char* const document)
{
  Rack* const rack = rack_of(document, NULL);
  const WireMessage message = { .kind = WIRE_EDIT, .edit = { .rack = rack } };
  OK(wire_send(rig->wire, &message, &error));
  rack_free(rack);
  do {
    const uint64_t sequence = ring_next(rig->ring);
    *ring_slot(rig->ring, sequence) =
        (SlotHeader){ .frame = sequence * BLOCK, .n_frames = BLOCK, .flags = SLOT_WAITED };
    ring_submit(rig->ring);
    ck_assert(ring_wait_finished(rig->ring, sequence, WAIT_NS));
    wire_message_clear(&rig->last);
    OK(wire_receive(rig->wire, &rig->last, &error));
  } while (rig->last.kind != WIRE_REPLY);
  return rig->last.reply.reply.status;
}

TEST(files_are_opened_below_the_root_or_where_the_servers_own_rack_has_them)
{
  static const float click[] = { 0.5F };
  const float* const channels[] = { click };
  SCOPED(scratch_remove) const Scratch root = scratch_new();
  SCOPED(scratch_remove) const Scratch elsewhere = scratch_new();
  char document[512];
  char named[512];
  char other[512];
  scratch_write_wav(&root, "inside.wav", channels, 1, 1, 48000);
  scratch_write_wav(&elsewhere, "named.wav", channels, 1, 1, 48000);
  scratch_write_wav(&elsewhere, "other.wav", channels, 1, 1, 48000);
  snprintf(named, sizeof(named), "chain a: convolver %s", scratch_path(&elsewhere, "named.wav"));
  snprintf(other, sizeof(other), "chain a: convolver %s", scratch_path(&elsewhere, "other.wav"));
  snprintf(document, sizeof(document), "chain a: convolver ../%s/other.wav",
           strrchr(elsewhere.directory, '/') + 1);
  Rig rig;
  start(&rig, root.directory, named);
  ck_assert_msg(!edit(&rig, "chain a: convolver inside.wav"), "%s", rig.last.reply.reply.text);
  ck_assert_msg(!edit(&rig, named), "%s", rig.last.reply.reply.text);
  ck_assert_int_eq(edit(&rig, other), STATUS_FILE);
  ck_assert_int_eq(edit(&rig, document), STATUS_FILE);
  ck_assert_int_eq(edit(&rig, "chain a: convolver nothing.wav"), STATUS_FILE);
  stop(&rig);
}

/// Send a catalogue of plugins, and close its descriptor.
static void
send_plugins(const Rig* const rig, const int fd)
{
  const WireMessage message = { .kind = WIRE_PLUGINS, .plugins_fd = fd };
  OK(wire_send(rig->wire, &message, &error));
  close(fd);
}

static int
sealed(const char* const text)
{
  int fd = -1;
  OK(sealed_text_new(text, strlen(text), &fd, &error));
  return fd;
}

TEST(the_worker_takes_a_catalogue_of_plugins)
{
  SCOPED(stop) Rig rig;
  start(&rig, ".", "");
  send_plugins(&rig, sealed(CATALOGUE_START));
  ck_assert(!edit(&rig, "chain a: invert"));
}

/// Write a catalogue with one plugin, "x/eq".  `fault`: why it cannot be used; "": it can.
static void
write_catalogue(char text[const 512], const char* const format, const char* const fault)
{
  snprintf(text, 512,
           CATALOGUE_START "bundle\t%s\t/b\t1\t\n"
                           "plugin\t%s\tx/eq\tEq\t\t\t\t%s\t\n"
                           "binary\t/b\t/b\t1\t2\t3\n"
                           "port\t0\taudio\t\tin\tIn\t\t\tnone\t0\t0\t0\t0\n",
           format, format, fault);
}

TEST(a_rack_with_a_plugin_that_cannot_be_used_is_refused_and_the_worker_goes_on)
{
  char text[512];
  char document[64];
  uint32_t n_formats = 0;
  const char* const format = plugin_formats(&n_formats)[0]->name;
  Catalogue* catalogue = NULL;
  write_catalogue(text, format, "");
  OK(catalogue_new(strdup(text), strlen(text), &catalogue, &error));
  catalogue_use(catalogue);
  snprintf(document, sizeof(document), "chain a: %s x/eq", format);
  setenv("XDG_CACHE_HOME", "/nowhere", 1);
  SCOPED(stop) Rig rig;
  start(&rig, ".", document); // the worker has no catalogue yet
  ck_assert_int_eq(edit(&rig, document), STATUS_NOT_FOUND);
  write_catalogue(text, format, "needs a feature");
  send_plugins(&rig, sealed(text));
  ck_assert_int_eq(edit(&rig, document), STATUS_NO_BACKEND);
  assert_says(rig.last.reply.reply.text, "\"x/eq\" cannot be used: needs a feature");
  ck_assert(!edit(&rig, "chain a: invert"));
}

/// Start the program, and send a catalogue.  Fails the test unless the worker ends with the reason.
static void
expect_refusal(const int fd, const Status status, const char* const part)
{
  Rig rig;
  char reason[PROCESS_REASON_BYTES] = "";
  start_program(&rig);
  send_plugins(&rig, fd);
  const Error failed = await(&rig, WIRE_FAILED)->failed;
  ck_assert_int_eq(failed.status, status);
  assert_says(failed.text, "catalogue of plugins: ");
  assert_says(failed.text, part);
  struct pollfd end = { .fd = process_fd(rig.worker), .events = POLLIN };
  ck_assert_int_eq(poll(&end, 1, 20000), 1);
  ck_assert(process_has_ended(rig.worker, reason));
  ck_assert_str_eq(reason, "exited with 10");
  process_free(rig.worker);
  wire_free(rig.wire);
}

TEST(the_worker_ends_with_a_reason_if_it_cannot_use_a_catalogue)
{
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  const int unsealed = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const int large = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ck_assert_int_eq(write(unsealed, CATALOGUE_START, strlen(CATALOGUE_START)),
                   (ssize_t)strlen(CATALOGUE_START));
  ck_assert(!ftruncate(large, 1LL << 30U) && !fcntl(large, F_ADD_SEALS, seals));
  expect_refusal(unsealed, STATUS_BAD_ARG, "not a text in sealed memory");
  expect_refusal(open("/dev/null", O_RDONLY), STATUS_BAD_ARG, "not a text in sealed memory");
  expect_refusal(large, STATUS_LIMIT, "a text of 1073741824 bytes; at most 268435456");
  expect_refusal(sealed(""), STATUS_FILE, "");
  expect_refusal(sealed("a catalogue of another version\n"), STATUS_FILE, "");
}

TEST(the_worker_ignores_termination_signals)
{
  static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE };
  SCOPED(stop) Rig rig;
  start(&rig, ".", "");
  for (uint32_t s = 0; s < ARRAY_LEN(signals); ++s) {
    ck_assert_int_eq(kill(process_id(rig.worker), signals[s]), 0);
    ck_assert(!edit(&rig, s % 2U ? "chain a: invert" : "chain b: invert"));
  }
}

TEST(the_worker_process_has_its_own_name)
{
  char path[64];
  char name[32] = "";
  SCOPED(stop) Rig rig;
  start(&rig, ".", "");
  snprintf(path, sizeof(path), "/proc/%d/comm", (int)process_id(rig.worker));
  FILE* const file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  ck_assert_ptr_nonnull(fgets(name, sizeof(name), file));
  fclose(file);
  ck_assert_str_eq(name, "warprack-worker\n");
}

TEST(started_by_hand_the_worker_explains_its_purpose)
{
  RUN("worker");
  ck_assert_int_eq(program.exit_code, 2);
  assert_says(program.err, "starts this process itself");
  ck_assert_str_eq(program.out, "");
  RUN("--help");
  ck_assert_ptr_null(strstr(program.out, "worker"));
}

SUITE_MAIN("worker program")
