// SPDX-License-Identifier: GPL-3.0-or-later
// Values of parameters: text to number and back, units, ranges.

#include "rack_private.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const FxParam rack_backend_param = { .id = "backend",
                                     .kind = PARAM_CHOICE,
                                     .choices = (const char* const[]){ "auto", "cpu", "gpu", NULL },
                                     .help = "Where a node runs" };

const FxParam rack_gain_param = { .id = "gain",
                                  .kind = PARAM_NUMBER,
                                  .unit = UNIT_DB,
                                  .min = RACK_GAIN_MIN_DB,
                                  .max = RACK_GAIN_MAX_DB,
                                  .help = "Gain of a connection" };

const FxParam rack_fade_param = { .id = "fade",
                                  .kind = PARAM_NUMBER,
                                  .unit = UNIT_S,
                                  .min = 0.0,
                                  .max = RACK_MAX_FADE_SECONDS,
                                  .help = "Time of a scene's fade" };

const FxParam rack_curve_param = {
  .id = "curve", .kind = PARAM_CHOICE, .choices = fx_curve_names, .help = "Curve of a scene's fade"
};

/// A unit of the language.
typedef struct Unit {
  const char* text;
  FxMeasure measure; ///< Of the parameters that take it
  int exponent;      ///< A number times 10^exponent is in the unit of the table
  enum { FORM_SCALED, FORM_FRAMES, FORM_LEVEL } form;
} Unit;

static const Unit units[] = {
  { "Hz", UNIT_HZ, 0, FORM_SCALED },     { "kHz", UNIT_HZ, 3, FORM_SCALED },
  { "k", UNIT_HZ, 3, FORM_SCALED },      { "dB", UNIT_DB, 0, FORM_SCALED },
  { "dB", UNIT_LINEAR, 0, FORM_LEVEL },  { "ms", UNIT_MS, 0, FORM_SCALED },
  { "s", UNIT_MS, 3, FORM_SCALED },      { "us", UNIT_MS, -3, FORM_SCALED },
  { "frames", UNIT_MS, 0, FORM_FRAMES }, { "s", UNIT_S, 0, FORM_SCALED },
  { "ms", UNIT_S, -3, FORM_SCALED },     { "us", UNIT_S, -6, FORM_SCALED },
  { "%", UNIT_NONE, -2, FORM_SCALED },   { "%", UNIT_PERCENT, 0, FORM_SCALED },
  { ":1", UNIT_NONE, 0, FORM_SCALED },   { "bpm", UNIT_BPM, 0, FORM_SCALED },
  { "deg", UNIT_DEG, 0, FORM_SCALED },
};

static const char* const unit_suffix[] = {
  [UNIT_NONE] = "",   [UNIT_HZ] = "Hz", [UNIT_DB] = "dB",     [UNIT_MS] = "ms",  [UNIT_BPM] = "bpm",
  [UNIT_DEG] = "deg", [UNIT_S] = "s",   [UNIT_PERCENT] = "%", [UNIT_LINEAR] = ""
};

static const char* const number_words[] = { [UNIT_NONE] = "a number or a percentage",
                                            [UNIT_HZ] = "a number in Hz or kHz",
                                            [UNIT_DB] = "a number in dB",
                                            [UNIT_MS] = "a number in ms, s or frames",
                                            [UNIT_BPM] = "a number in bpm",
                                            [UNIT_DEG] = "a number in deg",
                                            [UNIT_S] = "a number in s or ms",
                                            [UNIT_PERCENT] = "a number in %",
                                            [UNIT_LINEAR] = "a factor or a number in dB" };

const char*
rack_unit(const char* const text)
{
  static const struct {
    const char *text, *unit;
  } foreign[] = {
    { "dBFS", "dB" },    { "decibel", "dB" },     { "decibels", "dB" }, { "hertz", "Hz" },
    { "khertz", "kHz" }, { "msec", "ms" },        { "sec", "s" },       { "secs", "s" },
    { "seconds", "s" },  { "samples", "frames" }, { "percent", "%" },   { "degrees", "deg" },
  };
  for (uint32_t u = 0; u < ARRAY_LEN(units); ++u) {
    if (!strcasecmp(units[u].text, text)) {
      return units[u].text;
    }
  }
  for (uint32_t f = 0; f < ARRAY_LEN(foreign); ++f) {
    if (!strcasecmp(foreign[f].text, text)) {
      return foreign[f].unit;
    }
  }
  return NULL;
}

