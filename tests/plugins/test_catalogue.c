// SPDX-License-Identifier: GPL-3.0-or-later
// A catalogue is opened by its index alone; a plugin is found by id or short name, read once, and
// keeps its effect while its description is the same; what is wrong is refused in words.

#include "tests/support/catalogue_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"
#include "tests/support/wrapped_alloc.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- index ----

TEST(an_index_has_the_bundles_and_plugins_in_their_order)
{
  TextBuffer text = catalogue_rig_begin_text();
  catalogue_rig_add(&text, "lv2", "urn:test:sample#stereo", "no \\ memory");
  const CatalogueBundle bad = {
    .format = "ladspa", .path = "/b\xff\t.so", .key = 7, .fault = "crashed (SIGSEGV)"
  };
  catalogue_write_bundle(&text, &bad);
  SCOPED_MEMORY char* const expected = strdup(text.bytes);
  Catalogue* const catalogue = catalogue_rig_of(&text);
  uint32_t n = 0;
  size_t n_bytes = 0;
  ck_assert_mem_eq(catalogue_text(catalogue, &n_bytes), expected, strlen(expected));
  ck_assert_uint_eq(n_bytes, strlen(expected));
  const CatalogueBundle* const bundles = catalogue_bundles(catalogue, &n);
  ck_assert_uint_eq(n, 2);
  ck_assert_str_eq(bundles[0].format, "lv2");
  ck_assert_str_eq(bundles[0].path, plugin_sample.bundle);
  ck_assert(bundles[0].key == UINT64_MAX && !*bundles[0].fault);
  ck_assert_str_eq(bundles[1].path, bad.path);
  ck_assert_str_eq(bundles[1].fault, bad.fault);
  ck_assert_uint_eq(bundles[1].key, 7);
  ck_assert_uint_eq(bundles[1].n_bytes, 0);
  const CatalogueEntry* const entries = catalogue_entries(catalogue, &n);
  ck_assert_uint_eq(n, 1);
  ck_assert_str_eq(entries[0].format, "lv2");
  ck_assert_str_eq(entries[0].id, "urn:test:sample#stereo");
  ck_assert_str_eq(entries[0].name, "Sample");
  ck_assert_str_eq(entries[0].short_name, "sample-stereo");
  ck_assert_str_eq(entries[0].fault, "no \\ memory");
  ck_assert_uint_eq(entries[0].bundle, 0);
  catalogue_free(catalogue);
}

TEST(bundles_that_are_written_again_give_the_same_catalogue)
{
  TextBuffer text = catalogue_rig_begin_text();
  catalogue_rig_add(&text, "lv2", "urn:a", "");
  catalogue_rig_add(&text, "clap", "b", "");
  Catalogue* const catalogue = catalogue_rig_of(&text);
  uint32_t n = 0;
  size_t n_bytes = 0;
  const CatalogueBundle* const bundles = catalogue_bundles(catalogue, &n);
  TextBuffer again = catalogue_rig_begin_text();
  for (uint32_t b = 0; b < n; ++b) {
    catalogue_write_bundle(&again, &bundles[b]);
  }
  SCOPED_MEMORY char* const copy = text_buffer_take(&again);
  const char* const first = catalogue_text(catalogue, &n_bytes);
  ck_assert_uint_eq(strlen(copy), n_bytes);
  ck_assert_mem_eq(copy, first, n_bytes);
  catalogue_free(catalogue);
}

TEST(a_catalogue_may_be_empty)
{
  TextBuffer text = catalogue_rig_begin_text();
  Catalogue* const catalogue = catalogue_rig_of(&text);
  uint32_t n = 1;
  (void)catalogue_entries(catalogue, &n);
  ck_assert_uint_eq(n, 0);
  catalogue_free(catalogue);
  catalogue_free(NULL);
}

#define BUNDLE "bundle\tlv2\t/b\t1\t\n"
#define PLUGIN "plugin\tlv2\turn:x\tX\t\t\t\t\t\n"

