// SPDX-License-Identifier: GPL-3.0-or-later
// warprack run: prints its configuration, plays audio through the rack, ends at once and with exit
// code 0 on a signal, and refuses invalid input with the documented exit code.

#include "tests/support/program.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define RATE   48000
#define FRAMES 24000U

static void
assert_refused(const int exit_code, const char* const said)
{
  ck_assert_msg(program.exit_code == exit_code, "%d, not %d: %s%s", program.exit_code, exit_code,
                program.out, program.err);
  assert_says(program.err, said);
}

TEST(the_configuration_is_logged_and_a_signal_ends_the_run)
{
  const int signals[] = { SIGINT, SIGTERM };
  for (uint32_t i = 0; i < 2U; ++i) {
    const char* const words[] = { "run", "--io", "dummy", "--osc-port", "0", "gain -6dB", NULL };
    program_start(&program, words);
    program_expect(&program, "running on dummy");
    kill(program.pid, signals[i]);
    program_wait(&program);
    ck_assert_msg(program.exit_code == 0, "%d: %s", program.exit_code, program.err);
    assert_says(program.out, "48000 Hz, blocks of 256 frames, 2 in, 2 out, latency 256 frames");
    assert_says(program.out, i ? "stopped (terminated)" : "stopped (interrupted)");
  }
}

TEST(osc_quit_ends_the_run)
{
  const char* const words[] = { "run", "--io", "dummy", "--osc-port", "0", "--json", NULL };
  program_start(&program, words);
  program_expect(&program, "\"osc_port\":");
  char port[8] = "";
  ck_assert_int_eq(
      sscanf(strstr(program_peek(&program), "\"osc_port\":"), "\"osc_port\":%7[0-9]", port), 1);
  SCOPED(program_clear) Program sender = { .pid = 0 };
  PROGRAM_RUN(&sender, "send", "--osc-port", port, "/server/quit");
  ck_assert_msg(sender.exit_code == 0, "%s", sender.err);
  program_wait(&program);
  ck_assert_int_eq(program.exit_code, 0);
  assert_says(program.out, "asked by /server/quit");
}

TEST(events_are_json_lines)
{
  RUN_GOOD("run", "--io", "dummy", "--json", "--osc-port", "0", "--duration", "1.5", "--block",
           "64", "gain");
  bool ran = false;
  bool stopped = false;
  for (char* line = strtok(program.out, "\n"); line; line = strtok(NULL, "\n")) {
    json_t* const event = json_loads(line, 0, NULL);
    ck_assert_msg(event, "%s", line);
    const char* const name = json_string_value(json_object_get(event, "event"));
    if (!strcmp(name, "running")) {
      ran = true;
      ck_assert_int_eq(json_integer_value(json_object_get(event, "block_frames")), 64);
      ck_assert_int_gt(json_integer_value(json_object_get(event, "osc_port")), 0);
    } else if (!strcmp(name, "stopped")) {
      stopped = true;
      ck_assert_int_gt(json_integer_value(json_object_get(event, "blocks")), 100);
    }
    json_decref(event);
  }
  ck_assert(ran && stopped);
}

TEST(the_recording_is_the_played_file_through_the_rack)
{
  static float left[FRAMES];
  static float right[FRAMES];
  const float* const samples[] = { left, right };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  signal_noise(left, FRAMES, 1);
  signal_noise(right, FRAMES, 2);
  scratch_write_wav(&scratch, "in.wav", samples, 2, FRAMES, RATE);
  const char* const out_path = scratch_path(&scratch, "out.wav");
  RUN_GOOD("run", "--io", "dummy", "--fast", "--osc-port", "0", "--play",
           scratch_path(&scratch, "in.wav"), "--record", out_path, "--duration", "0.5", "--block",
           "64", "gain -6dB");
  unsigned n_channels = 0;
  size_t n_frames = 0;
  int rate_hz = 0;
  SCOPED_MEMORY float* const out = scratch_read(out_path, &n_channels, &n_frames, &rate_hz);
  ck_assert_uint_eq(n_channels, 2);
  ck_assert_int_eq(rate_hz, RATE);
  ck_assert_uint_ge(n_frames, FRAMES);
  const double gain = pow(10.0, -6.0 / 20.0);
  for (uint32_t i = 64; i < FRAMES; ++i) { // depth 1: the output is one block later
    ck_assert_double_eq_tol(out[2U * i], gain * left[i - 64U], 1e-6);
    ck_assert_double_eq_tol(out[2U * i + 1U], gain * right[i - 64U], 1e-6);
  }
}

