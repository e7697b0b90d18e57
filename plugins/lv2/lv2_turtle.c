// SPDX-License-Identifier: GPL-3.0-or-later
// The world of lilv, and questions to it.

#include "lv2_turtle.h"

#include "engine/base/number.h"
#include "engine/base/text.h"

#include <lv2/core/lv2.h>
#include <math.h>
#include <serd/serd.h>
#include <sord/sord.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static LilvWorld* world;

LilvWorld*
turtle_world(void)
{
  return world;
}

/// lilv runs the code of dynamic manifests, unless this option is off.
static void
disable_dynamic_manifests(void)
{
  LilvNode* const no = lilv_new_bool(world, false);
  lilv_world_set_option(world, LILV_OPTION_DYN_MANIFEST, no);
  lilv_node_free(no);
}

Status
turtle_prepare(const char* const* const bundles, const uint32_t n_bundles,
               void (*const announce)(void* context, const char* bundle), void* const context,
               Error* const error)
{
  setenv("LANG", "C", 1); // racks name scale points by their labels, so these are not translated
  lilv_world_free(world);
  world = lilv_world_new();
  if (!world) {
    return error_set(error, STATUS_NO_MEM, "out of memory for the descriptions of LV2 plugins");
  }
  disable_dynamic_manifests();
  for (uint32_t b = 0; b < n_bundles; ++b) {
    announce(context, bundles[b]);
    LilvNode* const uri = turtle_bundle_uri(bundles[b]);
    lilv_world_load_bundle(world, uri);
    lilv_node_free(uri);
  }
  lilv_world_load_specifications(world);
  lilv_world_load_plugin_classes(world);
  return STATUS_OK;
}

LilvNode*
turtle_bundle_uri(const char* const bundle)
{
  const size_t n_bytes = strlen(bundle);
  const char* const slash = n_bytes && bundle[n_bytes - 1U] == '/' ? "" : "/";
  char* folder = NULL;
  if (asprintf(&folder, "%s%s", bundle, slash) < 0) {
    return NULL;
  }
  LilvNode* const uri = lilv_new_file_uri(world, NULL, folder);
  free(folder);
  return uri;
}

LilvNodes*
turtle_objects(const LilvNode* const subject, const char* const predicate)
{
  LilvNode* const node = lilv_new_uri(world, predicate);
  LilvNodes* const objects = lilv_world_find_nodes(world, subject, node, NULL);
  lilv_node_free(node);
  return objects;
}

LilvNode*
turtle_object(const LilvNode* const subject, const char* const predicate)
{
  LilvNodes* const objects = turtle_objects(subject, predicate);
  const LilvNode* first = NULL;
  LILV_FOREACH(nodes, i, objects)
  {
    const LilvNode* const object = lilv_nodes_get(objects, i);
    if (!first || strcmp(lilv_node_as_string(object), lilv_node_as_string(first)) < 0) {
      first = object;
    }
  }
  LilvNode* const copy = lilv_node_duplicate(first);
  lilv_nodes_free(objects);
  return copy;
}

bool
turtle_has(const LilvNode* const subject, const char* const predicate, const char* const object)
{
  LilvNode* const node = lilv_new_uri(world, predicate);
  LilvNode* const wanted = object ? lilv_new_uri(world, object) : NULL;
  const bool has = lilv_world_ask(world, subject, node, wanted);
  lilv_node_free(wanted);
  lilv_node_free(node);
  return has;
}

const char*
turtle_copy(Arena* const arena, const char* const text)
{
  const size_t n_bytes = text ? strlen(text) : 0U;
  char* const copy = arena_take(arena, n_bytes + 1U, 1U);
  if (!copy) {
    return "";
  }
  memcpy(copy, text ? text : "", n_bytes + 1U);
  text_make_printable(copy);
  return copy;
}

const char*
turtle_text(Arena* const arena, const LilvNode* const subject, const char* const predicate)
{
  LilvNode* const node = turtle_object(subject, predicate);
  const char* const text = node ? turtle_copy(arena, lilv_node_as_string(node)) : "";
  lilv_node_free(node);
  return text;
}

int
turtle_compare(const void* const a, const void* const b)
{
  return strcmp(lilv_node_as_string(*(const LilvNode* const*)a),
                lilv_node_as_string(*(const LilvNode* const*)b));
}

/// The number of a literal; 0 or 1 of a truth value.  False if the node is NULL, or no finite
/// number.
static bool
number_of(const LilvNode* const node, double* const number)
{
  if (lilv_node_is_bool(node)) {
    *number = lilv_node_as_bool(node) ? 1.0 : 0.0;
    return true;
  }
  if (!lilv_node_is_literal(node)) {
    return false;
  }
  Decimal decimal;
  if (!number_scan(lilv_node_as_string(node), &decimal) || *decimal.end) {
    return false;
  }
  *number = number_value(&decimal, 0);
  return isfinite(*number);
}

