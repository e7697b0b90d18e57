// SPDX-License-Identifier: GPL-3.0-or-later
// The catalogue as a text, and its index: bundles, and the first line of each plugin.

#include "catalogue_private.h"
#include "fields.h"
#include "format.h"

#include "engine/base/cache_folder.h"
#include "engine/base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

// ---- write ----

void
catalogue_write_bundle(TextBuffer* const text, const CatalogueBundle* const bundle)
{
  text_buffer_add(text, "bundle");
  fields_write_text(text, bundle->format);
  fields_write_path(text, bundle->path);
  fields_write_count(text, bundle->key);
  fields_write_text(text, bundle->fault);
  text_buffer_add(text, "\n");
  char* const to = text_buffer_reserve(text, bundle->n_bytes);
  if (to && bundle->n_bytes) {
    memcpy(to, bundle->text, bundle->n_bytes);
    text->n += bundle->n_bytes;
    text->bytes[text->n] = '\0';
  }
}

// ---- index ----

/// A line of a text whose last byte is a line feed.  Begins as zeros.
typedef struct Line {
  const char* at;
  const char* end; ///< Its line feed
  uint32_t number; ///< From 1
} Line;

/// Find the next line.  False at the end.
static bool
next_line(const Catalogue* const catalogue, Line* const line)
{
  const char* const end = catalogue->text + catalogue->n_bytes;
  line->at = line->end ? line->end + 1 : catalogue->text;
  if (line->at == end) {
    return false;
  }
  line->end = memchr(line->at, '\n', (size_t)(end - line->at));
  line->number++;
  return true;
}

/// An array of n items with room for another one: there is some up to the next power of two.
/// NULL if out of memory; then the array is as before.
static void*
grown(void* const items, const uint32_t n, const size_t size)
{
  return n & (n - 1U) ? items : realloc(items, (n ? 2U * n : 1U) * size);
}

/// Add an empty bundle to the index.  NULL if out of memory.
static CatalogueBundle*
add_bundle(Catalogue* const catalogue)
{
  const uint32_t n = catalogue->n_bundles;
  CatalogueBundle* const bundles = grown(catalogue->bundles, n, sizeof(*bundles));
  if (!bundles) {
    return NULL;
  }
  catalogue->bundles = bundles;
  bundles[n] = (CatalogueBundle){ .n_bytes = 0 };
  ++catalogue->n_bundles;
  return &bundles[n];
}

/// Add an empty entry to the index, whose description begins at a line.  NULL if out of memory.
static CatalogueEntry*
add_entry(Catalogue* const catalogue, const Line* const line)
{
  const uint32_t n = catalogue->n_entries;
  CatalogueEntry* const entries = grown(catalogue->entries, n, sizeof(*entries));
  catalogue->entries = entries ? entries : catalogue->entries;
  CatalogueText* const texts = entries ? grown(catalogue->descriptions, n, sizeof(*texts)) : NULL;
  if (!texts) {
    return NULL;
  }
  catalogue->descriptions = texts;
  texts[n] = (CatalogueText){ .at = line->at };
  entries[n] = (CatalogueEntry){ .bundle = catalogue->n_bundles - 1U };
  ++catalogue->n_entries;
  return &entries[n];
}

/// Copy a line to memory of the index.  NULL if out of memory.
static char*
copy_line(Catalogue* const catalogue, const Line* const line)
{
  const size_t n_bytes = (size_t)(line->end - line->at);
  char* const copy = arena_take(&catalogue->arena, 1, n_bytes + 1U);
  return copy ? memcpy(copy, line->at, n_bytes) : NULL;
}

static Status
read_bundle(Catalogue* const catalogue, const Line* const line, Error* const error)
{
  char* const copy = copy_line(catalogue, line);
  CatalogueBundle* const bundle = copy ? add_bundle(catalogue) : NULL;
  if (!bundle) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  FieldLine fields = fields_of(copy, line->number, error);
  bundle->format = fields_text(&fields, "format");
  bundle->path = fields_path(&fields, "path");
  bundle->key = fields_count(&fields, "key", UINT64_MAX);
  bundle->fault = fields_text(&fields, "fault");
  bundle->text = line->end + 1;
  fields_end(&fields);
  return fields.status;
}

