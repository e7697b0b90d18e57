// SPDX-License-Identifier: GPL-3.0-or-later
// warprack render: renders a file through a rack to a file.

#include "catalogue_file.h"
#include "commands.h"
#include "engine_args.h"
#include "options.h"
#include "rack_arg.h"

#include "control/scenes.h"
#include "control/take_file.h"
#include "engine/base/time.h"
#include "engine/base/text.h"
#include "io/file/render.h"
#include "plugins/plugin_environment.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_NS (100U * NS_PER_MS) // between two updates of the progress line
#define BAR_CELLS   30
#define MAX_TAIL_S  86400.0

static int render_run(int argc, char** argv);

const Command cmd_render = {
  .name = "render",
  .usage = "[options] RACK IN OUT, or [options] --take FILE IN OUT",
  .summary = "Process an audio file with a rack",
  .run = render_run,
};

typedef struct RenderOptions {
  int64_t block;
  const char* tail;
  const char* scene; ///< NULL: none
  const char* take;  ///< NULL: none
  uint32_t format;
  uint32_t missing; ///< See MISSING_OPTION
  BackendArgs backend;
  bool json, quiet, strict;
} RenderOptions;

// ---- signals ----

static atomic_bool stopped;
static volatile sig_atomic_t stop_signal;

static void
on_stop(const int number)
{
  stop_signal = number;
  atomic_store_explicit(&stopped, true, memory_order_relaxed);
}

static void
prepare_signals(void)
{
  static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
  for (unsigned i = 0; i < ARRAY_LEN(signals); ++i) {
    struct sigaction old;
    sigaction(signals[i], NULL, &old);
    if (old.sa_handler != SIG_IGN) { // an ignored signal stays ignored, for nohup
      const struct sigaction action = { .sa_handler = on_stop, .sa_flags = SA_RESTART };
      sigaction(signals[i], &action, NULL);
    }
  }
  signal(SIGXFSZ, SIG_IGN); // exceeding a file size limit is an error of write()
}

// End the process by the received signal, so that a shell loop over many files ends too.
static int
end_by_signal(void)
{
  signal(stop_signal, SIG_DFL);
  raise(stop_signal);
  return 128 + stop_signal;
}

// ---- progress ----

typedef struct Picture {
  uint64_t began_ns, next_ns;
  bool is_drawn;
} Picture;

static void
draw(void* const context, const RenderProgress* const progress)
{
  Picture* const picture = context;
  const uint64_t now_ns = time_now_ns();
  if (!picture->began_ns) {
    *picture = (Picture){ .began_ns = now_ns, .next_ns = now_ns + PROGRESS_NS };
  }
  if (now_ns < picture->next_ns || !progress->of_frames) {
    return;
  }
  picture->next_ns = now_ns + PROGRESS_NS;
  picture->is_drawn = true;
  const double elapsed_s = (double)(now_ns - picture->began_ns) / (double)NS_PER_S;
  const double part = fmin(1.0, (double)progress->frames / (double)progress->of_frames);
  const double all_frames = (progress->pass - 1U) * (double)progress->of_frames +
                            (double)progress->frames; // including past passes
  const double frames_left = (double)progress->of_frames * (1.0 - part);
  const double speed = all_frames / progress->rate_hz / elapsed_s;
  const long left_s = speed > 0.0 ? lrint(frames_left / progress->rate_hz / speed) : 0;
  static const char full[] = "##############################";
  const int cells = (int)(part * BAR_CELLS);
  fprintf(stderr, "\r\033[K[%.*s%*s] %3.0f %%  %.0fx", cells, full, BAR_CELLS - cells, "",
          100.0 * part, speed);
  if (progress->frames < progress->of_frames) {
    fprintf(stderr, "  %ld:%02ld left", left_s / 60, left_s % 60);
  } else {
    fprintf(stderr, "  tail");
  }
  if (progress->pass > 1U) {
    fprintf(stderr, "  pass %u", progress->pass);
  }
}

static void
wipe(const Picture* const picture)
{
  if (picture->is_drawn) {
    fprintf(stderr, "\r\033[K");
  }
}

// ---- the end ----

static double
decibels(const double linear)
{
  return linear > 0.0 ? 20.0 * log10(linear) : -INFINITY;
}

static int
print_json(const char* const output, const RenderReport* const report)
{
  json_t* const json = json_pack(
      "{so sf si si sI sI sI si si si sf sf sI sI sI sI sb ss ss ss so}", "output",
      command_json_text(output), "rate_hz", report->rate_hz, "inputs", report->n_in, "outputs",
      report->n_out, "frames_in", (json_int_t)report->frames_in, "frames_out",
      (json_int_t)report->frames_out, "missing_in", (json_int_t)report->missing_in, "tags_lost",
      report->tags_lost, "latency_frames", report->latency_frames, "passes", report->n_passes,
      "seconds", report->seconds, "peak", report->peak, "clipped", (json_int_t)report->clipped,
      "bad_in", (json_int_t)report->bad_in, "bad_out", (json_int_t)report->bad_out, "units_reset",
      (json_int_t)report->units_reset, "tail_cut", report->cut, "backend", report->backend, "gpu",
      report->device, "backend_note", report->backend_note, "warnings",
      command_json_lines(report->warnings));
  return command_print_json(&cmd_render, json);
}

