// SPDX-License-Identifier: GPL-3.0-or-later
// Plugins as lines for OSC clients.

#include "plugin_lines.h"

#include "plugins/catalogue.h"

#include <string.h>

// ---- a list ----

typedef struct List {
  TextBuffer text;
  const char* const* words; ///< [n_words]
  uint32_t n_words;
} List;

static bool
has_word(const CatalogueEntry* const entry, const char* const word)
{
  return strcasestr(entry->format, word) || strcasestr(entry->id, word) ||
         strcasestr(entry->short_name, word) || strcasestr(entry->name, word) ||
         strcasestr(entry->maker, word) || strcasestr(entry->category, word);
}

static bool
has_words(const List* const list, const CatalogueEntry* const entry)
{
  bool has_all = true;
  for (uint32_t w = 0; w < list->n_words; ++w) {
    has_all = has_all && has_word(entry, list->words[w]);
  }
  return has_all;
}

static void
add_entries(void* const context, const Catalogue* const catalogue)
{
  List* const list = context;
  uint32_t n = 0;
  const CatalogueEntry* const entries = catalogue ? catalogue_entries(catalogue, &n) : NULL;
  for (uint32_t e = 0; e < n; ++e) {
    const CatalogueEntry* const entry = &entries[e];
    if (!entry->fault[0] && has_words(list, entry)) {
      text_buffer_print(&list->text, "%s\t%s\t%s\t%s\t%s\t%s\n", entry->format, entry->id,
                        entry->short_name, entry->name, entry->maker, entry->category);
    }
  }
}

char*
plugin_lines_list(const char* const* const words, const uint32_t n_words)
{
  List list = { .words = words, .n_words = n_words };
  text_buffer_add(&list.text, "");
  catalogue_visit(add_entries, &list);
  return text_buffer_take(&list.text);
}

// ---- one plugin ----

char*
plugin_lines_presets(const FxInfo* const fx)
{
  const Plugin* const plugin = plugin_of(fx);
  TextBuffer lines = { .bytes = NULL };
  text_buffer_add(&lines, "");
  for (uint32_t p = 0; p < plugin->n_presets; ++p) {
    text_buffer_print(&lines, "%s\n", plugin->presets[p].name);
  }
  return text_buffer_take(&lines);
}

static void
add_fact(TextBuffer* const text, const char* const key, const char* const value)
{
  if (value[0]) {
    text_buffer_print(text, "%s\t%s\n", key, value);
  }
}

static void
add_param(TextBuffer* const text, const FxParam* const param)
{
  text_buffer_print(text, "param\t%s\t%s\t%s", param->id, fx_kind_words[param->kind],
                    fx_unit_words[param->unit]);
  if (param->kind == PARAM_NUMBER || param->kind == PARAM_INTEGER) {
    text_buffer_print(text, "\t%.10g\t%.10g\t%.10g", param->min, param->max, param->initial);
  } else if (fx_param_is_text(param)) {
    text_buffer_print(text, "\t\t\t%s", param->initial_text ? param->initial_text : "");
  } else {
    text_buffer_print(text, "\t\t\t%.10g", param->initial);
  }
  for (uint32_t c = 0; param->choices && param->choices[c]; ++c) {
    text_buffer_print(text, "\t%s\t%.10g", param->choices[c], fx_choice_number(param, c));
  }
  text_buffer_add(text, "\n");
}

Status
plugin_lines_print(const char* const format, const char* const id, char** const text,
                   Error* const error)
{
  const Plugin* plugin = NULL;
  const Status status = catalogue_find_plugin(format, id, &plugin, error);
  if (status) {
    return status;
  }
  TextBuffer lines = { .bytes = NULL };
  add_fact(&lines, "format", plugin->origin.format);
  add_fact(&lines, "id", plugin->origin.id);
  add_fact(&lines, "short_name", plugin->fx.name);
  add_fact(&lines, "name", plugin->name);
  add_fact(&lines, "maker", plugin->maker);
  add_fact(&lines, "category", plugin->category);
  add_fact(&lines, "licence", plugin->licence);
  add_fact(&lines, "takes", plugin->fx.event ? "notes" : "");
  add_fact(&lines, "fault", plugin->fault);
  add_fact(&lines, "notes", plugin->notes);
  for (uint32_t p = 0; p < plugin->n_presets; ++p) {
    add_fact(&lines, "preset", plugin->presets[p].name);
  }
  for (uint32_t p = 0; p < plugin->fx.n_params; ++p) {
    add_param(&lines, &plugin->fx.params[p]);
  }
  *text = text_buffer_take(&lines);
  return *text ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
}
