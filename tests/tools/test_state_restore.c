// SPDX-License-Identifier: GPL-3.0-or-later
// warprack run with a state folder: the last rack returns, a crash loop ends with a good rack, and
// a full disk prevents saves but not audio.

#include "tests/support/live_run.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RATE         48000
#define FRAMES       4800U
#define LAST_PLAYED  "the rack that played last"
#define SILENT_BELOW 1e-9f

static Scratch scratch;

/// Start a run whose state folder is in the scratch directory.
#define START(...) LIVE_START("--state", scratch_path(&scratch, "state"), __VA_ARGS__)

// ---- the state returns ----

TEST(the_last_rack_returns_unless_the_command_line_has_changed)
{
  scratch = scratch_new();
  START("gain -6dB");
  LIVE_ASK("/rack/chain", "gain -7dB");
  live_end(SIGTERM);
  START("gain -6dB"); // the same command line
  live_assert_said(LAST_PLAYED);
  live_assert_plays("-7dB");
  live_end(SIGTERM);
  START("--fresh", "gain -6dB");
  live_assert_plays("-6dB");
  live_end(SIGTERM);
  START("gain -8dB"); // another command line than at the previous start
  live_assert_plays("-8dB");
  LIVE_ASK("/rack/chain", "gain -9dB");
  live_end(SIGTERM);
  START("gain -8dB");
  live_assert_plays("-9dB");
  live_end(SIGTERM);
  scratch_remove(&scratch);
}

TEST(the_last_rack_returns_when_a_plugin_that_was_missing_is_there)
{
  static const char rack[] = "a: ladspa gain | b: gain -6dB";
  const char* const fixtures = getenv("WARPRACK_LADSPA_FIXTURES");
  char library[512];
  scratch = scratch_new();
  mkdir(scratch_path(&scratch, "plugins"), 0777);
  setenv("LADSPA_PATH", scratch_path(&scratch, "plugins"), 1);
  setenv("XDG_CACHE_HOME", scratch_path(&scratch, "cache"), 1);
  START("--missing", "bypass", rack);
  LIVE_ASK("/node/b/gain", "-7dB");
  live_end(SIGTERM);
  snprintf(library, sizeof(library), "%s/effects.so", fixtures ? fixtures : "");
  ck_assert_int_eq(symlink(library, scratch_path(&scratch, "plugins/effects.so")), 0);
  START("--missing", "bypass", rack); // it is still the same RACK
  live_assert_said(LAST_PLAYED);
  live_assert_plays("-7dB");
  live_assert_plays("ladspa effects/gain");
  live_end(SIGTERM);
  scratch_remove(&scratch);
}

TEST(a_rack_that_played_for_some_seconds_survives_a_kill)
{
  scratch = scratch_new();
  START("gain -6dB");
  LIVE_ASK("/rack/chain", "gain -7dB");
  char kept[512] = "";
  while (!strstr(kept, "-7dB")) { // the time limit of the test ends this loop
    FILE* const file = fopen(scratch_path(&scratch, "state/present.rack"), "re");
    if (file) {
      kept[fread(kept, 1, sizeof(kept) - 1U, file)] = '\0';
      fclose(file);
    }
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
  }
  LIVE_ASK("/rack/chain", "gain -8dB"); // plays for less than the 5 s after which it is saved
  live_end(SIGKILL);
  START("gain -6dB");
  live_assert_plays("-7dB");
  live_end(SIGTERM);
  scratch_remove(&scratch);
}

TEST(a_reload_counts_as_the_rack_of_the_command_line)
{
  scratch = scratch_new();
  scratch_write(&scratch, "live.rack", "chain gain -6dB\n", 16);
  START(scratch_path(&scratch, "live.rack"));
  scratch_write(&scratch, "live.rack", "chain gain -7dB\n", 16);
  kill(program.pid, SIGHUP);
  program_expect(&program, "\"rack.reloaded\"");
  LIVE_ASK("/rack/chain", "gain -8dB");
  live_end(SIGTERM);
  START(scratch_path(&scratch, "live.rack"));
  live_assert_plays("-8dB");
  live_end(SIGTERM);
  scratch_remove(&scratch);
}