static const struct {
  const char* text;
  size_t n_bytes; // 0: all
  const char* says;
} broken[] = {
  { "", 0, "line 1: not a catalogue of this version" },
  { "warprack-plugins\t2\n", 0, "line 1: not a catalogue of this version" },
  { "warprack-plugins\t1", 0, "line 1: not a catalogue of this version" },
  { CATALOGUE_START BUNDLE "plugin\tlv2", 0, "the last line is cut off" },
  { CATALOGUE_START "a\0b\n", sizeof(CATALOGUE_START) + 3U, "it has a zero" },
  { CATALOGUE_START PLUGIN, 0, "line 2: it belongs to no bundle" },
  { CATALOGUE_START "\n", 0, "line 2: it belongs to no bundle" },
  { CATALOGUE_START BUNDLE "port\t0\n", 0, "line 3: it belongs to no plugin" },
  { CATALOGUE_START BUNDLE PLUGIN BUNDLE "port\t0\n", 0, "line 5: it belongs to no plugin" },
  { CATALOGUE_START "bundle\n", 0, "line 2: the format is missing" },
  { CATALOGUE_START "bundle\tlv2\t/b\tx\t\n", 0, "line 2: the key is not a whole number" },
  { CATALOGUE_START "bundle\tlv2\t/b\t1\t\t\n", 0, "line 2: too many fields" },
  { CATALOGUE_START "bundle\tlv2\t/b\\\t1\t\n", 0, "line 2: the path has a wrong escape" },
  { CATALOGUE_START BUNDLE PLUGIN "plugin\tlv2\n", 0, "line 4: the id is missing" },
  { CATALOGUE_START BUNDLE "plugin\tlv2\turn:x\t\x01\t\t\t\t\t\n", 0,
    "line 3: the name is not printable" },
  { CATALOGUE_START BUNDLE "plugin\tladspa\tx/x\tX\t\t\t\t\t\n", 0,
    "line 3: a plugin of another format than its bundle" },
};

TEST_ROWS(a_broken_line_is_named, broken)
{
  const size_t n_bytes = broken[row].n_bytes ? broken[row].n_bytes : strlen(broken[row].text);
  char* const text = malloc(n_bytes + 1U);
  memcpy(text, broken[row].text, n_bytes);
  Catalogue* catalogue = NULL;
  ck_assert_int_eq(catalogue_new(text, n_bytes, &catalogue, &catalogue_rig_fault), STATUS_FILE);
  assert_says(catalogue_rig_fault.text, broken[row].says);
  ck_assert_ptr_null(catalogue);
}

TEST(a_catalogue_without_memory_is_none)
{
  TextBuffer buffer = catalogue_rig_begin_text();
  catalogue_rig_add(&buffer, "lv2", "urn:a", "");
  const size_t n_bytes = buffer.n;
  SCOPED_MEMORY char* const text = text_buffer_take(&buffer);
  bool is_made = false;
  uint32_t n = 0;
  for (; !is_made; ++n) {
    counted_alloc_begin();
    char* const copy = strdup(text);
    Catalogue* catalogue = NULL;
    failing_alloc_arm(n);
    const Status status = catalogue_new(copy, n_bytes, &catalogue, &catalogue_rig_fault);
    is_made = !failing_alloc_disarm();
    const bool is_there = catalogue;
    catalogue_free(catalogue);
    const long n_left = counted_alloc_now();
    ck_assert_int_eq(status, is_made ? STATUS_OK : STATUS_NO_MEM);
    ck_assert(is_made == is_there);
    ck_assert_int_eq(n_left, 0);
  }
  ck_assert_uint_gt(n, 2);
}

// ---- file ----

