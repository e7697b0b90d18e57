// SPDX-License-Identifier: GPL-3.0-or-later
// All addresses, in the order of control/OSC.md.

#include "commands.h"

#include "checks.h"
#include "clients.h"
#include "edits.h"
#include "meters.h"
#include "midi_commands.h"
#include "queries.h"
#include "scene_edits.h"
#include "scenes.h"
#include "takes.h"
#include "tempo.h"

#include "engine/base/hash.h"
#include "engine/base/hint.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NODE_ADDRESS    "/node/<node>/<param>"
#define PRESETS_ADDRESS "/node/<node>/presets"
#define NORM_ADDRESS    "/norm/<node>/<param>"
#define NOTE_ADDRESS    "/note/<node>"
#define OFF_ADDRESS     "/note/<node>/off"
#define SAVE_ADDRESS    "/node/<node>/state/save"

// clang-format off
const CommandInfo command_table[] = {
  // address             required  optional  repeated  names                                    kind
  // The document
  { "/rack/add",        "ss",     NULL,     "sv",     "name effect [param value]...",          COMMAND_EDIT,   .apply = edit_add,                      .help = "Add a node" },
  { "/rack/chain",      "s",      NULL,     NULL,     "chain",                                 COMMAND_EDIT,   .apply = edit_chain,                    .help = "Replace the rack by a chain, or by a whole document" },
  { "/rack/check",      NULL,     "s",      NULL,     "chain",                                 COMMAND_NOW,    .run = query_check,                     .help = "Predict time, memory and latency of a chain or a document, or of the present rack, without a change" },
  { "/rack/clear",      NULL,     NULL,     NULL,     NULL,                                    COMMAND_EDIT,   .apply = edit_clear,                    .help = "Replace the rack by the empty one, in to out" },
  { "/rack/connect",    "ss",     "n",      NULL,     "from to [gain in dB]",                  COMMAND_EDIT,   .apply = edit_connect,                  .help = "Connect two ends, or change a connection's gain" },
  { "/rack/disconnect", "ss",     NULL,     NULL,     "from to",                               COMMAND_EDIT,   .apply = edit_disconnect,               .help = "Remove a connection" },
  { "/rack/do",         "s",      NULL,     "s",      "statement...",                          COMMAND_EDIT,   .apply = edit_do,                       .help = "Apply statements of the rack language as one edit" },
  { "/rack/find",       NULL,     NULL,     NULL,     NULL,                                    COMMAND_EDIT,   .apply = edit_find,                     .help = "Play the plugins that were missing and are there now" },
  { "/rack/insert",     "ssss",   NULL,     "sv",     "name effect side end [param value]...", COMMAND_EDIT,   .apply = edit_insert,                   .help = "Add a node before or after an end, into its connections" },
  { "/rack/late",       "sv",     NULL,     NULL,     "out[:channels] fallback",               COMMAND_EDIT,   .apply = edit_late,                     .help = "Set the fallback of outputs while blocks are late: auto, dry, silence or a level" },
  { "/rack/load",       "s",      "s",      NULL,     "file [bypass]",                         COMMAND_EDIT,   .apply = edit_load, .reads_file = true, .help = "Replace the rack by a .rack file in the server's folder; with bypass also if its plugins are missing" },
  { "/rack/remove",     "s",      NULL,     NULL,     "name",                                  COMMAND_EDIT,   .apply = edit_remove,                   .help = "Remove a node; in a chain, connect its neighbours" },
  { "/rack/rename",     "ss",     NULL,     NULL,     "name newname",                          COMMAND_EDIT,   .apply = edit_rename,                   .help = "Rename a node, which keeps its state" },
  { "/rack/tempo",      "v",      "v",      NULL,     "bpm or source [source or bpm]",         COMMAND_SET,    .find = tempo_find,                     .help = "Set the tempo of the rack, and all parameters that follow it; or its source: fixed, jack or midi" },
  { "/rack/tempo",      NULL,     NULL,     NULL,     NULL,                                    COMMAND_NOW,    .run = query_tempo,                     .help = "Read the tempo of the rack" },
  { "/rack/undo",       NULL,     NULL,     NULL,     NULL,                                    COMMAND_UNDO,                                           .help = "Undo the last edit" },
  { "/rack/redo",       NULL,     NULL,     NULL,     NULL,                                    COMMAND_REDO,                                           .help = "Redo the edit of the last undo" },
  { "/rack/save",       "s",      NULL,     NULL,     "file",                                  COMMAND_BEHIND, .run = query_save,                      .help = "Write the rack to a file in the server's folder" },
  { "/rack/get",        NULL,     "i",      NULL,     "part",                                  COMMAND_NOW,    .run = query_rack,                      .help = "Read the rack's text, in parts of 8 kB" },
  // Parameters
  { "/rack/set",        "sv",     "n",      NULL,     "node.param value [seconds]",            COMMAND_SET,                                            .help = "Set a parameter; with a time by a fade" },
  { NODE_ADDRESS,       "v",      "n",      NULL,     "value [seconds]",                       COMMAND_SET,                                            .help = "Set a parameter, or all that the patterns match; with a time by a fade" },
  { NODE_ADDRESS,       NULL,     NULL,     NULL,     NULL,                                    COMMAND_NOW,    .run = query_values,                    .help = "Read a parameter, or all that the patterns match" },
  { NORM_ADDRESS,       "n",      "n",      NULL,     "position [seconds]",                    COMMAND_SET,                                            .help = "Set a parameter, or all that the patterns match, to a position from 0 to 1 in its range; with a time by a fade" },
  { NORM_ADDRESS,       NULL,     NULL,     NULL,     NULL,                                    COMMAND_NOW,    .run = query_values,                    .help = "Read the position of a parameter, or of all that the patterns match" },
  { PRESETS_ADDRESS,    NULL,     "i",      NULL,     "part",                                  COMMAND_NOW,    .run = query_presets,                   .help = "List the presets of a node's plugin, in parts of 8 kB" },
  { SAVE_ADDRESS,       NULL,     NULL,     NULL,     NULL,                                    COMMAND_EDIT,   .apply = edit_save, .saves_state = true, .help = "Save the state of a node's plugin to a file, and set its parameter state" },
  // Scenes
  { "/scene/store",     "s",      NULL,     "s",      "scene [pattern]...",                    COMMAND_EDIT,   .apply = edit_scene_store,              .help = "Store the present values as a scene: those that the patterns match, or all that no safe matches" },
  { "/scene/recall",    "s",      "n",      "s",      "scene [seconds] [curve, strict or pattern]...", COMMAND_SET,    .find = scenes_find,                    .help = "Set the values of a scene; with strict all or none, with patterns those that match" },
  { "/scene/next",      NULL,     "n",      "s",      "[seconds] [curve, strict or pattern]...", COMMAND_SET,    .find = scenes_find,                    .help = "Recall the scene after the one that was recalled last" },
  { "/scene/previous",  NULL,     "n",      "s",      "[seconds] [curve, strict or pattern]...", COMMAND_SET,    .find = scenes_find,                    .help = "Recall the scene before the one that was recalled last" },
  { "/scene/stop",      NULL,     NULL,     NULL,     NULL,                                    COMMAND_SET,    .find = scenes_find_stopped,            .help = "Stop the fades of recalls where they are" },
  { "/scene/morph",     "ssn",    NULL,     NULL,     "scene scene position",                  COMMAND_SET,    .find = scenes_find_between,            .help = "Set the parameters of both scenes between their values, 0 to 1" },
  { "/scene/compare",   NULL,     NULL,     NULL,     NULL,                                    COMMAND_SET,    .find = scenes_find_compared,           .help = "Play the scene that was recalled last, or the values before that again" },
  { "/scene/remove",    "s",      NULL,     NULL,     "scene",                                 COMMAND_EDIT,   .apply = edit_scene_remove,             .help = "Remove a scene" },
  { "/scene/safe",      "s",      NULL,     "s",      "pattern...",                            COMMAND_EDIT,   .apply = edit_scene_safe,               .help = "Let no recall change the parameters that match" },
  { "/scene/unsafe",    "s",      NULL,     "s",      "pattern...",                            COMMAND_EDIT,   .apply = edit_scene_unsafe,             .help = "Remove safes, as they are written" },
  { "/scene/list",      NULL,     "i",      NULL,     "part",                                  COMMAND_NOW,    .run = query_scenes,                    .help = "List the scenes, in parts of 8 kB" },
  // MIDI
  { "/midi/learn",      NULL,     NULL,     "v",      "[node.param, or node for its notes] [range or option]...", COMMAND_NOW,    .run = midi_learn,                      .help = "Map the MIDI controller that moves next; without arguments, stop waiting for one" },
  { "/midi/map",        "s",      NULL,     "v",      "source target [range or option]...",    COMMAND_EDIT,   .apply = edit_midi_map,                 .help = "Add a line to the MIDI map, as the statement midi does" },
  { "/midi/forget",     "s",      NULL,     "v",      "source, node, node.param or scene NAME...", COMMAND_EDIT,   .apply = edit_midi_forget,              .help = "Remove the lines of the MIDI map that match all words" },
  { "/midi/list",       NULL,     "i",      NULL,     "part",                                  COMMAND_NOW,    .run = query_midi,                      .help = "List the lines of the MIDI map, in parts of 8 kB" },
  // Notes
  { NOTE_ADDRESS,       "nn",     "n",      NULL,     "key velocity [seconds]",                COMMAND_NOTE,                                           .help = "Play a note: MIDI key, velocity 0 to 127, 0 ends it; with a length it ends itself" },
  { OFF_ADDRESS,        NULL,     NULL,     NULL,     NULL,                                    COMMAND_NOTE,                                           .help = "End all notes of a node, or of all that the pattern matches" },
  // Levels
  { "/meter/in",         NULL,     "s",      NULL,     "floats",                                COMMAND_NOW,    .run = meters_read,                     .help = "Read the newest levels of the inputs, as a blob, or as floats in dB" },
  { "/meter/out",        NULL,     "s",      NULL,     "floats",                                COMMAND_NOW,    .run = meters_read,                     .help = "Read the newest levels of the outputs, in the same way" },
  { "/meter/subscribe",  "s",      "n",      "s",      "what [rate in Hz] [floats]",            COMMAND_NOW,    .run = meters_subscribe,                .help = "Get levels 1 to 60 times a second, by default 25 times: in, out, node/NAME or loudness/PORTS" },
  { "/meter/unsubscribe", NULL,     "s",      NULL,     "what",                                  COMMAND_NOW,    .run = meters_unsubscribe,              .help = "Get no more levels, or none of these" },
  // Takes
  { "/take/start",      "s",      "s",      NULL,     "file [audio]",                          COMMAND_BEHIND, .run = takes_start,                     .help = "Record all values, notes and edits from now on to a file in the server's folder, for render --take; with audio also the input" },
  { "/take/stop",       NULL,     NULL,     NULL,     NULL,                                    COMMAND_BEHIND, .run = takes_stop,                      .help = "End the take" },
  // The server
  { "/server/answers",  "s",      NULL,     NULL,     "which",                                 COMMAND_NOW,    .run = query_answers,                   .help = "Send this client all answers, failures only (no /done for changes), or all in bundles" },
  { "/server/describe", NULL,     "i",      "s",      "[part] [pattern]...",                   COMMAND_NOW,    .run = query_describe,                  .help = "Describe the addresses that a pattern matches, or all, in parts of 8 kB" },
  { "/server/hello",    "s",      NULL,     NULL,     "cookie",                                COMMAND_NOW,    .run = query_hello,                     .help = "Prove the address of another machine: 16 characters, then the answer's cookie" },
  { "/server/load",     NULL,     NULL,     NULL,     NULL,                                    COMMAND_NOW,    .run = query_load,                      .help = "Read how many blocks took which share of their period, since the start" },
  { "/server/nodes",    NULL,     "i",      NULL,     "part",                                  COMMAND_NOW,    .run = query_nodes,                     .help = "Read where each node runs and why, in parts of 8 kB" },
  { "/server/notify",   "i",      "i",      NULL,     "1 or 0 [port]",                         COMMAND_NOW,    .run = query_notify,                    .help = "Subscribe to changes, or unsubscribe; by default the sender's port" },
  { "/server/notify",   "iin",    NULL,     NULL,     "1 port hz",                             COMMAND_NOW,    .run = query_notify,                    .help = "Subscribe with a rate; port 0 is the sender's port" },
  { "/server/ping",     NULL,     NULL,     NULL,     NULL,                                    COMMAND_NOW,    .run = query_ping,                      .help = "Answer, to show that the server runs" },
  { "/ping",            NULL,     NULL,     NULL,     NULL,                                    COMMAND_NOW,    .run = query_ping,                      .help = "As /server/ping, for TouchOSC" },
  { "/server/plugin",   "ss",     "i",      NULL,     "format id [part]",                      COMMAND_NOW,    .run = query_plugin,                    .help = "Read the facts and parameters of a plugin, in parts of 8 kB" },
  { "/server/plugins",  NULL,     "i",      "s",      "[part] [word]...",                      COMMAND_NOW,    .run = query_plugins,                   .help = "List the plugins in which all words occur, in parts of 8 kB" },
  { "/server/quit",     NULL,     NULL,     NULL,     NULL,                                    COMMAND_NOW,    .run = query_quit,                      .help = "Fade out and end the server" },
  { "/server/scan",     NULL,     NULL,     NULL,     NULL,                                    COMMAND_NOW,    .run = query_scan,                      .help = "Find the plugins of the machine again; subscribers get /server/scanned" },
  { "/server/status",   NULL,     NULL,     NULL,     NULL,                                    COMMAND_NOW,    .run = query_status,                    .help = "Read the state and all counters" },
  { "/server/sync",     "i",      NULL,     NULL,     "number",                                COMMAND_BEHIND, .run = query_sync,                      .help = "Answer when all edits before it are audible" },
  { "/server/version",  NULL,     NULL,     NULL,     NULL,                                    COMMAND_NOW,    .run = query_version,                   .help = "Read the program's version" },
  { "/server/watch",    NULL,     "i",      NULL,     "part",                                  COMMAND_NOW,    .run = query_watch,                     .help = "List the last messages, their senders and their results, in parts of 8 kB" },
};
// clang-format on

