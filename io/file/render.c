// SPDX-License-Identifier: GPL-3.0-or-later
// The offline renderer.  Its thread runs the engine; two stages read the input ahead of it, and
// write the output behind it.

#include "render.h"

#include "render_stages.h"
#include "render_tail.h"

#include "engine/base/time.h"
#include "engine/contract/guard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Render {
  const RenderConfig* config;
  RenderReport* report;
  AudioReader* reader;
  AudioWriter* writer;
  Engine* engine;
  float* memory;
  float** raw;       // [n_out][block] output of the engine
  float** tail_rows; // [n_out][block] guarded, for an automatic tail
  RenderTail tail;
  ReadAhead input;
  WriteBehind output;
  // The pass
  uint64_t n_read;     // Frames of the input
  uint64_t n_skipped;  // Frames of latency skipped
  uint64_t n_latency;  // Frames of latency to skip
  uint64_t n_blocks;   // Of the engine
  uint64_t n_emitted;  // Frames written after the latency
  uint64_t n_tail;     // Frames of a given tail
  bool has_tail;       // `tail` is initialised
  bool at_end;         // The input has ended
  uint64_t bad_before; // The engine's count of bad input samples at the start of the pass
} Render;

// ---- set-up ----

static Status
check_names(const RenderConfig* const config, Error* const error)
{
  struct stat in;
  struct stat out;
  if (!stat(config->input, &in) && !stat(config->output, &out) && in.st_dev == out.st_dev &&
      in.st_ino == out.st_ino) {
    return error_set(error, STATUS_BAD_ARG, "'%s' is the input; give the output another name",
                     config->output);
  }
  return STATUS_OK;
}

static Status
start_engine(Render* const render, Error* const error)
{
  EngineConfig config = render->config->engine;
  config.n_in = audio_reader_channels(render->reader);
  const bool has_take = render->config->take.play;
  config.n_out = has_take ? render->config->take.n_out : 0; // 0: the number of outputs of the rack
  // With depth 1 a device processes one block while the renderer reads the next one.
  config.depth = has_take ? 0 : 1;
  config.ceiling_lin = 0.0F;
  config.offline = true;
  config.realtime = false;
  Status status = engine_new(&config, &render->engine, error);
  status = status ? status : engine_edit_wait(render->engine, render->config->rack, error);
  if (!status) {
    status = engine_arm(render->engine, audio_reader_rate(render->reader),
                        render->config->block_frames, config.n_in, 0, error);
  }
  return status;
}

static Status
make_buffers(Render* const render, Error* const error)
{
  const uint32_t n_out = render->report->n_out;
  const uint32_t n = 2U * n_out;
  const size_t row = (render->config->block_frames + 15U) & ~15U; // each row 64-byte aligned
  render->memory = aligned_alloc(64U, n * row * sizeof(float));
  render->raw = calloc(n, sizeof(float*));
  if (!render->memory || !render->raw) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t c = 0; c < n; ++c) {
    render->raw[c] = render->memory + c * row;
  }
  render->tail_rows = render->raw + n_out;
  return STATUS_OK;
}

/// Check that the input is the one of the take, as far as its header shows.
static Status
check_take(const Render* const render, Error* const error)
{
  const RenderTake* const take = &render->config->take;
  const double rate_hz = audio_reader_rate(render->reader);
  const uint32_t n_in = audio_reader_channels(render->reader);
  if (take->play && take->rate_hz != rate_hz) {
    return error_set(error, STATUS_BAD_ARG, "the take is of %g Hz, and '%s' has %g Hz",
                     take->rate_hz, render->config->input, rate_hz);
  }
  if (take->play && take->n_in != n_in) {
    return error_set(error, STATUS_BAD_ARG, "the take has %u inputs, and '%s' has %u channels",
                     take->n_in, render->config->input, n_in);
  }
  return STATUS_OK;
}

// Open and check everything, so that errors are reported before the first block.
static Status
prepare(Render* const render, Error* const error)
{
  const RenderConfig* const config = render->config;
  RenderReport* const report = render->report;
  Status status = check_names(config, error);
  status = status ? status : audio_reader_open(config->input, &render->reader, error);
  if (!status && config->strict) {
    status = audio_reader_check_whole(render->reader, error);
  }
  status = status ? status : check_take(render, error);
  status = status ? status : start_engine(render, error);
  if (status) {
    return status;
  }
  report->rate_hz = audio_reader_rate(render->reader);
  report->missing_in = audio_reader_missing(render->reader);
  report->n_in = audio_reader_channels(render->reader);
  report->n_out = engine_n_out(render->engine);
  report->latency_frames = engine_rack_latency(render->engine);
  render->n_tail = config->tail_s > 0.0 ? (uint64_t)llrint(config->tail_s * report->rate_hz) : 0U;
  status = audio_format_check_length(config->format, config->output, report->n_out,
                                     audio_reader_frames(render->reader) + render->n_tail, error);
  return status ? status : make_buffers(render, error);
}

// ---- one pass ----

