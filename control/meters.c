// SPDX-License-Identifier: GPL-3.0-or-later
// The meters of clients: their table, their sums, their messages.

#include "meters.h"

#include "control_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX   "/meter/"
#define FLOOR_DB (-128.0) // of a message; the smallest number of 16 bits in steps of 1/256 dB
#define STEPS_DB 256.0

static const char* const kind_names[N_METER_KINDS] = { [METER_IN] = "in", [METER_OUT] = "out" };

// ---- sums ----

static void
clear_sums(MeterSums* const sums)
{
  memset(sums->of, 0, sums->n_channels * sizeof(Level));
  sums->n_frames = 0;
}

static void
add_sums(MeterSums* const sums, const uint64_t n_frames, const Level* const of)
{
  sums->n_frames += n_frames;
  for (uint32_t c = 0; c < sums->n_channels; ++c) {
    level_add(&sums->of[c], &of[c]);
  }
}

/// Add the levels of one kind.  Another format clears the sums first.
static void
add_levels(MeterSums* const sums, const PortLevels* const levels, const MeterKind kind)
{
  const uint32_t n_channels = kind == METER_IN ? levels->n_in : levels->n_out;
  const Level* const of = &levels->of[kind == METER_IN ? 0U : levels->n_in];
  if (n_channels != sums->n_channels) {
    clear_sums(sums);
    sums->n_channels = n_channels;
  }
  add_sums(sums, levels->n_frames, of);
}

/// The number of channels of the present format.
static uint32_t
n_channels_now(const Control* const control, const MeterKind kind)
{
  return kind == METER_IN ? control->engine.n_in : control->engine.n_out;
}

/// True if the engine has had levels of late.
static bool
has_audio(const Meters* const meters, const uint64_t now_ns)
{
  return meters->levels_ns && now_ns - meters->levels_ns < METERS_SILENT_NS;
}

// ---- the table ----

static void
remove_meter(Meters* const meters, const uint32_t index)
{
  free(meters->of[index]);
  meters->of[index] = meters->of[--meters->n];
}

/// NULL if the client has no meter of this kind.
static Meter*
find_meter(const Meters* const meters, const Peer* const peer, const MeterKind kind)
{
  for (uint32_t m = 0; m < meters->n; ++m) {
    if (meters->of[m]->kind == kind && peer_equal(&meters->of[m]->peer, peer)) {
      return meters->of[m];
    }
  }
  return NULL;
}

/// Remove the meters of clients of this machine that have closed their ports.
static void
remove_closed(Control* const control)
{
  Meters* const meters = &control->meters;
  for (uint32_t m = meters->n; m > 0; --m) {
    const Peer* const peer = &meters->of[m - 1U]->peer;
    if (own_has(&control->outlet.machine, peer) && peer_is_closed(peer)) {
      remove_meter(meters, m - 1U);
    }
  }
}

/// Add a meter that begins now.  NULL with an error if there are too many.
static Meter*
add_meter(Control* const control, const Peer* const peer, const MeterKind kind, Error* const error)
{
  Meters* const meters = &control->meters;
  if (meters->n == METERS_MAX) {
    remove_closed(control);
  }
  if (meters->n == METERS_MAX) {
    error_set(error, STATUS_LIMIT, "clients have %u meters already; close one of them", METERS_MAX);
    return NULL;
  }
  Meter* const meter = calloc(1, sizeof(Meter));
  if (!meter) {
    error_set(error, STATUS_NO_MEM, "out of memory");
    return NULL;
  }
  meter->peer = *peer;
  meter->kind = kind;
  meter->from_frame = engine_frame_now(control->config.engine);
  meter->sent_ns = control->now_ns;
  meter->sums.n_channels = n_channels_now(control, kind);
  meters->next_ns = control->now_ns;
  meters->of[meters->n++] = meter;
  return meter;
}

void
meters_clear(Meters* const meters)
{
  while (meters->n) {
    remove_meter(meters, meters->n - 1U);
  }
}

// ---- messages ----

/// Decibels of a power, not below the floor.
static double
decibels(const double power)
{
  return power > 0.0 ? fmax(FLOOR_DB, 10.0 * log10(power)) : FLOOR_DB;
}

static void
put_level(uint8_t bytes[const 2], const double db)
{
  const int32_t steps = (int32_t)lrint(fmin(db, INT16_MAX / STEPS_DB) * STEPS_DB);
  bytes[0] = (uint8_t)((uint32_t)steps >> 8U);
  bytes[1] = (uint8_t)((uint32_t)steps);
}

