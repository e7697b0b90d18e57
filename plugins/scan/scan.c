// SPDX-License-Identifier: GPL-3.0-or-later
// Makes a catalogue: lists the bundles, keeps what is known of unchanged ones, and lets the others
// be described.

#include "scan.h"

#include "scan_describe.h"

#include <stdlib.h>
#include <string.h>

// ---- unchanged bundles ----

/// The bundles of a catalogue in the order of formats and paths.
typedef struct OldBundles {
  const CatalogueBundle** bundles; ///< [n]
  uint32_t n;
} OldBundles;

static int
compare_old(const void* const a, const void* const b)
{
  const CatalogueBundle* const left = *(const CatalogueBundle* const*)a;
  const CatalogueBundle* const right = *(const CatalogueBundle* const*)b;
  const int formats = strcmp(left->format, right->format);
  return formats ? formats : strcmp(left->path, right->path);
}

/// Sort the bundles of a catalogue, which may be NULL.
static Status
old_bundles_init(OldBundles* const old, const Catalogue* const catalogue, Error* const error)
{
  *old = (OldBundles){ .n = 0 };
  const CatalogueBundle* const bundles = catalogue ? catalogue_bundles(catalogue, &old->n) : NULL;
  old->bundles = calloc(old->n + 1U, sizeof(CatalogueBundle*));
  if (!old->bundles) {
    return error_set(error, STATUS_NO_MEM, "out of memory for the scan");
  }
  for (uint32_t b = 0; b < old->n; ++b) {
    old->bundles[b] = &bundles[b];
  }
  qsort(old->bundles, old->n, sizeof(CatalogueBundle*), compare_old);
  return STATUS_OK;
}

/// The bundle of this path in the catalogue, or NULL.
static const CatalogueBundle*
find_old(const OldBundles* const old, const FoundBundle* const found)
{
  const CatalogueBundle key = { .format = found->format->name, .path = found->path };
  const CatalogueBundle* const wanted = &key;
  const CatalogueBundle* const* const at =
      bsearch(&wanted, old->bundles, old->n, sizeof(CatalogueBundle*), compare_old);
  return at ? *at : NULL;
}

/// The same bundle in the catalogue, or NULL if it is new, changed, or to be described again.
static const CatalogueBundle*
find_unchanged(const OldBundles* const old, const FoundBundle* const found)
{
  const CatalogueBundle* const bundle = find_old(old, found);
  return bundle && bundle->key && bundle->key == found->key ? bundle : NULL;
}

/// True if the catalogue has the same bundle, or one whose fault only a scan tries again: searches
/// for plugins would otherwise scan each time.
static bool
is_known(const OldBundles* const old, const FoundBundle* const found)
{
  const CatalogueBundle* const bundle = find_old(old, found);
  return bundle && (bundle->key == found->key || (!bundle->key && bundle->fault[0]));
}

static uint32_t
count_old(const OldBundles* const old, const char* const format)
{
  uint32_t n = 0;
  for (uint32_t b = 0; b < old->n; ++b) {
    n += !strcmp(old->bundles[b]->format, format);
  }
  return n;
}

/// Choose the bundles that are kept.  Bundles of a format that prepares may describe each other's
/// plugins, so all of them are kept, or only those that failed.
static void
choose_kept(Scan* const scan, const OldBundles* const old, const bool everything)
{
  bool keeps = !everything;
  if (scan->format->prepare) {
    keeps = keeps && count_old(old, scan->format->name) == scan->n;
    for (uint32_t b = 0; b < scan->n; ++b) {
      keeps = keeps && scan->bundles[b].old;
    }
  }
  for (uint32_t b = 0; b < scan->n; ++b) {
    ScanBundle* const bundle = &scan->bundles[b];
    const bool has_failed = bundle->old && bundle->old->fault[0];
    bundle->is_kept = bundle->old && (keeps || (has_failed && !everything));
  }
}

// ---- all formats ----

static Status
scan_format(Scan* const scan, const OldBundles* const old, const bool everything,
            Error* const error)
{
  choose_kept(scan, old, everything);
  bool is_done = true;
  for (uint32_t b = 0; b < scan->n; ++b) {
    is_done = is_done && scan->bundles[b].is_kept;
  }
  return is_done ? STATUS_OK : scan_describe(scan, error);
}

/// Scan the bundles of one format after the other.
static Status
scan_formats(Scan* const all, const OldBundles* const old, const bool everything,
             Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t first = 0; !status && first < all->n;) {
    Scan scan = *all;
    scan.bundles = &all->bundles[first];
    scan.format = scan.bundles->found->format;
    for (scan.n = 1; first + scan.n < all->n; ++scan.n) {
      if (scan.bundles[scan.n].found->format != scan.format) {
        break;
      }
    }
    status = scan_format(&scan, old, everything, error);
    first += scan.n;
  }
  return status;
}

