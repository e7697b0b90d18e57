// SPDX-License-Identifier: GPL-3.0-or-later
// The dummy driver plays a file and records one exactly, for exactly the requested time, live or
// fast; failing files are reported and audio continues.

#include "io/file/audio_file.h"
#include "io/file/frame_ring.h"
#include "io/io.h"
#include "tests/support/fake_events.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define FRAMES 20000U

static float noise[2][FRAMES];
static const float* const channels[] = { noise[0], noise[1] };

static void
make_input(const Scratch* const scratch, const char* const name, const int rate_hz)
{
  signal_noise(noise[0], FRAMES, 1);
  signal_noise(noise[1], FRAMES, 2);
  scratch_write_wav(scratch, name, channels, 2, FRAMES, rate_hz);
}

static Io*
open_dummy(const IoConfig* const config, FakeEvents* const fake)
{
  Io* io = NULL;
  const IoEvents events = fake_events(fake, config->n_in, config->n_out);
  OK(io_open(io_find("dummy"), config, &events, &io, &error));
  return io;
}

static IoState
state_of(const Io* const io)
{
  return driver_status(io).state;
}

// The recorded file holds the played file, then silence, in n_frames frames.
static void
check_record(const char* const path, const size_t expected_frames, const int expected_rate_hz)
{
  unsigned n_channels = 0;
  size_t n_frames = 0;
  int rate_hz = 0;
  SCOPED_MEMORY float* const samples = scratch_read(path, &n_channels, &n_frames, &rate_hz);
  ck_assert_uint_eq(n_channels, 3);
  ck_assert_uint_eq(n_frames, expected_frames);
  ck_assert_int_eq(rate_hz, expected_rate_hz);
  for (size_t i = 0; i < n_frames; ++i) {
    for (unsigned c = 0; c < 3U; ++c) {
      const float expected = c < 2U && i < FRAMES ? noise[c][i] : 0.0F;
      ck_assert_msg(samples[i * 3U + c] == expected, "channel %u, frame %zu", c, i);
    }
  }
}

TEST(fast_and_live_runs_play_and_record_every_frame)
{
  static const struct {
    bool fast;
    uint32_t block;
    double duration_s;
    size_t n_frames;
  } cases[] = {
    { true, 64, 0.5, 22050 },  { true, 17, 1.1, 48510 },  { true, 1024, 1e-9, 1 },
    { true, 8192, 0.2, 8820 }, { false, 64, 0.5, 22050 }, { false, 441, 0.10001, 4411 },
  };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_input(&scratch, "in.wav", 44100);
  for (unsigned t = 0; t < ARRAY_LEN(cases); ++t) {
    const char* const record = scratch_path(&scratch, "out.wav");
    const IoConfig config = { .n_in = 3,
                              .n_out = 3,
                              .block_frames = cases[t].block,
                              .fast = cases[t].fast,
                              .play = scratch_path(&scratch, "in.wav"),
                              .record = record,
                              .duration_s = cases[t].duration_s };
    FakeEvents fake = { 0 };
    Io* const io = open_dummy(&config, &fake);
    ck_assert_double_eq(fake.rate_hz, 44100.0);
    ck_assert_uint_eq(fake.block_frames, cases[t].block);
    POLL_UNTIL(io, state_of(io) == IO_STATE_ENDED);
    check_record(record, cases[t].n_frames, 44100); // complete before the close
    ck_assert_uint_eq(fake.waited, cases[t].fast ? fake.periods : 0U);
    ck_assert_uint_eq(fake.frames % cases[t].block, 0);
    ck_assert_int_eq(io_close(io), STATUS_OK);
    ck_assert_msg(!strstr(fake.log, "too slow"), "%s", fake.log);
    ck_assert_uint_eq(scratch_count(&scratch), 2);
  }
}

