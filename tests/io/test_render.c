// SPDX-License-Identifier: GPL-3.0-or-later
// A rendered file holds the output of the rack, aligned to the input, with its tail, and equal to
// the samples of a live run; on failure there is no file and one message.

#include "io/file/render.h"
#include "io/file/render_tail.h"
#include "io/io.h"
#include "tests/support/program.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/set_by_name.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <ebur128.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRAMES 20011U

static float noise[2][FRAMES];
static const float* const channels[] = { noise[0], noise[1] };

static void
make_input(const Scratch* const scratch, const int rate_hz)
{
  for (unsigned c = 0; c < 2U; ++c) {
    signal_noise(noise[c], FRAMES, c + 1U);
    for (unsigned i = 0; i < FRAMES; ++i) {
      noise[c][i] *= 0.25F;
    }
  }
  scratch_write_wav(scratch, "in.wav", channels, 2, FRAMES, rate_hz);
}

typedef struct Audio {
  float* samples; ///< Interleaved
  unsigned n_channels;
  size_t n_frames;
} Audio;

static Audio
read_output(const Scratch* const scratch)
{
  Audio audio;
  int rate_hz = 0;
  audio.samples =
      scratch_read(scratch_path(scratch, "out.wav"), &audio.n_channels, &audio.n_frames, &rate_hz);
  return audio;
}

static RenderConfig
config_for(const Scratch* const scratch, const uint32_t block, const double tail_s)
{
  return (RenderConfig){ .input = scratch_path(scratch, "in.wav"),
                         .output = scratch_path(scratch, "out.wav"),
                         .format = { AUDIO_WAV, AUDIO_FLOAT },
                         .block_frames = block,
                         .tail_s = tail_s,
                         .engine.files = { .load = audio_file_load, .free = audio_file_free } };
}

static Status
try_render(RenderConfig* const config, const char* const text, RenderReport* const report,
           Error* const error)
{
  Rack* const rack = rack_of(text, NULL);
  config->rack = rack;
  const Status status = render(config, report, error);
  rack_free(rack);
  ck_assert(status ? !report->warnings : report->warnings != NULL);
  free(report->warnings);
  return status;
}

static RenderReport
render_rack(const Scratch* const scratch, const char* const text, const uint32_t block,
            const double tail_s)
{
  RenderConfig config = config_for(scratch, block, tail_s);
  RenderReport report;
  OK(try_render(&config, text, &report, &error));
  return report;
}

TEST(an_empty_rack_copies_every_frame)
{
  static const uint32_t blocks[] = { 1, 17, 64, 1024, 8192 };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_input(&scratch, 44100);
  for (unsigned b = 0; b < ARRAY_LEN(blocks); ++b) {
    const RenderReport report = render_rack(&scratch, "", blocks[b], RENDER_TAIL_AUTO);
    ck_assert_uint_eq(report.frames_in, FRAMES);
    ck_assert_uint_eq(report.frames_out, FRAMES);
    ck_assert_uint_eq(report.n_passes, 1);
    ck_assert_double_eq(report.rate_hz, 44100.0);
    const Audio out = read_output(&scratch);
    ck_assert_uint_eq(out.n_frames, FRAMES);
    ck_assert_uint_eq(out.n_channels, 2);
    for (unsigned i = 0; i < 2U * FRAMES; ++i) {
      ck_assert(out.samples[i] == noise[i % 2U][i / 2U]);
    }
    free(out.samples);
    ck_assert_uint_eq(scratch_count(&scratch), 2);
  }
}

