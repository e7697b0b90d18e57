// SPDX-License-Identifier: GPL-3.0-or-later
// Finds the nodes that notes are for, and sends the notes to the engine.

#include "notes.h"

#include "control/net/packet_check.h"
#include "control/net/pattern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_AT_ONCE  4096U // messages that a bundle makes: as many as the ring of the engine holds
#define MAX_VELOCITY 127.0

/// The messages of a bundle for the engine.
typedef struct NoteList {
  ParamMessage* items;
  uint32_t n, capacity;
} NoteList;

static Status
append(NoteList* const list, const ParamMessage* const message, Error* const error)
{
  if (list->n == MAX_AT_ONCE) {
    return error_set(error, STATUS_LIMIT, "more than %u notes at once", MAX_AT_ONCE);
  }
  if (list->n == list->capacity) {
    const uint32_t capacity = list->capacity ? 2U * list->capacity : 4U;
    ParamMessage* const items = realloc(list->items, capacity * sizeof(ParamMessage));
    if (!items) {
      return error_set(error, STATUS_NO_MEM, "out of memory");
    }
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->n++] = *message;
  return STATUS_OK;
}

static bool
is_end(const ParamMessage* const message)
{
  return message->kind == MESSAGE_NOTES_OFF || message->value == 0.0;
}

// ---- messages ----

static Status
read_number(const Message* const message, const uint32_t argument, const char* const name,
            const double max, double* const number, Error* const error)
{
  *number = message_number(message, argument);
  return *number >= 0.0 && *number <= max // not NaN
             ? STATUS_OK
             : error_set(error, STATUS_BAD_ARG, "the %s is %g; it is 0 to %g", name, *number, max);
}

/// Read the arguments of /note/<node>.
static Status
read_note(const Message* const message, const double rate_hz, ParamMessage* const note,
          Error* const error)
{
  double key = 0.0;
  double velocity = 0.0;
  double seconds = 0.0;
  Status status = read_number(message, 0, "key", FX_KEYS - 1U, &key, error);
  if (!status && key != floor(key)) {
    status = error_set(error, STATUS_BAD_ARG, "the key is %g; it is a whole number", key);
  }
  status = status ? status : read_number(message, 1, "velocity", MAX_VELOCITY, &velocity, error);
  const bool has_length = message_n_arguments(message) > 2U && velocity > 0.0;
  if (!status && has_length) {
    status = read_number(message, 2, "length in seconds", NOTES_MAX_SECONDS, &seconds, error);
  }
  if (!status && has_length && seconds == 0.0) {
    status = error_set(error, STATUS_BAD_ARG, "the length is 0; it is above 0 s");
  }
  note->kind = MESSAGE_NOTE;
  note->param = (uint32_t)key;
  note->value = velocity / MAX_VELOCITY;
  note->n_frames = seconds > 0.0 ? (uint32_t)fmax(1.0, nearbyint(seconds * rate_hz)) : 0U;
  return status;
}

static Status
add_for(const RackNode* const node, ParamMessage* const message, NoteList* const list,
        Error* const error)
{
  if (node->fx->is_missing) {
    return error_set(error, STATUS_NOT_FOUND, "the plugin of %s is missing", node->name);
  }
  if (!node->fx->event) {
    return error_set(error, STATUS_BAD_ARG, "%s (%s) takes no notes", node->name, node->fx->name);
  }
  message->uid = node->uid;
  return append(list, message, error);
}

/// Append a message for each node with notes whose name matches.
static Status
add_for_all(const Rack* const rack, const char* const pattern, ParamMessage* const message,
            NoteList* const list, Error* const error)
{
  const uint32_t n_before = list->n;
  Status status = STATUS_OK;
  for (uint32_t n = 0; n < rack->n_nodes && !status; ++n) {
    const RackNode* const node = &rack->nodes[n];
    if (node->fx->event && !node->fx->is_missing && pattern_match(pattern, node->name)) {
      message->uid = node->uid;
      status = append(list, message, error);
    }
  }
  return status || list->n > n_before
             ? status
             : error_set(error, STATUS_NOT_FOUND, "no node \"%.63s\" takes notes", pattern);
}

