// SPDX-License-Identifier: GPL-3.0-or-later
// Probes plugins, a few at a time, and writes the catalogue after each few.

#include "probing.h"

#include "catalogue_file.h"

#include "plugins/probe/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUP_SIZE 16U // plugins per writing of the catalogue: a few seconds of work

/// Places of plugins in a catalogue.
typedef struct Chosen {
  uint32_t* entries; ///< [n]
  uint32_t n;
} Chosen;

static Status
probe(const Catalogue* const old, const Chosen* const chosen, const bool is_idle,
      Catalogue** const out, Error* const error)
{
  const ProbeRequest request = {
    .catalogue = old, .entries = chosen->entries, .n_entries = chosen->n, .is_idle = is_idle
  };
  char* text = NULL;
  size_t n_bytes = 0;
  const Status status = probe_run(&request, &text, &n_bytes, error);
  return status ? status : catalogue_new(text, n_bytes, out, error);
}

// ---- all ----

static void
choose_all(const Catalogue* const catalogue, const bool again, Chosen* const chosen)
{
  uint32_t n = 0;
  const CatalogueEntry* const entries = catalogue_entries(catalogue, &n);
  chosen->entries = calloc(n + 1U, sizeof(uint32_t));
  for (uint32_t e = 0; chosen->entries && e < n; ++e) {
    if (!entries[e].fault[0] && (again || !entries[e].has_report)) {
      chosen->entries[chosen->n++] = e;
    }
  }
}

static void
show_progress(const uint32_t n_done, const uint32_t n)
{
  if (isatty(STDERR_FILENO)) {
    fprintf(stderr, "\rprobed %u of %u plugins%s", n_done, n, n_done == n ? "\n" : "");
  }
}

/// Probe a group of plugins; the new catalogue has the same entries.
static Status
probe_group(Catalogue** const catalogue, const Chosen* const group, Error* const error)
{
  Catalogue* newer = NULL;
  Status status = probe(*catalogue, group, true, &newer, error);
  if (!status) {
    catalogue_free(*catalogue);
    *catalogue = newer;
    status = catalogue_file_write(newer, error);
  }
  return status;
}

Status
probing_all(Catalogue** const catalogue, const bool again, Error* const error)
{
  Chosen all = { .n = 0 };
  choose_all(*catalogue, again, &all);
  Status status = all.entries ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
  for (uint32_t n_done = 0; !status && n_done < all.n;) {
    const uint32_t n_left = all.n - n_done;
    const Chosen group = { all.entries + n_done, n_left < GROUP_SIZE ? n_left : GROUP_SIZE };
    show_progress(n_done, all.n);
    status = probe_group(catalogue, &group, error);
    n_done += group.n;
    if (n_done == all.n) {
      show_progress(n_done, all.n);
    }
  }
  free(all.entries);
  return status;
}

// ---- those of a rack ----

static bool
needs_probe(const Rack* const rack, const CatalogueEntry* const entry)
{
  bool is_found = false;
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    const FxInfo* const fx = rack->nodes[n].fx;
    const FxOrigin* const origin = fx->is_missing ? NULL : fx->origin;
    is_found = is_found ||
               (origin && !strcmp(origin->format, entry->format) && !strcmp(origin->id, entry->id));
  }
  return is_found && !entry->has_report;
}

static void
choose_rack(const Catalogue* const catalogue, const Rack* const rack, Chosen* const chosen)
{
  uint32_t n = 0;
  const CatalogueEntry* const entries = catalogue_entries(catalogue, &n);
  chosen->entries = calloc(n + 1U, sizeof(uint32_t));
  for (uint32_t e = 0; chosen->entries && e < n; ++e) {
    if (needs_probe(rack, &entries[e])) {
      chosen->entries[chosen->n++] = e;
    }
  }
}

static bool
has_plugin(const Rack* const rack)
{
  bool is_found = false;
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    is_found = is_found || rack->nodes[n].fx->origin;
  }
  return is_found;
}

/// Take over the catalogue with the new reports.
static void
use(const Command* const command, Catalogue* const catalogue)
{
  Error why;
  if (catalogue_file_write(catalogue, &why)) {
    command_fail(command, &why);
  }
  catalogue_use(catalogue);
}

Status
probing_rack(const Command* const command, const Rack* const rack, bool* const is_new,
             Error* const error)
{
  const Catalogue* const current = has_plugin(rack) ? catalogue_current() : NULL;
  Chosen chosen = { .n = 0 };
  *is_new = false;
  if (!current) {
    return STATUS_OK;
  }
  choose_rack(current, rack, &chosen);
  Catalogue* newer = NULL;
  Status status = chosen.entries ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
  if (!status && chosen.n) {
    fprintf(stderr, PROGRAM_NAME " %s: measures %u new plugin%s\n", command->name, chosen.n,
            chosen.n == 1U ? "" : "s");
    status = probe(current, &chosen, false, &newer, error);
  }
  if (newer) {
    *is_new = true;
    use(command, newer);
  }
  free(chosen.entries);
  return status;
}