const char*
rack_print_quantity(const double number, const FxMeasure unit, char text[const NUMBER_BYTES])
{
  number_print(number, text);
  return strcat(text, unit_suffix[unit]);
}

static Status
range_error(const FxParam* const param, const char* const given, Error* const error)
{
  char min[NUMBER_BYTES];
  char max[NUMBER_BYTES];
  rack_print_quantity(param->min, param->unit, min);
  rack_print_quantity(param->max, param->unit, max);
  return error_set(error, STATUS_BAD_RACK, "%s %s is out of range; %s to %s", param->id, given, min,
                   max);
}

static Status
not_finite(const FxParam* const param, Error* const error)
{
  char min[NUMBER_BYTES];
  char max[NUMBER_BYTES];
  return error_set(error, STATUS_BAD_RACK, "%s takes a finite number; %s to %s", param->id,
                   rack_print_quantity(param->min, param->unit, min),
                   rack_print_quantity(param->max, param->unit, max));
}

/// Write the nearest of names, or the first ones.
static const char*
choice_hint(char hint[const HINT_BYTES], const char* const given, const char* const* const choices)
{
  uint32_t n = 0;
  while (choices[n]) {
    ++n;
  }
  return name_hint(hint, given, choices, n);
}

static Status
choice_error(const FxParam* const param, const char* const given, const char* const* const choices,
             Error* const error)
{
  char hint[HINT_BYTES];
  return error_set(error, STATUS_BAD_RACK, "%s has no choice \"%.60s\"; %s", param->id, given,
                   choice_hint(hint, given, choices));
}

static Status
choice_from_number(const FxParam* const param, const double number, double* const exact,
                   Error* const error)
{
  const int choice = fx_choice_find(param, number);
  if (choice < 0) {
    char given[NUMBER_BYTES];
    char hint[HINT_BYTES];
    return error_set(error, STATUS_BAD_RACK, "%s has no choice %s; %s", param->id,
                     number_print(number, given), choice_hint(hint, "", param->choices));
  }
  *exact = fx_choice_number(param, (uint32_t)choice);
  return STATUS_OK;
}

/// The bound that a number exceeds only because it was a float, as numbers of OSC are; else the
/// number.
static double
clip_float(const FxParam* const param, const double number)
{
  const double bound = fmin(fmax(number, param->min), param->max);
  return (float)number == (float)bound ? bound : number;
}

/// Check that a number is in range, and whole if the kind of its parameter requires it.
static Status
check_number(const FxParam* const param, const double number, Error* const error)
{
  char given[NUMBER_BYTES];
  if (number < param->min || number > param->max) {
    return range_error(param, rack_print_quantity(number, param->unit, given), error);
  }
  return param->kind == PARAM_NUMBER || number == floor(number)
             ? STATUS_OK
             : error_set(error, STATUS_BAD_RACK, "%s takes a whole number, not %s", param->id,
                         number_print(number, given));
}

RackValue
rack_value_of(const FxParam* const param, const double number)
{
  return number == param->initial && !param->in_presets && !param->follows_tempo
             ? (RackValue){ .kind = VALUE_INITIAL }
             : (RackValue){ .kind = VALUE_NUMBER, .number = number };
}

Status
rack_value_from_number(const FxParam* const param, const double number, RackValue* const value,
                       Error* const error)
{
  FxParam bounds = *param;
  if (!fx_param_range(param, &bounds.min, &bounds.max)) {
    return error_set(error, STATUS_BAD_RACK, "%s takes text, not a number", param->id);
  }
  if (!isfinite(number)) {
    return not_finite(&bounds, error);
  }
  double exact = clip_float(&bounds, number) + 0.0; // turns -0 into 0
  const Status status = param->kind == PARAM_CHOICE
                            ? choice_from_number(param, number, &exact, error)
                            : check_number(&bounds, exact, error);
  if (!status) {
    *value = rack_value_of(param, exact);
  }
  return status;
}