TEST(latency_is_cut_off_so_that_the_output_is_aligned)
{
  static const uint32_t blocks[] = { 13, 256, 4096 };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_input(&scratch, 48000);
  for (unsigned b = 0; b < ARRAY_LEN(blocks); ++b) {
    const RenderReport report =
        render_rack(&scratch, "limiter 0dB lookahead=5ms", blocks[b], 0.0); // never limits
    ck_assert_uint_ge(report.latency_frames, 200);
    ck_assert_uint_eq(report.frames_out, FRAMES);
    const Audio out = read_output(&scratch);
    ck_assert_uint_eq(out.n_frames, FRAMES);
    for (unsigned i = 0; i < 2U * FRAMES; ++i) {
      ck_assert_double_eq_tol(out.samples[i], noise[i % 2U][i / 2U], 1e-6);
    }
    free(out.samples);
  }
}

TEST(an_automatic_tail_ends_with_the_last_sound)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_input(&scratch, 8000);
  // One echo after 12 s of silence: a long silence is not yet the end of the tail.
  RenderReport report =
      render_rack(&scratch, "delay 12000 feedback=0 max_time=12000", 333, RENDER_TAIL_AUTO);
  ck_assert_uint_eq(report.frames_in, FRAMES);
  ck_assert_uint_eq(report.frames_out, FRAMES + 96000U);
  ck_assert(!report.cut);
  const Audio out = read_output(&scratch);
  ck_assert_uint_eq(out.n_frames, FRAMES + 96000U);
  ck_assert_double_gt(fabs((double)out.samples[2U * (FRAMES + 96000U) - 2U]), 1e-6);
  for (size_t i = FRAMES; i < 96000U; ++i) {
    ck_assert(fabsf(out.samples[2U * i]) <= RENDER_QUIET);
  }
  free(out.samples);

  report = render_rack(&scratch, "delay 12000 max_time=12000", 333, 0.0);
  ck_assert_uint_eq(report.frames_out, FRAMES);
  report = render_rack(&scratch, "delay 100 feedback=0.5", 333, 0.25);
  ck_assert_uint_eq(report.frames_out, FRAMES + 2000U);
  report = render_rack(&scratch, "delay 100 feedback=0.5", 333, RENDER_TAIL_AUTO);
  ck_assert_uint_ge(report.frames_out, FRAMES + 15U * 800U); // 0.25 * 0.5 * 2^-15 > 1e-6
  ck_assert_uint_le(report.frames_out, FRAMES + 19U * 800U);
}

TEST(an_endless_tail_is_cut_and_reported)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  const float click[] = { 1.0F, 0.0F };
  const float* const only[] = { click };
  scratch_write_wav(&scratch, "in.wav", only, 1, 2, 1000);
  const RenderReport report =
      render_rack(&scratch, "delay 1 mix=1 feedback=0.99 | delay 1000 feedback=0.99 mix=1", 512,
                  RENDER_TAIL_AUTO);
  ck_assert(report.cut);
  ck_assert_uint_eq(report.frames_out, 2U + 600000U);
}

static Status
arm_engine(void* const context, const double rate_hz, const uint32_t block, Error* const error)
{
  return engine_arm(context, rate_hz, block, 2, 2, error);
}

static uint32_t
engine_frames_of_latency(void* const context)
{
  return engine_latency(context);
}

// The same rack and file through the live engine, on the dummy driver without waiting.
static uint32_t
run_live(const Scratch* const scratch, const char* const text, const uint32_t block)
{
  const EngineConfig config = { .n_in = 2,
                                .n_out = 2,
                                .depth = 1,
                                .deadline_fraction = 0.75,
                                .ceiling_lin = 8.0F,
                                .files = { .load = audio_file_load, .free = audio_file_free } };
  Engine* engine = NULL;
  SCOPED_RACK Rack* const rack = rack_of(text, NULL);
  OK(engine_new(&config, &engine, &error));
  OK(engine_edit_wait(engine, rack, &error));
  const IoConfig driver = { .n_in = 2,
                            .n_out = 2,
                            .block_frames = block,
                            .fast = true,
                            .play = scratch_path(scratch, "in.wav"),
                            .record = scratch_path(scratch, "live.wav"),
                            .duration_s = 1.0 };
  const IoEvents events = { .context = engine,
                            .door = engine_door(engine),
                            .process = engine_run,
                            .format = arm_engine,
                            .latency = engine_frames_of_latency };
  Io* io = NULL;
  OK(io_open(io_find("dummy"), &driver, &events, &io, &error));
  IoStatus status;
  for (io_status(io, &status); status.state != IO_STATE_ENDED; io_status(io, &status)) {
    usleep(2000);
    io_poll(io);
  }
  const uint32_t latency = engine_latency(engine);
  ck_assert_int_eq(io_close(io), STATUS_OK);
  engine_free(engine);
  return latency;
}

