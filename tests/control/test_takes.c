// SPDX-License-Identifier: GPL-3.0-or-later
// A take of a live run renders to the same samples, whatever was changed and whatever the block.
// `render` refuses a wrong take, and names its line, before anything plays.  If a write fails, the
// take ends, and its subscribers get the reason.

#include "control/control.h"
#include "control/take_file.h"
#include "control/take_text.h"
#include "engine/engine_private.h"
#include "io/file/render.h"
#include "tests/support/osc_client.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/set_by_name.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RATE     48000.0
#define CAPACITY 1200000U // frames of a live run
#define CHANGES  300U
#define POLL_US  100U

#define RACK                                                                                       \
  "g: gain -6dB | f: lowpass 4000 order=4 | d: delay 5ms mix=30% | l: limiter -3dB | i: invert"

static float in[CAPACITY];
static float out[CAPACITY];

typedef struct Live {
  Scratch folder;
  Engine* engine;
  Control* control;
  OscClient* client;
  uint32_t block, depth;
  bool has_audio; ///< Its take records the input
  size_t position;
  _Atomic uint32_t n_ended; ///< Takes that ended by themselves
  char why[512];
} Live;

static void
fill_audio(void* const context, ControlAudio* const audio)
{
  (void)context;
  strcpy(audio->driver, "test");
  strcpy(audio->state, "running");
}

static void
do_nothing(void* const context)
{
  (void)context;
}

static void
on_take_ended(void* const context, const char* const file, const char* const reason)
{
  Live* const live = context;
  snprintf(live->why, sizeof(live->why), "%s: %s", file, reason);
  ++live->n_ended;
}

static void
begin(Live* const live, const char* const text, const uint32_t block, const uint32_t depth)
{
  *live = (Live){ .folder = scratch_new(), .block = block, .depth = depth };
  const EngineConfig engine = { .n_in = 1, .n_out = 1, .depth = depth, .deadline_fraction = 0.75 };
  OK(engine_new(&engine, &live->engine, &error));
  Rack* const rack = rack_of(text, NULL);
  OK(engine_edit_wait(live->engine, rack, &error));
  OK(engine_arm(live->engine, RATE, block, 1, 1, &error));
  const ControlConfig control = { .engine = live->engine,
                                  .root = scratch_path(&live->folder, ""),
                                  .context = live,
                                  .audio = fill_audio,
                                  .take_ended = on_take_ended,
                                  .latency_changed = do_nothing,
                                  .quit = do_nothing };
  OK(control_start(&control, rack, &live->control, &error));
  rack_free(rack);
  live->client = client_new(control_port(live->control));
}

static void
end(Live* const live)
{
  client_free(live->client);
  control_stop(live->control);
  engine_free(live->engine);
  scratch_remove(&live->folder);
}

static void
play(Live* const live, const uint32_t n_blocks)
{
  for (uint32_t b = 0; b < n_blocks; ++b) {
    ck_assert_uint_le(live->position + live->block, CAPACITY);
    const float* const from[] = { in + live->position };
    float* const to[] = { out + live->position };
    engine_process(live->engine, from, to, live->block, true);
    live->position += live->block;
  }
}

/// Play until the client has an answer, and expect that it begins with `answer`.
static void
play_until(Live* const live, const char* const answer)
{
  struct pollfd client = { .fd = live->client->fd, .events = POLLIN };
  do {
    play(live, 1U);
    usleep(POLL_US);
  } while (poll(&client, 1, 0) == 0);
  client_expect(live->client, answer);
}

/// The k-th change of a live run, and the blocks after it.
static void
change(Live* const live, const uint32_t k)
{
  const double x = (double)(k * 37U % 100U) / 100.0;
  switch (k % 6U) {
  case 0:
    client_ask(live->client, "/done*", "/node/g/gain", "f", -20.0 * x);
    break;
  case 1:
    client_ask(live->client, "/done*", "/node/f/frequency", "ff", 200.0 + 8000.0 * x, 0.1 * x);
    break;
  case 2:
    client_ask(live->client, "/done*", "/rack/set", "ss", "d.mix", "12.5%");
    break;
  case 3:
    client_ask(live->client, "/done*", "/scene/recall", "sfs", k % 4U ? "low" : "high", 0.05, "s");
    break;
  case 4:
    client_ask(live->client, "/done*", "/norm/d/time", "f", x);
    break;
  default:
    client_ask(live->client, "/done*", "/node/i/on", "i", (int)(k / 6U % 2U));
  }
  play(live, 1U + k % 3U);
}

