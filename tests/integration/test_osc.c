// SPDX-License-Identifier: GPL-3.0-or-later
// The whole path from a UDP packet to samples: `warprack run` on the timer plays a constant and
// records its output.  The values of a bundle take effect in all channels at the same frame; ten
// edits in a bundle make one plan; each of 500 valid and invalid commands gets a reply.

#include "engine/base/status.h"
#include "tests/support/osc_client.h"
#include "tests/support/program.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RATE    48000
#define FRAMES  (10U * RATE)
#define LATENCY 64U // one block in flight

static Scratch scratch;
static OscClient* client;

static const char two_ways[] = "add left gain\n"
                               "add right gain\n"
                               "connect in:1 left\n"
                               "connect in:2 right\n"
                               "connect left out:1\n"
                               "connect right out:2\n";

/// Start the program with a constant 0.5 in both channels, and open the client.
static void
start(void)
{
  static float ones[FRAMES];
  for (uint32_t i = 0; i < FRAMES; ++i) {
    ones[i] = 0.5F;
  }
  scratch = scratch_new();
  scratch_write_wav(&scratch, "in.wav", (const float* const[]){ ones, ones }, 2, FRAMES, RATE);
  scratch_write(&scratch, "two.rack", two_ways, strlen(two_ways));
  const char* const words[] = { "run",
                                "--io",
                                "dummy",
                                "--block",
                                "64",
                                "--osc-port",
                                "0",
                                "--play",
                                scratch_path(&scratch, "in.wav"),
                                "--record",
                                scratch_path(&scratch, "out.wav"),
                                scratch_path(&scratch, "two.rack"),
                                NULL };
  program_start(&program, words);
  program_expect(&program, "OSC port");
  const char* const said = strstr(program_peek(&program), "OSC port ");
  client = client_new((uint16_t)atoi(said + strlen("OSC port ")));
}

/// End the program.  Returns its recording, interleaved; free() it.
static float*
stop(size_t* const n_frames)
{
  kill(program.pid, SIGTERM);
  program_wait(&program);
  ck_assert_msg(program.exit_code == 0, "%d: %s", program.exit_code, program.err);
  unsigned n_channels = 0;
  int rate_hz = 0;
  float* const out =
      scratch_read(scratch_path(&scratch, "out.wav"), &n_channels, n_frames, &rate_hz);
  ck_assert_uint_eq(n_channels, 2);
  client_free(client);
  scratch_remove(&scratch);
  return out;
}

static double
status_number(const char* const key)
{
  client_send(client, "/server/status", "");
  char pattern[64];
  snprintf(pattern, sizeof(pattern), " %s ", key);
  const char* const at = strstr(client_receive(client), pattern);
  ck_assert_ptr_nonnull(at);
  return strtod(at + strlen(pattern), NULL);
}

/// Wait until this number of /server/status is `least` or more.
static void
await_number(const char* const key, const double least)
{
  AWAIT(status_number(key) >= least);
}

/// Record 0.3 s.
static void
record_more(void)
{
  await_number("blocks", status_number("blocks") + 0.3 * RATE / 64.0);
}

/// The first frame, from frame `from` on, in which the channel is not `value`.
static size_t
first_change(const float* const out, const size_t n_frames, const unsigned channel, size_t from,
             const float value)
{
  while (from < n_frames && out[2U * from + channel] == value) {
    ++from;
  }
  ck_assert_uint_lt(from, n_frames);
  return from;
}

/// Fails the test unless the channel has `value` in some frame from `from` on.  Blocks before may
/// have been late, and then they have the level of the input.
static void
assert_reaches(const float* const out, const size_t n_frames, const unsigned channel, size_t from,
               const double value)
{
  while (from < n_frames && fabs((double)out[2U * from + channel] - value) > 1e-6) {
    ++from;
  }
  ck_assert_msg(from < n_frames, "channel %u never has %g", channel, value);
}

static void
sync_with(const int number)
{
  char expected[64];
  snprintf(expected, sizeof(expected), "/server/synced %d", number);
  client_ask(client, expected, "/server/sync", "i", number);
}