TEST(a_live_run_gives_the_same_samples)
{
  static const char text[] = "highpass 80 order=4 | limiter -1dB | delay 20ms";
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_input(&scratch, 44100);
  const uint32_t latency = run_live(&scratch, text, 96);
  render_rack(&scratch, text, 96, 0.0);
  const Audio rendered = read_output(&scratch);
  unsigned n_channels = 0;
  size_t n_frames = 0;
  int rate_hz = 0;
  float* const live =
      scratch_read(scratch_path(&scratch, "live.wav"), &n_channels, &n_frames, &rate_hz);
  ck_assert_uint_eq(n_frames, 44100);
  ck_assert_mem_eq(live + 2U * latency, rendered.samples, 2U * FRAMES * sizeof(float));
  free(live);
  free(rendered.samples);
}

TEST(non_finite_samples_are_silenced_and_counted)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_input(&scratch, 48000);
  noise[0][100] = NAN;
  noise[1][200] = INFINITY;
  noise[1][300] = 3e38F;
  scratch_write_wav(&scratch, "in.wav", channels, 2, FRAMES, 48000);
  const RenderReport report = render_rack(&scratch, "", 256, 0.0);
  ck_assert_uint_eq(report.bad_in, 2);
  const Audio out = read_output(&scratch);
  ck_assert(out.samples[200] == 0.0F && out.samples[401] == 0.0F);
  ck_assert(out.samples[601] == 3e38F);
  free(out.samples);
}

static void
refuses(const Scratch* const scratch, RenderConfig config, const char* const text,
        const Status expected, const char* const reason)
{
  RenderReport report;
  Error error = { STATUS_OK, "" };
  const unsigned n_files = scratch_count(scratch);
  ck_assert_int_eq(try_render(&config, text, &report, &error), expected);
  assert_says(error.text, reason);
  ck_assert_uint_eq(scratch_count(scratch), n_files);
}

TEST(invalid_renders_fail_and_leave_no_file)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_input(&scratch, 48000);
  const RenderConfig good = config_for(&scratch, 256, 0.0);

  RenderConfig config = good;
  config.output = config.input;
  refuses(&scratch, config, "", STATUS_BAD_ARG, "is the input");
  ck_assert_int_eq(link(good.input, scratch_path(&scratch, "same.wav")), 0);
  config.output = scratch_path(&scratch, "same.wav");
  refuses(&scratch, config, "", STATUS_BAD_ARG, "is the input");
  config = good;
  config.input = scratch_path(&scratch, "none.wav");
  refuses(&scratch, config, "", STATUS_FILE, "No such file");
  config = good;
  config.output = scratch_path(&scratch, "none/out.wav");
  refuses(&scratch, config, "", STATUS_FILE, "No such file");
  refuses(&scratch, good, "convolver none.wav", STATUS_FILE, "none.wav");
  scratch_write_wav(&scratch, "empty.wav", channels, 1, 0, 48000);
  config = good;
  config.input = scratch_path(&scratch, "empty.wav");
  refuses(&scratch, config, "", STATUS_FILE, "0 frames");

  signal(SIGXFSZ, SIG_IGN);
  const struct rlimit limit = { 30000, 30000 };
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  refuses(&scratch, good, "", STATUS_FILE, "File too large");
}