static Status
begin_tail(Render* const render, Error* const error)
{
  const RenderReport* const report = render->report;
  const uint64_t longest = (uint64_t)(RENDER_MAX_S * report->rate_hz);
  const uint64_t tail = engine_tail(render->engine);
  const uint64_t max_frames = tail < longest ? tail : longest;
  const uint32_t quiet = (uint32_t)(RENDER_HOLD_S * report->rate_hz);
  const uint32_t hold = max_frames < quiet ? (uint32_t)max_frames : quiet;
  render->has_tail = true;
  return render_tail_init(&render->tail, report->n_out, max_frames, hold,
                          render->config->block_frames)
             ? error_set(error, STATUS_NO_MEM, "out of memory")
             : STATUS_OK;
}

/// Point to the next block of the input, with zeros after the end.
static Status
read_block(Render* const render, const float** const in, Error* const error)
{
  uint32_t n = 0;
  const Status status = read_ahead_next(&render->input, in, &n, error);
  render->n_read += n;
  if (status || n == render->config->block_frames || render->at_end) {
    return status;
  }
  render->at_end = true;
  if (!render->n_read) {
    return error_set(error, STATUS_FILE, "'%s' holds no audio (0 frames)", render->config->input);
  }
  return render->config->tail_s < 0.0 ? begin_tail(render, error) : STATUS_OK;
}

/// Process a block.  A device error ends the pass, because its output is then invalid.
static Status
process_block(Render* const render, const float* const* const in, Error* const error)
{
  const uint32_t block = render->config->block_frames;
  const RenderTake* const take = &render->config->take;
  const uint64_t frame = render->n_blocks++ * block;
  const Status status =
      take->play ? take->play(take->context, render->engine, frame, block, error) : STATUS_OK;
  if (status) {
    return status;
  }
  engine_process(render->engine, in, render->raw, block, true);
  return engine_failure(render->engine, error);
}

/// Copy frames [first, end) of the engine's output to `rows`, finite, and measure them.
static void
guard_frames(Render* const render, float* const* const rows, const uint32_t first,
             const uint32_t end)
{
  RenderReport* const report = render->report;
  for (uint32_t c = 0; c < report->n_out; ++c) {
    const GuardCounts counts = guard_clean(rows[c], render->raw[c] + first, end - first);
    report->bad_out += counts.bad;
    report->peak = counts.peak > report->peak ? counts.peak : report->peak;
  }
}

/// Count frames [first, end) of the engine's output, which are not written.
static void
count_unwritten(Render* const render, const uint32_t first, const uint32_t end)
{
  for (uint32_t c = 0; c < render->report->n_out; ++c) {
    render->report->bad_out += guard_count_bad(render->raw[c] + first, end - first);
  }
}

static Status
write_frames(Render* const render, const uint32_t first, const uint32_t end, Error* const error)
{
  float* rows[FX_MAX_CHANNELS];
  const Status status = write_behind_room(&render->output, rows, error);
  if (!status) {
    guard_frames(render, rows, first, end);
    write_behind_add(&render->output, end - first);
    render->n_emitted += end - first;
  }
  return status;
}

/// Write frames to the automatic tail, behind all others.
static Status
write_tail(Render* const render, const uint32_t first, const uint32_t end, Error* const error)
{
  const Status status = write_behind_finish(&render->output, error);
  guard_frames(render, render->tail_rows, first, end);
  return status ? status
                : render_tail_write(&render->tail, render->writer,
                                    (const float* const*)render->tail_rows, end - first, error);
}

// Write the frames of the input and of a given tail.  The automatic tail receives the others.
static Status
write_block(Render* const render, Error* const error)
{
  const uint32_t block = render->config->block_frames;
  const uint64_t left = render->n_latency - render->n_skipped;
  const uint32_t first = left < block ? (uint32_t)left : block;
  render->n_skipped += first;

  const uint64_t plain = render->n_read + (render->at_end ? render->n_tail : 0U);
  const uint64_t wanted = plain > render->n_emitted ? plain - render->n_emitted : 0U;
  const uint32_t end = wanted < block - first ? first + (uint32_t)wanted : block;
  count_unwritten(render, 0, first);
  Status status = end > first ? write_frames(render, first, end, error) : STATUS_OK;
  if (!status && end < block && render->has_tail) {
    status = write_tail(render, end, block, error);
  } else {
    count_unwritten(render, end, block);
  }
  return status;
}

static bool
pass_is_over(const Render* const render)
{
  return render->at_end && render->n_emitted >= render->n_read + render->n_tail &&
         (!render->has_tail || render_tail_is_over(&render->tail));
}

static Status
check_cancel(Render* const render, Error* const error)
{
  const RenderConfig* const config = render->config;
  if (config->progress) {
    const RenderProgress progress = { .pass = render->report->n_passes,
                                      .frames = render->n_emitted + render->tail.n_written,
                                      .of_frames =
                                          audio_reader_frames(render->reader) + render->n_tail,
                                      .rate_hz = render->report->rate_hz };
    config->progress(config->context, &progress);
  }
  if (config->cancel && atomic_load_explicit(config->cancel, memory_order_relaxed)) {
    render->report->cancelled = true;
    return error_set(error, STATUS_FILE, "stopped; '%s' was not written", config->output);
  }
  return STATUS_OK;
}

