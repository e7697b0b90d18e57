// SPDX-License-Identifier: GPL-3.0-or-later
// The driver without a sound card: runs on a timer, or as fast as possible; inputs from a file,
// outputs to a file.
//
// Live, a period begins at an absolute time, so that the clock does not drift.  A period that
// begins more than one period late is an xrun, and the clock restarts from there, as that of a
// sound card does.  With `fast`, every period waits for its result, and equal runs give equal
// files.

#include "io_driver.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "io/file/tape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_RATE_HZ 48000.0
#define DEFAULT_BLOCK   256U
#define PRIORITY        60 // below the kernel's own threads, above all threads that are not audio

typedef struct Dummy {
  Io io; // First member, so that an Io* is a Dummy*
  double rate_hz;
  uint32_t block_frames;
  uint64_t total_frames; // 0: no limit
  bool fast;
  Tape* player;
  Tape* recorder;
  float* memory;
  float** in;  // [n_in]; the player feeds the first rows
  float** out; // [n_out]
  pthread_t thread;
  bool has_thread;
  atomic_bool stop;
  atomic_bool ended;
  atomic_bool is_ordinary; // No real-time privilege; `privilege` has the reason (release)
  Error privilege;
  _Atomic uint64_t xruns;
  bool said_privilege, said_player, said_recorder;
  Status file_status;
} Dummy;

// ---- the audio thread ----

static void
run_period(Dummy* const dummy, const uint64_t frames_left)
{
  const uint32_t n = dummy->block_frames;
  if (dummy->player) {
    tape_read(dummy->player, dummy->in, n);
  }
  io_process(&dummy->io, NULL, (const float* const*)dummy->in, dummy->out, n, dummy->fast, NULL);
  if (dummy->recorder) {
    tape_write(dummy->recorder, (const float* const*)dummy->out,
               frames_left < n ? (uint32_t)frames_left : n);
  }
}

// Sleep until period `n` after `start_ns` begins.
static void
wait_for_period(Dummy* const dummy, uint64_t* const start_ns, uint64_t* const n)
{
  const double period_ns = dummy->block_frames * (double)NS_PER_S / dummy->rate_hz;
  const uint64_t due_ns = *start_ns + (uint64_t)((double)*n * period_ns);
  time_sleep_until(due_ns);
  const uint64_t now_ns = time_now_ns();
  ++*n;
  if ((double)(now_ns - due_ns) > period_ns) {
    atomic_fetch_add_explicit(&dummy->xruns, 1U, memory_order_relaxed);
    *start_ns = now_ns;
    *n = 1;
  }
}

static void*
run_periods(void* const context)
{
  Dummy* const dummy = context;
  rt_flush_denormals();
  if (!dummy->fast && rt_become_realtime(PRIORITY, &dummy->privilege)) {
    atomic_store_explicit(&dummy->is_ordinary, true, memory_order_release);
  }
  uint64_t start_ns = time_now_ns();
  uint64_t n = 0;
  uint64_t left = dummy->total_frames ? dummy->total_frames : UINT64_MAX;
  while (left && !atomic_load_explicit(&dummy->stop, memory_order_relaxed)) {
    if (!dummy->fast) {
      wait_for_period(dummy, &start_ns, &n);
    }
    run_period(dummy, left);
    left -= left < dummy->block_frames ? left : dummy->block_frames;
  }
  atomic_store_explicit(&dummy->ended, true, memory_order_release);
  return NULL;
}

// ---- open ----

static Status
open_player(Dummy* const dummy, const IoConfig* const config, Error* const error)
{
  const Status status = tape_open_player(config->play, !config->fast, &dummy->player, error);
  if (status) {
    return status;
  }
  const double rate_hz = tape_rate(dummy->player);
  const uint32_t n_channels = tape_channels(dummy->player);
  if (config->rate_hz > 0.0 && config->rate_hz != rate_hz) {
    return error_set(error, STATUS_BAD_ARG,
                     "'%s' is at %g Hz and cannot be played at %g Hz; omit the rate or "
                     "resample the file",
                     config->play, rate_hz, config->rate_hz);
  }
  if (n_channels > config->n_in) {
    return error_set(error, STATUS_BAD_ARG, "'%s' has %u channels for %u inputs; ask for %u inputs",
                     config->play, n_channels, config->n_in, n_channels);
  }
  dummy->rate_hz = rate_hz;
  return STATUS_OK;
}

static Status
make_buffers(Dummy* const dummy, Error* const error)
{
  const uint32_t n = dummy->io.n_in + dummy->io.n_out;
  const size_t row = (dummy->block_frames + 15U) & ~15U; // each row is 64-byte aligned
  dummy->memory = rt_memory(n * row * sizeof(float));
  dummy->in = calloc(n + 1U, sizeof(float*));
  if (!dummy->memory || !dummy->in) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  dummy->out = dummy->in + dummy->io.n_in;
  for (uint32_t c = 0; c < n; ++c) {
    dummy->in[c] = dummy->memory + c * row;
  }
  return STATUS_OK;
}