bool
turtle_number(const LilvNode* const subject, const char* const predicate, double* const number)
{
  LilvNode* const node = turtle_object(subject, predicate);
  const bool is_number = number_of(node, number);
  lilv_node_free(node);
  return is_number;
}

/// The first error of a file.
typedef struct FileFault {
  const char* file_uri;
  Error error;
} FileFault;

static SerdStatus
on_error(void* const context, const SerdError* const from)
{
  FileFault* const fault = context;
  if (fault->error.status) {
    return SERD_SUCCESS;
  }
  char text[256];
  vsnprintf(text, sizeof(text), from->fmt, *from->args);
  text[strcspn(text, "\n")] = '\0';
  const char* const slash = strrchr(fault->file_uri, '/');
  const char* const name = slash ? slash + 1 : fault->file_uri;
  if (from->line) {
    error_set(&fault->error, STATUS_FILE, "%s:%u:%u: %s", name, from->line, from->col, text);
  } else {
    error_set(&fault->error, STATUS_FILE, "%s: %s", name, text);
  }
  return SERD_SUCCESS;
}

/// Read a file to a model, up to its first error.
static SerdStatus
read_file(SordWorld* const words, SordModel* const model, FileFault* const fault)
{
  const uint8_t* const uri = (const uint8_t*)fault->file_uri;
  const SerdNode base = serd_node_from_string(SERD_URI, uri);
  SerdEnv* const prefixes = serd_env_new(&base);
  SerdReader* const reader = sord_new_reader(model, prefixes, SERD_TURTLE, NULL);
  sord_world_set_error_sink(words, on_error, fault);
  serd_reader_set_error_sink(reader, on_error, fault);
  const SerdStatus failed = serd_reader_read_file(reader, uri);
  sord_world_set_error_sink(words, NULL, NULL); // the fault may live no longer than this call
  serd_reader_free(reader);
  serd_env_free(prefixes);
  return failed;
}

/// A file that was read.
typedef struct ReadFile {
  char* uri;        ///< NULL also without memory for it: then it is found no more
  SordWorld* words; ///< NULL: none
  SordModel* model;
  bool is_good;
} ReadFile;

/// The two files that turtle_file_has() has read last, the newest first.  The presets of a plugin
/// are in few files, which may be large, and one preset after the other is looked up.
static ReadFile read_files[2];

/// One of these files; if it is neither, it is read in place of the older one.
static const ReadFile*
file_of(const char* const file_uri)
{
  const ReadFile newest = read_files[0];
  const ReadFile other = read_files[1];
  if (newest.uri && !strcmp(newest.uri, file_uri)) {
    return &read_files[0];
  }
  read_files[1] = newest;
  read_files[0] = other;
  if (other.uri && !strcmp(other.uri, file_uri)) {
    return &read_files[0];
  }
  if (other.words) {
    sord_free(other.model);
    sord_world_free(other.words);
    free(other.uri);
  }
  FileFault fault = { .file_uri = file_uri };
  ReadFile* const file = &read_files[0];
  file->uri = strdup(file_uri);
  file->words = sord_world_new();
  file->model = sord_new(file->words, SORD_SPO, false);
  file->is_good = read_file(file->words, file->model, &fault) <= SERD_FAILURE;
  return file;
}

bool
turtle_file_has(const char* const file_uri, const LilvNode* const subject,
                const char* const predicate)
{
  const ReadFile* const file = file_of(file_uri);
  SordNode* const from = sord_new_uri(file->words, (const uint8_t*)lilv_node_as_string(subject));
  SordNode* const of = sord_new_uri(file->words, (const uint8_t*)predicate);
  const bool has = file->is_good && sord_ask(file->model, from, of, NULL, NULL);
  sord_node_free(file->words, of);
  sord_node_free(file->words, from);
  return has;
}

Status
turtle_check(const char* const file_uri, Error* const error)
{
  FileFault fault = { .file_uri = file_uri };
  SordWorld* const words = sord_world_new();
  SordModel* const model = sord_new(words, SORD_SPO, false);
  const SerdStatus failed = read_file(words, model, &fault);
  sord_free(model);
  sord_world_free(words);
  if (failed > SERD_FAILURE && !fault.error.status) {
    return error_set(error, STATUS_FILE, "%s: %s", file_uri, (const char*)serd_strerror(failed));
  }
  return fault.error.status ? error_set(error, STATUS_FILE, "%s", fault.error.text) : STATUS_OK;
}
