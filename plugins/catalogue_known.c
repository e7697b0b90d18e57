// SPDX-License-Identifier: GPL-3.0-or-later
/// The plugins that this process has read: each once, and never freed, because racks and plans hold
/// their effects.

#include "catalogue_private.h"
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// What another catalogue changes for a plugin, if the process uses that catalogue.
typedef struct StagedChange {
  char* text; ///< Owned; NULL: its description stays
  size_t n_bytes, n_report_bytes;
  bool is_left;                  ///< Its effect is outdated ...
  struct KnownPlugin* successor; ///< ... and this one has the new description; NULL: it is wrong
} StagedChange;

/// A plugin that was read, in an arena that is never cleared.
typedef struct KnownPlugin {
  struct KnownPlugin* next;
  char* text;                     ///< Its description as in the newest catalogue that has it; owned
  size_t n_bytes, n_report_bytes; ///< As in CatalogueText
  Plugin* plugin;
  bool is_taken; ///< By a rack, now or earlier
  StagedChange staged;
} KnownPlugin;

static KnownPlugin* known_plugins; // the newest first

// ---- descriptions ----

/// The part of a description from its line `number` on, from 0.
static CatalogueText
from_line(CatalogueText description, const uint32_t number)
{
  for (uint32_t l = 0; l < number; ++l) {
    const char* const end = memchr(description.at, '\n', description.n_bytes);
    const size_t n_line = end ? (size_t)(end - description.at) + 1U : description.n_bytes;
    description.at += n_line;
    description.n_bytes -= n_line;
  }
  return description;
}

static bool
same_text(const CatalogueText a, const CatalogueText b)
{
  return a.n_bytes == b.n_bytes && !memcmp(a.at, b.at, a.n_bytes);
}

/// True if two descriptions differ at most in the second line, which names the file of the code.
static bool
same_but_binary(const CatalogueText a, const CatalogueText b)
{
  const CatalogueText from_a = from_line(a, 1);
  const CatalogueText from_b = from_line(b, 1);
  const CatalogueText first_a = { .at = a.at, .n_bytes = a.n_bytes - from_a.n_bytes };
  const CatalogueText first_b = { .at = b.at, .n_bytes = b.n_bytes - from_b.n_bytes };
  return same_text(first_a, first_b) && same_text(from_line(a, 2), from_line(b, 2));
}

static CatalogueText
text_of(const KnownPlugin* const known)
{
  return (CatalogueText){ known->text, known->n_bytes, known->n_report_bytes };
}

/// Stage the text of a description in place of the present one.
static Status
stage_text(KnownPlugin* const known, const CatalogueText description)
{
  char* const text = malloc(description.n_bytes + 1U);
  if (!text) {
    return STATUS_NO_MEM;
  }
  memcpy(text, description.at, description.n_bytes);
  free(known->staged.text);
  known->staged.text = text;
  known->staged.n_bytes = description.n_bytes;
  known->staged.n_report_bytes = description.n_report_bytes;
  return STATUS_OK;
}

/// Make the staged change of a plugin, or forget it.
static void
end_staging(KnownPlugin* const known, const bool is_used)
{
  StagedChange* const staged = &known->staged;
  if (!is_used) {
    free(staged->text);
  } else if (staged->text) {
    free(known->text);
    known->text = staged->text;
    known->n_bytes = staged->n_bytes;
    known->n_report_bytes = staged->n_report_bytes;
  }
  if (is_used && staged->successor) {
    atomic_store(&staged->successor->plugin->is_outdated, false);
    staged->successor->is_taken = true;
  }
  *staged = (StagedChange){ .text = NULL };
}

