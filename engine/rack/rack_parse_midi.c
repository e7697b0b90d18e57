// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the statement `midi`.

#include "rack_parser.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "write: midi cc CHANNEL:CONTROLLER NODE.PARAM [LOW..HIGH] [OPTION=VALUE ...]";

/// The options of a line.
typedef enum Option {
  OPTION_TAPER,
  OPTION_INVERT,
  OPTION_PICKUP,
  OPTION_TOGGLE,
  OPTION_RELATIVE,
  N_OPTIONS
} Option;

static const FxParam option_rows[N_OPTIONS] = {
  [OPTION_TAPER] = { .id = "taper", .kind = PARAM_CHOICE, .choices = fx_taper_words },
  [OPTION_INVERT] = { .id = "invert", .kind = PARAM_SWITCH, .max = 1.0 },
  [OPTION_PICKUP] = { .id = "pickup", .kind = PARAM_SWITCH, .max = 1.0 },
  [OPTION_TOGGLE] = { .id = "toggle", .kind = PARAM_SWITCH, .max = 1.0 },
  [OPTION_RELATIVE] = { .id = "relative", .kind = PARAM_CHOICE, .choices = midi_relative_names },
};

/// The texts of a line that is read.
typedef struct Texts {
  char node[RACK_NAME_BYTES];
  char low[2U * NUMBER_BYTES], high[2U * NUMBER_BYTES];
  Token target, range; ///< The range is of TOKEN_END if there is none
} Texts;

// ---- source ----

/// Read a whole number of at most five digits, up to `end`.
static bool
read_number(const char* const text, const char* const end, uint32_t* const number)
{
  const size_t n = (size_t)(end - text);
  *number = 0;
  for (size_t i = 0; i < n && i < 6U; ++i) {
    if (!isdigit((unsigned char)text[i])) {
      return false;
    }
    *number = 10U * *number + (uint32_t)(text[i] - '0');
  }
  return n > 0U && n < 6U;
}

/// Read "1:74", or "1" for a kind without numbers.
static Status
read_place(Parser* const parser, const Token* const token, MidiSource* const source)
{
  static const struct {
    uint32_t first, last;
    const char* what;
  } ranges[MIDI_N_KINDS] = {
    [MIDI_CC] = { 0, MIDI_CONTROLLERS - 1U, "a controller" },
    [MIDI_CC14] = { 0, 31, "the first controller of a pair" },
    [MIDI_NRPN] = { 0, MIDI_VALUES_14 - 1U, "a non-registered parameter" },
    [MIDI_PROGRAM] = { 1, 128, "a program" },
  };
  const char* const colon = strchr(token->text, ':');
  const bool has_number = rack_midi_has_number(source->kind);
  uint32_t channel = 0;
  uint32_t number = 0;
  const char* const end = colon ? colon : token->text + strlen(token->text);
  const bool is_read = read_number(token->text, end, &channel) && has_number == (colon != NULL) &&
                       (!colon || read_number(colon + 1, colon + strlen(colon), &number));
  if (!is_read) {
    return parser_fail(parser, token->offset, STATUS_BAD_RACK,
                       "unexpected \"%.60s\"; write a channel%s", token->text,
                       has_number ? " and a number, such as 1:74" : ", such as 1");
  }
  if (channel < 1U || channel > MIDI_CHANNELS) {
    return parser_fail(parser, token->offset, STATUS_BAD_RACK, "a channel is 1 to %u, not %u",
                       MIDI_CHANNELS, channel);
  }
  if (has_number && (number < ranges[source->kind].first || number > ranges[source->kind].last)) {
    return parser_fail(parser, token->offset, STATUS_BAD_RACK, "%s is %u to %u, not %u",
                       ranges[source->kind].what, ranges[source->kind].first,
                       ranges[source->kind].last, number);
  }
  source->channel = (uint8_t)(channel - 1U);
  source->number = (uint16_t)(number - ranges[source->kind].first);
  return STATUS_OK;
}