TEST(a_file_is_read_whole_or_refused_with_its_name)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  Catalogue* catalogue = NULL;
  scratch_write(&scratch, "good", CATALOGUE_START BUNDLE,
                sizeof(CATALOGUE_START) + sizeof(BUNDLE) - 2U);
  OK(catalogue_read(scratch_path(&scratch, "good"), &catalogue, &error));
  uint32_t n = 0;
  (void)catalogue_bundles(catalogue, &n);
  ck_assert_uint_eq(n, 1);
  catalogue_free(catalogue);
  scratch_write(&scratch, "bad", "x\n", 2);
  ck_assert_int_eq(catalogue_read(scratch_path(&scratch, "bad"), &catalogue, &catalogue_rig_fault),
                   STATUS_FILE);
  assert_says(catalogue_rig_fault.text, "/bad: line 1: not a catalogue");
  ck_assert_int_eq(catalogue_read(scratch_path(&scratch, "none"), &catalogue, &catalogue_rig_fault),
                   STATUS_NOT_FOUND);
  assert_says(catalogue_rig_fault.text, "/none: No such file");
  ck_assert_int_eq(catalogue_read(scratch.directory, &catalogue, &catalogue_rig_fault),
                   STATUS_FILE);
  assert_says(catalogue_rig_fault.text, "not a file");
  ck_assert_int_eq(mkfifo(scratch_path(&scratch, "pipe"), 0600), 0);
  ck_assert_int_eq(catalogue_read(scratch_path(&scratch, "pipe"), &catalogue, &catalogue_rig_fault),
                   STATUS_FILE);
  assert_says(catalogue_rig_fault.text, "/pipe: not a file");
  ck_assert_int_eq(truncate(scratch_path(&scratch, "bad"), (off_t)CATALOGUE_MAX_BYTES + 1), 0);
  ck_assert_int_eq(catalogue_read(scratch_path(&scratch, "bad"), &catalogue, &catalogue_rig_fault),
                   STATUS_LIMIT);
  assert_says(catalogue_rig_fault.text, "larger than 256 MiB");
}

TEST(a_file_that_others_may_write_is_refused)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  Catalogue* catalogue = NULL;
  scratch_write(&scratch, "a", CATALOGUE_START, sizeof(CATALOGUE_START) - 1U);
  ck_assert_int_eq(chmod(scratch_path(&scratch, "a"), 0666), 0);
  ck_assert_int_eq(catalogue_read(scratch_path(&scratch, "a"), &catalogue, &catalogue_rig_fault),
                   STATUS_FILE);
  assert_says(catalogue_rig_fault.text, "/a: others may have written it");
  ck_assert_int_eq(chmod(scratch_path(&scratch, "a"), 0664), 0);
  OK(catalogue_read(scratch_path(&scratch, "a"), &catalogue, &error));
  catalogue_free(catalogue);
  if (geteuid() == 0) {
    ck_assert_int_eq(chown(scratch_path(&scratch, "a"), 65534, 65534), 0);
    ck_assert_int_eq(catalogue_read(scratch_path(&scratch, "a"), &catalogue, &catalogue_rig_fault),
                     STATUS_FILE);
  }
}

TEST(the_path_is_in_the_folder_of_the_cache)
{
  char path[512];
  setenv("XDG_CACHE_HOME", "/cache", 1);
  ck_assert(catalogue_path(path, sizeof(path)));
  assert_says(path, "/cache/warprack/plugins-");
  ck_assert_str_eq(path + strlen(path) - 4U, ".txt");
  ck_assert(!catalogue_path(path, strlen(path)));
  ck_assert(!catalogue_path(path, 5));
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/home/x", 1);
  ck_assert(catalogue_path(path, sizeof(path)));
  assert_says(path, "/home/x/.cache/warprack/plugins-");
  unsetenv("HOME");
  ck_assert(!catalogue_path(path, sizeof(path)));
}

// ---- search ----

static const struct {
  const char *reference, *id;
} found[] = { { "urn:test:Tube", "urn:test:Tube" },
              { "Tube", "urn:test:Tube" },
              { "tUBE", "urn:test:Tube" },
              { "urn:b:Amp", "urn:b:Amp" } };

TEST_ROWS(a_plugin_is_found_by_id_or_by_a_name_that_it_alone_has, found)
{
  catalogue_rig_use_some();
  const FxInfo* const fx = catalogue_rig_find(found[row].reference);
  ck_assert_str_eq(fx->origin->format, catalogue_rig_format);
  ck_assert_str_eq(fx->origin->id, found[row].id);
  ck_assert_ptr_eq(fx, catalogue_rig_find(found[row].id));
}

static const struct {
  const char* reference;
  Status status;
  const char* says;
} not_found[] = {
  { "tbue", STATUS_NOT_FOUND, "plugin \"tbue\"; did you mean \"Tube\"?" },
  { "urn:test:tub", STATUS_NOT_FOUND, "did you mean \"urn:test:Tube\"?" },
  { "qwertz", STATUS_NOT_FOUND, "plugin \"qwertz\"; `warprack list plugins` shows all" },
  { "urn:other:tube", STATUS_NOT_FOUND, "no " }, // of another catalogue_rig_format
  { "", STATUS_NOT_FOUND, "plugin \"\"; `warprack" },
  { "broken", STATUS_NO_BACKEND, "\"urn:test:broken\" cannot be used: needs the feature \"x\"" },
};