/// Read a time in frames: its upper bound depends on the rate, see rack_check_rate().
static Status
frames_from_number(const FxParam* const param, const double frames, const char* const text,
                   RackValue* const value, Error* const error)
{
  if (!isfinite(frames)) {
    return not_finite(param, error);
  }
  if ((frames < 0.0 && param->min >= 0.0) || (frames == 0.0 && param->min > 0.0)) {
    return range_error(param, text, error);
  }
  *value = (RackValue){ .kind = VALUE_FRAMES, .number = frames + 0.0 };
  return STATUS_OK;
}

static Status
not_a_number(const FxParam* const param, const char* const text, Error* const error)
{
  const char* const word = text + (*text == '-' || *text == '+');
  if (!strncasecmp(word, "inf", 3) || !strcasecmp(word, "nan")) {
    return not_finite(param, error);
  }
  const char* const wanted = rack_can_follow_tempo(param)   ? "a number in bpm, or the word tempo"
                             : param->kind == PARAM_INTEGER ? "a whole number"
                                                            : number_words[param->unit];
  char hint[HINT_BYTES];
  return param->choices
             ? error_set(error, STATUS_BAD_RACK, "%s takes %s, or a name, not \"%.60s\"; %s",
                         param->id, wanted, text, choice_hint(hint, text, param->choices))
             : error_set(error, STATUS_BAD_RACK, "%s takes %s, not \"%.60s\"", param->id, wanted,
                         text);
}

/// The unit with this text, if numbers of the parameter may have it; else NULL.
static const Unit*
find_unit(const FxParam* const param, const char* const text)
{
  for (uint32_t u = 0; u < ARRAY_LEN(units); ++u) {
    const bool fits =
        param->kind == PARAM_NUMBER || (param->unit != UNIT_NONE && units[u].form == FORM_SCALED);
    if (fits && units[u].measure == param->unit && !strcasecmp(units[u].text, text)) {
      return &units[u];
    }
  }
  return NULL;
}

/// The factor of a level.  Plugins round their bounds, so 24dB may be above the maximum 15.84893: a
/// factor within 0.001 dB of a bound is that bound.
static double
factor_of(const FxParam* const param, const double level_db)
{
  const double factor = pow(10.0, level_db / 20.0);
  const double margin = 1.1e-4 * factor;
  return fabs(factor - param->min) < margin   ? param->min
         : fabs(factor - param->max) < margin ? param->max
                                              : factor;
}

static Status
quantity_from_text(const FxParam* const param, const char* const text, const Decimal* const decimal,
                   const Unit* const unit, RackValue* const value, Error* const error)
{
  const double number = number_value(decimal, unit->exponent);
  if (unit->form == FORM_FRAMES) {
    return frames_from_number(param, number, text, value, error);
  }
  const bool is_level = unit->form == FORM_LEVEL;
  return rack_value_from_number(param, is_level ? factor_of(param, number) : number, value, error);
}

/// Index of the choice with this name, or -1.
static int
find_choice(const FxParam* const param, const char* const name)
{
  for (uint32_t c = 0; param->choices && param->choices[c]; ++c) {
    if (!strcmp(param->choices[c], name)) {
      return (int)c;
    }
  }
  return -1;
}

static Status
number_from_text(const FxParam* const param, const char* const text, RackValue* const value,
                 Error* const error)
{
  Decimal decimal;
  const bool is_number = number_scan(text, &decimal);
  const char* const rest = is_number ? decimal.end + strspn(decimal.end, " ") : "";
  if (is_number && !*rest) {
    const Status status = rack_value_from_number(param, number_value(&decimal, 0), value, error);
    value->is_bare = !status && value->kind == VALUE_NUMBER;
    return status;
  }
  const Unit* const unit = is_number ? find_unit(param, rest) : NULL;
  if (unit) {
    return quantity_from_text(param, text, &decimal, unit, value, error);
  }
  const int choice = find_choice(param, text);
  if (choice >= 0) {
    return rack_value_from_number(param, fx_choice_number(param, (uint32_t)choice), value, error);
  }
  if (!strcmp(text, "tempo") && rack_can_follow_tempo(param)) {
    *value = (RackValue){ .kind = VALUE_TEMPO };
    return STATUS_OK;
  }
  return *rest == ',' && isdigit((unsigned char)rest[1])
             ? error_set(error, STATUS_BAD_RACK, "%s takes a point in its number: %.*s.%.20s",
                         param->id, (int)(rest - text), text, rest + 1)
             : not_a_number(param, text, error);
}

