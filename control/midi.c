// SPDX-License-Identifier: GPL-3.0-or-later
#include "midi.h"

#include "control_private.h"
#include "dispatch.h"
#include "reports.h"
#include "tempo_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_AT_ONCE  64U   // messages of inform_worker() that are sent together
#define MOST_WAITING 256U  // messages before inform_worker(): it informs a stopped worker once
#define MOST_READS   16U   // calls of reports_read(); a faulty worker may never stop writing
#define MAX_TAKEN    2048U // events that a round takes
#define MAX_FED      32U   // sources that get feedback at once: a DIN cable carries 20 in 20 ms

// Controllers that select an NRPN, or registered parameter, and so are none themselves.
#define FIRST_SELECTING 98U
#define LAST_SELECTING  101U

// ---- the table ----

/// The first target of a source, as an index; the number of targets if there is none.
static uint32_t
find_source(const MidiTable* const table, const MidiSource source)
{
  uint32_t n = 0;
  const MidiTarget* const found = midi_table_find(table, source, &n);
  return n ? (uint32_t)(found - table->targets) : table->n;
}

/// Make the table of the active document; sources keep what they show.  Tries again in the next
/// round if out of memory.
static void
update_table(Control* const control)
{
  MidiState* const midi = &control->midi;
  const Rack* const rack = editor_rack(control->editor);
  MidiTarget* const targets = malloc((rack->n_midi + 1U) * sizeof(MidiTarget)); // + 1: never 0
  MidiShown* const shown = malloc((rack->n_midi + 1U) * sizeof(MidiShown));
  if (!targets || !shown) {
    free(targets);
    free(shown);
    return;
  }
  const MidiTable table = { targets, rack_midi_targets(rack, targets) };
  for (uint32_t t = 0; t < table.n; ++t) {
    const uint32_t before = find_source(&midi->table, targets[t].source);
    shown[t] = before < midi->table.n ? midi->shown[before] : (MidiShown){ .position = -1 };
  }
  midi_clear(control);
  midi->targets = targets;
  midi->table = table;
  midi->shown = shown;
  midi->has_table = true;
  midi->is_shown = false;
}

void
midi_clear(Control* const control)
{
  MidiState* const midi = &control->midi;
  free(midi->targets);
  free(midi->shown);
  midi->table = (MidiTable){ .n = 0 };
  midi->targets = NULL;
  midi->shown = NULL;
}

// ---- learn ----

/// True if two readings are the halves of one 14-bit controller; it is stored in `pair`.
static bool
is_pair(const MidiSource a, const MidiSource b, MidiSource* const pair)
{
  const uint16_t first = a.number < b.number ? a.number : b.number;
  const uint16_t second = a.number < b.number ? b.number : a.number;
  *pair = (MidiSource){ MIDI_CC14, a.channel, first };
  return a.kind == MIDI_CC && b.kind == MIDI_CC && a.channel == b.channel && first < 32U &&
         second == first + 32U;
}

/// Choose the reading that stands for what has moved; NULL: a part of something that follows.
static const MidiReading*
choose_reading(const MidiReading* const readings, const uint32_t n, const bool for_notes)
{
  const MidiReading* chosen = NULL;
  for (uint32_t r = 0; r < n; ++r) {
    const MidiReading* const reading = &readings[r];
    const uint16_t number = reading->source.number;
    const MidiKind kind = reading->source.kind;
    const bool selects = number >= FIRST_SELECTING && number <= LAST_SELECTING;
    const bool is_wanted = for_notes ? kind == MIDI_NOTES && reading->velocity
                                     : (kind == MIDI_CC && !selects) || kind == MIDI_NRPN ||
                                           kind == MIDI_PRESSURE || kind == MIDI_BEND;
    chosen = is_wanted ? reading : chosen; // of a data entry, the NRPN, which is the last one
  }
  return chosen;
}

/// Map the source that has moved twice.  Two readings show whether it has 14 bits or 7.
static void
learn(Control* const control, const MidiReading* const readings, const uint32_t n)
{
  MidiState* const midi = &control->midi;
  const bool for_notes = !strchr(midi->learn, '.');
  const MidiReading* const reading = choose_reading(readings, n, for_notes);
  if (!reading) {
    return;
  }
  MidiSource source = reading->source;
  MidiSource pair;
  if (midi->has_source && is_pair(midi->source, source, &pair)) {
    source = pair;
  } else if (!for_notes &&
             (!midi->has_source || midi_source_key(midi->source) != midi_source_key(source))) {
    midi->has_source = true;
    midi->source = source;
    return;
  }
  TextBuffer buffer = { .bytes = NULL };
  rack_midi_print_source(source, &buffer);
  text_buffer_print(&buffer, " %s", midi->learn);
  char* const line = text_buffer_take(&buffer);
  midi->learn[0] = '\0';
  if (line) {
    dispatch_own(control, "/midi/map", line);
  }
  free(line);
}

// ---- what comes ----