const uint32_t n_commands = ARRAY_LEN(command_table);

static bool
type_is(const char letter, const char type)
{
  switch (letter) {
  case 's':
    return strchr("sS", type) != NULL;
  case 'i':
    return strchr("ih", type) != NULL;
  case 'n':
    return strchr("ihfd", type) != NULL;
  default:
    return strchr("ihfdTFsS", type) != NULL;
  }
}

static size_t
n_letters(const char* const letters)
{
  return letters ? strlen(letters) : 0;
}

/// The number of leading `types` that match the letters: all letters, or 0.
static size_t
take_types(const char* const letters, const char* const types)
{
  const size_t n = n_letters(letters);
  for (size_t i = 0; i < n; ++i) {
    if (!types[i] || !type_is(letters[i], types[i])) {
      return 0;
    }
  }
  return n;
}

static bool
types_fit(const CommandInfo* const info, const char* types)
{
  if (take_types(info->required, types) != n_letters(info->required)) {
    return false;
  }
  types += n_letters(info->required);
  types += take_types(info->optional, types);
  while (*types) {
    const size_t n = take_types(info->repeated, types);
    if (n == 0) {
      return false;
    }
    types += n;
  }
  return true;
}

/// The address in the table of "/note/..."; NULL if it has another form.
static const char*
note_address_in_table(const char* const address)
{
  const char* const node =
      address_is_under(address, "/note/") ? address + ADDRESS_ROOT_BYTES : NULL;
  const char* const slash = node ? strchr(node, '/') : NULL;
  if (!node || (slash && strcmp(slash, "/off") != 0)) {
    return NULL;
  }
  return slash ? OFF_ADDRESS : NOTE_ADDRESS;
}