static Status
run_blocks(Render* const render, Error* const error)
{
  const float* in[FX_MAX_CHANNELS];
  Status status = STATUS_OK;
  while (!status && !pass_is_over(render)) {
    status = read_block(render, in, error);
    status = status ? status : process_block(render, in, error);
    status = status ? status : write_block(render, error);
    status = status ? status : check_cancel(render, error);
  }
  return status;
}

static Status
run_pass(Render* const render, Error* const error)
{
  const uint32_t block = render->config->block_frames;
  Status status = read_ahead_begin(&render->input, render->reader, block, error);
  if (!status) {
    status =
        write_behind_begin(&render->output, render->writer, render->report->n_out, block, error);
  }
  status = status ? status : run_blocks(render, error);
  status = status ? status : write_behind_finish(&render->output, error);
  write_behind_abandon(&render->output);
  read_ahead_end(&render->input);
  return status;
}

// ---- all passes ----

static Status
begin_pass(Render* const render, Error* const error)
{
  const RenderConfig* const config = render->config;
  RenderReport* const report = render->report;
  audio_writer_abandon(render->writer); // of the previous pass, which only measured
  render->writer = NULL;
  render_tail_clear(&render->tail);
  render->n_read = render->n_skipped = render->n_emitted = render->n_blocks = 0;
  render->n_latency = engine_latency(render->engine);
  render->at_end = render->has_tail = false;
  EngineStatus engine;
  engine_status(render->engine, &engine);
  render->bad_before = engine.counts.bad_in;
  report->peak = 0.0;
  report->bad_out = 0;
  ++report->n_passes;
  Status status = report->n_passes > 1U ? audio_reader_rewind(render->reader, error) : STATUS_OK;
  if (!status) {
    status = audio_writer_open(config->output, config->format, report->rate_hz, report->n_out,
                               &render->writer, error);
  }
  if (!status) {
    status = audio_writer_copy_tags(render->writer, render->reader, &report->tags_lost, error);
  }
  return status;
}

static Status
run_passes(Render* const render, Error* const error)
{
  Status status = STATUS_OK;
  for (bool again = true; !status && again;) {
    status = begin_pass(render, error);
    status = status ? status : run_pass(render, error);
    status = status ? status : engine_finish_pass(render->engine, &again, error);
    if (!status && again && render->config->take.play) {
      status = error_set(
          error, STATUS_BAD_RACK,
          "an effect of the take needs two passes over the input, which --take does not make");
    }
  }
  return status;
}

// Only `late` statements need the fallbacks: an `auto` output is never louder than the rack.
static char*
list_warnings(Render* const render)
{
  const Rack* const rack = render->config->rack;
  Fallbacks fallbacks = { 0 };
  Error ignored; // without memory for a copy of the rack, the render is complete without warnings
  if (rack->n_lates && engine_measure_fallbacks(render->engine, rack, &fallbacks, &ignored)) {
    fallbacks.n = 0;
  }
  return engine_warnings(rack, render->report->rate_hz, &fallbacks);
}

static Status
complete(Render* const render, Error* const error)
{
  RenderReport* const report = render->report;
  EngineStatus engine;
  engine_status(render->engine, &engine);
  report->frames_in = render->n_read;
  report->frames_out = render->n_emitted + render->tail.n_written;
  report->bad_in = engine.counts.bad_in - render->bad_before;
  report->units_reset = engine.worker_counts.units_reset;
  memcpy(report->backend, engine.backend, sizeof(report->backend));
  memcpy(report->device, engine.device, sizeof(report->device));
  memcpy(report->backend_note, engine.backend_note, sizeof(report->backend_note));
  report->clipped = audio_writer_clipped(render->writer);
  report->cut = render->has_tail && !render->tail.left && !render->tail.n_quiet &&
                render->tail.n_written < engine_tail(render->engine);
  report->warnings = list_warnings(render);
  if (!report->warnings) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  AudioWriter* const writer = render->writer;
  render->writer = NULL; // freed also on error
  return audio_writer_commit(writer, error);
}

Status
render(const RenderConfig* const config, RenderReport* const report, Error* const error)
{
  const uint64_t began_ns = time_now_ns();
  *report = (RenderReport){ 0 };
  Render render = { .config = config, .report = report };
  Status status = prepare(&render, error);
  status = status ? status : run_passes(&render, error);
  status = status ? status : complete(&render, error);
  audio_writer_abandon(render.writer);
  render_tail_clear(&render.tail);
  free(render.raw);
  free(render.memory);
  engine_free(render.engine);
  audio_reader_close(render.reader);
  if (status) {
    free(report->warnings);
    report->warnings = NULL;
  }
  report->seconds = (double)(time_now_ns() - began_ns) * 1e-9;
  return status;
}