TEST(values_of_a_bundle_begin_at_one_frame)
{
  for (int timed = 0; timed < 2; ++timed) {
    start();
    record_more(); // the steady signal before the bundle
    const double applied = status_number("params_applied");
    sync_with(1);
    const lo_bundle bundle = lo_bundle_new(timed ? tag_in(0.3) : LO_TT_IMMEDIATE);
    bundle_add(bundle, "/node/left/gain", "f", -6.0);
    bundle_add(bundle, "/node/right/gain", "f", -12.0);
    client_send_bundle(client, bundle);
    client_expect(client, "/done /node/left/gain");
    client_expect(client, "/done /node/right/gain");
    sync_with(2);
    await_number("params_applied", applied + 2.0);
    record_more(); // the signal after the bundle
    size_t n = 0;
    SCOPED_MEMORY float* const out = stop(&n);
    const size_t begin = LATENCY + RATE / 10U;
    const size_t left = first_change(out, n, 0, begin, 0.5F);
    ck_assert_uint_eq(left, first_change(out, n, 1, begin, 0.5F));
    assert_reaches(out, n, 0, left + RATE / 20U, 0.5 * pow(10.0, -6.0 / 20.0));
    assert_reaches(out, n, 1, left + RATE / 20U, 0.5 * pow(10.0, -12.0 / 20.0));
  }
}

TEST(ten_edits_in_a_bundle_are_one_plan)
{
  start();
  const double plans = status_number("plans");
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  // Nothing is disconnected: when a link has faded out, the worker makes a plan without it.
  bundle_add(bundle, "/rack/add", "ss", "a", "gain");
  bundle_add(bundle, "/rack/add", "ss", "b", "gain");
  bundle_add(bundle, "/rack/connect", "ss", "left", "a");
  bundle_add(bundle, "/rack/connect", "ss", "right", "b");
  bundle_add(bundle, "/rack/connect", "ss", "in:2", "a");
  bundle_add(bundle, "/rack/connect", "ss", "in:1", "b");
  bundle_add(bundle, "/rack/connect", "ss", "a", "out:1");
  bundle_add(bundle, "/rack/connect", "ss", "b", "out:2");
  bundle_add(bundle, "/node/a/gain", "s", "-3dB");
  bundle_add(bundle, "/rack/set", "sf", "b.gain", -3.0);
  client_send_bundle(client, bundle);
  char frame[32] = ""; // the last argument of each reply, which must be the same
  for (int i = 0; i < 10; ++i) {
    client_expect(client, "/done *");
    const char* const last = strrchr(client->answer, ' ');
    if (i) {
      ck_assert_str_eq(last, frame);
    }
    snprintf(frame, sizeof(frame), "%s", last);
  }
  ck_assert_double_eq(status_number("plans"), plans + 1.0);
  size_t n = 0;
  free(stop(&n));
}

/// Send a random command, which may be invalid.
static void
send_any(const uint32_t random)
{
  char name[8];
  char other[8];
  snprintf(name, sizeof(name), "n%u", random / 16U % 8U);
  snprintf(other, sizeof(other), "n%u", random / 128U % 8U);
  switch (random % 10U) {
  case 0:
  case 1:
    client_send(client, "/rack/add", "ss", name, random & 1024U ? "delay" : "gain");
    break;
  case 2:
    client_send(client, "/rack/remove", "s", name);
    break;
  case 3:
  case 4:
    client_send(client, "/rack/connect", "ssf", name, other, -(double)(random % 20U));
    break;
  case 5:
    client_send(client, "/rack/disconnect", "ss", name, other);
    break;
  case 6:
    client_send(client, "/rack/undo", "");
    break;
  case 7:
    client_send(client, "/rack/connect", "ss", "in", name);
    break;
  default:
    client_send(client, "/node/left/gain", "f", -(double)(random % 60U));
    break;
  }
}