static void
warn(const char* const input, const char* const output, const RenderReport* const report)
{
  for (const char* line = report->warnings; *line; line += strcspn(line, "\n") + 1U) {
    fprintf(stderr, PROGRAM_NAME " render: warning: %.*s\n", (int)strcspn(line, "\n"), line);
  }
  if (report->missing_in) {
    fprintf(stderr,
            PROGRAM_NAME " render: '%s' is truncated: it ends after %llu of the %llu frames that "
                         "its header promises; --strict refuses such files\n",
            input, (unsigned long long)report->frames_in,
            (unsigned long long)(report->frames_in + report->missing_in));
  }
  if (report->tags_lost) {
    fprintf(stderr, PROGRAM_NAME " render: '%s' lacks %u of the input's tags and chunks\n", output,
            report->tags_lost);
  }
  if (report->clipped) {
    fprintf(stderr,
            PROGRAM_NAME " render: %llu samples of '%s' were beyond full scale and clipped (peak "
                         "%+.1f dBFS); use --format float or less gain\n",
            (unsigned long long)report->clipped, output, decibels(report->peak));
  }
  if (report->bad_in || report->bad_out || report->units_reset) {
    fprintf(stderr,
            PROGRAM_NAME " render: not numbers, and therefore silenced: %llu samples of the input, "
                         "%llu of the output; %llu times an effect was reset\n",
            (unsigned long long)report->bad_in, (unsigned long long)report->bad_out,
            (unsigned long long)report->units_reset);
  }
  if (report->cut) {
    fprintf(stderr,
            PROGRAM_NAME " render: '%s' still sounds after %g s of tail and was cut there; set "
                         "--tail\n",
            output, RENDER_MAX_S);
  }
}

static void
print_report(const char* const output, const RenderReport* const report)
{
  const double out_s = (double)report->frames_out / report->rate_hz;
  char words[BACKEND_WORDS_BYTES];
  printf(
      "%s: %.3f s, %u channel%s, %g Hz, peak %.1f dBFS; %u frames of latency removed; %.0fx real "
      "time on %s\n",
      output, out_s, report->n_out, report->n_out == 1U ? "" : "s", report->rate_hz,
      decibels(report->peak), report->latency_frames, out_s / report->seconds,
      backend_words(report->backend, report->device, words));
}

/// Render, and print the report.  All memory is allocated before the output file is opened.
static int
render_and_report(const RenderOptions* const options, const RenderConfig* const config)
{
  char* const input = text_printable_copy(config->input);
  char* const output = text_printable_copy(config->output);
  Error error = { STATUS_NO_MEM, "" };
  RenderReport report = { 0 };
  Status status = STATUS_NO_MEM;
  if (input && output) {
    prepare_signals();
    status = render(config, &report, &error);
    wipe(config->context);
  }
  int exit_code = 0;
  if (status) {
    exit_code = command_fail(&cmd_render, &error);
    exit_code = report.cancelled ? end_by_signal() : exit_code;
  } else {
    warn(input, output, &report);
    exit_code = options->json ? print_json(config->output, &report) : 0;
    if (!options->json && !options->quiet) {
      print_report(output, &report);
    }
  }
  free(report.warnings);
  free(input);
  free(output);
  return exit_code;
}

// ---- the subcommand ----

static const char* const formats[] = { "16", "24", "32", "float", NULL };

static bool
read_tail(const char* const text, double* const tail_s)
{
  if (!strcmp(text, "auto")) {
    *tail_s = RENDER_TAIL_AUTO;
    return true;
  }
  char* end = NULL;
  *tail_s = strtod(text, &end);
  return end != text && !*end && *tail_s >= 0.0 && *tail_s <= MAX_TAIL_S;
}

/// True if the word is the name of an audio file, and therefore no RACK.
static bool
names_audio(const char* const word)
{
  AudioFormat ignored;
  return !strpbrk(word, " |") && !audio_format_from(word, NULL, &ignored, NULL);
}

static int
render_with(const RenderOptions* const options, RenderConfig* const config, const char* const word)
{
  Error error = { STATUS_OK, "" };
  RackArg rack;
  catalogue_file_renew_on_search(catalogue_file_print_note, (void*)&cmd_render);
  if (rack_arg_read(word, rack_arg_reader(options->missing), &rack, &error)) {
    return command_fail(&cmd_render, &error);
  }
  if (options->scene && scenes_begin(rack.rack, options->scene, &error)) {
    rack_arg_clear(&rack);
    return command_fail(&cmd_render, &error);
  }
  Picture picture = { 0 };
  config->rack = rack.rack;
  config->engine.files = rack_arg_files(&rack);
  config->context = &picture;
  const int exit_code = render_and_report(options, config);
  rack_arg_clear(&rack);
  return exit_code;
}

