// SPDX-License-Identifier: GPL-3.0-or-later
// The meters of clients: their table, their sums, their messages.

#include "meters.h"

#include "control_private.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX   "/meter/"
#define NODE     "node/"
#define LOUDNESS "loudness/"
#define FLOOR_DB (-128.0) // of a message; the smallest number of 16 bits in steps of 1/256 dB
#define STEPS_DB 256.0

static const char* const side_names[N_METER_SIDES] = { [METER_IN] = "in", [METER_OUT] = "out" };

// ---- sums ----

static void
clear_sums(MeterSums* const sums)
{
  memset(sums->of, 0, sums->n_channels * sizeof(Level));
  sums->n_frames = 0;
  sums->reduction_db = 0.0F;
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

static bool
is_same_range(const PortRange* const a, const PortRange* const b)
{
  return a->is_output == b->is_output && a->first == b->first && a->n == b->n;
}

static bool
is_same(const MeterOf* const a, const MeterOf* const b)
{
  return a->kind == b->kind && a->uid == b->uid && is_same_range(&a->ports, &b->ports);
}

/// NULL if the client has no such meter.
static Meter*
find_meter(const Meters* const meters, const Client* const client, const MeterOf* const of)
{
  for (uint32_t m = 0; m < meters->n; ++m) {
    if (is_same(&meters->of[m]->shows, of) && meters->of[m]->client == client) {
      return meters->of[m];
    }
  }
  return NULL;
}

/// Watch a node.  Returns false if too many are watched.
static bool
watch_node(Meters* const meters, const RackUid uid)
{
  uint32_t unused = RING_TAPS;
  for (uint32_t t = meters->n_taps; t > 0; --t) {
    if (meters->taps[t - 1U] == uid) {
      return true;
    }
    unused = meters->taps[t - 1U] == RACK_UID_NONE ? t - 1U : unused;
  }
  if (unused == RING_TAPS && meters->n_taps < RING_TAPS) {
    unused = meters->n_taps++;
  }
  if (unused < RING_TAPS) {
    meters->taps[unused] = uid;
  }
  return unused < RING_TAPS;
}

/// The place where these ports are measured, or a free one with n 0; LISTEN_MAX if there is none.
static uint32_t
find_place(const Meters* const meters, const PortRange* const ports)
{
  for (uint32_t p = 0; p < LISTEN_MAX; ++p) {
    if (is_same_range(&meters->places[p], ports)) {
      return p;
    }
  }
  uint32_t unused = 0;
  while (unused < LISTEN_MAX && meters->places[unused].n) {
    ++unused;
  }
  return unused;
}

/// Measure the loudness of ports.
static Status
begin_loudness(Control* const control, const PortRange* const ports, Error* const error)
{
  Meters* const meters = &control->meters;
  const uint32_t place = find_place(meters, ports);
  if (place == LISTEN_MAX) {
    return error_set(error, STATUS_LIMIT, "clients have %u other loudness meters already",
                     LISTEN_MAX);
  }
  if (!meters->loudness) {
    const Status status = loudness_new(control->config.engine, &meters->loudness, error);
    if (status) {
      return status;
    }
  }
  if (!meters->places[place].n) {
    meters->places[place] = *ports;
    loudness_measure(meters->loudness, place, ports);
  }
  return STATUS_OK;
}

/// End the measurements that have no meter.
static void
end_loudness(Meters* const meters)
{
  for (uint32_t p = 0; p < LISTEN_MAX; ++p) {
    bool is_used = !meters->places[p].n;
    for (uint32_t m = 0; m < meters->n; ++m) {
      is_used = is_used || is_same_range(&meters->of[m]->shows.ports, &meters->places[p]);
    }
    if (!is_used) {
      meters->places[p] = (PortRange){ .n = 0 };
      loudness_measure(meters->loudness, p, &meters->places[p]);
    }
  }
}

/// The meters of a machine: of all kinds, and of things of one kind, each counted once.
typedef struct MachineMeters {
  uint32_t n, n_of_kind;
  bool has_this; ///< One of them shows the same
} MachineMeters;

static MachineMeters
meters_of_machine(const Meters* const meters, const Peer* const peer, const MeterOf* const of)
{
  MachineMeters machine = { .n = 0 };
  const MeterOf* others[METERS_MAX];
  for (uint32_t m = 0; m < meters->n; ++m) {
    const MeterOf* const shows = &meters->of[m]->shows;
    if (!peer_machine_equal(&meters->of[m]->client->peer, peer)) {
      continue;
    }
    bool is_known = shows->kind != of->kind;
    for (uint32_t o = 0; o < machine.n_of_kind && !is_known; ++o) {
      is_known = is_same(others[o], shows);
    }
    if (!is_known) {
      others[machine.n_of_kind++] = shows;
    }
    machine.has_this = machine.has_this || is_same(shows, of);
    ++machine.n;
  }
  return machine;
}

/// Fail if the client's machine, which is not this one, has its share of meters already.
static Status
check_share(Control* const control, const Client* const client, const MeterOf* const of,
            Error* const error)
{
  if (own_has(&control->outlet.machine, &client->peer)) {
    return STATUS_OK;
  }
  const MachineMeters machine = meters_of_machine(&control->meters, &client->peer, of);
  if (machine.n >= METERS_PER_MACHINE) {
    return error_set(error, STATUS_LIMIT, "clients of your machine have %u meters already",
                     METERS_PER_MACHINE);
  }
  if (of->kind == METER_NODE && !machine.has_this && machine.n_of_kind >= TAPS_PER_MACHINE) {
    return error_set(error, STATUS_LIMIT, "clients of your machine have meters of %u nodes already",
                     TAPS_PER_MACHINE);
  }
  return of->kind == METER_LOUDNESS && !machine.has_this &&
                 machine.n_of_kind >= LOUDNESS_PER_MACHINE
             ? error_set(error, STATUS_LIMIT,
                         "clients of your machine have %u other loudness meters already",
                         LOUDNESS_PER_MACHINE)
             : STATUS_OK;
}

/// Add a meter that begins now.  NULL with an error if there are too many.
static Meter*
add_meter(Control* const control, const Client* const client, const MeterOf* const of,
          Error* const error)
{
  Meters* const meters = &control->meters;
  if (check_share(control, client, of, error)) {
    return NULL;
  }
  if (meters->n == METERS_MAX) {
    error_set(error, STATUS_LIMIT, "clients have %u meters already; close one of them", METERS_MAX);
    return NULL;
  }
  const bool is_node = of->kind == METER_NODE;
  if (is_node && !watch_node(meters, of->uid)) {
    error_set(error, STATUS_LIMIT, "clients have meters of %u nodes already", RING_TAPS);
    return NULL;
  }
  if (of->kind == METER_LOUDNESS && begin_loudness(control, &of->ports, error)) {
    return NULL;
  }
  const bool is_side = of->kind < N_METER_SIDES;
  Meter* const meter =
      calloc(1, offsetof(Meter, sums.of) + (is_side ? FX_MAX_CHANNELS : 1U) * sizeof(Level));
  if (!meter) {
    error_set(error, STATUS_NO_MEM, "out of memory");
    return NULL;
  }
  meter->client = client;
  meter->shows = *of;
  meter->from_frame = engine_frame_now(control->config.engine);
  meter->sent_ns = control->now_ns;
  meter->sums.n_channels = is_side ? n_channels_now(control, of->kind) : 1U;
  meters->next_ns = control->now_ns;
  meters->of[meters->n++] = meter;
  return meter;
}

void
meters_forget(Meters* const meters, const Client* const client)
{
  for (uint32_t m = meters->n; m > 0; --m) {
    if (meters->of[m - 1U]->client == client) {
      remove_meter(meters, m - 1U);
    }
  }
}

void
meters_clear(Meters* const meters)
{
  while (meters->n) {
    remove_meter(meters, meters->n - 1U);
  }
  loudness_free(meters->loudness);
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

/// Append a level in the form of the message: to the message, or to the bytes of its blob.
static void
put_db(const double db, const bool is_float, lo_message* const to, uint8_t* const bytes,
       uint32_t* const n_bytes)
{
  if (is_float) {
    outlet_add(to, "f", db);
  } else {
    put_level(&bytes[*n_bytes], db);
    *n_bytes += 2U;
  }
}

static lo_message
print_sums(const MeterSums* const sums, const MeterKind kind, const bool is_float)
{
  uint8_t bytes[4U * FX_MAX_CHANNELS];
  uint32_t n_bytes = 0;
  const double per_frame = sums->n_frames ? 1.0 / (double)sums->n_frames : 0.0;
  lo_message arguments = lo_message_new();
  for (uint32_t c = 0; c < sums->n_channels; ++c) {
    const Level* const sum = &sums->of[c];
    const double peak = (double)sum->peak;
    put_db(decibels(peak * peak), is_float, &arguments, bytes, &n_bytes);
    put_db(decibels(sum->energy * per_frame), is_float, &arguments, bytes, &n_bytes);
  }
  if (kind == METER_NODE) {
    put_db((double)sums->reduction_db, is_float, &arguments, bytes, &n_bytes);
  }
  if (!is_float) {
    put_blob(&arguments, bytes, n_bytes);
  }
  return arguments;
}

/// As print_sums(), of a loudness meter.
static lo_message
print_loudness(Meters* const meters, const PortRange* const ports)
{
  const LoudnessValues values = loudness_values(meters->loudness, find_place(meters, ports));
  const double all[] = { values.momentary, values.short_term, values.integrated, values.true_peak };
  lo_message arguments = lo_message_new();
  for (uint32_t v = 0; v < ARRAY_LEN(all); ++v) {
    outlet_add(&arguments, "f", fmax(FLOOR_DB, all[v]));
  }
  return arguments;
}

/// The address of a meter's messages.  Returns false if its node is not in the rack now.
static bool
print_address(const Control* const control, const MeterOf* const of, char* const text,
              const size_t n_bytes)
{
  if (of->kind == METER_LOUDNESS) {
    snprintf(text, n_bytes, PREFIX LOUDNESS "%s:%u-%u", side_names[of->ports.is_output],
             of->ports.first + 1U, of->ports.first + of->ports.n);
    return true;
  }
  if (of->kind != METER_NODE) {
    snprintf(text, n_bytes, PREFIX "%s", side_names[of->kind]);
    return true;
  }
  const RackNode* const node = rack_find_uid(editor_rack(control->editor), of->uid);
  if (node) {
    snprintf(text, n_bytes, PREFIX NODE "%s", node->name);
  }
  return node;
}

static void
send_meter(Control* const control, Meter* const meter)
{
  char address[PACKET_MAX_ADDRESS + 1U];
  if (print_address(control, &meter->shows, address, sizeof(address))) {
    outlet_send(&control->outlet, &meter->client->peer, 0, address,
                meter->shows.kind == METER_LOUDNESS
                    ? print_loudness(&control->meters, &meter->shows.ports)
                    : print_sums(&meter->sums, meter->shows.kind, meter->is_float));
  }
  clear_sums(&meter->sums);
  meter->sent_ns = control->now_ns;
  meter->due_ns += meter->interval_ns;
  if (meter->due_ns <= control->now_ns) { // the thread was late
    meter->due_ns = control->now_ns + meter->interval_ns;
  }
}

// ---- collecting ----

/// Take the levels of a node from the engine.  Without a meter of the node, watch it no longer.
static void
collect_node(Control* const control, const uint32_t tap)
{
  Meters* const meters = &control->meters;
  const RackUid uid = meters->taps[tap];
  NodeTap level;
  const bool has_level = engine_tap(control->config.engine, tap, uid, &level);
  bool is_used = false;
  for (uint32_t m = 0; m < meters->n; ++m) {
    Meter* const meter = meters->of[m];
    if (uid != RACK_UID_NONE && meter->shows.uid == uid) {
      is_used = true;
      if (has_level) {
        MeterSums* const sums = &meter->sums;
        add_sums(sums, level.n_samples, &level.level);
        sums->reduction_db =
            level.reduction_db > sums->reduction_db ? level.reduction_db : sums->reduction_db;
      }
    }
  }
  meters->taps[tap] = is_used ? uid : RACK_UID_NONE;
}

/// Take the newest levels from the engine, if there are new ones, for reads and meters.
static void
collect(Control* const control)
{
  Meters* const meters = &control->meters;
  for (uint32_t t = 0; t < meters->n_taps; ++t) {
    collect_node(control, t);
  }
  if (!engine_levels(control->config.engine, &meters->levels)) {
    return;
  }
  meters->levels_ns = control->now_ns;
  for (uint32_t m = 0; m < meters->n; ++m) {
    Meter* const meter = meters->of[m];
    if (meter->shows.kind < N_METER_SIDES && meters->levels.first_frame >= meter->from_frame) {
      add_levels(&meter->sums, &meters->levels, meter->shows.kind);
    }
  }
  const bool is_full = control->now_ns - meters->recent_ns >= METERS_READ_NS;
  meters->recent_ns = is_full ? control->now_ns : meters->recent_ns;
  for (MeterKind kind = METER_IN; kind < N_METER_SIDES; ++kind) {
    MeterSums* const recent = meters->recent[kind];
    if (is_full) {
      recent[1] = recent[0];
      clear_sums(&recent[0]);
    }
    add_levels(&recent[0], &meters->levels, kind);
  }
}

/// True if it is time for a message.  Without audio that of a port comes later, and has the floor.
static bool
is_due(const Meter* const meter, const uint64_t now_ns)
{
  return now_ns >= meter->due_ns &&
         (meter->sums.n_frames || meter->shows.kind == METER_LOUDNESS ||
          (meter->shows.kind != METER_NODE && now_ns - meter->sent_ns >= METERS_SILENT_NS));
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
  end_loudness(meters);
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

static Status
refuse_device(Control* const control, const RackUid uid, const char* const name, Error* const error)
{
  EnginePlacement* const placements = calloc(RACK_MAX_NODES, sizeof(EnginePlacement));
  const uint32_t n =
      placements ? engine_placements(control->config.engine, placements, RACK_MAX_NODES) : 0U;
  EngineBackend backend = ENGINE_BACKEND_CPU;
  for (uint32_t p = 0; p < n; ++p) {
    backend = placements[p].uid == uid ? placements[p].backend : backend;
  }
  free(placements);
  return backend == ENGINE_BACKEND_CPU
             ? STATUS_OK
             : error_set(error, STATUS_NO_BACKEND, "%s runs on the GPU, where nodes have no meters",
                         name);
}

/// Read the ports of a loudness meter: "out", "out:1", "out:1-2".
static Status
read_ports(const Control* const control, const char* const text, PortRange* const ports,
           Error* const error)
{
  const size_t n_name = strcspn(text, ":");
  const bool is_in = n_name == 2U && !strncmp(text, side_names[METER_IN], 2U);
  const bool is_out = n_name == 3U && !strncmp(text, side_names[METER_OUT], 3U);
  const uint32_t n_channels = is_out ? control->engine.n_out : control->engine.n_in;
  unsigned first = 1;
  unsigned last = n_channels;
  int n_read = 0;
  if (text[n_name] && sscanf(text + n_name, ":%4u-%4u%n", &first, &last, &n_read) != 2) {
    n_read = 0;
    last = sscanf(text + n_name, ":%4u%n", &first, &n_read) == 1 ? first : 0U;
  }
  if ((!is_in && !is_out) || text[n_name + (size_t)n_read] || first < 1U || last < first ||
      last > n_channels) {
    return error_set(error, STATUS_BAD_ARG,
                     "\"%.60s\" names no ports of the rack; write out, out:1 or out:1-2", text);
  }
  *ports = (PortRange){ is_out, first - 1U, last - first + 1U };
  return ports->n <= LISTEN_CHANNELS
             ? STATUS_OK
             : error_set(error, STATUS_LIMIT, "%u channels; the loudness of at most %u is measured",
                         ports->n, LISTEN_CHANNELS);
}

/// Read what a meter shows: "out", "node/hall", "loudness/out:1-2", or the same after "/meter/".
static Status
read_of(Control* const control, const char* const text, MeterOf* const of, Error* const error)
{
  const size_t n_prefix = strlen(PREFIX);
  const char* const word = strncmp(text, PREFIX, n_prefix) ? text : text + n_prefix;
  *of = (MeterOf){ .kind = METER_NODE };
  if (strncmp(word, LOUDNESS, strlen(LOUDNESS)) == 0) {
    of->kind = METER_LOUDNESS;
    return read_ports(control, word + strlen(LOUDNESS), &of->ports, error);
  }
  if (strncmp(word, NODE, strlen(NODE)) == 0) {
    const char* const name = word + strlen(NODE);
    const RackNode* const node = rack_lookup(editor_rack(control->editor), name, error);
    of->uid = node ? node->uid : RACK_UID_NONE;
    return node ? STATUS_OK : error->status;
  }
  for (MeterKind side = METER_IN; side < N_METER_SIDES; ++side) {
    of->kind = strcmp(word, side_names[side]) == 0 ? side : of->kind;
  }
  return of->kind != METER_NODE
             ? STATUS_OK
             : error_set(error, STATUS_NOT_FOUND,
                         "no meter \"%.60s\"; there are in, out, node/NAME and loudness/PORTS",
                         word);
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
  MeterOf of;
  bool is_float = false;
  Status status = read_of(control, message->address, &of, error);
  status = status ? status : read_form(message, 0, &is_float, error);
  if (status) {
    return status;
  }
  collect(control);
  MeterSums* const answer = &meters->answer;
  *answer = meters->recent[of.kind][0];
  const MeterSums* const before = &meters->recent[of.kind][1];
  if (!has_audio(meters, control->now_ns)) {
    answer->n_channels = n_channels_now(control, of.kind);
    clear_sums(answer);
  } else if (before->n_channels == answer->n_channels) {
    add_sums(answer, before->n_frames, before->of);
  }
  outlet_send(&control->outlet, peer, message->n_bytes, message->address,
              print_sums(answer, of.kind, is_float));
  return STATUS_OK;
}

/// End the setting of a client (NULL: none) without meters.
static void
end_without_meters(Control* const control, Client* const client)
{
  bool has_one = false;
  for (uint32_t m = 0; m < control->meters.n; ++m) {
    has_one = has_one || control->meters.of[m]->client == client;
  }
  if (client && !has_one) {
    client_end(&control->clients, client, CLIENT_METERS);
  }
}

Status
meters_subscribe(Control* const control, const Peer* const peer, Message* const message,
                 Error* const error)
{
  if (outlet_check_trust(&control->outlet, peer, error)) {
    return error->status;
  }
  MeterOf of;
  bool is_float = false;
  const bool has_rate =
      message_n_arguments(message) > 1U && strchr("ihfd", message_type(message, 1));
  const double rate = has_rate ? message_number(message, 1) : METERS_RATE;
  if (!(rate >= 1.0 && rate <= METERS_MAX_RATE)) {
    return error_set(error, STATUS_BAD_ARG, "a rate of %g Hz is not within 1 to %g Hz", rate,
                     METERS_MAX_RATE);
  }
  Status status = read_of(control, message_text(message, 0), &of, error);
  status = status ? status : read_form(message, 1U + has_rate, &is_float, error);
  if (!status && of.kind == METER_NODE) {
    status = refuse_device(control, of.uid, message_text(message, 0), error);
  }
  if (status) {
    return status;
  }
  Client* const client =
      client_take(&control->clients, peer, peer, CLIENT_METERS, control->now_ns, error);
  Meter* meter = client ? find_meter(&control->meters, client, &of) : NULL;
  meter = meter || !client ? meter : add_meter(control, client, &of, error);
  if (!meter) {
    end_without_meters(control, client);
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
  MeterOf of = { 0 };
  if (is_one && read_of(control, message_text(message, 0), &of, error)) {
    return error->status;
  }
  Client* const client = client_find(&control->clients, peer);
  for (uint32_t m = meters->n; m > 0; --m) {
    const Meter* const meter = meters->of[m - 1U];
    if (meter->client == client && (!is_one || is_same(&meter->shows, &of))) {
      remove_meter(meters, m - 1U);
    }
  }
  end_without_meters(control, client);
  outlet_done(&control->outlet, peer, message->address, message->n_bytes);
  return STATUS_OK;
}