TEST(effects_that_measure_first_get_the_file_twice)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_input(&scratch, 48000);
  double peak = 0.0;
  for (unsigned i = 0; i < 2U * FRAMES; ++i) {
    peak = fmax(peak, fabsf(noise[i % 2U][i / 2U]));
  }
  const double gain = pow(10.0, -6.0 / 20.0) / peak;
  const RenderReport report =
      render_rack(&scratch, "limiter 20dB | normalize peak target=-6", 300, RENDER_TAIL_AUTO);
  ck_assert_uint_eq(report.n_passes, 2);
  ck_assert_uint_eq(report.frames_out, FRAMES);
  ck_assert_double_eq_tol(report.peak, pow(10.0, -6.0 / 20.0), 1e-6);
  const Audio out = read_output(&scratch);
  ck_assert_uint_eq(out.n_frames, FRAMES);
  for (unsigned i = 0; i < 2U * FRAMES; ++i) {
    ck_assert_double_eq_tol(out.samples[i], gain * noise[i % 2U][i / 2U], 1e-6);
  }
  free(out.samples);
  ck_assert_uint_eq(scratch_count(&scratch), 2);
}

static bool meter_fails;

__typeof__(ebur128_init) __real_ebur128_init, __wrap_ebur128_init; // --wrap in meson.build

ebur128_state*
__wrap_ebur128_init(const unsigned n_channels, const unsigned long rate_hz, const int mode)
{
  return meter_fails ? NULL : __real_ebur128_init(n_channels, rate_hz, mode);
}

TEST(an_effect_without_memory_to_measure_leaves_no_file)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_input(&scratch, 48000);
  meter_fails = true;
  RenderConfig config = config_for(&scratch, 300, RENDER_TAIL_AUTO);
  RenderReport report;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(try_render(&config, "normalize r128 target=-23", &report, &error),
                   STATUS_NO_MEM);
  ck_assert_str_eq(error.text, "normalize: out of memory");
  meter_fails = false;
  ck_assert_uint_eq(scratch_count(&scratch), 1);
}

typedef struct Watch {
  atomic_bool cancel;
  uint32_t calls;
  uint64_t last_frames;
} Watch;

static void
watch(void* const context, const RenderProgress* const progress)
{
  Watch* const watched = context;
  ck_assert_uint_ge(progress->frames, watched->last_frames);
  ck_assert_uint_eq(progress->of_frames, FRAMES);
  watched->last_frames = progress->frames;
  watched->cancel = ++watched->calls == 10U;
}

TEST(a_cancelled_render_leaves_the_old_file_as_it_was)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_input(&scratch, 48000);
  scratch_write(&scratch, "out.wav", "old", 3);
  Watch watched = { .calls = 0 };
  RenderConfig config = config_for(&scratch, 256, 0.0);
  config.progress = watch;
  config.context = &watched;
  config.cancel = &watched.cancel;
  RenderReport report;
  Error error;
  ck_assert_int_eq(try_render(&config, "", &report, &error), STATUS_FILE);
  ck_assert(report.cancelled);
  ck_assert_uint_eq(watched.calls, 10);
  ck_assert_uint_eq(watched.last_frames, 2304); // the tenth block has started, the ninth is written
  ck_assert_uint_eq(scratch_count(&scratch), 2);
  char kept[4] = "";
  FILE* const file = fopen(config.output, "rb");
  ck_assert_uint_eq(fread(kept, 1, 4, file), 3);
  fclose(file);
  ck_assert_str_eq(kept, "old");
}