static void
put_blob(lo_message* const to, const uint8_t* const bytes, const uint32_t n_bytes)
{
  const lo_blob blob = *to ? lo_blob_new((int32_t)n_bytes, bytes) : NULL;
  const bool is_added = blob && lo_message_add_blob(*to, blob) == 0;
  if (blob) {
    lo_blob_free(blob);
  }
  if (*to && !is_added) {
    lo_message_free(*to);
    *to = NULL;
  }
}

static lo_message
print_sums(const MeterSums* const sums, const bool is_float)
{
  uint8_t bytes[4U * FX_MAX_CHANNELS];
  const double per_frame = sums->n_frames ? 1.0 / (double)sums->n_frames : 0.0;
  lo_message arguments = lo_message_new();
  for (uint32_t c = 0; c < sums->n_channels; ++c) {
    const Level* const sum = &sums->of[c];
    const double peak_db = decibels((double)sum->peak * (double)sum->peak);
    const double rms_db = decibels(sum->energy * per_frame);
    if (is_float) {
      outlet_add(&arguments, "ff", peak_db, rms_db);
    } else {
      put_level(&bytes[4U * c], peak_db);
      put_level(&bytes[4U * c + 2U], rms_db);
    }
  }
  if (!is_float) {
    put_blob(&arguments, bytes, 4U * sums->n_channels);
  }
  return arguments;
}

static void
send_meter(Control* const control, Meter* const meter)
{
  char address[32];
  snprintf(address, sizeof(address), PREFIX "%s", kind_names[meter->kind]);
  const lo_message arguments = print_sums(&meter->sums, meter->is_float);
  outlet_send(&control->outlet, &meter->peer, 0, address, arguments);
  clear_sums(&meter->sums);
  meter->sent_ns = control->now_ns;
  meter->due_ns += meter->interval_ns;
  if (meter->due_ns <= control->now_ns) { // the thread was late
    meter->due_ns = control->now_ns + meter->interval_ns;
  }
}

// ---- collecting ----

/// Take the newest levels from the engine, if there are new ones, for reads and meters.
static void
collect(Control* const control)
{
  Meters* const meters = &control->meters;
  if (!engine_levels(control->config.engine, &meters->levels)) {
    return;
  }
  meters->levels_ns = control->now_ns;
  for (uint32_t m = 0; m < meters->n; ++m) {
    Meter* const meter = meters->of[m];
    if (meters->levels.first_frame >= meter->from_frame) {
      add_levels(&meter->sums, &meters->levels, meter->kind);
    }
  }
  const bool is_full = control->now_ns - meters->recent_ns >= METERS_READ_NS;
  meters->recent_ns = is_full ? control->now_ns : meters->recent_ns;
  for (MeterKind kind = METER_IN; kind < N_METER_KINDS; ++kind) {
    MeterSums* const recent = meters->recent[kind];
    if (is_full) {
      recent[1] = recent[0];
      clear_sums(&recent[0]);
    }
    add_levels(&recent[0], &meters->levels, kind);
  }
}

/// True if it is time for a message.  Without audio it comes later, and has the floor.
static bool
is_due(const Meter* const meter, const uint64_t now_ns)
{
  return now_ns >= meter->due_ns &&
         (meter->sums.n_frames || now_ns - meter->sent_ns >= METERS_SILENT_NS);
}

void
meters_run(Control* const control)
{
  Meters* const meters = &control->meters;
  if (control->now_ns < meters->next_ns) {
    return;
  }
  const uint64_t interval_ns = meters->n ? NS_PER_S / METERS_PER_S : METERS_IDLE_NS;
  meters->next_ns += interval_ns;
  if (meters->next_ns <= control->now_ns) {
    meters->next_ns = control->now_ns + interval_ns;
  }
  if (control->now_ns >= meters->next_check_ns) {
    meters->next_check_ns = control->now_ns + METERS_CHECK_NS;
    remove_closed(control);
  }
  collect(control);
  for (uint32_t m = 0; m < meters->n; ++m) {
    if (is_due(meters->of[m], control->now_ns)) {
      send_meter(control, meters->of[m]);
    }
  }
}

uint64_t
meters_wake_ns(const Meters* const meters)
{
  return meters->n ? meters->next_ns : UINT64_MAX;
}