static void
warn_of_take(const Take* const take)
{
  for (const char* line = take->notes.bytes; line && *line; line += strcspn(line, "\n") + 1U) {
    fprintf(stderr, PROGRAM_NAME " render: %s: %.*s\n", "take", (int)strcspn(line, "\n"), line);
  }
  if (take->n_played < take->n_events) {
    fprintf(stderr, PROGRAM_NAME " render: take: the output ends before %zu of its %zu changes\n",
            take->n_events - take->n_played, take->n_events);
  }
}

/// Render what a take has recorded.
static int
render_take(const RenderOptions* const options, RenderConfig* const config)
{
  Error error = { STATUS_NO_MEM, "out of memory" };
  Take take = { 0 };
  Picture picture = { 0 };
  RackArg rack = { .root = rack_arg_folder(options->take), .is_file = true };
  catalogue_file_renew_on_search(catalogue_file_print_note, (void*)&cmd_render);
  int exit_code = 0;
  if (!rack.root ||
      take_read(options->take, rack.root, rack_arg_reader(options->missing), &take, &error)) {
    exit_code = command_fail(&cmd_render, &error);
  } else {
    config->rack = take.rack;
    config->block_frames = take.block_frames;
    config->take = (RenderTake){ take_play, &take, take.rate_hz, take.n_in, take.n_out };
    config->engine.files = rack_arg_files(&rack);
    config->context = &picture;
    exit_code = render_and_report(options, config);
    if (!exit_code) {
      warn_of_take(&take);
    }
  }
  take_clear(&take);
  rack_arg_clear(&rack);
  return exit_code;
}

static int
render_run(const int argc, char** const argv)
{
  RenderOptions options = { .block = 1024,
                            .tail = "auto",
                            .format = ARRAY_LEN(formats),
                            .backend.gpu_index = BACKEND_ANY_GPU };
  // clang-format off
  const Option table[] = {
    { "block",  'b', OPTION_INTEGER, "N", 1, FX_MAX_BLOCK, .to.integer = &options.block,                     .help = "Frames per block, default 1024; changes the output by rounding at most" },
    { "format", 'f', OPTION_CHOICE,                        .choices = formats, .to.choice = &options.format, .help = "Bits per sample, or float (default float; FLAC: 24)" },
    { "scene",  0,   OPTION_TEXT,    "NAME",               .to.text = &options.scene,                        .help = "Begin with the values of this scene of the rack" },
    { "strict", 's', OPTION_FLAG,                          .to.flag = &options.strict,                       .help = "Refuse a truncated input instead of printing a warning" },
    { "tail",   't', OPTION_TEXT,    "S",                  .to.text = &options.tail,                         .help = "Seconds to render after the end of the input, or auto (default): until silence" },
    { "take",   0,   OPTION_TEXT,    "FILE",               .to.text = &options.take,                         .help = "Render a take of /take/start instead of RACK: its rack, block size and changes" },
    MISSING_OPTION(&options.missing),
    BACKEND_OPTIONS(&options.backend),
    { "json",   'j', OPTION_FLAG,                          .to.flag = &options.json,                         .help = "Print the report as JSON" },
    { "quiet",  'q', OPTION_FLAG,                          .to.flag = &options.quiet,                        .help = "Print warnings and errors only" },
  };
  // clang-format on
  const OptionTable options_table = { table, ARRAY_LEN(table), .min_operands = 2,
                                      .max_operands = 3 };
  Operands operands;
  if (!options_parse(&cmd_render, &options_table, argc, argv, &operands)) {
    return operands.exit_code;
  }
  if (operands.n != (options.take ? 2U : 3U) || (options.take && options.scene)) {
    return command_misused(&cmd_render,
                           "give RACK, IN and OUT; or --take with IN and OUT, without --scene");
  }
  plugin_environment();
  const char* const* const files = (const char* const*)operands.words + operands.n - 2;
  RenderConfig config = { .input = files[0],
                          .output = files[1],
                          .block_frames = (uint32_t)options.block,
                          .engine = { .n_helpers = UINT32_MAX, .note = engine_say },
                          .cancel = &stopped };
  config.strict = options.strict;
  if (!read_tail(options.tail, &config.tail_s)) {
    return command_misused(&cmd_render, "--tail %s: give 0 to %g seconds, or auto", options.tail,
                           MAX_TAIL_S);
  }
  Error error;
  if (backend_read(&options.backend, &config.engine, &error)) {
    return command_misused(&cmd_render, "%s", error.text);
  }
  if (!options.take && names_audio(operands.words[0])) {
    return command_misused(&cmd_render, "'%s' is an audio file; the RACK comes first",
                           operands.words[0]);
  }
  const char* const encoding = options.format < ARRAY_LEN(formats) ? formats[options.format] : NULL;
  if (audio_format_from(config.output, encoding, &config.format, &error)) {
    return command_misused(&cmd_render, "%s", error.text);
  }
  if (!options.quiet && !options.json && isatty(STDERR_FILENO)) {
    config.progress = draw;
  }
  return options.take ? render_take(&options, &config)
                      : render_with(&options, &config, operands.words[0]);
}