static Status
switch_from_text(const FxParam* const param, const char* const text, RackValue* const value,
                 Error* const error)
{
  static const char* const words[] = { "off", "on", "no", "yes", "false", "true", "0", "1", NULL };
  for (uint32_t w = 0; words[w]; ++w) {
    if (!strcmp(words[w], text)) {
      return rack_value_from_number(param, w % 2U, value, error);
    }
  }
  return choice_error(param, text, (const char* const[]){ "off", "on", NULL }, error);
}

static Status
choice_from_text(const FxParam* const param, const char* const text, RackValue* const value,
                 Error* const error)
{
  int choice = find_choice(param, text);
  Decimal decimal;
  if (choice < 0 && param->choice_values && number_scan(text, &decimal) && !*decimal.end) {
    choice = fx_choice_find(param, number_value(&decimal, 0));
  }
  return choice < 0 ? choice_error(param, text, param->choices, error)
                    : rack_value_from_number(param, fx_choice_number(param, (uint32_t)choice),
                                             value, error);
}

static Status
text_from_text(const FxParam* const param, const char* const text, RackValue* const value,
               Error* const error)
{
  for (const char* at = text; *at; ++at) {
    if (((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7F) {
      return error_set(error, STATUS_BAD_RACK,
                       "%s has a control character in its text; write one line", param->id);
    }
  }
  if (!*text || (param->initial_text && !strcmp(text, param->initial_text))) {
    *value = (RackValue){ .kind = VALUE_INITIAL };
    return STATUS_OK;
  }
  if (strlen(text) >= RACK_MAX_TEXT / 2U) {
    return error_set(error, STATUS_LIMIT, "%s is too long; at most %u bytes", param->id,
                     RACK_MAX_TEXT / 2U);
  }
  *value = (RackValue){ .kind = VALUE_TEXT, .text = strdup(text) };
  return value->text ? STATUS_OK : rack_no_memory(error);
}

Status
rack_value_from_text(const FxParam* const param, const char* const text, RackValue* const value,
                     Error* const error)
{
  switch (param->kind) {
  case PARAM_SWITCH:
    return switch_from_text(param, text, value, error);
  case PARAM_CHOICE:
    return choice_from_text(param, text, value, error);
  case PARAM_FILE:
  case PARAM_PATH:
  case PARAM_TEXT:
    return text_from_text(param, text, value, error);
  default:
    return number_from_text(param, text, value, error);
  }
}

bool
rack_can_follow_tempo(const FxParam* const param)
{
  return param->unit == UNIT_BPM && !param->structural &&
         (param->kind == PARAM_NUMBER || param->kind == PARAM_INTEGER);
}

/// The number of a parameter that follows the tempo.
static double
tempo_number(const FxParam* const param, const double bpm)
{
  const double number = param->kind == PARAM_INTEGER ? rint(bpm) : bpm;
  return fmin(fmax(number, param->min), param->max);
}

/// A time in frames, in ms.  Without a rate (0): 0 for 0 frames, else infinite.
static double
frames_to_ms(const double frames, const double rate_hz)
{
  return frames != 0.0 ? frames * 1000.0 / rate_hz : 0.0;
}

double
rack_value_number(const RackNode* const node, const uint32_t param, const RackValue* const value,
                  const double rate_hz)
{
  const FxParam* const row = &node->fx->params[param];
  switch (value->kind) {
  case VALUE_NUMBER:
    return value->number;
  case VALUE_FRAMES:
    return fmin(fmax(frames_to_ms(value->number, rate_hz), row->min), row->max);
  case VALUE_TEMPO:
    return tempo_number(row, node->tempo_bpm);
  case VALUE_TEXT:
    return 0.0;
  default:
    return row->initial;
  }
}

double
rack_number(const RackNode* const node, const uint32_t param, const double rate_hz)
{
  return rack_value_number(node, param, &node->values[param], rate_hz);
}

Status
rack_check_rate(const Rack* const rack, const double rate_hz, Error* const error)
{
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    const RackNode* const node = &rack->nodes[n];
    for (uint32_t p = 0; p < node->fx->n_params; ++p) {
      const FxParam* const row = &node->fx->params[p];
      const double ms = frames_to_ms(node->values[p].number, rate_hz);
      if (node->values[p].kind == VALUE_FRAMES && !(ms >= row->min && ms <= row->max)) {
        char text[2][NUMBER_BYTES];
        return error_set(error, STATUS_BAD_RACK,
                         "%s.%s is %.9g ms at this rate, out of range; %s to %s", node->name,
                         row->id, ms, rack_print_quantity(row->min, row->unit, text[0]),
                         rack_print_quantity(row->max, row->unit, text[1]));
      }
    }
  }
  return STATUS_OK;
}

const char*
rack_text(const RackNode* const node, const uint32_t param)
{
  const RackValue* const value = &node->values[param];
  return value->kind == VALUE_TEXT ? value->text : node->fx->params[param].initial_text;
}

size_t
rack_quote(const char* const text, char* const out)
{
  const size_t length = strlen(text);
  size_t n_plain = 0;
  while (isalnum((unsigned char)text[n_plain]) || (text[n_plain] & 0x80) ||
         (text[n_plain] && strchr("_./%-", text[n_plain]))) {
    ++n_plain;
  }
  if (length && n_plain == length) {
    if (out) {
      memcpy(out, text, length + 1U);
    }
    return length + 1U;
  }
  size_t n = 0;
  for (const char* at = text; *at; ++at, ++n) {
    const bool escaped = *at == '"' || *at == '\\';
    if (out) {
      out[1U + n] = '\\';
      out[1U + n + escaped] = *at;
    }
    n += escaped;
  }
  if (out) {
    out[0] = '"';
    out[1U + n] = '"';
    out[2U + n] = '\0';
  }
  return n + 3U;
}

const char*
rack_choice_name(const FxParam* const param, const double number, char text[const NUMBER_BYTES])
{
  const int choice = fx_choice_find(param, number);
  return choice < 0 ? number_print(number, text) : param->choices[choice];
}

static void
print_text(const char* const text, char* const buffer, const size_t buffer_bytes)
{
  if (rack_quote(text, NULL) <= buffer_bytes) {
    rack_quote(text, buffer);
  } else {
    snprintf(buffer, buffer_bytes, "%s", text);
  }
}

bool
rack_value_is_text(const FxParam* const param)
{
  return param->kind == PARAM_CHOICE || fx_param_is_text(param);
}

const char*
rack_value_text(const FxParam* const param, const RackValue* const value,
                char text[const NUMBER_BYTES])
{
  const double number = value->kind == VALUE_INITIAL ? param->initial : value->number;
  const char* const initial = param->initial_text ? param->initial_text : "";
  switch (param->kind) {
  case PARAM_FILE:
  case PARAM_PATH:
  case PARAM_TEXT:
    return value->kind == VALUE_TEXT ? value->text : initial;
  case PARAM_SWITCH:
    return number != 0.0 ? "on" : "off";
  case PARAM_CHOICE:
    return rack_choice_name(param, number, text);
  default:
    if (value->kind == VALUE_TEMPO) {
      return "tempo";
    }
    if (value->kind == VALUE_FRAMES) {
      number_print(number, text);
      return strcat(text, "frames");
    }
    return rack_print_quantity(number, param->unit, text);
  }
}

const char*
rack_print_value(const RackNode* const node, const uint32_t param, char* const buffer,
                 const size_t buffer_bytes)
{
  const FxParam* const row = &node->fx->params[param];
  char number[NUMBER_BYTES];
  const char* const text = rack_value_text(row, &node->values[param], number);
  if (rack_value_is_text(row)) {
    print_text(text, buffer, buffer_bytes);
  } else {
    snprintf(buffer, buffer_bytes, "%s", text);
  }
  return buffer;
}