TEST(a_run_that_is_closed_early_keeps_what_was_recorded)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_input(&scratch, "in.wav", 48000);
  const char* const record = scratch_path(&scratch, "out.w64");
  const IoConfig config = { .n_in = 2,
                            .n_out = 3,
                            .block_frames = 100,
                            .play = scratch_path(&scratch, "in.wav"),
                            .record = record };
  FakeEvents fake = { 0 };
  Io* const io = open_dummy(&config, &fake);
  POLL_UNTIL(io, fake.periods >= 20U);
  ck_assert_int_eq(state_of(io), IO_STATE_RUNNING);
  ck_assert_int_eq(io_close(io), STATUS_OK);
  check_record(record, fake.frames, 48000);
}

TEST(the_timer_keeps_its_rate)
{
  const IoConfig config = { .n_in = 0, .n_out = 1, .block_frames = 48, .duration_s = 0.4 };
  FakeEvents fake = { 0 };
  struct timespec began;
  struct timespec ended;
  clock_gettime(CLOCK_MONOTONIC, &began);
  SCOPED(driver_close) Io* const io = open_dummy(&config, &fake);
  ck_assert_double_eq(fake.rate_hz, 48000.0);
  POLL_UNTIL(io, state_of(io) == IO_STATE_ENDED);
  clock_gettime(CLOCK_MONOTONIC, &ended);
  ck_assert_uint_eq(fake.periods, 400);
  // Never faster than real time; slower only when the machine stalls.
  const double seconds =
      (double)(ended.tv_sec - began.tv_sec) + 1e-9 * (double)(ended.tv_nsec - began.tv_nsec);
  ck_assert_double_ge(seconds, 0.3);
}

static void
refuses(const IoConfig* const config, const Status expected, const char* const reason)
{
  FakeEvents fake = { 0 };
  Io* io = NULL;
  Error error = { STATUS_OK, "" };
  const IoEvents events = fake_events(&fake, config->n_in, config->n_out);
  ck_assert_int_eq(io_open(io_find("dummy"), config, &events, &io, &error), expected);
  assert_says(error.text, reason);
  ck_assert_uint_eq(fake.formats, 0);
  ck_assert_ptr_null(io);
}

TEST(files_that_cannot_be_played_or_recorded_fail_before_the_start)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_input(&scratch, "in.wav", 44100);
  const char* const in = scratch_path(&scratch, "in.wav");
  IoConfig config = { .n_in = 2, .n_out = 2, .rate_hz = 48000.0, .play = in };
  refuses(&config, STATUS_BAD_ARG, "at 44100 Hz and cannot be played at 48000 Hz");
  config = (IoConfig){ .n_in = 1, .n_out = 2, .play = in };
  refuses(&config, STATUS_BAD_ARG, "2 channels for 1 inputs");
  config = (IoConfig){ .n_in = 1, .play = "/nonexistent.wav" };
  refuses(&config, STATUS_FILE, "No such file");
  config = (IoConfig){ .n_out = 1, .record = scratch_path(&scratch, "missing/x.wav") };
  refuses(&config, STATUS_FILE, "No such file");
  config = (IoConfig){ .n_in = 1, .record = scratch_path(&scratch, "x.wav") };
  refuses(&config, STATUS_BAD_ARG, "no outputs");
  config = (IoConfig){ .n_in = 1, .block_frames = 8193 };
  refuses(&config, STATUS_BAD_ARG, "too long");
  config = (IoConfig){ .n_in = 1025 };
  refuses(&config, STATUS_BAD_ARG, "too many");
  ck_assert_uint_eq(scratch_count(&scratch), 1);
}

TEST(a_refused_format_refuses_to_open_and_leaves_no_file)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const IoConfig config = { .n_out = 1, .record = scratch_path(&scratch, "x.wav") };
  FakeEvents fake = { .refuse = STATUS_LIMIT };
  Io* io = NULL;
  Error error;
  const IoEvents events = fake_events(&fake, 0, 1);
  ck_assert_int_eq(io_open(io_find("dummy"), &config, &events, &io, &error), STATUS_LIMIT);
  ck_assert_str_eq(error.text, "refused by the test");
  ck_assert_uint_eq(fake.periods, 0);
  ck_assert_uint_eq(scratch_count(&scratch), 0);
}

