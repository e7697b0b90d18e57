// SPDX-License-Identifier: GPL-3.0-or-later
// Names: the rules for node names, default names for nodes, and searches that suggest the nearest
// name if there is none.

#include "rack_private.h"
#include "rack_token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* const formats[] = { "clap", "ladspa", "lv2" };

static const char digits[] = "0123456789";
static const char name_characters[] = "_-0123456789"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "abcdefghijklmnopqrstuvwxyz";

bool
rack_is_format(const char* const word)
{
  for (uint32_t f = 0; f < ARRAY_LEN(formats); ++f) {
    if (!strcmp(formats[f], word)) {
      return true;
    }
  }
  return false;
}

bool
rack_is_effect(const char* const word)
{
  return fx_find(word) || rack_is_format(word);
}

const char**
rack_effect_names(uint32_t* const n_names)
{
  const FxInfo* const* const table = fx_table(n_names);
  const char** const names = malloc((*n_names + ARRAY_LEN(formats)) * sizeof(char*));
  for (uint32_t i = 0; names && i < *n_names; ++i) {
    names[i] = table[i]->name;
  }
  for (uint32_t f = 0; names && f < ARRAY_LEN(formats); ++f) {
    names[(*n_names)++] = formats[f];
  }
  return names;
}

const FxInfo*
rack_effect(const char* const name, Error* const error)
{
  const FxInfo* const fx = fx_find(name);
  if (fx) {
    return fx;
  }
  if (!rack_read_side(name, &(RackSide){ RACK_BEFORE }, NULL)) {
    error_set(error, STATUS_NOT_FOUND,
              "no effect \"%s\"; the effect is missing: write NAME EFFECT before|after END", name);
    return NULL;
  }
  uint32_t n = 0;
  const char** const names = rack_effect_names(&n);
  const bool has_near = names && nearest_name(name, names, n);
  const char* const format = has_near ? NULL : fx_plugin_format(name);
  char hint[HINT_BYTES];
  if (format) {
    error_set(error, STATUS_NOT_FOUND, "\"%.60s\" is a plugin; write: %s %.60s", name, format,
              name);
  } else {
    error_set(error, STATUS_NOT_FOUND, "no effect \"%.60s\"; %s", name,
              name_hint(hint, name, names, names ? n : 0U));
  }
  free(names);
  return NULL;
}

/// Find a plugin by the text after its format, which may have quotes.
static Status
find_plugin(const char* const format, const char* const text, const FxInfo** const fx,
            Error* const error)
{
  Tokenizer tokenizer;
  if (!tokenizer_init(&tokenizer, text)) {
    return rack_no_memory(error);
  }
  const Token token = token_next(&tokenizer);
  const bool is_quoted = token.kind == TOKEN_STRING && token_next(&tokenizer).kind == TOKEN_END;
  const char* const id = is_quoted ? token.text : text;
  const Status status =
      *id ? fx_find_plugin(format, id, fx, error)
          : error_set(error, STATUS_BAD_RACK,
                      "\"%s\" lacks the id or a short name of a plugin after it", format);
  tokenizer_clear(&tokenizer);
  return status;
}

Status
rack_read_effect(const char* const text, const FxInfo** const fx, Error* const error)
{
  const size_t n_format = strcspn(text, " \t");
  char format[RACK_NAME_BYTES];
  snprintf(format, sizeof(format), "%.*s", n_format < sizeof(format) ? (int)n_format : 0, text);
  if (rack_is_format(format)) {
    const char* const after = text + n_format;
    return find_plugin(format, after + strspn(after, " \t"), fx, error);
  }
  *fx = rack_effect(text, error);
  return *fx ? STATUS_OK : STATUS_NOT_FOUND;
}

Status
rack_no_node(const Rack* const rack, const char* const name, const bool may_be_end,
             Error* const error)
{
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    if (!strcmp(rack->nodes[n].fx->name, name)) {
      return error_set(error, STATUS_NOT_FOUND,
                       "no node \"%s\"; the node with this effect is \"%s\"", name,
                       rack->nodes[n].name);
    }
  }
  if (fx_find(name) && may_be_end) {
    return error_set(error, STATUS_NOT_FOUND,
                     "no node \"%s\"; it is an effect: add %s %s makes a node of it", name, name,
                     name);
  }
  const uint32_t n_ends = may_be_end ? 2U : 0U;
  const uint32_t n = rack->n_nodes + n_ends;
  const char** const names = malloc((n + 1U) * sizeof(char*));
  for (uint32_t i = 0; names && i < n; ++i) {
    names[i] = i >= n_ends ? rack->nodes[i - n_ends].name : i ? "out" : "in";
  }
  char hint[HINT_BYTES];
  error_set(error, STATUS_NOT_FOUND, "no node \"%.60s\"; %s", name,
            n ? name_hint(hint, name, names, names ? n : 0U) : "the rack has none yet");
  free(names);
  return STATUS_NOT_FOUND;
}