static const char node_address[] = NODE_ADDRESS;

/// The address in the table.
static const char*
address_in_table(const char* const address)
{
  const char* const of_note = note_address_in_table(address);
  if (of_note) {
    return of_note;
  }
  const bool is_norm = address_is_under(address, "/norm/");
  const bool is_node = is_norm || address_is_under(address, "/node/");
  const char* const node = is_node ? address + ADDRESS_ROOT_BYTES : NULL;
  const char* const rest = node ? strchr(node, '/') : NULL;
  if (is_norm) {
    return rest && !strchr(rest + 1, '/') ? NORM_ADDRESS : address;
  }
  if (rest && !strcmp(rest, "/state/save")) {
    return SAVE_ADDRESS;
  }
  if (!rest || strchr(rest + 1, '/')) {
    return address;
  }
  return strcmp(rest, "/presets") ? node_address : PRESETS_ADDRESS;
}

/// The letter of argument `place` of a row; 0 if there is none, or if it depends on the others.
static char
letter_of(const CommandInfo* const info, const uint32_t place)
{
  const size_t n_required = n_letters(info->required);
  const size_t n_repeated = n_letters(info->repeated);
  if (place < n_required) {
    return info->required[place];
  }
  return !info->optional && n_repeated ? info->repeated[(place - n_required) % n_repeated] : '\0';
}