/// Edits of all kinds: nodes that come, go, change their latency, and undo.
static void
edit(Live* const live, const uint32_t k)
{
  static const char* const statements[] = { "add e delay 3ms mix=50%\nconnect in e\nconnect e out",
                                            "insert c compressor before f", "remove e",
                                            "set f.order 8", "rename g level\nrename level g" };
  if (k == 3U) {
    client_send(live->client, "/rack/undo", "");
    play_until(live, "/done /rack/undo*");
  }
  client_send(live->client, "/rack/do", "s", statements[k]);
  play_until(live, "/done /rack/do*");
}

static void
record_live(Live* const live)
{
  if (live->has_audio) {
    client_ask(live->client, "/done*", "/take/start", "ss", "t.osc", "audio");
  } else {
    client_ask(live->client, "/done*", "/take/start", "s", "t.osc");
  }
  client_send(live->client, "/rack/do", "ss", "scene low g.gain=-20dB f.frequency=300Hz i.on=off",
              "scene high g.gain=0dB f.frequency=9kHz i.on=on");
  play_until(live, "/done /rack/do*");
  for (uint32_t k = 0; k < CHANGES; ++k) {
    change(live, k);
    if (k % 60U == 30U) {
      edit(live, k / 60U);
    }
  }
  play(live, 10U);
  client_ask(live->client, "/done*", "/take/stop", "");
}

/// The take of a live run, read from its file; end with take_clear().
static Take
take_of(const Live* const live)
{
  Take take = { 0 };
  OK(take_read(scratch_path(&live->folder, "t.osc"), ".", rack_parse, &take, &error));
  return take;
}

/// Render the take, and compare it with the live run.
static void
expect_same(const Live* const live)
{
  Take take = take_of(live);
  ck_assert_ptr_null(take.notes.bytes);
  ck_assert(take.is_ended);
  ck_assert_uint_eq(take.block_frames, live->block);
  ck_assert_uint_ge(take.n_events, CHANGES);
  const float* const rows[] = { in };
  scratch_write_wav(&live->folder, "in.wav", rows, 1, live->position, (int)RATE);
  char input[256];
  char output[256];
  snprintf(input, sizeof(input), "%s",
           scratch_path(&live->folder, live->has_audio ? "t.au" : "in.wav"));
  snprintf(output, sizeof(output), "%s", scratch_path(&live->folder, "out.wav"));
  const RenderConfig config = { .input = input,
                                .output = output,
                                .format = { AUDIO_WAV, AUDIO_FLOAT },
                                .block_frames = take.block_frames,
                                .rack = take.rack,
                                .take = { take_play, &take, take.rate_hz, take.n_in, take.n_out },
                                .engine.files = { .load = audio_file_load,
                                                  .free = audio_file_free } };
  RenderReport report;
  OK(render(&config, &report, &error));
  free(report.warnings);
  ck_assert_uint_eq(take.n_played, take.n_events);
  take_clear(&take);
  unsigned n_channels = 0;
  size_t n_frames = 0;
  int rate_hz = 0;
  float* const rendered = scratch_read(output, &n_channels, &n_frames, &rate_hz);
  const size_t latency = report.latency_frames + live->depth * live->block;
  ck_assert_uint_eq(n_frames, live->position);
  for (size_t i = 0; i + latency < live->position; ++i) {
    ck_assert_msg(rendered[i] == out[i + latency], "frame %zu of %zu: %g, not %g", i, n_frames,
                  (double)rendered[i], (double)out[i + latency]);
  }
  free(rendered);
}

static const struct {
  uint32_t block, depth;
  bool has_audio; // for a run that is shorter than what the server may miss
} blocks[] = { { 32U, 1U, true }, { 64U, 0U, false }, { 64U, 2U, false }, { 1000U, 1U, false } };