TEST(a_damaged_rack_file_does_not_silence_the_next_run)
{
  scratch = scratch_new();
  scratch_write(&scratch, "live.rack", "chain gain -6dB\n", 16);
  START(scratch_path(&scratch, "live.rack"));
  live_end(SIGTERM);
  scratch_write(&scratch, "live.rack", "chain gain -6dB | gian\n", 23);
  START(scratch_path(&scratch, "live.rack"));
  live_assert_plays("-6dB");
  live_end(SIGTERM);
  scratch_write(&scratch, "state/present.rack", "chain gian\n", 11);
  RUN("run", "--io", "dummy", "--osc-port", "0", "--state", scratch_path(&scratch, "state"),
      scratch_path(&scratch, "live.rack"));
  ck_assert_int_eq(program.exit_code, 2); // no valid rack is left
  assert_says(program.err, "live.rack:1:19: ");
  assert_says(program.err, "state.refused: " LAST_PLAYED);
  scratch_remove(&scratch);
}

/// The number of times that `part` is in the run's log.
static unsigned
count_said(const char* const part)
{
  unsigned n = 0;
  for (const char* at = program.err; (at = strstr(at, part)); at += strlen(part)) {
    ++n;
  }
  return n;
}

TEST(damaged_state_files_have_one_line_each_in_the_log)
{
  static const char* const lines[] = {
    "state.refused: state folder: starts: not a number of starts; the file is not used\n",
    "state.refused: state folder: subscribers: not a regular file; the file is not used\n",
    "state.refused: state folder: present.rack: not a text; the file is not used\n",
    "state.refused: state folder: good.rack: a link that leads to no usable file of this folder; "
    "the file is not used\n",
  };
  scratch = scratch_new();
  mkdir(scratch_path(&scratch, "state"), 0777);
  mkdir(scratch_path(&scratch, "state/subscribers"), 0777);
  scratch_write(&scratch, "state/starts", "several\n", 8);
  scratch_write(&scratch, "state/present.rack", "\x7F\0\xFF\x01", 4);
  ck_assert_int_eq(symlink("/etc/hostname", scratch_path(&scratch, "state/good.rack")), 0);
  RUN_GOOD("run", "--io", "dummy", "--osc-port", "0", "--duration", "0.1", "--state",
           scratch_path(&scratch, "state"), "gain");
  for (uint32_t l = 0; l < ARRAY_LEN(lines); ++l) {
    ck_assert_msg(count_said(lines[l]) == 1U, "'%s' is not there once in: %s", lines[l],
                  program.err);
  }
  ck_assert_msg(count_said("state.refused") == ARRAY_LEN(lines), "%s", program.err);
  scratch_remove(&scratch);
}

// ---- crash loops ----

static float
peak_of(const char* const path)
{
  unsigned n_channels = 0;
  size_t n_frames = 0;
  int rate_hz = 0;
  SCOPED_MEMORY float* const samples = scratch_read(path, &n_channels, &n_frames, &rate_hz);
  float peak = 0.0f;
  for (size_t i = 0; i < n_frames * n_channels; ++i) {
    peak = samples[i] > peak ? samples[i] : peak;
  }
  ck_assert_uint_gt(n_frames, 0);
  return peak;
}

/// Start a run and kill it at once.
static void
start_and_kill(void)
{
  START("gain -6dB");
  live_end(SIGKILL);
}