static void
count(const Scan* const scan, ScanCounts* const counts)
{
  *counts = (ScanCounts){ .n_bundles = scan->n };
  for (uint32_t b = 0; b < scan->n; ++b) {
    const ScanBundle* const bundle = &scan->bundles[b];
    counts->n_kept += bundle->is_kept;
    counts->n_failed += bundle->is_kept ? bundle->old->fault[0] != 0 : bundle->fault[0] != 0;
  }
  counts->n_described = counts->n_bundles - counts->n_kept;
}

static Status
print_all(const Scan* const scan, char** const text, size_t* const n_bytes, Error* const error)
{
  *text = scan_print(scan, n_bytes);
  if (!*text) {
    return error_set(error, STATUS_NO_MEM, "out of memory for the catalogue of plugins");
  }
  if (*n_bytes > CATALOGUE_MAX_BYTES) {
    free(*text);
    *text = NULL;
    return error_set(error, STATUS_LIMIT, "the catalogue of plugins is larger than %u bytes",
                     CATALOGUE_MAX_BYTES);
  }
  return STATUS_OK;
}

/// Give the plugins that were described again, but are the same, the reports that they had.
static Status
keep_reports(const Catalogue* const old, char** const text, size_t* const n_bytes,
             Error* const error)
{
  Catalogue* catalogue = NULL;
  char* const bytes = *text;
  *text = NULL;
  Status status = catalogue_new(bytes, *n_bytes, &catalogue, error);
  TextBuffer kept = { .bytes = NULL };
  if (!status && catalogue_keep_reports(&kept, catalogue, old)) {
    status = error_set(error, STATUS_NO_MEM, "out of memory for the catalogue of plugins");
  }
  catalogue_free(catalogue);
  *n_bytes = kept.n;
  *text = text_buffer_take(&kept);
  if (status) {
    free(*text);
    *text = NULL;
  }
  return status;
}

/// Allocate a scan, and find its unchanged bundles in the old catalogue.
static Status
set_bundles(Scan* const scan, const FoundBundles* const found, const OldBundles* const old,
            Error* const error)
{
  scan->bundles = calloc(found->n + 1U, sizeof(ScanBundle));
  scan->jobs = calloc(found->n + 1U, sizeof(uint32_t));
  if (!scan->bundles || !scan->jobs) {
    return error_set(error, STATUS_NO_MEM, "out of memory for the scan");
  }
  for (scan->n = 0; scan->n < found->n; ++scan->n) {
    const FoundBundle* const bundle = &found->bundles[scan->n];
    scan->bundles[scan->n] =
        (ScanBundle){ .found = bundle, .old = find_unchanged(old, bundle), .key = bundle->key };
  }
  return STATUS_OK;
}

static void
clear_bundles(Scan* const scan)
{
  for (uint32_t b = 0; b < scan->n; ++b) {
    free(scan->bundles[b].text);
  }
  free(scan->bundles);
  free(scan->jobs);
}

Status
scan_run(const ScanRequest* const request, char** const text, size_t* const n_bytes,
         ScanCounts* const counts, Error* const error)
{
  Scan scan = { .n_children = request->n_children,
                .limit_ms = request->limit_ms ? request->limit_ms : SCAN_LIMIT_MS };
  FoundBundles found;
  OldBundles old = { .n = 0 };
  Status status = bundles_find(&found, error);
  status = status ? status : old_bundles_init(&old, request->old, error);
  status = status ? status : set_bundles(&scan, &found, &old, error);
  status = status ? status : scan_formats(&scan, &old, request->everything, error);
  status = status ? status : print_all(&scan, text, n_bytes, error);
  if (!status) {
    count(&scan, counts);
  }
  if (!status && request->old && counts->n_described && !request->everything) {
    status = keep_reports(request->old, text, n_bytes, error);
  }
  clear_bundles(&scan);
  free(old.bundles);
  bundles_clear(&found);
  return status;
}

bool
scan_is_current(const Catalogue* const catalogue)
{
  FoundBundles found;
  OldBundles old = { .n = 0 };
  Status status = bundles_find(&found, NULL);
  status = status ? status : old_bundles_init(&old, catalogue, NULL);
  bool is_current = !status && found.n == old.n;
  for (uint32_t b = 0; is_current && b < found.n; ++b) {
    is_current = is_known(&old, &found.bundles[b]);
  }
  free(old.bundles);
  bundles_clear(&found);
  return is_current;
}