TEST_ROWS(a_take_renders_to_the_samples_of_the_live_run, blocks)
{
  Live live;
  signal_noise(in, CAPACITY, 1U);
  for (size_t i = 0; i < CAPACITY; ++i) {
    in[i] *= 0.25F;
  }
  begin(&live, RACK, blocks[row].block, blocks[row].depth);
  live.has_audio = blocks[row].has_audio;
  record_live(&live);
  expect_same(&live);
  end(&live);
}

// ---- bad takes ----

#define TIME0 "00000000.00000000 "
#define BEGIN TIME0 "/take/begin sfiiiih \"1\" 48000 64 1 1 1 0\n"
#define FIRST                                                                                      \
  BEGIN TIME0 "/take/rack shhiii \"add g gain\\nadd i invert\\nconnect in g\" 0 0 18 16 17\n"
#define LATER "00000001.00000000 "

static const struct {
  const char *text, *error; ///< Part of the error; NULL: none
} bad_takes[] = {
  { FIRST, NULL },
  { FIRST LATER "/node/g/gain f -3\n" LATER "/node/g/gain ffs -6 0.5 \"s\"\n", NULL },
  { "", ":1: the take has no document" },
  { "add g gain\n", ":1: the line does not begin with a time" },
  { TIME0 "/take/end s \"x\"\n", ":1: not a take" },
  { TIME0 "/take/begin sfiiiih \"1\" 48000 0 1 1 1 0\n", ":1: invalid rate, block" },
  { BEGIN, ":2: the take has no document" },
  { BEGIN TIME0 "/node/g/gain f 0\n", ":2: the second line of a take is /take/rack" },
  { BEGIN TIME0 "/take/rack shhii \"add g gian\" 0 0 17 16\n", ":2:1:7: no effect \"gian\"" },
  { BEGIN TIME0 "/take/rack shhi \"add g gain\" 0 0 17\n", ":2: the numbers of the nodes" },
  { BEGIN TIME0 "/take/rack shhii \"add g gain\" 0 0 16 16\n", ":2: the numbers of the nodes" },
  { BEGIN TIME0 "/take/rack shhii \"add g convolver /no/such.wav\" 0 0 17 16\n",
    ":2: /no/such.wav: the file of g cannot be read" },
  { FIRST LATER "/node/g/gain f -3\n" TIME0 "/node/g/gain f -6\n", ":4: the time is before" },
  { FIRST LATER "/node/g/gain f -3", ":3: the line has no end: the file is truncated" },
  { FIRST LATER "/node/g/gain f\n", ":3: an argument is missing" },
  { FIRST LATER "/node/g/gain f x\n", ":3: an argument is missing, or is not of its type" },
  { FIRST LATER "/node/g/gain f 1 2\n", ":3: more arguments than types" },
  { FIRST LATER "/node/g/gain s \"1\"\n", ":3: a value has the types" },
  { FIRST LATER "/node/g/gain f 1e9\n", ":3: the parameter does not take this value" },
  { FIRST LATER "/node/g/gian f 1\n", ":3: the node has no such parameter" },
  { FIRST LATER "/node/h/gain f 1\n", ":3: the rack has no such node here" },
  { FIRST LATER "/node/g/gain ff 1 0\n", ":3: invalid time or curve of a fade" },
  { TIME0 "/take/begin sfiiiih \"1\" 192000 64 1 1 1 0\n" TIME0
          "/take/rack shhii \"add g gain\" 0 0 17 16\n" LATER "/node/g/gain ff 1 80000\n",
    ":3: invalid time or curve of a fade" }, // more than 2^32 frames
  { FIRST LATER "/take/dry hh 9223372036854775807 1\n", ":3: a span has its first frame" },
  { FIRST LATER "/take/gap s \"\033[2J\"\n", ":3: a reason is missing" }, // to a terminal
  { FIRST LATER "/node/g/gain ffs 1 1 \"x\"\n", ":3: invalid time or curve of a fade" },
  { FIRST LATER "/note/g if 60 100\n", ":3: the rack has no such node for notes" },
  { FIRST LATER "/take/what f 1\n", ":3: unknown address" },
  { FIRST LATER "/x \n", ":3: unknown address" },
  { FIRST LATER "/take/end s \"stopped\"\n" LATER "/node/g/gain f 1\n", ":4: lines after" },
  { FIRST LATER "/take/gap s \"open\n", ":3: an argument is missing" },
  { FIRST "0000000g.00000000 /node/g/gain f 1\n", ":3: the line does not begin with a time" },
};