TEST(sighup_reloads_the_rack_file)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  scratch_write(&scratch, "live.rack", "chain gain -6dB\n", 16);
  const char* const words[] = {
    "run", "--io", "dummy", "--json", "--osc-port", "0", scratch_path(&scratch, "live.rack"), NULL
  };
  program_start(&program, words);
  program_expect(&program, "\"running\"");
  scratch_write(&scratch, "live.rack", "chain gain -6dB | gian\n", 23);
  kill(program.pid, SIGHUP);
  program_expect(&program, "live.rack:1:19: "); // refused; the current rack plays on
  scratch_write(&scratch, "live.rack", "chain gain -6dB | gain 3dB\n", 27);
  kill(program.pid, SIGHUP);
  program_expect(&program, "live.rack has been read again");
  kill(program.pid, SIGTERM);
  program_wait(&program);
  ck_assert_int_eq(program.exit_code, 0);
}

TEST(a_wrong_rack_opens_nothing)
{
  RUN("run", "--io", "dummy", "--osc-port", "0", "gain | gian");
  ck_assert_str_eq(program.out, "");
  assert_refused(2, "rack:1:8: ");
}

TEST(options_that_do_not_go_together_are_refused)
{
  RUN("run", "--io", "jack", "--fast", "");
  assert_refused(2, "--fast, --play and --record need --io dummy");
  RUN("run", "--io", "dummy", "--wait", "");
  assert_refused(2, "--wait needs --io jack or --io portaudio");
  RUN("run", "--io", "auto", "--connect", "system", "");
  assert_refused(2, "--server and --connect need --io jack");
  RUN("run", "--io", "jack", "--connect", "system", "--no-connect", "");
  assert_refused(2, "--connect and --no-connect exclude each other");
  RUN("run", "--io", "jack", "--connect", "a(b", "--osc-port", "0", "");
  assert_refused(2, "'a(b' is no regular expression");
  RUN("run", "--io", "dummy", "--channels", "2:", "");
  assert_refused(2, "--channels takes IN:OUT");
  RUN("run", "--io", "dummy", "--channels", "2:1025", "");
  assert_refused(2, "--channels takes IN:OUT");
}

TEST(missing_files_and_devices_have_their_exit_codes)
{
  RUN("run", "--io", "dummy", "--osc-port", "0", "--backend", "cuda", "--gpu", "63",
      "gain"); // 63: the machine may have CUDA devices
  assert_refused(4, "cuda");
  RUN("run", "--io", "dummy", "--osc-port", "0", "--play", "no/such.wav", "gain");
  assert_refused(5, "no/such.wav");
}

/// A service manager restarts the program after code 6, but not after code 2 (wrong usage).
TEST(too_few_open_files_are_no_wrong_usage)
{
  char command[512];
  for (uint32_t n = 9; n <= 11U; ++n) {
    snprintf(command, sizeof(command),
             "exec 2>/dev/null 3<&- 4<&- 5<&- 6<&- 7<&- 8<&-; ulimit -n %u; exec "
             "\"$WARPRACK_PROGRAM\" run --io dummy --osc-port 0 --duration 0.1 gain",
             n);
    const int status = system(command);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 6, "%u open files: status %d", n,
                  status);
  }
}

TEST(a_file_size_limit_is_an_error_with_a_message)
{
  const int status = system("ulimit -f 1; exec 2>&1; \"$WARPRACK_PROGRAM\" run --io dummy "
                            "--osc-port 0 --duration 0.1 gain");
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 6, "%d", status);
}

TEST(failed_drivers_are_named_in_one_line)
{
  setenv("JACK_DEFAULT_SERVER", "warprack-none", 1);
  setenv("JACK_NO_START_SERVER", "1", 1);
  RUN_GOOD("run", "--osc-port", "0", "--duration", "0.1", "gain -120dB");
  const char* const note = strstr(program.err, "audio.note: JACK server");
  ck_assert_msg(note, "%s", program.err);
  const char* const end = strstr(note, "; playing on ");
  ck_assert_msg(end && end < strchr(note, '\n'), "%s", program.err);
}

TEST(a_missing_file_of_a_rack_is_named)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  RUN("run", "--io", "dummy", "--osc-port", "0", "convolver no/hall.wav");
  assert_refused(5, "no/hall.wav");
  RUN("run", "--io", "dummy", "--osc-port", "0", "--in-process", "convolver no/hall.wav");
  assert_refused(5, "no/hall.wav");
  RUN("run", "--io", "dummy", "--osc-port", "0", "--state", scratch_path(&scratch, "state"),
      "convolver no/hall.wav");
  assert_refused(5, "no/hall.wav");
}

TEST(a_busy_port_is_refused_with_the_way_out)
{
  SCOPED_FD const int taken = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t n_bytes = sizeof(address);
  ck_assert_int_eq(bind(taken, (struct sockaddr*)&address, n_bytes), 0);
  getsockname(taken, (struct sockaddr*)&address, &n_bytes);
  char port[8];
  snprintf(port, sizeof(port), "%u", ntohs(address.sin_port));
  RUN("run", "--io", "dummy", "--osc-port", port, "gain");
  assert_refused(3, port);
}

SUITE_MAIN("live")