static Status
read_entry(Catalogue* const catalogue, const Line* const line, Error* const error)
{
  char* const copy = copy_line(catalogue, line);
  char* const short_name = arena_take(&catalogue->arena, 1, PLUGIN_ID_BYTES);
  CatalogueEntry* const entry = copy && short_name ? add_entry(catalogue, line) : NULL;
  if (!entry) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  FieldLine fields = fields_of(copy, line->number, error);
  entry->format = fields_text(&fields, "format");
  entry->id = fields_text(&fields, "id");
  entry->name = fields_text(&fields, "name");
  entry->maker = fields_text(&fields, "maker");
  (void)fields_text(&fields, "licence");
  entry->category = fields_text(&fields, "category");
  entry->fault = fields_text(&fields, "fault");
  (void)fields_text(&fields, "notes");
  fields_end(&fields);
  if (strcmp(entry->format, catalogue->bundles[entry->bundle].format) != 0) {
    fields_fail(&fields, STATUS_FILE, "a plugin of another format than its bundle");
  }
  plugin_short_name(entry->id, short_name);
  entry->short_name = short_name;
  return fields.status;
}

/// Read a line after the first one: a bundle or a plugin, or a line of the plugin above it.
static Status
read_line(Catalogue* const catalogue, const Line* const line, Error* const error)
{
  if (fields_begin_with(line->at, "bundle")) {
    return read_bundle(catalogue, line, error);
  }
  const bool is_plugin = fields_begin_with(line->at, "plugin");
  const CatalogueEntry* const last =
      catalogue->n_entries ? &catalogue->entries[catalogue->n_entries - 1U] : NULL;
  if (!catalogue->n_bundles ||
      (!is_plugin && !(last && last->bundle == catalogue->n_bundles - 1U))) {
    return error_set(error, STATUS_FILE, "line %u: it belongs to no %s", line->number,
                     catalogue->n_bundles ? "plugin" : "bundle");
  }
  const Status status = is_plugin ? read_entry(catalogue, line, error) : STATUS_OK;
  if (status) {
    return status;
  }
  CatalogueBundle* const bundle = &catalogue->bundles[catalogue->n_bundles - 1U];
  CatalogueText* const description = &catalogue->descriptions[catalogue->n_entries - 1U];
  bundle->n_bytes = (size_t)(line->end + 1 - bundle->text);
  description->n_bytes = (size_t)(line->end + 1 - description->at);
  const bool is_report = fields_begin_with(line->at, "report");
  description->n_report_bytes = is_report ? (size_t)(line->end + 1 - line->at) : 0U;
  catalogue->entries[catalogue->n_entries - 1U].has_report = is_report;
  return STATUS_OK;
}

/// Check what the other functions assume: the version, complete lines, no zeros.
static Status
check_text(const Catalogue* const catalogue, Error* const error)
{
  const size_t n_start = sizeof(CATALOGUE_START) - 1U;
  const char* const text = catalogue->text;
  if (catalogue->n_bytes > CATALOGUE_MAX_BYTES) {
    return error_set(error, STATUS_LIMIT, "larger than %u MiB", CATALOGUE_MAX_BYTES >> 20U);
  }
  if (catalogue->n_bytes < n_start || memcmp(text, CATALOGUE_START, n_start) != 0) {
    return error_set(error, STATUS_FILE,
                     "line 1: not a catalogue of this version of warprack; run `warprack scan`");
  }
  if (text[catalogue->n_bytes - 1U] != '\n') {
    return error_set(error, STATUS_FILE, "the last line is cut off");
  }
  return memchr(text, '\0', catalogue->n_bytes)
             ? error_set(error, STATUS_FILE, "not a text: it has a zero")
             : STATUS_OK;
}