TEST_ROWS(a_wrong_take_is_refused_with_its_line, bad_takes)
{
  SCOPED(scratch_remove) const Scratch folder = scratch_new();
  scratch_write(&folder, "t.osc", bad_takes[row].text, strlen(bad_takes[row].text));
  SCOPED(take_clear) Take take = { 0 };
  Error error = { STATUS_OK, "" };
  const Status status = take_read(scratch_path(&folder, "t.osc"), ".", rack_parse, &take, &error);
  if (bad_takes[row].error) {
    ck_assert_int_ne(status, STATUS_OK);
    const char* const place = strstr(error.text, "t.osc:");
    ck_assert_msg(place && !strncmp(place + 5, bad_takes[row].error, strlen(bad_takes[row].error)),
                  "%s", error.text);
  } else {
    ck_assert_msg(!status, "%s", error.text);
    ck_assert_ptr_nonnull(strstr(take.notes.bytes, "the take has no end"));
  }
}

// ---- lines ----

TEST(times_tell_the_frames_apart_at_any_rate)
{
  static const double rates[] = { 1000.0, 8000.0, 44100.0, 48000.0, 192000.0, 1e6, 47999.5 };
  uint64_t seed = 1;
  for (uint32_t r = 0; r < ARRAY_LEN(rates); ++r) {
    for (uint32_t k = 0; k < 10000U; ++k) {
      const uint64_t frame = k < 5000U ? k : signal_random(&seed) % (1ULL << 36U);
      ck_assert_uint_eq(take_frame(take_time(frame, rates[r]), rates[r]), frame);
      ck_assert_uint_lt(take_time(frame, rates[r]), take_time(frame + 1U, rates[r]));
    }
  }
}

// ---- commands ----

TEST(a_take_has_a_name_of_its_own_in_the_folder)
{
  Live live;
  begin(&live, RACK, 64U, 1U);
  scratch_write(&live.folder, "old.osc", "x", 1U);
  client_ask(live.client, "/fail /take/stop 3 no take is recorded", "/take/stop", "");
  client_ask(live.client, "/fail /take/start 1 t.wav: *", "/take/start", "s", "t.wav");
  client_ask(live.client, "/fail /take/start 1 ../t.osc: *", "/take/start", "s", "../t.osc");
  client_ask(live.client, "/fail /take/start 4 old.osc: *", "/take/start", "s", "old.osc");
  client_ask(live.client, "/fail /take/start 4 old.osc: *", "/take/start", "ss", "old.osc",
             "audio");
  scratch_write(&live.folder, "sung.au", "x", 1U);
  client_ask(live.client, "/fail /take/start 4 sung.au: *", "/take/start", "ss", "sung.osc",
             "audio");
  ck_assert_int_ne(access(scratch_path(&live.folder, "sung.osc"), F_OK), 0); // nothing is left
  ck_assert_int_eq(access(scratch_path(&live.folder, "sung.au"), F_OK), 0);
  client_ask(live.client, "/fail /take/start 1 video: *", "/take/start", "ss", "x.osc", "video");
  client_ask(live.client, "/done /take/start", "/take/start", "s", "t.osc");
  client_ask(live.client, "/fail /take/start 4 the take t.osc is recorded*", "/take/start", "s",
             "u.osc");
  client_ask(live.client, "/done /take/stop", "/take/stop", "");
  client_ask(live.client, "/fail /take/start 4 t.osc: *", "/take/start", "s", "t.osc");
  ck_assert_uint_eq(live.n_ended, 0U);
  end(&live);
}