/// Read a description into an arena.
static Status
read_known(const CatalogueText description, Arena* const arena, KnownPlugin** const out,
           Error* const error)
{
  KnownPlugin* const known = arena_take(arena, 1, sizeof(*known));
  char* const changed = arena_take(arena, 1, description.n_bytes + 1U);
  Plugin* plugin = NULL;
  if (arena->failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  memcpy(changed, description.at, description.n_bytes);
  const Status status = plugin_read(changed, arena, &host_functions, &plugin, error);
  if (status) {
    return status;
  }
  known->plugin = plugin;
  *out = known;
  if (stage_text(known, description)) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  end_staging(known, true);
  return STATUS_OK;
}

/// Find a plugin with this description; read it if there is none.
static Status
find_or_read(const CatalogueText description, KnownPlugin** const out, Error* const error)
{
  KnownPlugin* known = known_plugins;
  while (known && !same_text(text_of(known), description)) {
    known = known->next;
  }
  Arena arena = { .chunks = NULL };
  const Status status = known ? STATUS_OK : read_known(description, &arena, &known, error);
  if (status) {
    arena_clear(&arena);
    return status;
  }
  if (arena.chunks) {
    known->next = known_plugins;
    known_plugins = known;
  }
  *out = known;
  return STATUS_OK;
}

Status
known_plugin(const CatalogueText description, const bool for_rack, const Plugin** const plugin,
             Error* const error)
{
  KnownPlugin* known = NULL;
  const Status status = find_or_read(description, &known, error);
  if (!status) {
    known->is_taken = known->is_taken || for_rack;
    *plugin = known->plugin;
  }
  return status;
}

// ---- another catalogue ----

/// Let a plugin with another description follow one that racks have taken, and still hold.
static Status
follow(KnownPlugin* const known, const CatalogueText description)
{
  const Status status = find_or_read(description, &known->staged.successor, NULL);
  known->staged.is_left = true;
  return status == STATUS_NO_MEM ? status : STATUS_OK;
}

/// The description of a plugin in a new catalogue; NULL: it has none.
static const CatalogueText*
description_of(const KnownPlugin* const known, const Catalogue* const newer)
{
  const FxOrigin* const own = &known->plugin->origin;
  const CatalogueEntry* const entry = catalogue_find_id(newer, own->format, own->id);
  return entry ? &newer->descriptions[entry - newer->entries] : NULL;
}

/// Append a plugin that the new catalogue lacks, as it was.
static void
keep_gone(TextBuffer* const kept, const KnownPlugin* const known)
{
  const Plugin* const plugin = known->plugin;
  catalogue_write_bundle(kept, &(CatalogueBundle){ .format = plugin->origin.format,
                                                   .path = plugin->bundle,
                                                   .fault = "",
                                                   .text = known->text,
                                                   .n_bytes = known->n_bytes });
}

static void
add_name(CatalogueChange* const change, const Plugin* const plugin)
{
  const size_t n = strlen(change->names);
  const char* const comma = n ? ", " : "";
  if (n + strlen(plugin->fx.name) + 8U < sizeof(change->names)) {
    snprintf(change->names + n, sizeof(change->names) - n, "%s%s", comma, plugin->fx.name);
  } else if (n && change->names[n - 1U] != '.') {
    snprintf(change->names + n, sizeof(change->names) - n, "%s...", comma);
  }
}

/// Compare a plugin with its description in the new catalogue.
static Status
compare(KnownPlugin* const known, const Catalogue* const newer, TextBuffer* const kept,
        CatalogueChange* const change)
{
  const Plugin* const plugin = known->plugin;
  const CatalogueText* const description = description_of(known, newer);
  if (!description) {
    ++change->n_gone;
    keep_gone(kept, known);
    return STATUS_OK;
  }
  const CatalogueText before = without_report(text_of(known));
  const CatalogueText now = without_report(*description);
  if (same_text(before, now)) {
    return stage_text(known, *description); // its report may be another
  }
  ++change->n_changed;
  if (same_but_binary(before, now)) {
    return stage_text(known, *description);
  }
  ++change->n_others;
  add_name(change, plugin);
  return follow(known, *description);
}

/// Make a catalogue of the text of one and of plugins that it lacks.
static Status
join(const Catalogue* const catalogue, const TextBuffer* const kept, Catalogue** const joined)
{
  const size_t n_bytes = catalogue->n_bytes + kept->n;
  char* const text = kept->failed ? NULL : malloc(n_bytes);
  if (!text) {
    return STATUS_NO_MEM;
  }
  memcpy(text, catalogue->text, catalogue->n_bytes);
  memcpy(text + catalogue->n_bytes, kept->bytes, kept->n);
  return catalogue_new(text, n_bytes, joined, NULL);
}

static Status
no_memory(Error* const error)
{
  return error_set(error, STATUS_NO_MEM, "out of memory for the catalogue of plugins");
}

void
known_plugins_end(const bool is_used)
{
  // First all that are left: an earlier effect may be the successor of a later one.
  for (KnownPlugin* known = known_plugins; known; known = known->next) {
    if (is_used && known->staged.is_left) {
      atomic_store(&known->plugin->is_outdated, true);
    }
  }
  for (KnownPlugin* known = known_plugins; known; known = known->next) {
    end_staging(known, is_used);
  }
}

Status
known_plugins_keep(const Catalogue* const catalogue, Error* const error)
{
  Status status = STATUS_OK;
  for (KnownPlugin* known = known_plugins; known && !status; known = known->next) {
    const CatalogueText* const now = description_of(known, catalogue);
    if (now && same_text(without_report(text_of(known)), without_report(*now))) {
      status = stage_text(known, *now);
    }
  }
  return status ? no_memory(error) : STATUS_OK;
}

Status
known_plugins_renew(Catalogue** const catalogue, CatalogueChange* const change, Error* const error)
{
  TextBuffer kept = { .bytes = NULL };
  Status status = STATUS_OK;
  for (KnownPlugin* known = known_plugins; known && !status; known = known->next) {
    if (known->is_taken && !fx_is_outdated(&known->plugin->fx)) {
      status = compare(known, *catalogue, &kept, change);
    }
  }
  Catalogue* joined = NULL;
  if (!status && change->n_gone) {
    status = join(*catalogue, &kept, &joined);
  }
  if (joined) {
    catalogue_free(*catalogue);
    *catalogue = joined;
  }
  free(text_buffer_take(&kept));
  return status ? no_memory(error) : STATUS_OK;
}