/// Append the messages for the engine that an OSC message stands for.
static Status
read_message(const NotesTo* const to, const Message* const message, const uint64_t frame,
             NoteList* const list, Error* const error)
{
  static const char prefix[] = "/note/";
  char name[PACKET_MAX_ADDRESS + 1U];
  const char* const text = message->address + sizeof(prefix) - 1U;
  const size_t n_name = strcspn(text, "/");
  snprintf(name, sizeof(name), "%.*s", (int)n_name, text);
  ParamMessage note = { .frame = frame, .kind = MESSAGE_NOTES_OFF };
  const Status status = text[n_name] ? STATUS_OK : read_note(message, to->rate_hz, &note, error);
  if (status) {
    return status;
  }
  if (pattern_is_magic(name)) {
    return add_for_all(to->rack, name, &note, list, error);
  }
  const RackNode* const node = rack_lookup(to->rack, name, error);
  return node ? add_for(node, &note, list, error) : STATUS_NOT_FOUND;
}

// ---- the engine ----

/// Let an end wait.  One that waits already ends the same note.
static Status
keep_end(Notes* const notes, const ParamMessage* const end, Error* const error)
{
  if (note_table_find(&notes->waiting, end)) {
    return STATUS_OK;
  }
  if (notes->n == notes->capacity) {
    const uint32_t capacity = notes->capacity ? 2U * notes->capacity : 64U;
    ParamMessage* const ends = realloc(notes->ends, capacity * sizeof(ParamMessage));
    if (!ends) {
      return error_set(error, STATUS_NO_MEM, "out of memory");
    }
    notes->ends = ends;
    notes->capacity = capacity;
  }
  if (!note_table_add(&notes->waiting, end)) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  notes->ends[notes->n++] = *end;
  return STATUS_OK;
}

// ---- notes with a length ----

/// When a note has ended: the frame, and the rack that has its node.
typedef struct NotesNow {
  uint64_t frame;
  const Rack* rack;
} NotesNow;

static bool
has_ended(const NoteEntry* const entry, const void* const context)
{
  const NotesNow* const now = context;
  return entry->frame <= now->frame || !rack_find_uid(now->rack, entry->uid);
}

static bool
is_of_node(const NoteEntry* const entry, const void* const uid)
{
  return entry->uid == *(const RackUid*)uid;
}

/// The number of notes in a list that have a length, and whose keys have no such note yet.
static uint32_t
count_lengths(const Notes* const notes, const NoteList* const list)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < list->n; ++i) {
    n += list->items[i].n_frames && !note_table_find(&notes->lengths, &list->items[i]);
  }
  return n;
}

static bool
has_room(Notes* const notes, const NotesTo* const to, const NoteList* const list)
{
  const uint32_t n = count_lengths(notes, list);
  if (n && notes->lengths.n + n > NOTES_MAX_LENGTHS) {
    const NotesNow now = { engine_frame_now(to->engine), to->rack };
    note_table_prune(&notes->lengths, has_ended, &now);
  }
  return !n || notes->lengths.n + n <= NOTES_MAX_LENGTHS;
}

/// Record which notes with a length sound, after a list was sent.
static void
record(Notes* const notes, Engine* const engine, const NoteList* const list)
{
  for (uint32_t i = 0; i < list->n; ++i) {
    const ParamMessage* const message = &list->items[i];
    NoteEntry* const entry = message->n_frames ? note_table_add(&notes->lengths, message) : NULL;
    if (entry) { // else out of memory: one note too many may sound
      const uint64_t now = engine_frame_now(engine);
      entry->frame = (message->frame > now ? message->frame : now) + message->n_frames;
    } else if (message->kind == MESSAGE_NOTES_OFF) {
      note_table_prune(&notes->lengths, is_of_node, &message->uid);
    } else if (!message->n_frames) {
      note_table_remove(&notes->lengths, message);
    }
  }
}

void
notes_flush(Notes* const notes, Engine* const engine)
{
  uint32_t n_done = 0;
  while (n_done < notes->n && engine_play(engine, &notes->ends[n_done], 1U) != STATUS_LIMIT) {
    note_table_remove(&notes->waiting, &notes->ends[n_done]);
    record(notes, engine, &(NoteList){ .items = &notes->ends[n_done], .n = 1U });
    ++n_done; // sent; or nothing plays, and no note sounds
  }
  notes->n -= n_done;
  if (n_done) {
    memmove(notes->ends, notes->ends + n_done, notes->n * sizeof(ParamMessage));
  }
}

void
notes_ended(Notes* const notes)
{
  note_table_clear(&notes->lengths);
}