TEST(a_take_ends_with_the_format_and_says_so)
{
  Live live;
  begin(&live, RACK, 64U, 1U);
  client_ask(live.client, "/done /take/start", "/take/start", "s", "t.osc");
  client_send(live.client, "/server/notify", "i", 1);
  OK(engine_arm(live.engine, RATE, 128U, 1, 1, &error));
  while (strncmp(client_receive(live.client), "/take/ended t.osc the audio has another", 39) != 0) {
  }
  client_send(live.client, "/server/notify", "i", 0);
  while (strncmp(client_receive(live.client), "/done /server/notify", 20) != 0) {
  }
  ck_assert_uint_eq(live.n_ended, 1U);
  client_ask(live.client, "/fail /take/stop 3 no take is recorded; the last one ended: the audio*",
             "/take/stop", "");
  client_ask(live.client, "/done /take/start", "/take/start", "s", "u.osc"); // t.osc is written
  client_ask(live.client, "/done /take/stop", "/take/stop", "");
  SCOPED(take_clear) Take take = take_of(&live);
  ck_assert(take.is_ended);
  end(&live);
}

// ---- a control thread without a processor ----

static _Atomic bool stalls, is_stalled;

uint32_t
__real_engine_listen(Engine* engine, uint32_t listener, const PortRange* ports, float* samples,
                     uint32_t max_frames, double* rate_hz, uint64_t* n_lost);
uint32_t
__wrap_engine_listen(Engine* engine, uint32_t listener, const PortRange* ports, float* samples,
                     uint32_t max_frames, double* rate_hz, uint64_t* n_lost);

/// Another process may run instead of the control thread before it listens.
uint32_t
__wrap_engine_listen(Engine* const engine, const uint32_t listener, const PortRange* const ports,
                     float* const samples, const uint32_t max_frames, double* const rate_hz,
                     uint64_t* const n_lost)
{
  for (is_stalled = stalls; stalls;) {
    usleep(POLL_US);
  }
  return __real_engine_listen(engine, listener, ports, samples, max_frames, rate_hz, n_lost);
}

// ---- a full disk ----

ssize_t __real_write(int fd, const void* bytes, size_t n);
ssize_t __wrap_write(int fd, const void* bytes, size_t n);

static _Atomic bool is_full; // has room for half of what is written next, and for nothing after it
static _Atomic bool has_half;
static _Atomic bool is_held, fails_next; // waits; then refuses to write once

/// The write() of the thread that writes files.
ssize_t
__wrap_write(const int fd, const void* const bytes, const size_t n)
{
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  const bool is_ours = strcmp(name, "warprack-files") == 0;
  while (is_ours && is_held) {
    usleep(POLL_US);
  }
  if (is_ours && atomic_exchange(&fails_next, false)) {
    errno = ENOSPC;
    return -1;
  }
  if (!is_full || !is_ours) {
    return __real_write(fd, bytes, n);
  }
  if (!has_half) {
    has_half = true;
    return __real_write(fd, bytes, n / 2U);
  }
  errno = ENOSPC;
  return -1;
}

TEST(a_take_that_meets_a_full_disk_ends_with_complete_lines)
{
  Live live;
  begin(&live, RACK, 64U, 1U);
  client_ask(live.client, "/done /take/start", "/take/start", "s", "t.osc");
  is_full = true;
  client_ask(live.client, "/done*", "/node/g/gain", "f", -6.0);
  play(&live, 10U);
  AWAIT(live.n_ended);
  is_full = false;
  assert_says(live.why, "t.osc: No space left on device");
  client_ask(live.client, "/done*", "/node/g/gain", "f", -3.0); // nothing else has ended
  SCOPED(take_clear) Take take = take_of(&live);
  assert_says(take.notes.bytes, "the take has no end");
  ck_assert_uint_eq(take.n_events, 0U);
  client_ask(live.client, "/done /take/start", "/take/start", "s", "u.osc");
  client_ask(live.client, "/done /take/stop", "/take/stop", "");
  end(&live);
}