TEST_ROWS(a_plugin_that_is_not_there_is_refused_with_a_hint, not_found)
{
  catalogue_rig_use_some();
  ck_assert_int_eq(catalogue_rig_search(not_found[row].reference), not_found[row].status);
  assert_says(catalogue_rig_fault.text, not_found[row].says);
}

TEST(the_package_of_a_plugin_is_named_unless_others_of_it_are_there)
{
  static const struct {
    const char *id, *says;
  } rows[] = {
    { "clap\tcom.zamaudio.ZamEQ2", "Debian has it in the package zam-plugins" },
    { "ladspa\tamp_1181/amp", "Debian has it in the package swh-plugins" },
    { "ladspa\tamp_1654/amp", "Debian has it in the package blop" },
    { "ladspa\tmy_amp/amp", "`warprack list plugins` shows all" },
    { "lv2\thttp://gareus.org/oss/lv2/fil4#mono", "Debian has it in the package x42-plugins" },
  };
  catalogue_rig_use_some();
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    const char* const id = strchr(rows[r].id, '\t') + 1;
    if (!strncmp(rows[r].id, catalogue_rig_format, strcspn(rows[r].id, "\t"))) {
      ck_assert_int_eq(catalogue_rig_search(id), STATUS_NOT_FOUND);
      assert_says(catalogue_rig_fault.text, rows[r].says);
    }
  }
  TextBuffer text = catalogue_rig_begin_text();
  const bool is_clap = !strcmp(catalogue_rig_format, "clap");
  catalogue_rig_add(&text, catalogue_rig_format, is_clap ? "com.zamaudio.ZamEQ2" : "tap_a/a", "");
  catalogue_use(catalogue_rig_of(&text));
  ck_assert_int_eq(catalogue_rig_search(is_clap ? "com.zamaudio.ZamEQ" : "tap_a/b"),
                   STATUS_NOT_FOUND);
  assert_says(catalogue_rig_fault.text, "did you mean \"");
}

TEST(a_name_of_several_plugins_is_refused_with_their_ids)
{
  catalogue_rig_use_some();
  char expected[128];
  snprintf(expected, sizeof(expected),
           "several %s plugins have the name \"amp\"; write \"urn:a:amp\", \"urn:b:Amp\"",
           catalogue_rig_format);
  ck_assert_int_eq(catalogue_rig_search("amp"), STATUS_NOT_FOUND);
  ck_assert_str_eq(catalogue_rig_fault.text, expected);
}

TEST(a_plugin_that_cannot_be_used_can_be_shown)
{
  catalogue_rig_use_some();
  const Plugin* plugin = NULL;
  OK(catalogue_find_plugin(catalogue_rig_format, "broken", &plugin, &error));
  ck_assert_str_eq(plugin->fault, "needs the feature \"x\"");
  ck_assert_str_eq(plugin->fx.name, "broken");
}

TEST(a_format_that_does_not_exist_is_no_fault_of_the_build)
{
  catalogue_rig_use_some();
  const FxInfo* fx = NULL;
  ck_assert_int_eq(fx_find_plugin("foo", "Tube", &fx, &catalogue_rig_fault), STATUS_NOT_FOUND);
  ck_assert_str_eq(catalogue_rig_fault.text, "no format \"foo\"; it is one of clap, ladspa, lv2");
}

TEST(formats_are_words_in_any_case)
{
  catalogue_rig_use_some();
  const FxInfo* fx = NULL;
  char word[16];
  snprintf(word, sizeof(word), "%s", catalogue_rig_format);
  word[0] = (char)toupper((unsigned char)word[0]);
  OK(fx_find_plugin(word, "Tube", &fx, &error));
  ck_assert_str_eq(fx->origin->format, catalogue_rig_format);
}

TEST(many_plugins_of_one_name_are_listed_as_far_as_there_is_room)
{
  TextBuffer text = catalogue_rig_begin_text();
  char id[64];
  for (uint32_t i = 0; i < 40U; ++i) {
    snprintf(id, sizeof(id), "urn:%u:amp", i);
    catalogue_rig_add(&text, catalogue_rig_format, id, "");
  }
  catalogue_use(catalogue_rig_of(&text));
  ck_assert_int_eq(catalogue_rig_search("amp"), STATUS_NOT_FOUND);
  assert_says(catalogue_rig_fault.text, "\"urn:0:amp\", \"urn:1:amp\", ");
  ck_assert_uint_gt(strlen(catalogue_rig_fault.text), 350);
  ck_assert_int_eq(catalogue_rig_fault.text[strlen(catalogue_rig_fault.text) - 1U], '"');
}