static void
write_flac(const char* const path)
{
  AudioFormat format;
  AudioWriter* writer = NULL;
  signal_noise(noise[0], FRAMES, 1);
  signal_noise(noise[1], FRAMES, 2);
  ck_assert_int_eq(audio_format_from(path, "16", &format, NULL), STATUS_OK);
  ck_assert_int_eq(audio_writer_open(path, format, 48000.0, 2, &writer, NULL), STATUS_OK);
  ck_assert_int_eq(audio_writer_write(writer, channels, FRAMES, NULL), STATUS_OK);
  ck_assert_int_eq(audio_writer_commit(writer, NULL), STATUS_OK);
}

TEST(a_damaged_file_is_reported_once_and_audio_continues)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  for (int fast = 0; fast < 2; ++fast) {
    const char* const flac = scratch_path(&scratch, "in.flac");
    write_flac(flac);
    ck_assert_int_eq(truncate(flac, 30000), 0);
    const IoConfig config = {
      .n_in = 2, .n_out = 2, .play = flac, .fast = fast, .duration_s = 0.3
    };
    FakeEvents fake = { 0 };
    Io* const io = open_dummy(&config, &fake);
    POLL_UNTIL(io, state_of(io) == IO_STATE_ENDED);
    ck_assert(fake.has_input);
    ck_assert_uint_ge(fake.frames, 14400);
    assert_says(fake.log, "corrupt");
    ck_assert_ptr_eq(strstr(strstr(fake.log, "corrupt") + 1, "corrupt"), NULL);
    ck_assert_int_eq(io_close(io), STATUS_FILE);
  }
}

TEST(a_full_disk_ends_the_recording_and_not_the_audio)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const struct rlimit limit = { 20000, 20000 };
  signal(SIGXFSZ, SIG_IGN);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  for (int fast = 0; fast < 2; ++fast) {
    const IoConfig config = {
      .n_out = 1, .record = scratch_path(&scratch, "out.wav"), .fast = fast, .duration_s = 0.3
    };
    FakeEvents fake = { 0 };
    Io* const io = open_dummy(&config, &fake);
    POLL_UNTIL(io, state_of(io) == IO_STATE_ENDED);
    ck_assert_uint_ge(fake.frames, 14400);
    assert_says(fake.log, "File too large");
    ck_assert_int_eq(driver_status(io).file_status, STATUS_FILE);
    ck_assert_int_eq(io_close(io), STATUS_FILE);
    ck_assert_uint_eq(scratch_count(&scratch), 0);
  }
}

static void*
write_count(void* const context)
{
  FrameRing* const ring = context;
  uint64_t state = 5;
  for (uint32_t count = 0; count < 200000U;) {
    float a[100];
    float b[100];
    const uint32_t n = 1U + (uint32_t)(signal_random(&state) % 100U);
    for (uint32_t i = 0; i < n; ++i) {
      a[i] = (float)(count + i);
      b[i] = -(float)(count + i);
    }
    const float* const in[] = { a, b };
    count += frame_ring_write(ring, in, n);
  }
  return NULL;
}

TEST(a_frame_ring_loses_and_repeats_nothing)
{
  SCOPED(frame_ring_clear) FrameRing ring;
  pthread_t thread;
  ck_assert_int_eq(frame_ring_init(&ring, 2, 100), STATUS_OK);
  ck_assert_uint_eq(frame_ring_space(&ring), 128);
  ck_assert_int_eq(pthread_create(&thread, NULL, write_count, &ring), 0);
  uint64_t state = 9;
  for (uint32_t count = 0; count < 200000U;) {
    float a[90];
    float b[90];
    float* const out[] = { a, b };
    const uint32_t n = frame_ring_read(&ring, out, 1U + (uint32_t)(signal_random(&state) % 90U));
    for (uint32_t i = 0; i < n; ++i, ++count) {
      ck_assert(a[i] == (float)count && b[i] == -(float)count);
    }
    if (!n) {
      usleep(1);
    }
  }
  pthread_join(thread, NULL);
}

SUITE_MAIN("io_dummy")