// ---- commands ----

/// Read what a meter shows: "out" or "/meter/out".
static Status
read_kind(const char* const text, MeterKind* const kind, Error* const error)
{
  const size_t n_prefix = strlen(PREFIX);
  const char* const word = strncmp(text, PREFIX, n_prefix) ? text : text + n_prefix;
  for (uint32_t k = 0; k < N_METER_KINDS; ++k) {
    if (strcmp(word, kind_names[k]) == 0) {
      *kind = (MeterKind)k;
      return STATUS_OK;
    }
  }
  return error_set(error, STATUS_NOT_FOUND, "no meter \"%.60s\"; there are in and out", word);
}

/// Read the word "floats" in place `index` and the end of the arguments after it, if there are any.
static Status
read_form(const Message* const message, const uint32_t index, bool* const is_float,
          Error* const error)
{
  const uint32_t n = message_n_arguments(message);
  *is_float = n > index;
  if (n <= index || (n == index + 1U && strcmp(message_text(message, index), "floats") == 0)) {
    return STATUS_OK;
  }
  return error_set(error, STATUS_BAD_ARG, "\"%.60s\" is not floats, the only form beside blobs",
                   message_text(message, n - 1U));
}

Status
meters_read(Control* const control, const Peer* const peer, Message* const message,
            Error* const error)
{
  Meters* const meters = &control->meters;
  MeterKind kind = METER_IN;
  bool is_float = false;
  Status status = read_kind(message->address, &kind, error);
  status = status ? status : read_form(message, 0, &is_float, error);
  if (status) {
    return status;
  }
  collect(control);
  MeterSums* const answer = &meters->answer;
  *answer = meters->recent[kind][0];
  const MeterSums* const before = &meters->recent[kind][1];
  if (!has_audio(meters, control->now_ns)) {
    answer->n_channels = n_channels_now(control, kind);
    clear_sums(answer);
  } else if (before->n_channels == answer->n_channels) {
    add_sums(answer, before->n_frames, before->of);
  }
  outlet_send(&control->outlet, peer, message->n_bytes, message->address,
              print_sums(answer, is_float));
  return STATUS_OK;
}

Status
meters_subscribe(Control* const control, const Peer* const peer, Message* const message,
                 Error* const error)
{
  if (!peer_is_loopback(peer)) {
    // The address may be forged: then another machine would get the messages.
    return error_set(error, STATUS_BAD_ARG, "only senders on this machine can subscribe");
  }
  MeterKind kind = METER_IN;
  bool is_float = false;
  const bool has_rate =
      message_n_arguments(message) > 1U && strchr("ihfd", message_type(message, 1));
  const double rate = has_rate ? message_number(message, 1) : METERS_RATE;
  if (!(rate >= 1.0 && rate <= METERS_MAX_RATE)) {
    return error_set(error, STATUS_BAD_ARG, "a rate of %g Hz is not within 1 to %g Hz", rate,
                     METERS_MAX_RATE);
  }
  Status status = read_kind(message_text(message, 0), &kind, error);
  status = status ? status : read_form(message, 1U + has_rate, &is_float, error);
  if (status) {
    return status;
  }
  Meter* meter = find_meter(&control->meters, peer, kind);
  meter = meter ? meter : add_meter(control, peer, kind, error);
  if (!meter) {
    return error->status;
  }
  meter->is_float = is_float;
  meter->interval_ns = (uint64_t)((double)NS_PER_S / rate);
  meter->due_ns = control->now_ns + meter->interval_ns;
  outlet_done(&control->outlet, peer, message->address, message->n_bytes);
  return STATUS_OK;
}

Status
meters_unsubscribe(Control* const control, const Peer* const peer, Message* const message,
                   Error* const error)
{
  Meters* const meters = &control->meters;
  const bool is_one = message_n_arguments(message) != 0;
  MeterKind kind = METER_IN;
  if (is_one && read_kind(message_text(message, 0), &kind, error)) {
    return error->status;
  }
  for (uint32_t m = meters->n; m > 0; --m) {
    const Meter* const meter = meters->of[m - 1U];
    if (peer_equal(&meter->peer, peer) && (!is_one || meter->kind == kind)) {
      remove_meter(meters, m - 1U);
    }
  }
  outlet_done(&control->outlet, peer, message->address, message->n_bytes);
  return STATUS_OK;
}