/// Let a program wait for the recall of its scene, if it has one.  If too many wait, it replaces
/// the last one of its channel, or else the oldest.
static void
add_program(Control* const control, const MidiSource program)
{
  MidiState* const midi = &control->midi;
  if (!rack_midi_scene(editor_rack(control->editor), program)) {
    return;
  }
  if (midi->n_programs == MIDI_MAX_PROGRAMS) {
    uint32_t p = midi->n_programs - 1U;
    while (p && midi->programs[p].channel != program.channel) {
      --p;
    }
    --midi->n_programs;
    memmove(midi->programs + p, midi->programs + p + 1U,
            (midi->n_programs - p) * sizeof(MidiSource));
  }
  midi->programs[midi->n_programs++] = program;
}

/// Recall the scene of the next program.  The one after it then waits for as long as this recall
/// has taken, so that programs leave half of the time to clients.
static void
recall_next(Control* const control)
{
  MidiState* const midi = &control->midi;
  const uint64_t began_ns = time_now_ns();
  const Rack* const rack = editor_rack(control->editor);
  const char* const scene = rack_midi_scene(rack, midi->programs[0]);
  --midi->n_programs;
  memmove(midi->programs, midi->programs + 1, midi->n_programs * sizeof(MidiSource));
  if (scene && rack_find_scene(rack, scene)) {
    char name[RACK_NAME_BYTES]; // the recall may change the rack
    snprintf(name, sizeof(name), "%s", scene);
    dispatch_own(control, "/scene/recall", name);
    const uint64_t ended_ns = time_now_ns();
    midi->next_ns = ended_ns + (ended_ns - began_ns);
  }
}

/// Note where the controller is.
static void
note_position(Control* const control, const MidiReading* const reading)
{
  MidiState* const midi = &control->midi;
  const uint32_t t = find_source(&midi->table, reading->source);
  if (t < midi->table.n && reading->n_values) {
    midi->shown[t] = (MidiShown){ (int32_t)reading->value, control->now_ns };
    midi->is_shown = false; // once its hold has ended
  }
}

/// Set the parameters of a reading whose event no worker has run.
static void
set_values(Control* const control, const MidiReading* const reading)
{
  uint32_t n = 0;
  const MidiTarget* const targets = midi_table_find(&control->midi.table, reading->source, &n);
  for (uint32_t t = 0; t < n && reading->source.kind != MIDI_NOTES; ++t) {
    const RackNode* const node = rack_find_uid(editor_rack(control->editor), targets[t].uid);
    ParamMessage value = { .uid = targets[t].uid, .param = targets[t].param };
    double present = node ? rack_number(node, value.param, control_rate_hz(control)) : 0.0;
    (void)reports_value(control, value.uid, value.param, &present);
    if (node && midi_target_value(&targets[t], reading, present, &value.value)) {
      reports_add(control, &value);
    }
  }
}

// ---- the line of events ----

static void
add_entry(MidiState* const midi, const MidiEntry* const entry)
{
  midi->line[(midi->first + midi->n_line++) % MIDI_LINE_MAX] = *entry;
  midi->n_ends += entry->kind == QUEUED_END;
  midi->is_diverted = midi->is_diverted || entry->kind != QUEUED_GIVEN;
}

/// Remove the oldest events up to the first one that a worker may still run.  Set the parameters of
/// those that no worker has run.
static void
settle(Control* const control)
{
  MidiState* const midi = &control->midi;
  for (; midi->n_line; midi->first = (midi->first + 1U) % MIDI_LINE_MAX, --midi->n_line) {
    const MidiEntry* const entry = &midi->line[midi->first];
    const bool was_run = entry->kind == QUEUED_GIVEN && entry->frame < midi->run_frame;
    if (entry->kind == QUEUED_GIVEN && !was_run && !midi->n_ends) {
      break;
    }
    if (entry->kind == QUEUED_END) {
      --midi->n_ends;
    } else if (!was_run) {
      midi->n_lost += entry->kind == QUEUED_GIVEN;
      for (uint32_t r = 0; r < entry->n; ++r) {
        set_values(control, &entry->readings[r]);
      }
    }
  }
}

/// Read all reports of a worker that has ended.
static void
read_reports(Control* const control)
{
  for (uint32_t i = 0; i < MOST_READS && !reports_read(control); ++i) {
    reports_apply(control);
  }
}

static void
end_worker(Control* const control)
{
  read_reports(control);
  add_entry(&control->midi, &(MidiEntry){ .kind = QUEUED_END });
}

static void
take_event(Control* const control, const QueuedMidi* const came)
{
  MidiState* const midi = &control->midi;
  MidiEntry entry = { .frame = came->frame, .kind = came->kind };
  entry.n = midi_decode(&midi->decoder, &came->event, entry.readings);
  for (uint32_t r = 0; r < entry.n; ++r) {
    note_position(control, &entry.readings[r]);
    if (entry.readings[r].source.kind == MIDI_PROGRAM) {
      add_program(control, entry.readings[r].source);
    }
  }
  if (entry.n) {
    add_entry(midi, &entry);
  }
  if (*midi->learn) {
    learn(control, entry.readings, entry.n);
  }
}

