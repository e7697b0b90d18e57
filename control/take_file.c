// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the lines of a take, each by the document that plays at its time.

#include "take_file.h"

#include "take_text.h"

#include "engine/base/number.h"
#include "engine/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIME_DIGITS  8U // of each part
#define MAX_ARGS     (4U + RACK_MAX_NODES)
#define MAX_VELOCITY 127.0

/// An argument of a line.
typedef union Arg {
  double number;
  int64_t whole;
  char* text; ///< In the line
} Arg;

/// A line that is being read.
typedef struct Line {
  const char* name; ///< Of the file
  size_t number;    ///< From 1
  uint64_t frame;
  char* path;
  char* types; ///< One for each argument
  uint32_t n_args;
  Arg args[MAX_ARGS];
} Line;

typedef struct Reading {
  Take* take;
  const char* root;
  RackReader reader;
  const Rack* rack;     ///< The document at this line
  uint64_t next_number; ///< Of the next message
  Line line;
} Reading;

static Status
fail(const Line* const line, Error* const error, const char* const what)
{
  return error_set(error, STATUS_FILE, "%.200s:%zu: %s", line->name, line->number, what);
}

// ---- the parts of a line ----

/// Read one part of a time.
static bool
read_part(const char** const at, const char end, uint32_t* const part)
{
  *part = 0;
  for (uint32_t d = 0; d < TIME_DIGITS; ++d, ++*at) {
    const char c = **at;
    if (!isxdigit((unsigned char)c)) {
      return false;
    }
    *part = *part * 16U + (uint32_t)(isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return *(*at)++ == end;
}

/// The next word, which ends with a space or the line; it is terminated.
static char*
next_word(char** const at)
{
  char* const word = *at;
  *at += strcspn(word, " ");
  if (**at) {
    *(*at)++ = '\0';
  }
  return word;
}

/// A text in quotes, without its escapes.  NULL if it has no end.
static char*
next_text(char** const at)
{
  char* from = *at;
  if (*from++ != '"') {
    return NULL;
  }
  char* const text = from;
  char* to = from;
  while (*from && *from != '"') {
    const bool is_escaped = *from == '\\' && from[1];
    from += is_escaped;
    *to++ = is_escaped && *from == 'n' ? '\n' : *from;
    ++from;
  }
  if (*from != '"' || (from[1] && from[1] != ' ')) {
    return NULL;
  }
  *at = from + 1 + (from[1] == ' ');
  *to = '\0';
  return text;
}

static bool
next_number(char** const at, double* const number)
{
  const char* const word = next_word(at);
  Decimal decimal;
  if (!number_scan(word, &decimal) || *decimal.end) {
    return false;
  }
  *number = number_value(&decimal, 0);
  return isfinite(*number);
}

static bool
next_whole(char** const at, int64_t* const whole)
{
  char* const word = next_word(at);
  char* end = NULL;
  errno = 0;
  *whole = strtoll(word, &end, 10);
  return end != word && !*end && !errno;
}

static bool
next_arg(char** const at, const char type, Arg* const arg)
{
  switch (type) {
  case 'f':
  case 'd':
    return next_number(at, &arg->number);
  case 'i':
  case 'h':
    return next_whole(at, &arg->whole);
  case 's':
    return (arg->text = next_text(at)) != NULL;
  default:
    return false;
  }
}

/// Divide a line, without its end, into its parts.
static Status
divide(Reading* const reading, char* const text, Error* const error)
{
  Line* const line = &reading->line;
  const char* time = text;
  uint32_t seconds = 0;
  uint32_t parts = 0;
  if (!read_part(&time, '.', &seconds) || !read_part(&time, ' ', &parts)) {
    return fail(line, error, "the line does not begin with a time as 00000000.00000000");
  }
  const double rate_hz = reading->take->rate_hz;
  line->frame = rate_hz > 0.0 ? take_frame((uint64_t)seconds << 32U | parts, rate_hz) : 0U;
  char* at = text + (time - text);
  line->path = next_word(&at);
  line->types = next_word(&at);
  line->n_args = 0;
  for (const char* type = line->types; *type; ++type) {
    if (line->n_args == MAX_ARGS) {
      return fail(line, error, "too many arguments");
    }
    if (!next_arg(&at, *type, &line->args[line->n_args++])) {
      return fail(line, error, "an argument is missing, or is not of its type");
    }
  }
  return *at ? fail(line, error, "more arguments than types") : STATUS_OK;
}

/// True if the types are those of a pattern, in which n is f or d, w is i or h, and the rest is
/// the letter itself; what follows a '|' is optional, a '+' repeats the last one.
static bool
types_match(const char* types, const char* pattern)
{
  bool is_optional = false;
  for (; *pattern; ++pattern) {
    if (*pattern == '|') {
      is_optional = true;
      continue;
    }
    if (*pattern == '+') {
      return strspn(types, "ih") == strlen(types);
    }
    const char* const letters = *pattern == 'n' ? "fd" : *pattern == 'w' ? "ih" : "s";
    if (!*types) {
      return is_optional;
    }
    if (!strchr(letters, *types++)) {
      return false;
    }
  }
  return !*types;
}

// ---- events ----

static TakeEvent*
add_event(Take* const take)
{
  if (take->n_events == take->room) {
    const size_t room = take->room ? 2U * take->room : 64U;
    TakeEvent* const events = realloc(take->events, room * sizeof(TakeEvent));
    if (!events) {
      return NULL;
    }
    take->events = events;
    take->room = room;
  }
  take->events[take->n_events] = (TakeEvent){ 0 };
  return &take->events[take->n_events++];
}

static Status
add_message(Reading* const reading, const ParamMessage* const message, Error* const error)
{
  TakeEvent* const event = add_event(reading->take);
  if (!event) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  event->frame = reading->line.frame;
  event->number = reading->next_number++;
  event->message = *message;
  event->message.frame = event->frame;
  return STATUS_OK;
}

/// Find the node in the path of a line: "/group/NAME" or "/group/NAME/rest".
static const RackNode*
find_node(const Reading* const reading, const char** const rest)
{
  const char* const name = strchr(reading->line.path + 1, '/') + 1;
  const size_t n = strcspn(name, "/");
  char copy[RACK_NAME_BYTES];
  *rest = name[n] ? name + n + 1U : NULL;
  if (n >= sizeof(copy)) {
    return NULL;
  }
  memcpy(copy, name, n);
  copy[n] = '\0';
  return rack_find(reading->rack, copy);
}

static bool
read_frames(const Reading* const reading, const uint32_t arg, uint32_t* const n_frames)
{
  const double seconds = reading->line.args[arg].number;
  const double frames = nearbyint(seconds * reading->take->rate_hz);
  const bool is_valid = frames >= 1.0 && frames <= (double)UINT32_MAX;
  *n_frames = is_valid ? (uint32_t)frames : 0U;
  return is_valid;
}

static bool
read_curve(const char* const name, uint32_t* const curve)
{
  for (uint32_t c = 0; fx_curve_names[c]; ++c) {
    if (!strcmp(fx_curve_names[c], name)) {
      *curve = c;
      return true;
    }
  }
  return false;
}

static Status
read_value(Reading* const reading, Error* const error)
{
  const Line* const line = &reading->line;
  const char* param = NULL;
  const RackNode* const node = find_node(reading, &param);
  if (!node) {
    return fail(line, error, "the rack has no such node here");
  }
  const int index = param ? fx_param_find(node->fx, param) : -1;
  if (index < 0) {
    return fail(line, error, "the node has no such parameter");
  }
  if (!types_match(line->types, "n|ns")) {
    return fail(line, error, "a value has the types n, nn or nns: value, seconds, curve");
  }
  const FxParam* const row = &node->fx->params[index];
  ParamMessage message = { .uid = node->uid,
                           .param = (uint32_t)index,
                           .param_id = fx_param_hash(row),
                           .value = line->args[0].number,
                           .curve = CURVE_LINEAR };
  if (row->structural || !fx_param_accepts(row, message.value)) {
    return fail(line, error, "the parameter does not take this value");
  }
  if ((line->n_args > 1U && !read_frames(reading, 1U, &message.fade_frames)) ||
      (line->n_args > 2U && !read_curve(line->args[2].text, &message.curve))) {
    return fail(line, error, "invalid time or curve of a fade");
  }
  return add_message(reading, &message, error);
}

static Status
read_note(Reading* const reading, Error* const error)
{
  const Line* const line = &reading->line;
  const char* rest = NULL;
  const RackNode* const node = find_node(reading, &rest);
  if (!node || !node->fx->event) {
    return fail(line, error, "the rack has no such node for notes here");
  }
  ParamMessage message = { .uid = node->uid, .kind = MESSAGE_NOTES_OFF };
  if (rest && (strcmp(rest, "off") != 0 || line->n_args)) {
    return fail(line, error, "unknown address");
  }
  if (!rest) {
    if (!types_match(line->types, "wn|n") || line->args[0].whole < 0 ||
        line->args[0].whole >= (int64_t)FX_KEYS || line->args[1].number < 0.0 ||
        line->args[1].number > MAX_VELOCITY) {
      return fail(line, error, "write a note as: key velocity [seconds]");
    }
    message.kind = MESSAGE_NOTE;
    message.param = (uint32_t)line->args[0].whole;
    message.value = line->args[1].number / MAX_VELOCITY;
    if (line->n_args > 2U && !read_frames(reading, 2U, &message.n_frames)) {
      return fail(line, error, "invalid length of a note");
    }
  }
  return add_message(reading, &message, error);
}

// ---- documents ----

/// Fail if a file that the rack names is not there.
static Status
check_files(const Reading* const reading, const Rack* const rack, Error* const error)
{
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    const RackNode* const node = &rack->nodes[n];
    for (uint32_t p = 0; p < node->fx->n_params; ++p) {
      const FxParamKind kind = node->fx->params[p].kind;
      const char* const name = kind == PARAM_FILE || kind == PARAM_PATH ? rack_text(node, p) : NULL;
      char path[4096];
      snprintf(path, sizeof(path), "%s%s%s", name && name[0] == '/' ? "" : reading->root,
               name && name[0] == '/' ? "" : "/", name ? name : "");
      if (name && name[0] && access(path, R_OK)) {
        return error_set(error, STATUS_FILE, "%.200s:%zu: %s: the file of %s cannot be read: %s",
                         reading->line.name, reading->line.number, path, node->name,
                         strerror(errno));
      }
    }
  }
  return STATUS_OK;
}

/// Give the nodes of a rack their numbers.
static Status
number_nodes(const Line* const line, Rack* const rack, Error* const error)
{
  RackUid uids[RACK_MAX_NODES];
  const uint32_t n = line->n_args - 4U;
  bool is_valid = line->args[3].whole >= 0 && line->args[3].whole <= (int64_t)UINT32_MAX;
  for (uint32_t i = 0; i < n && is_valid; ++i) {
    is_valid = line->args[4U + i].whole >= 0 && line->args[4U + i].whole <= (int64_t)UINT32_MAX;
    uids[i] = (RackUid)line->args[4U + i].whole;
  }
  Error why;
  if (!is_valid || rack_set_uids(rack, uids, n, (RackUid)line->args[3].whole, &why)) {
    return fail(line, error, "the numbers of the nodes do not fit the rack");
  }
  return STATUS_OK;
}

static Status
read_rack(Reading* const reading, Error* const error)
{
  const Line* const line = &reading->line;
  Take* const take = reading->take;
  if (!types_match(line->types, "swww+") || line->n_args < 4U) {
    return fail(line, error, "the document is not a text with numbers");
  }
  char place[256];
  snprintf(place, sizeof(place), "%.200s:%zu", line->name, line->number);
  Rack* rack = NULL;
  Status status = reading->reader(line->args[0].text, place, NULL, &rack, error);
  status = status ? status : number_nodes(line, rack, error);
  status = status ? status : check_files(reading, rack, error);
  status = status ? status : rack_check_rate(rack, take->rate_hz, error);
  TakeEvent* const event = !status && take->rack ? add_event(take) : NULL;
  if (status || (take->rack && !event)) {
    rack_free(rack);
    return status ? status : error_set(error, STATUS_NO_MEM, "out of memory");
  }
  if (event) {
    *event = (TakeEvent){ .frame = line->frame,
                          .number = (uint64_t)line->args[1].whole,
                          .planned = line->args[2].whole > 0 ? (uint64_t)line->args[2].whole : 0U,
                          .is_first_plan = line->args[2].whole == TAKE_FIRST_PLAN,
                          .rack = rack };
  } else {
    take->rack = rack;
  }
  reading->rack = rack;
  return STATUS_OK;
}

// ---- the take's own lines ----

static Status
read_begin(Reading* const reading, Error* const error)
{
  const Line* const line = &reading->line;
  Take* const take = reading->take;
  if (strcmp(line->path, TAKE_BEGIN) != 0 || !types_match(line->types, "snwwwww")) {
    return fail(line, error, "not a take: it does not begin with " TAKE_BEGIN);
  }
  take->rate_hz = line->args[1].number;
  const struct {
    int64_t max;
    uint32_t* to;
  } numbers[] = { { FX_MAX_BLOCK, &take->block_frames },
                  { 2, &take->depth },
                  { FX_MAX_CHANNELS, &take->n_in },
                  { FX_MAX_CHANNELS, &take->n_out } };
  bool is_valid = take->rate_hz >= FORMAT_MIN_RATE_HZ && take->rate_hz <= FORMAT_MAX_RATE_HZ &&
                  line->args[2].whole > 0;
  for (uint32_t n = 0; n < ARRAY_LEN(numbers) && is_valid; ++n) {
    is_valid = line->args[2U + n].whole >= 0 && line->args[2U + n].whole <= numbers[n].max;
    *numbers[n].to = (uint32_t)line->args[2U + n].whole;
  }
  return is_valid ? STATUS_OK : fail(line, error, "invalid rate, block, depth or number of ports");
}

/// Note a span or a moment for which the samples may differ.
static Status
read_note_of_take(Reading* const reading, Error* const error)
{
  const Line* const line = &reading->line;
  Take* const take = reading->take;
  const double rate_hz = take->rate_hz;
  if (!strcmp(line->path, TAKE_DRY)) {
    if (!types_match(line->types, "ww") || line->args[0].whole < 0 || line->args[1].whole < 0 ||
        line->args[1].whole > INT64_MAX - line->args[0].whole) {
      return fail(line, error, "a span has its first frame and a number of frames");
    }
    text_buffer_print(&take->notes, "from %.3f s to %.3f s outputs played their fallbacks\n",
                      (double)line->args[0].whole / rate_hz,
                      (double)(line->args[0].whole + line->args[1].whole) / rate_hz);
    return STATUS_OK;
  }
  if (!types_match(line->types, "s") || !text_is_printable(line->args[0].text)) {
    return fail(line, error, "a reason is missing");
  }
  text_buffer_print(&take->notes, "from %.3f s on the samples may differ: %s\n",
                    (double)line->frame / rate_hz, line->args[0].text);
  return STATUS_OK;
}

static Status
read_own(Reading* const reading, Error* const error)
{
  const Line* const line = &reading->line;
  if (!strcmp(line->path, TAKE_RACK)) {
    return read_rack(reading, error);
  }
  if (!strcmp(line->path, TAKE_DRY) || !strcmp(line->path, TAKE_GAP)) {
    return read_note_of_take(reading, error);
  }
  if (!strcmp(line->path, TAKE_NUMBER) && types_match(line->types, "w")) {
    reading->next_number = (uint64_t)line->args[0].whole;
    return STATUS_OK;
  }
  if (!strcmp(line->path, TAKE_END) && types_match(line->types, "s")) {
    reading->take->is_ended = true;
    return STATUS_OK;
  }
  return fail(line, error, "unknown address");
}

static Status
read_line(Reading* const reading, char* const text, Error* const error)
{
  Line* const line = &reading->line;
  Take* const take = reading->take;
  const Status status = divide(reading, text, error);
  if (status) {
    return status;
  }
  if (line->number == 1U) {
    return read_begin(reading, error);
  }
  if (line->frame < take->n_frames) {
    return fail(line, error, "the time is before that of the line above");
  }
  take->n_frames = line->frame;
  if (!take->rack && strcmp(line->path, TAKE_RACK) != 0) {
    return fail(line, error, "the second line of a take is " TAKE_RACK);
  }
  if (take->is_ended) {
    return fail(line, error, "lines after " TAKE_END);
  }
  if (!strncmp(line->path, "/node/", 6U)) {
    return read_value(reading, error);
  }
  return !strncmp(line->path, "/note/", 6U) ? read_note(reading, error) : read_own(reading, error);
}

static Status
read_lines(Reading* const reading, FILE* const file, Error* const error)
{
  char* text = NULL;
  size_t room = 0;
  Status status = STATUS_OK;
  Line* const line = &reading->line;
  for (ssize_t n = 0; !status && (n = getline(&text, &room, file)) > 0;) {
    ++line->number;
    if (text[n - 1] != '\n') {
      status = fail(line, error, "the line has no end: the file is truncated");
    } else if (strlen(text) != (size_t)n) {
      status = fail(line, error, "not a text");
    } else {
      text[n - 1] = '\0';
      status = read_line(reading, text, error);
    }
  }
  free(text);
  if (!status && ferror(file)) {
    status = error_set(error, STATUS_FILE, "%.200s: cannot be read", line->name);
  }
  if (!status && !reading->take->rack) {
    ++line->number;
    status = fail(line, error, "the take has no document");
  }
  return status;
}

Status
take_read(const char* const name, const char* const root, const RackReader reader, Take* const take,
          Error* const error)
{
  Reading* const reading = calloc(1, sizeof(Reading));
  FILE* const file = reading ? fopen(name, "re") : NULL;
  Status status = STATUS_OK;
  if (!file) {
    status = error_set(error, status_of_errno(errno, STATUS_FILE), "%.200s: cannot be opened: %s",
                       name, strerror(errno));
  } else {
    *reading = (Reading){
      .take = take, .root = root, .reader = reader, .next_number = 1U, .line = { .name = name }
    };
    status = read_lines(reading, file, error);
    fclose(file);
  }
  if (!status && !take->is_ended) {
    text_buffer_add(&take->notes, "the take has no end: its server was killed, or its disk full\n");
  }
  if (!status && take->notes.failed) {
    status = error_set(error, STATUS_NO_MEM, "out of memory");
  }
  free(reading);
  return status;
}

Status
take_play(void* const context, Engine* const engine, const uint64_t frame, const uint32_t n_frames,
          Error* const error)
{
  Take* const take = context;
  Status status = STATUS_OK;
  for (; !status && take->n_played < take->n_events; ++take->n_played) {
    const TakeEvent* const event = &take->events[take->n_played];
    if (event->rack ? event->frame > frame : event->frame >= frame + n_frames) {
      break;
    }
    const EngineReplay how = { event->number, event->planned, event->is_first_plan };
    status = event->rack ? engine_replay_edit(engine, event->rack, &how, error)
                         : engine_replay(engine, &event->message, event->number, error);
  }
  return status;
}

void
take_clear(Take* const take)
{
  for (size_t e = 0; e < take->n_events; ++e) {
    rack_free(take->events[e].rack);
  }
  rack_free(take->rack);
  free(take->events);
  free(text_buffer_take(&take->notes));
  *take = (Take){ 0 };
}