/// KIND CHANNEL [ ":" NUMBER ]
static Status
parse_source(Parser* const parser, MidiSource* const source)
{
  Token kind;
  Token place;
  if (parser_expect(parser, TOKEN_WORD, usage, &kind)) {
    return STATUS_BAD_RACK;
  }
  uint32_t k = 0;
  while (k < MIDI_N_KINDS && strcmp(rack_midi_kind_words[k], kind.text) != 0) {
    ++k;
  }
  if (k == MIDI_N_KINDS) {
    char hint[HINT_BYTES];
    return parser_fail(parser, kind.offset, STATUS_BAD_RACK, "MIDI has no \"%.60s\"; %s", kind.text,
                       name_hint(hint, kind.text, rack_midi_kind_words, MIDI_N_KINDS));
  }
  source->kind = (MidiKind)k;
  return parser_expect(parser, TOKEN_WORD, usage, &place) ? STATUS_BAD_RACK
                                                          : read_place(parser, &place, source);
}

// ---- range and options ----

/// Read "80Hz..8kHz".
static Status
parse_range(Parser* const parser, Texts* const texts)
{
  const char* const text = parser->now.text;
  const char* const dots = strstr(text, "..");
  const size_t n_low = (size_t)(dots - text);
  if (!n_low || !dots[2] || n_low >= sizeof(texts->low) ||
      strlen(dots + 2) >= sizeof(texts->high)) {
    return parser_unexpected(parser, "write a range as LOW..HIGH, such as 80Hz..8kHz");
  }
  if (texts->range.kind != TOKEN_END) {
    return parser_unexpected(parser, "the line has a range already");
  }
  snprintf(texts->low, sizeof(texts->low), "%.*s", (int)n_low, text);
  snprintf(texts->high, sizeof(texts->high), "%s", dots + 2);
  texts->range = parser->now;
  parser_advance(parser);
  return STATUS_OK;
}

static void
set_option(MidiShape* const shape, const Option option, const double number)
{
  switch (option) {
  case OPTION_TAPER:
    shape->has_taper = true;
    shape->taper = (FxTaper)number;
    break;
  case OPTION_INVERT:
    shape->is_inverted = number != 0.0;
    break;
  case OPTION_PICKUP:
    shape->has_pickup = number != 0.0;
    break;
  case OPTION_TOGGLE:
    shape->toggles = number != 0.0;
    break;
  default:
    shape->relative = (MidiRelative)number;
    break;
  }
}

/// OPTION "=" value
static Status
parse_option(Parser* const parser, MidiShape* const shape)
{
  const Token name = parser->now;
  uint32_t o = 0;
  while (o < N_OPTIONS && strcmp(option_rows[o].id, name.text) != 0) {
    ++o;
  }
  if (o == N_OPTIONS) {
    return parser_unexpected(parser, "the options are taper, invert, pickup, toggle and relative");
  }
  Token equals;
  Error cause;
  RackValue value = { .kind = VALUE_INITIAL };
  parser_advance(parser);
  Status status = parser_expect(parser, TOKEN_EQUALS, usage, &equals);
  status =
      status ? status : parser_expect(parser, TOKEN_WORD, "a value comes here", &parser->value);
  if (!status && rack_value_from_text(&option_rows[o], parser->value.text, &value, &cause)) {
    status = parser_pass_on(parser, parser->value.offset, &cause);
  }
  if (!status) {
    set_option(shape, (Option)o, value.number); // VALUE_INITIAL is 0
  }
  return status;
}

/// { range | option }
static Status
parse_shape(Parser* const parser, Texts* const texts, MidiShape* const shape)
{
  Status status = STATUS_OK;
  while (!status && parser->now.kind == TOKEN_WORD) {
    if (parser->next.kind == TOKEN_EQUALS) {
      status = parse_option(parser, shape);
    } else if (strstr(parser->now.text, "..")) {
      status = parse_range(parser, texts);
    } else {
      status = rack_unit(parser->now.text) ? parser_unit(parser, &parser->now)
                                           : parser_unexpected(parser, usage);
    }
  }
  return status;
}

// ---- target ----

/// Check a line for a parameter that is there.
static Status
check_param(Parser* const parser, const RackNode* const node, const Texts* const texts,
            const RackMidi* const map)
{
  const FxParam* row = NULL;
  Error cause;
  if (rack_midi_find_param(node, map->param, &row, &cause)) {
    const size_t n_name = strlen(node->name) + 1U;
    return parser_pass_on(parser, texts->target.offset + n_name, &cause);
  }
  MidiTarget target;
  if (rack_midi_shape(row, map, &target, &cause)) {
    const bool has_range = texts->range.kind != TOKEN_END;
    return parser_pass_on(parser, has_range ? texts->range.offset : texts->target.offset, &cause);
  }
  return STATUS_OK;
}