RackNode*
rack_lookup(const Rack* const rack, const char* const name, Error* const error)
{
  const RackNode* const node = rack_find(rack, name);
  if (node) {
    return &rack->nodes[node - rack->nodes];
  }
  (void)rack_no_node(rack, name, false, error);
  return NULL;
}

/// The ids of all parameters, "backend" before the switches of the engine, for the caller to free;
/// NULL when out of memory.
static const char**
param_names(const FxInfo* const fx)
{
  const char** const names = malloc((fx->n_params + 1U) * sizeof(char*));
  const uint32_t n_own = fx_own_params(fx);
  for (uint32_t p = 0; names && p < fx->n_params; ++p) {
    names[p < n_own ? p : p + 1U] = fx->params[p].id;
  }
  if (names) {
    names[n_own] = "backend";
  }
  return names;
}

/// The hint for a word that is no parameter: a near one, or a list without the switches.
static const char*
param_hint(const FxInfo* const fx, const char* const word, char hint[const HINT_BYTES])
{
  const char** const names = param_names(fx);
  const bool has_near = names && nearest_name(word, names, fx->n_params + 1U);
  const uint32_t n = has_near ? fx->n_params + 1U : fx_own_params(fx) + 1U;
  const char* const text = name_hint(hint, word, names, names ? n : 0U);
  free(names);
  return text;
}

const char*
rack_near_param(const FxInfo* const fx, const char* const word)
{
  const char** const names = param_names(fx);
  const char* const near =
      names && strlen(word) > 1U ? nearest_name(word, names, fx->n_params + 1U) : NULL;
  const int exact = fx_param_find(fx, word); // may have one letter
  free(names);
  return exact >= 0 ? fx->params[exact].id : near;
}

uint16_t
rack_find_side_input(const FxInfo* const fx, const char* const name, const size_t n)
{
  for (uint32_t s = 0; s < fx->n_sides; ++s) {
    if (strlen(fx->sides[s].name) == n && !strncmp(fx->sides[s].name, name, n)) {
      return (uint16_t)(s + 1U);
    }
  }
  return 0;
}

Status
rack_find_param(const FxInfo* const fx, const char* const id, uint32_t* const param,
                Error* const error)
{
  const int found = fx_param_find(fx, id);
  if (found >= 0 || !strcmp(id, "backend")) {
    *param = found >= 0 ? (uint32_t)found : fx->n_params;
    return STATUS_OK;
  }
  if (rack_find_side_input(fx, id, strlen(id))) {
    return error_set(error, STATUS_NOT_FOUND,
                     "%s of %s is a side input, not a parameter; a statement connects it: "
                     "connect FROM NODE.%s",
                     id, fx->name, id);
  }
  if (fx->is_missing) {
    return error_set(error, STATUS_NOT_FOUND,
                     "%s: the %s plugin is missing, so its parameters are not known", fx->name,
                     fx->origin->format);
  }
  char hint[HINT_BYTES];
  const bool is_state = !strcmp(id, "state"); // others have one, see FxInfo::save
  return error_set(error, STATUS_NOT_FOUND, "%s has no parameter \"%.60s\"%s; %s", fx->name, id,
                   is_state ? ", because the values of its parameters are all its state" : "",
                   param_hint(fx, id, hint));
}

Status
rack_check_name(const Rack* const rack, const char* const name, Error* const error)
{
  const size_t n = strspn(name, name_characters);
  if (!n || name[n] || name[0] == '-' || strchr(digits, name[0])) {
    return error_set(
        error, STATUS_BAD_RACK,
        "\"%.60s\" is not a valid name; use letters, digits, _ and -, first a letter or _", name);
  }
  if (n >= RACK_NAME_BYTES) {
    return error_set(error, STATUS_LIMIT, "the name is too long; at most %u characters",
                     RACK_NAME_BYTES - 1U);
  }
  if (!strcmp(name, "in") || !strcmp(name, "out")) {
    return error_set(error, STATUS_BAD_RACK, "\"%s\" is an end of the rack; choose another name",
                     name);
  }
  if (rack_find(rack, name)) {
    return error_set(error, STATUS_EXISTS, "the name \"%s\" is taken; choose another one", name);
  }
  return STATUS_OK;
}

Status
rack_read_side(const char* const text, RackSide* const side, Error* const error)
{
  *side = strcmp(text, "after") != 0 ? RACK_BEFORE : RACK_AFTER;
  return *side == RACK_AFTER || !strcmp(text, "before")
             ? STATUS_OK
             : error_set(error, STATUS_BAD_RACK, "\"%.60s\" is neither before nor after", text);
}