TEST(the_command_reports_warns_and_ends_with_the_documented_code)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_input(&scratch, 48000);
  const char* const in = scratch_path(&scratch, "in.wav");
  const char* const out = scratch_path(&scratch, "out.wav");
  RUN_GOOD("render", "--json", "--format", "16", "--scene", "loud",
           "chain vol: gain\nscene quiet vol.gain=-20dB\nscene loud vol.gain=20dB", in, out);
  assert_says(program.out, "\"frames_out\":20011");
  assert_says(program.err, "clipped");
  RUN_GOOD("render", "--quiet", "gain 0dB", in, out);
  ck_assert_str_eq(program.out, "");
  ck_assert_str_eq(program.err, ""); // no progress bar without a terminal

  static const struct {
    int exit_code;
    const char* words[7];
  } wrong[] = {
    { 2, { "render", "gian 3", "in", "out" } },
    { 2, { "render", "--tail", "-1", "", "in" } },
    { 2, { "render", "--format", "8", "", "in" } },
    { 2, { "render", "--block", "0", "", "in" } },
    { 4, { "render", "--backend", "cuda", "--gpu", "63", "gain", "in" } },
  };
  for (unsigned w = 0; w < ARRAY_LEN(wrong); ++w) {
    const char* words[10] = { NULL };
    unsigned n = 0;
    for (; n < 7U && wrong[w].words[n] && strcmp(wrong[w].words[n], "in") != 0; ++n) {
      words[n] = wrong[w].words[n];
    }
    words[n++] = in;
    words[n] = out;
    program_start(&program, words);
    program_wait(&program);
    ck_assert_msg(program.exit_code == wrong[w].exit_code, "%u: %d %s", w, program.exit_code,
                  program.err);
    ck_assert_ptr_eq(strchr(program.err, '\n') + 1, strchr(program.err, '\0')); // one message
  }
  RUN("render", "", "none.wav", out);
  ck_assert_int_eq(program.exit_code, 5);
}

TEST(a_fallback_that_is_louder_than_the_rack_is_a_warning)
{
  static const struct {
    const char* rack;
    bool is_loud;
  } rows[] = {
    { "late dry\nchain gain -20dB", true },
    { "late -15dB\nchain gain -20dB", false },
    { "gain -20dB", false },
  };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_input(&scratch, 48000);
  const char* const in = scratch_path(&scratch, "in.wav");
  const char* const out = scratch_path(&scratch, "out.wav");
  for (unsigned r = 0; r < ARRAY_LEN(rows); ++r) {
    RUN_GOOD("render", rows[r].rack, in, out);
    ck_assert_msg(!strstr(program.err, "warning: while blocks are late out:") != rows[r].is_loud,
                  "%s: %s", rows[r].rack, program.err);
  }
}

TEST(a_truncated_input_is_reported_and_refused_by_strict)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_input(&scratch, 48000);
  const char* const in = scratch_path(&scratch, "in.wav");
  const char* const out = scratch_path(&scratch, "out.wav");
  struct stat info;
  ck_assert_int_eq(stat(in, &info), 0);
  ck_assert_int_eq(truncate(in, info.st_size / 2), 0);
  RUN_GOOD("render", "--json", "", in, out);
  assert_says(program.err, "is truncated: it ends after");
  ck_assert_ptr_null(strstr(program.out, "\"missing_in\":0"));
  ck_assert_int_eq(unlink(out), 0);
  RUN("render", "--strict", "", in, out);
  ck_assert_int_eq(program.exit_code, 5);
  assert_says(program.err, "is truncated: it ends after");
  ck_assert_int_eq(access(out, F_OK), -1);
}

TEST(ctrl_c_ends_a_render_by_that_signal_and_leaves_no_file)
{
  static const int signals[] = { SIGINT, SIGTERM };
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  make_input(&scratch, 8000);
  const char* const out = scratch_path(&scratch, "out.wav");
  for (unsigned s = 0; s < ARRAY_LEN(signals); ++s) {
    // The tail lasts hours; the test stops the program early.
    const char* const words[] = {
      "render", "--tail", "40000", "reverb", scratch_path(&scratch, "in.wav"), out, NULL
    };
    program_start(&program, words);
    AWAIT(scratch_count(&scratch) >= 2U);
    kill(program.pid, signals[s]);
    program_wait(&program);
    ck_assert_int_eq(program.exit_code, -1);
    assert_says(program.err, "was not written");
    ck_assert_uint_eq(scratch_count(&scratch), 1);
  }
}

SUITE_MAIN("render")
