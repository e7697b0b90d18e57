// SPDX-License-Identifier: GPL-3.0-or-later
// Values of parameters: text to number and back, units, ranges.

#include "rack_private.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

/// The units of the language.  A number times 10^exponent is in the unit of the table.
static const struct {
  const char* text;
  FxMeasure measure;
  int exponent;
  bool is_frames;
} units[] = {
  { "Hz", UNIT_HZ, 0, false },   { "kHz", UNIT_HZ, 3, false },   { "k", UNIT_HZ, 3, false },
  { "dB", UNIT_DB, 0, false },   { "ms", UNIT_MS, 0, false },    { "s", UNIT_MS, 3, false },
  { "us", UNIT_MS, -3, false },  { "frames", UNIT_MS, 0, true }, { "%", UNIT_NONE, -2, false },
  { ":1", UNIT_NONE, 0, false }, { "bpm", UNIT_BPM, 0, false },  { "deg", UNIT_DEG, 0, false },
};

static const char* const unit_suffix[] = {
  [UNIT_NONE] = "", [UNIT_HZ] = "Hz",   [UNIT_DB] = "dB",
  [UNIT_MS] = "ms", [UNIT_BPM] = "bpm", [UNIT_DEG] = "deg"
};

static const char* const number_words[] = { [UNIT_NONE] = "a number or a percentage",
                                            [UNIT_HZ] = "a number in Hz or kHz",
                                            [UNIT_DB] = "a number in dB",
                                            [UNIT_MS] = "a number in ms, s or frames",
                                            [UNIT_BPM] = "a number in bpm",
                                            [UNIT_DEG] = "a number in deg" };

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

static Status
choice_error(const FxParam* const param, const char* const given, const char* const* const choices,
             Error* const error)
{
  uint32_t n = 0;
  while (choices[n]) {
    ++n;
  }
  char hint[HINT_BYTES];
  return error_set(error, STATUS_BAD_RACK, "%s has no choice \"%.60s\"; %s", param->id, given,
                   name_hint(hint, given, choices, n));
}

Status
rack_value_from_number(const FxParam* const param, const double number, RackValue* const value,
                       Error* const error)
{
  char given[NUMBER_BYTES];
  FxParam bounds = *param;
  if (!fx_param_range(param, &bounds.min, &bounds.max)) {
    return error_set(error, STATUS_BAD_RACK, "%s takes text, not a number", param->id);
  }
  if (!isfinite(number)) {
    return not_finite(&bounds, error);
  }
  if (number < bounds.min || number > bounds.max) {
    return range_error(&bounds, rack_print_quantity(number, param->unit, given), error);
  }
  if (param->kind != PARAM_NUMBER && number != floor(number)) {
    return error_set(error, STATUS_BAD_RACK, "%s takes a whole number, not %s", param->id,
                     number_print(number, given));
  }
  *value = number == param->initial ? (RackValue){ .kind = VALUE_INITIAL }
                                    : (RackValue){ .kind = VALUE_NUMBER, .number = number + 0.0 };
  return STATUS_OK;
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
  return error_set(error, STATUS_BAD_RACK, "%s takes %s, not \"%.60s\"", param->id,
                   param->kind == PARAM_INTEGER ? "a whole number" : number_words[param->unit],
                   text);
}

static Status
number_from_text(const FxParam* const param, const char* const text, RackValue* const value,
                 Error* const error)
{
  Decimal decimal;
  if (!number_scan(text, &decimal)) {
    return not_a_number(param, text, error);
  }
  const char* const unit = decimal.end + strspn(decimal.end, " ");
  if (!*unit) {
    const Status status = rack_value_from_number(param, number_value(&decimal, 0), value, error);
    value->is_bare = !status && value->kind == VALUE_NUMBER;
    return status;
  }
  for (uint32_t u = 0; u < ARRAY_LEN(units) && param->kind == PARAM_NUMBER; ++u) {
    if (units[u].measure == param->unit && !strcasecmp(units[u].text, unit)) {
      const double number = number_value(&decimal, units[u].exponent);
      return units[u].is_frames ? frames_from_number(param, number, text, value, error)
                                : rack_value_from_number(param, number, value, error);
    }
  }
  if (*unit == ',' && isdigit((unsigned char)unit[1])) {
    return error_set(error, STATUS_BAD_RACK, "%s takes a point in its number: %.*s.%.20s",
                     param->id, (int)(unit - text), text, unit + 1);
  }
  return not_a_number(param, text, error);
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
  for (uint32_t c = 0; param->choices[c]; ++c) {
    if (!strcmp(param->choices[c], text)) {
      return rack_value_from_number(param, c, value, error);
    }
  }
  return choice_error(param, text, param->choices, error);
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
  case PARAM_TEXT:
    return text_from_text(param, text, value, error);
  default:
    return number_from_text(param, text, value, error);
  }
}

/// A time in frames, in ms.  Without a rate (0): 0 for 0 frames, else infinite.
static double
frames_to_ms(const double frames, const double rate_hz)
{
  return frames != 0.0 ? frames * 1000.0 / rate_hz : 0.0;
}

double
rack_number(const RackNode* const node, const uint32_t param, const double rate_hz)
{
  const RackValue* const value = &node->values[param];
  const FxParam* const row = &node->fx->params[param];
  switch (value->kind) {
  case VALUE_NUMBER:
    return value->number;
  case VALUE_FRAMES:
    return fmin(fmax(frames_to_ms(value->number, rate_hz), row->min), row->max);
  case VALUE_TEXT:
    return 0.0;
  default:
    return row->initial;
  }
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

static void
print_text(const char* const text, char* const buffer, const size_t buffer_bytes)
{
  if (rack_quote(text, NULL) <= buffer_bytes) {
    rack_quote(text, buffer);
  } else {
    snprintf(buffer, buffer_bytes, "%s", text);
  }
}

const char*
rack_print_value(const RackNode* const node, const uint32_t param, char* const buffer,
                 const size_t buffer_bytes)
{
  const FxParam* const row = &node->fx->params[param];
  const RackValue* const value = &node->values[param];
  const double number = value->kind == VALUE_INITIAL ? row->initial : value->number;
  char text[NUMBER_BYTES];
  switch (row->kind) {
  case PARAM_FILE:
  case PARAM_TEXT:
    print_text(rack_text(node, param) ? rack_text(node, param) : "", buffer, buffer_bytes);
    return buffer;
  case PARAM_SWITCH:
    snprintf(buffer, buffer_bytes, "%s", number != 0.0 ? "on" : "off");
    return buffer;
  case PARAM_CHOICE:
    snprintf(buffer, buffer_bytes, "%s", row->choices[(uint32_t)number]);
    return buffer;
  default:
    if (value->kind == VALUE_FRAMES) {
      snprintf(buffer, buffer_bytes, "%sframes", number_print(number, text));
    } else {
      snprintf(buffer, buffer_bytes, "%s", rack_print_quantity(number, row->unit, text));
    }
    return buffer;
  }
}
