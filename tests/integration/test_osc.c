// SPDX-License-Identifier: GPL-3.0-or-later
// The whole path, from a UDP packet to samples: `warprack run` on the timer plays a constant and
// is recorded.  The commands of a bundle take effect in all channels at one frame; ten edits are
// one plan; every command of a storm of good and bad ones is answered.

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
static Program program;
static OscClient* client;

static const char two_ways[] = "add left gain\n"
                               "add right gain\n"
                               "connect in:1 left\n"
                               "connect in:2 right\n"
                               "connect left out:1\n"
                               "connect right out:2\n";

/// Run the two channels with 1.0 in both; the client is connected.
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

/// End the program; returns its recording, interleaved.
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
  program_clear(&program);
  client_free(client);
  scratch_remove(&scratch);
  return out;
}

/// First frame from `from` on at which a channel is not `value`.
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

static void
sync_with(const int number)
{
  char expected[64];
  snprintf(expected, sizeof(expected), "/server/synced %d", number);
  client_ask(client, expected, "/server/sync", "i", number);
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

TEST(values_of_a_bundle_begin_at_one_frame)
{
  for (int timed = 0; timed < 2; ++timed) {
    start();
    usleep(300000); // so that the steady signal before is recorded, too
    sync_with(1);
    const lo_bundle bundle = lo_bundle_new(timed ? tag_in(0.3) : LO_TT_IMMEDIATE);
    bundle_add(bundle, "/node/left/gain", "f", -6.0);
    bundle_add(bundle, "/node/right/gain", "f", -12.0);
    client_send_bundle(client, bundle);
    client_expect(client, "/done /node/left/gain");
    client_expect(client, "/done /node/right/gain");
    sync_with(2);
    usleep(300000); // and the signal after
    size_t n = 0;
    SCOPED_MEMORY float* const out = stop(&n);
    const size_t begin = LATENCY + RATE / 10U;
    const size_t left = first_change(out, n, 0, begin, 0.5F);
    ck_assert_uint_eq(left, first_change(out, n, 1, begin, 0.5F));
    ck_assert_double_eq_tol(out[2U * (left + RATE / 20U)], 0.5 * pow(10.0, -6.0 / 20.0), 1e-6);
    ck_assert_double_eq_tol(out[2U * (left + RATE / 20U) + 1U], 0.5 * pow(10.0, -12.0 / 20.0),
                            1e-6);
  }
}

TEST(ten_edits_in_a_bundle_are_one_plan)
{
  start();
  const double plans = status_number("plans");
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/rack/add", "ss", "a", "gain");
  bundle_add(bundle, "/rack/add", "ss", "b", "gain");
  bundle_add(bundle, "/rack/disconnect", "ss", "left", "out:1");
  bundle_add(bundle, "/rack/disconnect", "ss", "right", "out:2");
  bundle_add(bundle, "/rack/connect", "ss", "left", "a");
  bundle_add(bundle, "/rack/connect", "ss", "right", "b");
  bundle_add(bundle, "/rack/connect", "ss", "a", "out:1");
  bundle_add(bundle, "/rack/connect", "ss", "b", "out:2");
  bundle_add(bundle, "/node/a/gain", "s", "-3dB");
  bundle_add(bundle, "/rack/set", "sf", "b.gain", -3.0);
  client_send_bundle(client, bundle);
  char frame[32] = ""; // the last argument of every answer
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

/// One command of many kinds, some of them invalid.
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
  client_expect_nothing(client); // no superfluous answer
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
  program_clear(&program);
  client_free(client);
  scratch_remove(&scratch);
}

TEST(a_port_that_others_can_reach_is_opened_with_a_list_only)
{
  PROGRAM_RUN(&program, "run", "--io", "dummy", "--osc-port", "0", "--osc-bind", "0.0.0.0", "gain");
  ck_assert_int_eq(program.exit_code, 2);
  ck_assert_ptr_nonnull(strstr(program.err, "--osc-allow"));
  program_clear(&program);
  PROGRAM_RUN(&program, "run", "--io", "dummy", "--osc-allow", "10.0.0.1/8", "gain");
  ck_assert_int_eq(program.exit_code, 2);
  ck_assert_ptr_nonnull(strstr(program.err, "10.0.0.1/8 is not a network"));
  program_clear(&program);
  PROGRAM_RUN(&program, "run", "--io", "dummy", "--osc-port", "0", "--osc-bind", "0.0.0.0",
              "--osc-allow", "192.0.2.0/24,2001:db8::1", "--duration", "0.1", "gain");
  ck_assert_msg(program.exit_code == 0, "%s", program.err);
  program_clear(&program);
}

SUITE_MAIN("osc")