TEST(a_storm_of_commands_is_answered_to_the_last_one)
{
  start();
  uint32_t random = 1;
  uint32_t n_done = 0;
  uint32_t n_failed = 0;
  for (uint32_t round = 0; round < 25; ++round) {
    for (uint32_t i = 0; i < 20; ++i) {
      random = random * 1664525U + 1013904223U;
      send_any(random >> 8U);
    }
    for (uint32_t i = 0; i < 20; ++i) {
      const bool is_done = !strncmp(client_receive(client), "/done", 5);
      ck_assert(is_done || !strncmp(client->answer, "/fail", 5));
      n_done += is_done;
      n_failed += !is_done;
    }
  }
  ck_assert_uint_gt(n_done, 100);
  ck_assert_uint_gt(n_failed, 50);
  sync_with(3);
  client_expect_nothing(client); // each command got only one reply
  ck_assert_double_eq(status_number("edits_waiting"), 0.0);
  ck_assert_double_eq(status_number("values_lost"), 0.0);
  size_t n = 0;
  free(stop(&n));
}

TEST(a_rack_that_comes_by_osc_names_files_of_the_root_only)
{
  scratch = scratch_new();
  static const float one[] = { 1.0F };
  ck_assert_int_eq(mkdir(scratch_path(&scratch, "root"), 0700), 0);
  scratch_write_wav(&scratch, "root/in.wav", (const float* const[]){ one }, 1, 1, RATE);
  scratch_write_wav(&scratch, "out.wav", (const float* const[]){ one }, 1, 1, RATE);
  ck_assert_int_eq(symlink("../out.wav", scratch_path(&scratch, "root/link.wav")), 0);
  ck_assert_int_eq(mkfifo(scratch_path(&scratch, "root/pipe.wav"), 0600), 0);
  static const char* const racks[] = { "/etc/passwd", "../out.wav", "link.wav", "pipe.wav",
                                       ".",           "/dev/zero",  "out.wav" };
  for (uint32_t i = 0; i < ARRAY_LEN(racks); ++i) {
    char name[32];
    char text[64];
    snprintf(name, sizeof(name), "root/%u.rack", i);
    const int n = snprintf(text, sizeof(text), "chain hall: convolver %s\n", racks[i]);
    scratch_write(&scratch, name, text, (size_t)n);
  }
  const char* const words[] = {
    "run",  "--io", "dummy", "--osc-port", "0", "--root", scratch_path(&scratch, "root"),
    "gain", NULL
  };
  program_start(&program, words);
  program_expect(&program, "OSC port");
  client = client_new((uint16_t)atoi(strstr(program_peek(&program), "OSC port ") + 9));

  client_ask(client, "/done /rack/add*", "/rack/add", "ssss", "hall", "convolver", "ir", "in.wav");
  for (uint32_t i = 0; i < ARRAY_LEN(racks); ++i) {
    char name[32];
    snprintf(name, sizeof(name), "%u.rack", i);
    client_ask(client, "/fail /rack/load 9 *", "/rack/load", "s", name);
    client_ask(client, "/fail /node/hall/ir 9 *", "/node/hall/ir", "s", racks[i]);
  }
  client_ask(client, "/node/hall/ir in.wav", "/node/hall/ir", "");
  kill(program.pid, SIGTERM);
  program_wait(&program);
  ck_assert_int_eq(program.exit_code, 0);
  client_free(client);
  scratch_remove(&scratch);
}

TEST(a_port_that_others_can_reach_is_opened_with_a_list_only)
{
  RUN("run", "--io", "dummy", "--osc-port", "0", "--osc-bind", "0.0.0.0", "gain");
  ck_assert_int_eq(program.exit_code, 2);
  assert_says(program.err, "--osc-allow");
  RUN("run", "--io", "dummy", "--osc-allow", "10.0.0.1/8", "gain");
  ck_assert_int_eq(program.exit_code, 2);
  assert_says(program.err, "10.0.0.1/8 is not a network");
  RUN_GOOD("run", "--io", "dummy", "--osc-port", "0", "--osc-bind", "0.0.0.0", "--osc-allow",
           "192.0.2.0/24,2001:db8::1", "--duration", "0.1", "gain");
}

SUITE_MAIN("osc")