/// Check the node of a line, and its parameter.
static Status
check_target(Parser* const parser, const Texts* const texts, const RackMidi* const map)
{
  Error cause;
  const RackNode* const node = rack_lookup(parser->rack, texts->node, &cause);
  if (!node) {
    return parser_pass_on(parser, texts->target.offset, &cause);
  }
  if (node->fx->is_missing || parser->is_copy) {
    return STATUS_OK; // rack_midi_targets() leaves the line out if it does not fit
  }
  if (map->source.kind == MIDI_NOTES) {
    return node->fx->event ? STATUS_OK
                           : parser_fail(parser, texts->target.offset, STATUS_BAD_RACK,
                                         "%s (%s) takes no notes", node->name, node->fx->name);
  }
  return check_param(parser, node, texts, map);
}

/// "scene" NAME
static Status
parse_scene_target(Parser* const parser, RackMidi* const map)
{
  static const char program_usage[] = "write: midi program CHANNEL:PROGRAM scene NAME";
  Token name;
  Error cause;
  if (parser->now.kind != TOKEN_WORD || strcmp(parser->now.text, "scene") != 0) {
    return parser_unexpected(parser, program_usage);
  }
  parser_advance(parser);
  if (parser_expect(parser, TOKEN_WORD, program_usage, &name)) {
    return STATUS_BAD_RACK;
  }
  map->scene = name.text;
  return rack_check_scene_name(name.text, &cause) ? parser_pass_on(parser, name.offset, &cause)
                                                  : STATUS_OK;
}

/// Copy the name of a node, the first n bytes of the target; none can have a longer one.
static void
copy_name(Texts* const texts, const size_t n)
{
  snprintf(texts->node, sizeof(texts->node), "%.*s", n < sizeof(texts->node) ? (int)n : 0,
           texts->target.text);
}

/// NODE
static Status
parse_notes_target(Parser* const parser, Texts* const texts, RackMidi* const map)
{
  if (parser_expect(parser, TOKEN_WORD, "write: midi notes CHANNEL NODE", &texts->target)) {
    return STATUS_BAD_RACK;
  }
  copy_name(texts, strlen(texts->target.text));
  return check_target(parser, texts, map);
}

/// NODE "." PARAM { range | option }
static Status
parse_param_target(Parser* const parser, Texts* const texts, RackMidi* const map)
{
  texts->target = parser->now;
  const size_t n_name = strcspn(texts->target.text, ".");
  if (texts->target.kind != TOKEN_WORD || !texts->target.text[n_name] || !n_name ||
      !texts->target.text[n_name + 1U]) {
    return parser_unexpected(parser, usage);
  }
  parser_advance(parser);
  copy_name(texts, n_name);
  map->param = texts->target.text + n_name + 1U;
  const Status status = parse_shape(parser, texts, &map->shape);
  return status ? status : check_target(parser, texts, map);
}

Status
rack_parse_midi(Parser* const parser)
{
  Texts texts = { .range = { .kind = TOKEN_END } };
  RackMidi map = {
    .node = texts.node, .param = "", .scene = "", .low = texts.low, .high = texts.high, .line = ""
  };
  const size_t offset = parser->now.offset;
  Error cause;
  Status status = parse_source(parser, &map.source);
  if (!status) {
    status = map.source.kind == MIDI_PROGRAM ? parse_scene_target(parser, &map)
             : map.source.kind == MIDI_NOTES ? parse_notes_target(parser, &texts, &map)
                                             : parse_param_target(parser, &texts, &map);
  }
  if (status) {
    return status;
  }
  if (parser->is_document && rack_find_midi(parser->rack, &map)) {
    return parser_fail(parser, offset, STATUS_EXISTS,
                       "the same source has the same target twice; remove one line");
  }
  return rack_put_midi(parser->rack, &map, &cause) ? parser_pass_on(parser, offset, &cause)
                                                   : STATUS_OK;
}
