// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes of equaliser settings, and their rack; see eq_nodes.h.

#include "eq_nodes.h"

#include "engine/base/number.h"
#include "engine/base/text.h"
#include "engine/base/text_buffer.h"
#include "engine/contract/effect.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Status
eq_refuse(const EqFile* const file, const char* const format, ...)
{
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  return error_set(file->error, STATUS_FILE, "%.200s:%u: %s", file->name, file->line_number, text);
}

void
eq_report(const EqFile* const file, const char* const format, ...)
{
  char text[512];
  int n = snprintf(text, sizeof(text), "%.200s:%u: ", file->name, file->line_number);
  va_list args;
  va_start(args, format);
  vsnprintf(text + n, sizeof(text) - (size_t)n, format, args);
  va_end(args);
  text_make_printable(text);
  file->note(file->context, text);
}

double
eq_rounded(const double value)
{
  char digits[NUMBER_BYTES];
  snprintf(digits, sizeof(digits), "%.6g", value);
  return strtod(digits, NULL);
}

Status
eq_add_node(EqFile* const file, char* const text)
{
  EqNode* const nodes = realloc(file->nodes, (file->n_nodes + 1U) * sizeof(EqNode));
  if (!nodes || !text) {
    file->nodes = nodes ? nodes : file->nodes;
    free(text);
    return error_set(file->error, STATUS_NO_MEM, "%.200s: out of memory", file->name);
  }
  file->nodes = nodes;
  EqNode* const node = &nodes[file->n_nodes++];
  node->channels = file->channels;
  node->text = text;
  if (++file->n_parts == 1U) {
    snprintf(node->name, sizeof(node->name), "%s", file->prefix);
  } else {
    snprintf(node->name, sizeof(node->name), "%s_%u", file->prefix, file->n_parts);
  }
  return STATUS_OK;
}

void
eq_name_nodes(EqFile* const file, const char* const word)
{
  unsigned* const n = strcmp(word, "f") ? &file->n_others : &file->n_filters;
  snprintf(file->prefix, sizeof(file->prefix), "%.4s%u", word, ++*n);
  file->n_parts = 0;
}

static const char*
unit_of(const FxParam* const param)
{
  return param->unit == UNIT_HZ ? "Hz" : param->unit == UNIT_DB ? "dB" : "";
}

Status
eq_add_effect(EqFile* const file, const char* const effect, const EqValue values[static 3])
{
  const FxInfo* const fx = fx_find(effect);
  char text[160];
  size_t n = (size_t)snprintf(text, sizeof(text), "%s", effect);
  for (unsigned v = 0; v < 3U && values[v].id; ++v) {
    const FxParam* const param = &fx->params[fx_param_find(fx, values[v].id)];
    char digits[NUMBER_BYTES];
    if (!fx_param_accepts(param, values[v].value)) {
      return eq_refuse(file, "%s %g%s: %s takes %g to %g%s", values[v].id, values[v].value,
                       unit_of(param), effect, param->min, param->max, unit_of(param));
    }
    number_print(values[v].value, digits);
    n += (size_t)snprintf(text + n, sizeof(text) - n, " %s=%s%s", values[v].id, digits,
                          unit_of(param));
  }
  return eq_add_node(file, strdup(text));
}

Status
eq_add_section(EqFile* const file, const char* const effect, const double frequency_hz,
               const double gain_db, const double q)
{
  return eq_add_effect(
      file, effect, (EqValue[3]){ { "frequency", frequency_hz }, { "gain", gain_db }, { "q", q } });
}

static bool
is_same_for_all(const EqFile* const file)
{
  bool is_same = true;
  for (unsigned c = 1; c < EQ_MAX_CHANNELS; ++c) {
    is_same = is_same && file->preamps_db[c] == file->preamps_db[0];
  }
  for (size_t n = 0; n < file->n_nodes; ++n) {
    is_same = is_same && file->nodes[n].channels == EQ_ALL_CHANNELS;
  }
  return is_same;
}

/// Print one chain, for all channels or for one.
static void
print_chain(const EqFile* const file, const unsigned channel, const bool is_alone,
            TextBuffer* const out)
{
  char digits[NUMBER_BYTES];
  char head[24] = "";
  const char* between = "chain ";
  if (!is_alone) {
    text_buffer_print(out, "chain in:%u", channel + 1U);
    snprintf(head, sizeof(head), "ch%u_", channel + 1U);
    between = " |\n  ";
  }
  if (file->preamps_db[channel] != 0.0) {
    text_buffer_print(out, "%s%spreamp: gain %sdB", between, head,
                      number_print(file->preamps_db[channel], digits));
    between = " |\n  ";
  }
  for (size_t n = 0; n < file->n_nodes; ++n) {
    if (file->nodes[n].channels >> channel & 1U) {
      text_buffer_print(out, "%s%s%s: %s", between, head, file->nodes[n].name, file->nodes[n].text);
      between = " |\n  ";
    }
  }
  if (!is_alone) {
    text_buffer_print(out, " |\n  out:%u", channel + 1U);
  }
  text_buffer_add(out, "\n");
}

Status
eq_print_rack(const EqFile* const file, char** const rack)
{
  TextBuffer out = { 0 };
  const bool is_alone = is_same_for_all(file);
  const unsigned n_chains = is_alone ? 1U : file->n_channels > 2U ? file->n_channels : 2U;
  for (unsigned c = 0; c < n_chains; ++c) {
    print_chain(file, c, is_alone, &out);
  }
  *rack = text_buffer_take(&out);
  return *rack ? STATUS_OK
               : error_set(file->error, STATUS_NO_MEM, "%.200s: out of memory", file->name);
}
