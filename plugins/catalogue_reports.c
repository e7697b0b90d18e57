// SPDX-License-Identifier: GPL-3.0-or-later
// The reports in a catalogue: replaced, and kept when plugins are described again.

#include "catalogue_private.h"

#include <stdlib.h>
#include <string.h>

static void
add_bytes(TextBuffer* const text, const char* const bytes, const size_t n_bytes)
{
  char* const to = text_buffer_reserve(text, n_bytes);
  if (to) {
    memcpy(to, bytes, n_bytes);
    text->n += n_bytes;
    text->bytes[text->n] = '\0';
  }
}

void
catalogue_write_reports(TextBuffer* const text, const Catalogue* const catalogue,
                        const char* const* const reports)
{
  uint32_t e = 0;
  text_buffer_add(text, CATALOGUE_START);
  for (uint32_t b = 0; b < catalogue->n_bundles; ++b) {
    CatalogueBundle bundle = catalogue->bundles[b];
    bundle.n_bytes = 0;
    catalogue_write_bundle(text, &bundle);
    for (; e < catalogue->n_entries && catalogue->entries[e].bundle == b; ++e) {
      const CatalogueText* const description = &catalogue->descriptions[e];
      const size_t n_replaced = reports[e] ? description->n_report_bytes : 0U;
      add_bytes(text, description->at, description->n_bytes - n_replaced);
      text_buffer_add(text, reports[e] ? reports[e] : "");
    }
  }
}

// ---- keep ----

/// The descriptions of a catalogue that have a report, in order.
typedef struct Reported {
  const CatalogueText** list; ///< [n]
  uint32_t n;
} Reported;

static int
compare_descriptions(const void* const a, const void* const b)
{
  const CatalogueText left = without_report(**(const CatalogueText* const*)a);
  const CatalogueText right = without_report(**(const CatalogueText* const*)b);
  return left.n_bytes != right.n_bytes ? (left.n_bytes > right.n_bytes ? 1 : -1)
                                       : memcmp(left.at, right.at, left.n_bytes);
}

static bool
list_reported(const Catalogue* const catalogue, Reported* const reported)
{
  reported->n = 0;
  reported->list = calloc(catalogue->n_entries + 1U, sizeof(CatalogueText*));
  for (uint32_t e = 0; reported->list && e < catalogue->n_entries; ++e) {
    if (catalogue->descriptions[e].n_report_bytes) {
      reported->list[reported->n++] = &catalogue->descriptions[e];
    }
  }
  if (reported->list) {
    qsort(reported->list, reported->n, sizeof(CatalogueText*), compare_descriptions);
  }
  return reported->list;
}

/// Copy the report of a description; NULL if there is none.  False if out of memory.
static bool
copy_report(const Reported* const reported, const CatalogueText* const description,
            char** const report)
{
  const CatalogueText* const* const at = bsearch(&description, reported->list, reported->n,
                                                 sizeof(CatalogueText*), compare_descriptions);
  const size_t n = at ? (*at)->n_report_bytes : 0U;
  *report = at ? strndup((*at)->at + (*at)->n_bytes - n, n) : NULL;
  return !at || *report;
}

Status
catalogue_keep_reports(TextBuffer* const text, const Catalogue* const catalogue,
                       const Catalogue* const older)
{
  Reported reported = { .n = 0 };
  char** const reports = calloc(catalogue->n_entries + 1U, sizeof(char*));
  bool is_done = reports && list_reported(older, &reported);
  for (uint32_t e = 0; is_done && e < catalogue->n_entries; ++e) {
    if (!catalogue->entries[e].has_report) {
      is_done = copy_report(&reported, &catalogue->descriptions[e], &reports[e]);
    }
  }
  if (is_done) {
    catalogue_write_reports(text, catalogue, (const char* const*)reports);
  }
  for (uint32_t e = 0; reports && e < catalogue->n_entries; ++e) {
    free(reports[e]);
  }
  free(reports);
  free(reported.list);
  return is_done && !text->failed ? STATUS_OK : STATUS_NO_MEM;
}