TEST(without_a_catalogue_no_plugins_are_known)
{
  setenv("XDG_CACHE_HOME", "/nowhere", 1);
  for (uint32_t i = 0; i < 2U; ++i) {
    ck_assert_int_eq(catalogue_rig_search("Tube"), STATUS_NOT_FOUND);
    ck_assert_str_eq(catalogue_rig_fault.text,
                     "no plugins are known; run `warprack scan`, or send /server/scan to a server");
  }
  ck_assert_ptr_null(catalogue_current());
  catalogue_rig_use_some();
  ck_assert_int_eq(catalogue_rig_search("Tube"), STATUS_OK);
  catalogue_use(NULL);
  ck_assert_int_eq(catalogue_rig_search("Tube"), STATUS_NOT_FOUND);
  ck_assert_str_eq(catalogue_rig_fault.text,
                   "no plugins are known; run `warprack scan`, or send /server/scan to a server");
}

/// Write the user's file, in a folder that becomes the one of the cache.
static void
write_user_file(const Scratch* const scratch, const char* const text, const size_t n_bytes)
{
  char path[512];
  setenv("XDG_CACHE_HOME", scratch->directory, 1);
  mkdir(scratch_path(scratch, "warprack"), 0700);
  ck_assert(catalogue_path(path, sizeof(path)));
  FILE* const file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(text, 1, n_bytes, file), n_bytes);
  fclose(file);
}

static void
remove_user_file(const Scratch* const scratch)
{
  char path[512];
  ck_assert(catalogue_path(path, sizeof(path)));
  unlink(path);
  rmdir(scratch_path(scratch, "warprack"));
  scratch_remove(scratch);
}

TEST(the_first_search_reads_the_file_of_the_user)
{
  SCOPED(remove_user_file) const Scratch scratch = scratch_new();
  write_user_file(&scratch, "x\n", 2);
  ck_assert_int_eq(catalogue_rig_search("Tube"), STATUS_FILE);
  assert_says(catalogue_rig_fault.text, ".txt: line 1: not a catalogue of this version");
  TextBuffer text = catalogue_rig_begin_text();
  catalogue_rig_add(&text, catalogue_rig_format, "urn:test:Tube", "");
  write_user_file(&scratch, text.bytes, text.n);
  free(text.bytes);
  const FxInfo* const fx = catalogue_rig_find("Tube");
  ck_assert_ptr_nonnull(catalogue_current());
  write_user_file(&scratch, "x\n", 2); // no second time
  ck_assert_ptr_eq(catalogue_rig_find("Tube"), fx);
  catalogue_use(NULL);
  ck_assert_int_eq(catalogue_rig_search("Tube"), STATUS_NOT_FOUND);
}

TEST(a_damaged_file_is_read_again_only_when_it_has_changed)
{
  static const char* const files[] = { "x\n", CATALOGUE_START "x\n" };
  static const char* const faults[] = { ".txt: line 1: not a catalogue of this version",
                                        ".txt: line 2: " };
  SCOPED(remove_user_file) const Scratch scratch = scratch_new();
  for (uint32_t f = 0; f < ARRAY_LEN(files); ++f) {
    write_user_file(&scratch, files[f], strlen(files[f]));
    ck_assert_int_eq(catalogue_rig_search("Tube"), STATUS_FILE);
    failing_alloc_arm(0); // without memory the file cannot be read
    const FxInfo* fx = NULL;
    const Status status = fx_find_plugin(catalogue_rig_format, "Tube", &fx, &catalogue_rig_fault);
    ck_assert(!failing_alloc_disarm());
    ck_assert_int_eq(status, STATUS_FILE);
    assert_says(catalogue_rig_fault.text, faults[f]);
  }
}

// ---- plugins ----