char
command_letter(const char* const address, const uint32_t place)
{
  const char* const in_table = address_in_table(address);
  char letter = '\0';
  bool is_first = true;
  for (uint32_t i = 0; i < n_commands; ++i) {
    if (strcmp(command_table[i].address, in_table) == 0) {
      const char of_row = letter_of(&command_table[i], place);
      letter = is_first || letter == of_row ? of_row : '\0';
      is_first = false;
    }
  }
  return letter;
}

/// Find the address with the nearest name in the same group ("/server/stats"), or with the same
/// name in another group ("/status", "/osc/status").  NULL if there is none.
static const char*
near_address(const char* const address)
{
  const char* const name = strrchr(address, '/') + 1;
  const char* names[ARRAY_LEN(command_table)];
  const char* addresses[ARRAY_LEN(command_table)];
  const char* same_name = NULL;
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_commands; ++i) {
    const char* const known = command_table[i].address;
    const char* const known_name = strrchr(known, '/') + 1;
    if (strncasecmp(known, address, (size_t)(name - address)) == 0) {
      addresses[n] = known;
      names[n++] = known_name;
    }
    same_name = !same_name && strcasecmp(known_name, name) == 0 ? known : same_name;
  }
  const char* const near = nearest_name(name, names, n);
  for (uint32_t i = 0; i < n && near; ++i) {
    if (names[i] == near) {
      return addresses[i];
    }
  }
  return same_name;
}