TEST(a_part_of_an_earlier_take_does_not_end_a_take_of_the_same_name)
{
  Live live;
  begin(&live, RACK, 64U, 1U);
  client_ask(live.client, "/done /take/start", "/take/start", "s", "t.osc");
  is_held = fails_next = true;
  client_send(live.client, "/take/stop", "");
  client_ask(live.client, "/done*", "/server/ping", "");
  ck_assert_int_eq(unlink(scratch_path(&live.folder, "t.osc")), 0);
  client_send(live.client, "/take/start", "s", "t.osc");
  client_ask(live.client, "/done*", "/server/ping", "");
  is_held = false;
  client_expect(live.client, "/fail /take/stop 9 t.osc: No space left on device");
  client_expect(live.client, "/done /take/start");
  client_ask(live.client, "/done /take/stop", "/take/stop", "");
  ck_assert_uint_eq(live.n_ended, 0U);
  end(&live);
}

TEST(a_take_whose_input_is_lost_has_its_last_line)
{
  Live live;
  begin(&live, RACK, 64U, 1U);
  client_ask(live.client, "/done /take/start", "/take/start", "ss", "t.osc", "audio");
  stalls = true;
  AWAIT(is_stalled);
  play(&live, 3000U); // 4 s
  stalls = false;
  client_ask(live.client, "/fail /take/stop*", "/take/stop", "");
  client_ask(live.client, "/done /take/start", "/take/start", "s", "u.osc"); // t.osc is written
  client_ask(live.client, "/done /take/stop", "/take/stop", "");
  SCOPED(take_clear) Take take = take_of(&live);
  ck_assert(take.is_ended);
  end(&live);
}

TEST(a_take_that_waits_too_long_for_the_disk_ends_and_says_so)
{
  Live live;
  begin(&live, RACK, 64U, 1U);
  client_ask(live.client, "/done /take/start", "/take/start", "ss", "t.osc", "audio");
  play(&live, 10U);
  is_held = true;
  const RingReport wrong = { .kind = REPORT_VALUE, .message = { .frame = 64U } }; // a long line
  while (!live.n_ended) {
    for (uint32_t m = 0; m < 8000U; ++m) {
      ring_report(live.engine->ring, &wrong);
      ring_publish_reports(live.engine->ring);
    }
    client_ask(live.client, "/done*", "/server/ping", ""); // a round: the reports are read
  }
  assert_says(live.why, "t.osc: the disk is too slow");
  is_held = false;
  client_ask(live.client, "/done /take/start", "/take/start", "s", "u.osc"); // t.osc is written
  client_ask(live.client, "/done /take/stop", "/take/stop", "");
  SCOPED(take_clear) Take take = take_of(&live);
  ck_assert(take.is_ended);
  assert_says(take.notes.bytes, "the lines before the end are missing");
  end(&live);
}

// ---- the beginning ----

TEST(the_input_of_a_take_is_there_from_its_first_frame_on)
{
  Live live;
  signal_noise(in, CAPACITY, 1U);
  begin(&live, RACK, 64U, 1U);
  play(&live, 10U);
  stalls = true;
  client_send(live.client, "/take/start", "ss", "t.osc", "audio");
  AWAIT(is_stalled);
  play(&live, 24U);
  stalls = false;
  client_expect(live.client, "/done /take/start");
  play(&live, 24U);
  client_ask(live.client, "/done /take/stop", "/take/stop", "");
  unsigned n_channels = 0;
  size_t n_frames = 0;
  int rate_hz = 0;
  float* const taken =
      scratch_read(scratch_path(&live.folder, "t.au"), &n_channels, &n_frames, &rate_hz);
  ck_assert_uint_ge(n_frames, 24U * 64U);
  ck_assert_mem_eq(taken, in + live.position - n_frames, n_frames * sizeof(float));
  free(taken);
  end(&live);
}

TEST(a_value_of_midi_before_the_take_that_is_read_later_is_in_it)
{
  Live live;
  begin(&live, RACK, 64U, 1U);
  play(&live, 10U);
  client_ask(live.client, "/done /take/start", "/take/start", "s", "t.osc");
  const RingReport report = { .kind = REPORT_VALUE,
                              .flags = REPORT_MIDI,
                              .message = { .frame = 64U, .uid = RACK_UID_FIRST, .value = -9.0 } };
  ring_report(live.engine->ring, &report);
  ring_publish_reports(live.engine->ring);
  client_ask(live.client, "/done*", "/server/ping", ""); // a round: the reports are read
  play(&live, 10U);
  client_ask(live.client, "/done /take/stop", "/take/stop", "");
  SCOPED(take_clear) Take take = take_of(&live);
  ck_assert_uint_ge(take.n_events, 1U);
  ck_assert(take.events[0].message.value == -9.0);
  ck_assert_uint_eq(take.events[0].frame, 0U);
  end(&live);
}