TEST(a_description_is_read_when_its_plugin_is_asked_for)
{
  TextBuffer text = catalogue_rig_begin_text();
  catalogue_rig_add(&text, catalogue_rig_format, "urn:test:good", "");
  text_buffer_print(&text, "plugin\t%s\turn:test:bad\tBad\t\t\t\t\t\nport\t0\n",
                    catalogue_rig_format);
  catalogue_use(catalogue_rig_of(&text));
  ck_assert_int_eq(catalogue_rig_search("good"), STATUS_OK);
  for (uint32_t i = 0; i < 2U; ++i) {
    const FxInfo* fx = NULL;
    counted_alloc_begin();
    const Status status = fx_find_plugin(catalogue_rig_format, "bad", &fx, &catalogue_rig_fault);
    ck_assert_int_eq(counted_alloc_now(), 0); // nothing is kept
    ck_assert_int_eq(status, STATUS_FILE);
    assert_says(catalogue_rig_fault.text, "the description of ");
    assert_says(catalogue_rig_fault.text, "\"urn:test:bad\": line 2: unexpected line \"port");
  }
}

TEST(an_unchanged_plugin_keeps_its_effect_in_a_new_catalogue)
{
  catalogue_rig_use_some();
  const FxInfo* const tube = catalogue_rig_find("Tube");
  TextBuffer text = catalogue_rig_begin_text();
  catalogue_rig_add(&text, catalogue_rig_format, "urn:test:Amp", "");
  catalogue_rig_add(&text, catalogue_rig_format, "urn:test:Tube", "");
  catalogue_use(catalogue_rig_of(&text));
  ck_assert_ptr_eq(catalogue_rig_find("Tube"), tube);
  ck_assert_str_eq(catalogue_rig_find("Amp")->origin->id, "urn:test:Amp");
}

TEST(a_changed_plugin_gets_another_effect_and_the_old_one_stays_valid)
{
  catalogue_rig_use_some();
  const FxInfo* const before = catalogue_rig_find("Tube");
  TextBuffer text = catalogue_rig_begin_text();
  catalogue_rig_add(&text, catalogue_rig_format, "urn:test:Tube", "");
  Plugin changed = plugin_sample;
  changed.origin = (FxOrigin){ .format = catalogue_rig_format, .id = "urn:test:Tube" };
  changed.binary_key.changed_ns++;
  SCOPED_MEMORY char* const description = plugin_sample_text(&changed);
  const CatalogueBundle bundle = { .format = catalogue_rig_format,
                                   .path = "/b",
                                   .fault = "",
                                   .text = description,
                                   .n_bytes = strlen(description) };
  text.n = 0;
  text_buffer_add(&text, CATALOGUE_START);
  catalogue_write_bundle(&text, &bundle);
  catalogue_use(catalogue_rig_of(&text));
  const FxInfo* const after = catalogue_rig_find("Tube");
  ck_assert_ptr_ne(before, after);
  ck_assert_str_eq(before->origin->id, "urn:test:Tube");
  ck_assert_uint_eq(plugin_of(before)->binary_key.changed_ns + 1U,
                    plugin_of(after)->binary_key.changed_ns);
  catalogue_rig_use_some();
  ck_assert_ptr_eq(catalogue_rig_find("Tube"), before);
}

static unsigned n_provided;

static Status
provide(void* const context, Catalogue** const out, Error* const why)
{
  (void)why;
  ++n_provided;
  *out = catalogue_rig_tube(1, context);
  return STATUS_OK;
}

TEST(a_source_provides_the_catalogue_for_the_first_search_only)
{
  SCOPED(scratch_remove) Scratch cache = scratch_new();
  setenv("XDG_CACHE_HOME", cache.directory, 1);
  n_provided = 0;
  catalogue_set_provider(provide, "Tube");
  ck_assert_ptr_null(fx_plugin_format("gian")); // a hint is no search
  ck_assert_uint_eq(n_provided, 0);
  ck_assert_str_eq(catalogue_rig_find("Tube")->origin->id, "urn:test:Tube");
  ck_assert_int_eq(catalogue_rig_search("Amp"), STATUS_NOT_FOUND);
  ck_assert_str_eq(fx_plugin_format("tube"), catalogue_rig_format);
  ck_assert_uint_eq(n_provided, 1);
}

typedef struct Shared {
  uint32_t n;
  bool fails;
} Shared;