/// Take the events that have come, while the line has room.
static void
take_events(Control* const control)
{
  QueuedMidi came;
  for (uint32_t e = 0;
       e < MAX_TAKEN && control->midi.n_line + 1U < MIDI_LINE_MAX && // room for end_worker(), too
       engine_take_midi(control->config.engine, &came, 1U);
       ++e) {
    if (came.kind == QUEUED_END) {
      end_worker(control);
    } else {
      tempo_pulse(control, &came);
      take_event(control, &came);
    }
  }
}

/// Send the worker what controllers have sent.  Returns false if there is no room: call it again.
static bool
inform_worker(Control* const control)
{
  static const ParamMessage forget = { .kind = MESSAGE_MIDI_FORGET };
  MidiEvent events[MIDI_KNOWN_EVENTS];
  ParamMessage messages[MAX_AT_ONCE];
  const uint32_t n = midi_decoder_known(&control->midi.decoder, events);
  Status status = engine_play(control->config.engine, &forget, 1U);
  for (uint32_t e = 0; !status && e < n;) {
    uint32_t m = 0;
    for (; m < MAX_AT_ONCE && e < n; ++m, ++e) {
      messages[m] = (ParamMessage){ .kind = MESSAGE_MIDI_KNOWN,
                                    .uid = events[e].n_bytes,
                                    .param = midi_event_word(&events[e]) };
    }
    status = engine_play(control->config.engine, messages, m);
  }
  return status != STATUS_LIMIT; // without a worker, the next one is informed
}

/// If no event is in the line, send all values to the worker; then it gets the next events.
static void
return_midi(Control* const control)
{
  MidiState* const midi = &control->midi;
  if (midi->is_diverted && !midi->n_line) {
    Engine* const engine = control->config.engine;
    reports_apply(control);
    if (engine_n_waiting(engine) <= MOST_WAITING &&
        editor_flush_now(control->editor) != STATUS_LIMIT && inform_worker(control)) {
      engine_return_midi(engine, midi->n_lost);
      midi->n_lost = 0U;
      midi->is_diverted = false;
    }
  }
}

// ---- feedback ----

/// Send a controller the position of the present value.  Returns false if there is no room.
static bool
feed(Control* const control, const uint32_t t, uint32_t* const n_fed)
{
  MidiShown* const shown = &control->midi.shown[t];
  const MidiTarget* const target = &control->midi.table.targets[t];
  const RackNode* const node = rack_find_uid(editor_rack(control->editor), target->uid);
  if (!node || target->source.kind == MIDI_NOTES) {
    return true;
  }
  const double value = rack_number(node, target->param, control_rate_hz(control));
  if (shown->position >= 0 && midi_target_shows(target, (uint32_t)shown->position, value)) {
    return true;
  }
  MidiEvent events[MIDI_FEEDBACK_EVENTS];
  const uint32_t position = midi_target_position(target, value);
  const uint32_t n = midi_feedback(target, position, events);
  if (n && !engine_send_midi(control->config.engine, events, n)) {
    return false;
  }
  *n_fed += n != 0U;
  shown->position = (int32_t)position;
  return true;
}

/// Send feedback to all controllers that need some, and are not held.
static void
feed_all(Control* const control)
{
  MidiState* const midi = &control->midi;
  uint32_t n_fed = 0;
  midi->fed_ns = control->now_ns;
  midi->is_shown = true;
  for (uint32_t t = 0; t < midi->table.n; ++t) {
    const bool is_first = !t || midi_source_key(midi->table.targets[t].source) !=
                                    midi_source_key(midi->table.targets[t - 1U].source);
    const uint64_t moved_ns = midi->shown[t].moved_ns;
    const bool is_held = moved_ns && control->now_ns - moved_ns < MIDI_HOLD_NS;
    if (is_first && (is_held || n_fed == MAX_FED || !feed(control, t, &n_fed))) {
      midi->is_shown = false; // a later call continues
    }
  }
}

// ---- a round ----

void
midi_run(Control* const control)
{
  MidiState* const midi = &control->midi;
  const bool has_midi = engine_has_midi(control->config.engine);
  if (has_midi && !midi->had_midi) { // other controllers may be connected
    midi_clear(control);
    midi->has_table = false;
  }
  if (!has_midi && midi->had_midi) { // the audio has ended, and the worker runs no further block
    end_worker(control);
    settle(control);
  }
  midi->had_midi = has_midi;
  if (!has_midi) {
    return;
  }
  if (!midi->has_table) {
    update_table(control);
  }
  take_events(control);
  settle(control);
  return_midi(control);
  if (midi->n_programs && control->now_ns >= midi->next_ns) {
    recall_next(control);
  }
  if (midi->has_table && !midi->is_shown && control->now_ns - midi->fed_ns >= MIDI_FEED_NS) {
    feed_all(control);
  }
}

uint64_t
midi_wake_ns(const Control* const control)
{
  const uint64_t poll_ns =
      control->now_ns + (control->midi.is_diverted ? MIDI_TURN_NS : MIDI_POLL_NS);
  const uint64_t next_ns = control->midi.n_programs ? control->midi.next_ns : poll_ns;
  return !control->midi.had_midi ? UINT64_MAX : next_ns < poll_ns ? next_ns : poll_ns;
}