Status
catalogue_new(char* const text, const size_t n_bytes, Catalogue** const out, Error* const error)
{
  Catalogue* const catalogue = calloc(1, sizeof(*catalogue));
  if (!catalogue) {
    free(text);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  catalogue->text = text;
  catalogue->n_bytes = n_bytes;
  Status status = check_text(catalogue, error);
  Line line = { .at = NULL };
  while (!status && next_line(catalogue, &line)) {
    status = line.number > 1U ? read_line(catalogue, &line, error) : STATUS_OK;
  }
  if (status) {
    catalogue_free(catalogue);
    return status;
  }
  *out = catalogue;
  return STATUS_OK;
}

const CatalogueEntry*
catalogue_find_id(const Catalogue* const catalogue, const char* const format, const char* const id)
{
  for (uint32_t e = 0; e < catalogue->n_entries; ++e) {
    const CatalogueEntry* const entry = &catalogue->entries[e];
    if (!strcmp(entry->id, id) && !strcmp(entry->format, format)) {
      return entry;
    }
  }
  return NULL;
}

// ---- file ----

bool
catalogue_hides_usual_folders(void)
{
  const char* const word = getenv("WARPRACK_USUAL_PLUGINS");
  return word && !strcmp(word, "none");
}

/// Print the part of the file name that stands for the folders: "-" and a hash of the
/// variables that choose folders; "" if none is set.
static void
print_folders(char text[const 32])
{
  uint32_t n = 0;
  bool is_set = catalogue_hides_usual_folders();
  uint64_t hash = hash_bytes(HASH64_START, "none", is_set ? sizeof("none") : 0U);
  const PluginFormat* const* const formats = plugin_formats(&n);
  for (uint32_t f = 0; f < n; ++f) {
    const char* const folders = getenv(formats[f]->path_variable);
    is_set = is_set || folders;
    hash = hash_bytes(hash, folders ? folders : "", folders ? strlen(folders) + 1U : 0U);
    hash = hash_bytes(hash, formats[f]->name, strlen(formats[f]->name) + 1U);
  }
  snprintf(text, 32, is_set ? "-%016" PRIx64 : "", hash);
}

bool
catalogue_path(char* const path, const size_t n_bytes)
{
  struct utsname machine;
  char folders[32];
  if (uname(&machine) || !cache_folder_path(path, n_bytes)) {
    return false;
  }
  print_folders(folders);
  const size_t n = strlen(path);
  const int n_name = snprintf(path + n, n_bytes - n, "/plugins-%s%s.txt", machine.machine, folders);
  return (size_t)n_name < n_bytes - n;
}

/// Read an open file whole.  The caller frees the text; NULL on error.
static char*
read_text(const int file, size_t* const n_bytes, Error* const error)
{
  struct stat facts;
  if (fstat(file, &facts) || !S_ISREG(facts.st_mode)) {
    error_set(error, STATUS_FILE, "not a file");
    return NULL;
  }
  if ((facts.st_uid != geteuid() && facts.st_uid != 0) || facts.st_mode & S_IWOTH) {
    // It names code that workers load.
    error_set(error, STATUS_FILE, "others may have written it");
    return NULL;
  }
  const size_t size = (size_t)facts.st_size;
  if (size > CATALOGUE_MAX_BYTES) {
    error_set(error, STATUS_LIMIT, "larger than %u MiB", CATALOGUE_MAX_BYTES >> 20U);
    return NULL;
  }
  char* const text = malloc(size + 1U);
  if (!text) {
    error_set(error, STATUS_NO_MEM, "out of memory");
    return NULL;
  }
  size_t n_read = 0;
  for (ssize_t n = 1; n > 0; n_read += n > 0 ? (size_t)n : 0U) {
    n = read(file, text + n_read, size - n_read);
  }
  if (n_read != size) {
    error_set(error, STATUS_FILE, "it cannot be read whole");
    free(text);
    return NULL;
  }
  *n_bytes = size;
  return text;
}

Status
catalogue_read(const char* const path, Catalogue** const out, Error* const error)
{
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // does not wait for a pipe
  if (file < 0) {
    const Status status = status_of_errno(errno, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_FILE);
    return error_set(error, status, "%s: %s", path, strerror(errno));
  }
  Error fault = { STATUS_OK, "" };
  size_t n_bytes = 0;
  char* const text = read_text(file, &n_bytes, &fault);
  close(file);
  const Status status = text ? catalogue_new(text, n_bytes, out, &fault) : fault.status;
  return status ? error_set(error, status, "%s: %s", path, fault.text) : STATUS_OK;
}

void
catalogue_free(Catalogue* const catalogue)
{
  if (catalogue) {
    arena_clear(&catalogue->arena);
    free(catalogue->bundles);
    free(catalogue->entries);
    free(catalogue->descriptions);
    free(catalogue->text);
    free(catalogue);
  }
}

const CatalogueBundle*
catalogue_bundles(const Catalogue* const catalogue, uint32_t* const n_bundles)
{
  *n_bundles = catalogue->n_bundles;
  return catalogue->bundles;
}

const CatalogueEntry*
catalogue_entries(const Catalogue* const catalogue, uint32_t* const n_entries)
{
  *n_entries = catalogue->n_entries;
  return catalogue->entries;
}

const char*
catalogue_description(const Catalogue* const catalogue, const uint32_t entry, size_t* const n_bytes)
{
  *n_bytes = catalogue->descriptions[entry].n_bytes - catalogue->descriptions[entry].n_report_bytes;
  return catalogue->descriptions[entry].at;
}

const char*
catalogue_text(const Catalogue* const catalogue, size_t* const n_bytes)
{
  *n_bytes = catalogue->n_bytes;
  return catalogue->text;
}