/// A CatalogueShare.
static Status
share(void* const context, const Catalogue* const catalogue, const CatalogueChange* const change,
      Error* const why)
{
  Shared* const shared = context;
  uint32_t n_entries = 0;
  (void)catalogue_entries(catalogue, &n_entries);
  ck_assert_uint_eq(n_entries, 1U);
  ck_assert_uint_eq(change->n_changed, 0U);
  ++shared->n;
  return shared->fails ? error_set(why, STATUS_NO_MEM, "not shared") : STATUS_OK;
}

static void
count_entries(void* const n_entries, const Catalogue* const catalogue)
{
  *(uint32_t*)n_entries = 0;
  if (catalogue) {
    (void)catalogue_entries(catalogue, n_entries);
  }
}

TEST(a_server_shares_the_file_before_it_uses_it)
{
  SCOPED(remove_user_file) const Scratch scratch = scratch_new();
  Shared shared = { .fails = true };
  uint32_t n = 0;
  setenv("XDG_CACHE_HOME", scratch.directory, 1);
  n_provided = 0;
  catalogue_set_provider(provide, "Amp");
  catalogue_share_on_search(share, &shared);
  ck_assert_int_eq(catalogue_rig_search("Tube"), STATUS_NOT_FOUND); // there is no file
  TextBuffer text = catalogue_rig_begin_text();
  catalogue_rig_add(&text, catalogue_rig_format, "urn:test:Tube", "");
  write_user_file(&scratch, text.bytes, text.n);
  free(text.bytes);
  ck_assert_int_eq(catalogue_rig_search("Tube"), STATUS_NO_MEM);
  ck_assert_ptr_null(catalogue_current());
  shared.fails = false;
  catalogue_visit(count_entries, &n); // a list, as a search
  ck_assert_uint_eq(n, 1U);
  ck_assert_uint_eq(shared.n, 2U);
  ck_assert_int_eq(catalogue_rig_search("Tube"), STATUS_OK);
  ck_assert_uint_eq(shared.n, 2U);
  ck_assert_uint_eq(n_provided, 0U);
}

TEST(a_search_without_memory_can_be_repeated)
{
  catalogue_rig_use_some();
  bool is_found = false;
  uint32_t n = 0;
  for (; !is_found; ++n) {
    const FxInfo* fx = NULL;
    failing_alloc_arm(n);
    const Status status = fx_find_plugin(catalogue_rig_format, "Tube", &fx, &catalogue_rig_fault);
    is_found = !failing_alloc_disarm();
    ck_assert_int_eq(status, is_found ? STATUS_OK : STATUS_NO_MEM);
    ck_assert(is_found == (fx != NULL));
  }
  ck_assert_uint_gt(n, 0);
}

static void*
find_many_times(void* const context)
{
  const FxInfo** const fx = context;
  for (uint32_t i = 0; i < 200U; ++i) {
    const FxInfo* const again = catalogue_rig_find("Tube");
    ck_assert(!*fx || *fx == again);
    *fx = again;
  }
  return NULL;
}

TEST(a_wrong_name_is_reported_even_without_memory_for_the_hint)
{
  catalogue_rig_use_some();
  const FxInfo* fx = NULL;
  failing_alloc_arm(0);
  const Status status = fx_find_plugin(catalogue_rig_format, "tbue", &fx, &catalogue_rig_fault);
  ck_assert(failing_alloc_disarm());
  ck_assert_int_eq(status, STATUS_NOT_FOUND);
  assert_says(catalogue_rig_fault.text, "plugin \"tbue\"; `warprack list plugins` shows all");
}

TEST(threads_find_the_same_effect_while_the_catalogue_changes)
{
  enum { N_THREADS = 4 };
  pthread_t threads[N_THREADS];
  const FxInfo* effects[N_THREADS] = { NULL };
  catalogue_rig_use_some();
  for (uint32_t t = 0; t < N_THREADS; ++t) {
    ck_assert_int_eq(pthread_create(&threads[t], NULL, find_many_times, &effects[t]), 0);
  }
  for (uint32_t i = 0; i < 50U; ++i) {
    catalogue_rig_use_some();
  }
  for (uint32_t t = 0; t < N_THREADS; ++t) {
    pthread_join(threads[t], NULL);
    ck_assert_ptr_eq(effects[t], catalogue_rig_find("Tube"));
  }
}

SUITE_MAIN_WITH("catalogue", catalogue_rig_begin, NULL)