TEST(after_two_early_crashes_the_last_good_rack_starts_muted)
{
  static float noise[FRAMES];
  const float* const samples[] = { noise, noise };
  scratch = scratch_new();
  signal_noise(noise, FRAMES, 1);
  scratch_write_wav(&scratch, "in.wav", samples, 2, FRAMES, RATE);
  char in[160];
  char out[160];
  snprintf(in, sizeof(in), "%s", scratch_path(&scratch, "in.wav"));
  snprintf(out, sizeof(out), "%s", scratch_path(&scratch, "out.wav"));

  START("--play", in, "--record", out, "gain -6dB");
  program_expect(&program, "\"status\""); // printed after a second of audio
  live_end(SIGTERM);
  ck_assert_float_gt(peak_of(out), 0.1f); // positive control

  start_and_kill();
  start_and_kill();
  scratch_write(&scratch, "state/good.rack", "chain gain -11dB\n", 17);
  START("--play", in, "--record", out, "gain -6dB");
  live_assert_said("\"event\":\"state.loop\",\"level\":\"error\"");
  live_assert_said("the last good rack");
  live_assert_plays("-11dB");
  assert_says(LIVE_ASK("/server/status"), "\"muted\" 1");
  program_expect(&program, "\"status\"");
  live_end(SIGTERM); // a normal end ends the crash loop
  ck_assert_float_lt(peak_of(out), SILENT_BELOW);

  START("--play", in, "--record", out, "gain -6dB");
  ck_assert_ptr_null(strstr(program_peek(&program), "state.loop"));
  program_expect(&program, "\"status\"");
  live_end(SIGTERM);
  ck_assert_float_gt(peak_of(out), 0.05f);
  scratch_remove(&scratch);
}

TEST(after_four_early_crashes_the_empty_rack_starts)
{
  scratch = scratch_new();
  for (int i = 0; i < 4; ++i) {
    start_and_kill();
    scratch_write(&scratch, "state/good.rack", "chain gain -11dB\n", 17);
  }
  START("gain -6dB");
  live_assert_said("the empty rack");
  live_assert_plays("connect in out");
  live_end(SIGTERM);
  scratch_remove(&scratch);
}

/// Replace the rack in the state file, but keep the first line, which has the origin.
static void
spoil_present(const char* const rack)
{
  char text[512];
  FILE* const file = fopen(scratch_path(&scratch, "state/present.rack"), "r+");
  ck_assert_ptr_nonnull(file);
  ck_assert_ptr_nonnull(fgets(text, sizeof(text), file)); // the first line
  const long at = ftell(file);
  ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
  fputs(rack, file);
  ck_assert_int_eq(ftruncate(fileno(file), at + (long)strlen(rack)), 0);
  fclose(file);
}

TEST(a_rack_with_missing_files_is_replaced_by_the_next_candidate)
{
  scratch = scratch_new();
  START("gain -6dB");
  live_end(SIGTERM);
  spoil_present("chain fir no/such/file.txt\n");
  START("gain -6dB");
  live_assert_said("\"state.refused\"");
  live_assert_plays("-6dB");
  live_end(SIGTERM);
  scratch_remove(&scratch);
}

// ---- the disk ----

TEST(a_full_disk_only_fails_saves)
{
  const char page[4096] = { 0 };
  SCOPED(program_clear) Program sender = { .pid = 0 };
  scratch = scratch_new();
  mkdir(scratch_path(&scratch, "disk"), 0777);
  if (mount("tmpfs", scratch_path(&scratch, "disk"), "tmpfs", 0, "size=64k")) {
    suite_skip("cannot mount a tmpfs");
    scratch_remove(&scratch);
    return;
  }
  symlink("disk/state", scratch_path(&scratch, "state"));
  mkdir(scratch_path(&scratch, "disk/state"), 0777);
  START("--root", scratch_path(&scratch, "disk"), "gain -6dB");
  const int filler = open(scratch_path(&scratch, "disk/filler"), O_WRONLY | O_CREAT, 0666);
  while (write(filler, page, sizeof(page)) > 0) {
  }
  close(filler);
  PROGRAM_RUN(&sender, "send", "--osc-port", live_port, "/rack/save", "live.rack");
  ck_assert_msg(strstr(sender.out, "No space left"), "%s%s", sender.out, sender.err);
  LIVE_ASK("/rack/chain", "gain -7dB");
  program_expect(&program, "\"state.unsaved\"");
  live_assert_plays("-7dB");
  unlink(scratch_path(&scratch, "disk/filler"));
  LIVE_ASK("/rack/save", "live.rack");
  live_end(SIGTERM);
  START("gain -6dB");
  live_assert_plays("-7dB"); // saved at the end of the run, when the disk had space again
  live_end(SIGTERM);
  umount2(scratch_path(&scratch, "disk"), MNT_DETACH);
  scratch_remove(&scratch);
}

SUITE_MAIN("state_restore")