TEST(another_worker_is_in_the_take_with_its_rack)
{
  Live live;
  begin(&live, RACK, 64U, 1U);
  client_ask(live.client, "/done /take/start", "/take/start", "s", "t.osc");
  client_ask(live.client, "/done*", "/node/g/gain", "f", -9.0);
  play(&live, 10U);
  client_ask(live.client, "/done*", "/server/ping", ""); // a round: the reports are read
  OK(engine_arm(live.engine, RATE, 64U, 1, 1, &error));
  play(&live, 10U);
  client_ask(live.client, "/done*", "/node/g/gain", "f", -12.0);
  play(&live, 10U);
  client_ask(live.client, "/done /take/stop", "/take/stop", "");
  SCOPED(take_clear) Take take = take_of(&live);
  assert_says(take.notes.bytes, "the samples may differ: another worker");
  ck_assert_uint_eq(take.n_events, 3U);
  ck_assert(!take.events[0].rack && take.events[0].message.value == -9.0);
  ck_assert(take.events[1].rack && take.events[1].is_first_plan);
  ck_assert(rack_number(&take.events[1].rack->nodes[0], 0U, RATE) == -9.0);
  ck_assert(!take.events[2].rack && take.events[2].message.value == -12.0);
  end(&live);
}

TEST(a_report_with_a_time_to_come_spoils_no_take)
{
  Live live;
  begin(&live, RACK, 64U, 1U);
  client_ask(live.client, "/done /take/start", "/take/start", "s", "t.osc");
  const RingReport wrong[] = {
    { .kind = REPORT_VALUE, .message = { .frame = 1ULL << 40U, .uid = RACK_UID_FIRST } },
    { .kind = REPORT_PLAN, .number = 1U, .message = { .frame = UINT64_MAX } },
    { .kind = REPORT_PLAN, .number = 1U, .planned = UINT64_MAX }
  };
  for (uint32_t w = 0; w < ARRAY_LEN(wrong); ++w) {
    ring_report(live.engine->ring, &wrong[w]);
    ring_publish_reports(live.engine->ring);
  }
  client_ask(live.client, "/done*", "/server/ping", ""); // a round: the reports are read
  client_ask(live.client, "/done*", "/node/g/gain", "f", -9.0);
  play(&live, 10U);
  client_ask(live.client, "/done /take/stop", "/take/stop", "");
  SCOPED(take_clear) Take take = take_of(&live);
  assert_says(take.notes.bytes, "a time that has not come");
  ck_assert_uint_eq(take.n_events, 1U);
  ck_assert(take.events[0].message.value == -9.0);
  ck_assert_uint_lt(take.n_frames, live.position);
  end(&live);
}

TEST(an_edit_sent_before_all_reports_were_read_is_in_the_take)
{
  Live live;
  begin(&live, RACK, 64U, 1U);
  play(&live, 10U); // so that the reports, which have frame 0, are no lines of the take
  client_ask(live.client, "/done /take/start", "/take/start", "s", "t.osc");
  for (uint32_t m = 0; m < 8000U; ++m) { // more parameters than two readings have room for
    const RingReport report = { .kind = REPORT_VALUE,
                                .flags = REPORT_MIDI,
                                .message = { .uid = 1000U + m } };
    ring_report(live.engine->ring, &report);
    ring_publish_reports(live.engine->ring);
  }
  client_ask(live.client, "/done*", "/rack/remove", "s", "i");
  play(&live, 10U);
  client_ask(live.client, "/done /take/stop", "/take/stop", "");
  SCOPED(take_clear) Take take = take_of(&live);
  assert_says(take.notes.bytes, "an edit was sent before");
  end(&live);
}

SUITE_MAIN("takes")