static Status
fail_unknown(const char* const address, Error* const error)
{
  if (strncmp(address, "/node/", 6) == 0) {
    return error_set(error, STATUS_NOT_FOUND, "parameters are addressed as " NODE_ADDRESS);
  }
  if (strncmp(address, "/norm/", 6) == 0) {
    return error_set(error, STATUS_NOT_FOUND, "positions are addressed as " NORM_ADDRESS);
  }
  if (strncmp(address, "/note/", 6) == 0) {
    return error_set(error, STATUS_NOT_FOUND,
                     "notes are addressed as " NOTE_ADDRESS " and " OFF_ADDRESS);
  }
  const char* const near = near_address(address);
  return near ? error_set(error, STATUS_NOT_FOUND, "no such address; did you mean \"%s\"?", near)
              : error_set(error, STATUS_NOT_FOUND,
                          "no such address; addresses are /rack/..., " NODE_ADDRESS
                          ", /scene/..., " NOTE_ADDRESS " or /server/...");
}

/// Describe how to write arguments that are wrongly joined ("gain=3") or split ("3 dB"), as other
/// programs write them; "" if there are none.
static void
print_joints(const CommandInfo* const info, const Message* const message, char text[const 200])
{
  const bool takes_values = (info->required && strchr(info->required, 'v')) || info->repeated;
  const bool takes_numbers = info->optional && !strchr(info->optional, 's');
  const uint32_t n_required = (uint32_t)n_letters(info->required);
  text[0] = '\0';
  for (uint32_t a = 0; a < message_n_arguments(message) && !text[0]; ++a) {
    const bool is_text = type_is('s', message_type(message, a));
    const char* const word = is_text ? message_text(message, a) : "";
    const int n_name = (int)strcspn(word, "= ");
    if (takes_values && n_name && n_name < 64 && word[n_name] == '=') {
      snprintf(text, 200, "; write \"%.80s\" as two arguments: %.*s %.40s", word, n_name, word,
               word[n_name + 1] ? word + n_name + 1 : "VALUE");
    } else if (is_text && takes_values && rack_unit(word)) {
      snprintf(text, 200, "; write a number and its unit as one argument, as in -6dB");
    } else if (is_text && a >= n_required && takes_numbers && !info->repeated) {
      snprintf(text, 200, "; \"%.80s\" is not a number: leave out names and units", word);
    } else if (rack_unit(word)) {
      snprintf(text, 200, "; write a number and its unit as one argument, as in -6dB");
    } else if (a == 1U && rack_is_format(word)) {
      snprintf(text, 200, "; write a plugin as one argument, as in \"%s ID\"", word);
    }
  }
}