// Open the files first, so that errors of the user are reported before anything starts.
static Status
start(Dummy* const dummy, const IoConfig* const config, Error* const error)
{
  Status status = config->play ? open_player(dummy, config, error) : STATUS_OK;
  if (!status && config->record) {
    status = config->n_out ? tape_open_recorder(config->record, dummy->rate_hz, config->n_out,
                                                !config->fast, &dummy->recorder, error)
                           : error_set(error, STATUS_BAD_ARG,
                                       "there are no outputs to record to '%s'", config->record);
  }
  status = status ? status : make_buffers(dummy, error);
  if (!status) {
    // Subtract a millionth of a frame, because 1.1 s at 48 kHz is 52800.00000000001 in binary.
    dummy->total_frames = (uint64_t)ceil(fmax(0.0, config->duration_s * dummy->rate_hz - 1e-6));
    status = io_arm(&dummy->io, NULL, dummy->rate_hz, dummy->block_frames, error);
  }
  if (!status) {
    status = rt_thread_start("dummy", run_periods, dummy, &dummy->thread, error);
    dummy->has_thread = !status;
  }
  return status;
}

static void
dummy_free(Dummy* const dummy)
{
  tape_close(dummy->player);
  free(dummy->in);
  free(dummy->memory);
  free(dummy);
}

static Status
dummy_open(const IoConfig* const config, const IoEvents* const events, Io** const io,
           Error* const error)
{
  Dummy* const dummy = calloc(1, sizeof(Dummy));
  if (!dummy) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  dummy->io.driver = &io_dummy;
  dummy->io.events = *events;
  dummy->io.n_in = config->n_in;
  dummy->io.n_out = config->n_out;
  dummy->rate_hz = config->rate_hz > 0.0 ? config->rate_hz : DEFAULT_RATE_HZ;
  dummy->block_frames = config->block_frames ? config->block_frames : DEFAULT_BLOCK;
  dummy->fast = config->fast;
  const Status status = start(dummy, config, error);
  if (status) {
    tape_close(dummy->recorder);
    dummy_free(dummy);
    return status;
  }
  *io = &dummy->io;
  return STATUS_OK;
}

// ---- poll, status, close ----

// Report `error` once, and store its status.
static void
report_failure(Dummy* const dummy, bool* const said, const Error* const error)
{
  if (!*said) {
    *said = true;
    dummy->file_status = error->status;
    io_note(&dummy->io, "%s", error->text);
  }
}

static void
check_tapes(Dummy* const dummy)
{
  Error error;
  if (dummy->player && !tape_is_sound(dummy->player, &error)) {
    report_failure(dummy, &dummy->said_player, &error);
  }
  if (dummy->recorder && !tape_is_sound(dummy->recorder, &error)) {
    report_failure(dummy, &dummy->said_recorder, &error);
  }
}

// Complete the files, and report errors and missing frames.  The audio thread has ended.
static void
finish_tapes(Dummy* const dummy)
{
  Error error;
  check_tapes(dummy);
  if (dummy->player && tape_missing(dummy->player)) {
    io_note(&dummy->io, "the disk was too slow: %llu frames were played as silence",
            (unsigned long long)tape_missing(dummy->player));
  }
  if (dummy->recorder && tape_missing(dummy->recorder)) {
    io_note(&dummy->io, "the disk was too slow: %llu frames were not recorded",
            (unsigned long long)tape_missing(dummy->recorder));
  }
  if (tape_commit(dummy->recorder, &error)) {
    report_failure(dummy, &dummy->said_recorder, &error);
  }
  dummy->recorder = NULL;
}

// Join the audio thread and complete the files, unless that is done already.
static void
end(Dummy* const dummy)
{
  if (dummy->has_thread) {
    atomic_store_explicit(&dummy->stop, true, memory_order_relaxed);
    pthread_join(dummy->thread, NULL);
    dummy->has_thread = false;
    finish_tapes(dummy);
  }
}

static void
dummy_poll(Io* const io)
{
  Dummy* const dummy = (Dummy*)io;
  if (!dummy->said_privilege && atomic_load_explicit(&dummy->is_ordinary, memory_order_acquire)) {
    dummy->said_privilege = true;
    io_note(io, "the timer runs without real-time priority: %s", dummy->privilege.text);
  }
  if (atomic_load_explicit(&dummy->ended, memory_order_acquire)) {
    end(dummy);
  } else {
    check_tapes(dummy);
  }
}

static void
dummy_status(const Io* const io, IoStatus* const status)
{
  const Dummy* const dummy = (const Dummy*)io;
  *status = (IoStatus){ .state = dummy->has_thread ? IO_STATE_RUNNING : IO_STATE_ENDED,
                        .rate_hz = dummy->rate_hz,
                        .block_frames = dummy->block_frames,
                        .xruns = atomic_load_explicit(&dummy->xruns, memory_order_relaxed),
                        .file_status = dummy->file_status };
  snprintf(status->device, sizeof(status->device), "%s",
           dummy->fast ? "no clock, as fast as it goes" : "timer");
}

static Status
dummy_close(Io* const io)
{
  Dummy* const dummy = (Dummy*)io;
  end(dummy);
  const Status status = dummy->file_status;
  dummy_free(dummy);
  return status;
}

const IoDriver io_dummy = {
  .name = "dummy",
  .summary = "A timer instead of a sound card, with files for inputs and outputs",
  .is_silent = true,
  .open = dummy_open,
  .poll = dummy_poll,
  .status = dummy_status,
  .close = dummy_close,
};