/// Send messages behind the ends that wait.
static Status
send_behind(Notes* const notes, Engine* const engine, const NoteList* const list)
{
  if (notes->n) {
    notes_flush(notes, engine);
  }
  const Status status = notes->n ? STATUS_LIMIT : engine_play(engine, list->items, list->n);
  if (!status) {
    record(notes, engine, list);
  } else if (status != STATUS_LIMIT) {
    notes_ended(notes); // nothing plays
  }
  return status;
}

/// Leave only the ends of notes in a list.  Returns false if there was nothing else.
static bool
keep_only_ends(NoteList* const list)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < list->n; ++i) {
    if (is_end(&list->items[i])) {
      list->items[n++] = list->items[i];
    }
  }
  const bool had_others = n < list->n;
  list->n = n;
  return had_others;
}

/// Send the ends of a list, which wait if there is no room.
static Status
send_ends(Notes* const notes, Engine* const engine, const NoteList* const list, Error* const error)
{
  Status status = STATUS_OK;
  if (list->n && send_behind(notes, engine, list) == STATUS_LIMIT) {
    for (uint32_t i = 0; i < list->n && !status; ++i) {
      status = keep_end(notes, &list->items[i], error);
    }
  }
  return status;
}

/// Send the ends of a bundle message by message, because all of them together may be too many.
/// Returns the first error.
static Status
send_ends_of(Notes* const notes, const NotesTo* const to, const Bundle* const bundle,
             bool* const had_others, Error* const error)
{
  Status status = STATUS_OK;
  *had_others = false;
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    NoteList list = { NULL, 0, 0 };
    Error ignored;
    Error why = { STATUS_OK, "" };
    (void)!read_message(to, &bundle->messages[m], bundle->frame, &list, &ignored);
    *had_others = keep_only_ends(&list) || *had_others;
    if (send_ends(notes, to->engine, &list, &why) && !status) {
      *error = why;
      status = why.status;
    }
    free(list.items);
  }
  return status;
}

static Status
fail_unsent(const Status status, Error* const error)
{
  switch (status) {
  case STATUS_LIMIT:
    return error_set(error, status, "too many notes wait for the engine");
  case STATUS_WORKER:
    return error_set(error, status, "no worker plays");
  default:
    return error_set(error, status, "no audio runs");
  }
}

/// Read all messages of a bundle, also after an error, which is that of the first one that fails.
static Status
read_bundle(const NotesTo* const to, const Bundle* const bundle, NoteList* const list,
            const Message** const failing, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    Error reason;
    const Message* const message = &bundle->messages[m];
    if (read_message(to, message, bundle->frame, list, &reason) && !status) {
      *failing = message;
      *error = reason;
      status = reason.status;
    }
  }
  return status;
}

bool
notes_ahead(Notes* const notes, const NotesTo* const to, const Bundle* const bundle)
{
  NoteList list = { NULL, 0, 0 };
  const Message* failing = NULL;
  Error ignored;
  const bool is_sent = !read_bundle(to, bundle, &list, &failing, &ignored) &&
                       has_room(notes, to, &list) && !send_behind(notes, to->engine, &list);
  free(list.items);
  return is_sent;
}

Status
notes_play(Notes* const notes, const NotesTo* const to, const Bundle* const bundle,
           const Message** const failing, Error* const error)
{
  NoteList list = { NULL, 0, 0 };
  *failing = NULL;
  Status status = read_bundle(to, bundle, &list, failing, error);
  if (!status && !has_room(notes, to, &list)) {
    status = error_set(error, STATUS_LIMIT, "more than %u notes with a length would sound",
                       NOTES_MAX_LENGTHS);
  }
  const bool is_read = !status;
  status = is_read ? send_behind(notes, to->engine, &list) : status;
  if (status) {
    bool had_others = false;
    Error why = { STATUS_OK, "" };
    const Status ends = send_ends_of(notes, to, bundle, &had_others, &why);
    if (is_read && (ends || !had_others)) {
      *error = why;
      status = ends;
    } else if (is_read) {
      status = fail_unsent(status, error);
    }
  }
  free(list.items);
  return status;
}

void
notes_end(Notes* const notes, const NotesTo* const to, const Bundle* const bundle)
{
  bool had_others = false;
  Error ignored;
  (void)!send_ends_of(notes, to, bundle, &had_others, &ignored);
}

void
notes_clear(Notes* const notes)
{
  free(notes->ends);
  note_table_clear(&notes->waiting);
  note_table_clear(&notes->lengths);
  *notes = (Notes){ .ends = NULL };
}