/// Fail because the types of the arguments do not fit the row.
static Status
fail_types(const CommandInfo* const info, const Message* const message, Error* const error)
{
  const char* const types = message->types;
  char expected[32];
  command_types(info, expected, sizeof(expected));
  char given[80] = ", but got none";
  if (*types) {
    snprintf(given, sizeof(given), ", not \"%.64s\"", types);
  }
  char joints[200];
  print_joints(info, message, joints);
  return error_set(
      error, STATUS_BAD_ARG, "takes %s%s%s%s%s%s", *expected ? info->names : "no arguments",
      *expected ? " (" : "", expected, *expected ? ")" : "", given,
      (strcmp(expected, "s") == 0 || info->apply == edit_do) && types[0] == 's'
          ? "; send a text with spaces as one argument (in a shell, put quotes around it)"
          : joints);
}

// ---- finding ----

#define N_SLOTS 256U // at least twice as many as commands
_Static_assert(2U * ARRAY_LEN(command_table) <= N_SLOTS, "room for more commands");

// The rows by the hash of their address, as indices from 1; 0: none.  Rows with the same address
// are in their order.
static uint8_t slots[N_SLOTS];
static uint32_t node_slot; // of the most frequent address
static pthread_once_t slots_once = PTHREAD_ONCE_INIT;

static uint32_t
slot_of(const char* const address)
{
  const uint32_t hash = hash_text(HASH32_START, address);
  return (hash ^ hash >> 16U) % N_SLOTS;
}

static void
fill_slots(void)
{
  for (uint32_t i = 0; i < n_commands; ++i) {
    uint32_t slot = slot_of(command_table[i].address);
    while (slots[slot]) {
      slot = (slot + 1U) % N_SLOTS;
    }
    slots[slot] = (uint8_t)(i + 1U);
  }
  node_slot = slot_of(node_address);
}

Status
command_find(const Message* const message, const CommandInfo** const info, Error* const error)
{
  const char* const address = address_in_table(message->address);
  const CommandInfo* same_address = NULL;
  pthread_once(&slots_once, fill_slots);
  const uint32_t first = address == node_address ? node_slot : slot_of(address);
  for (uint32_t slot = first; slots[slot]; slot = (slot + 1U) % N_SLOTS) {
    const CommandInfo* const row = &command_table[slots[slot] - 1U];
    if (strcmp(row->address, address) == 0) {
      if (types_fit(row, message->types)) {
        *info = row;
        return STATUS_OK;
      }
      same_address = same_address ? same_address : row;
    }
  }
  return same_address ? fail_types(same_address, message, error)
                      : fail_unknown(message->address, error);
}
