// SPDX-License-Identifier: GPL-3.0-or-later
// Broken descriptions of LV2 plugins: each has a fault in words or is mended, and costs no other
// plugin.

#include "tests/support/plugins/lv2/lv2_rig.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <sys/stat.h>

#define PREFIXES                                                                                   \
  "@prefix lv2: <http://lv2plug.in/ns/lv2core#> .\n"                                               \
  "@prefix atom: <http://lv2plug.in/ns/ext/atom#> .\n"                                             \
  "@prefix doap: <http://usefulinc.com/ns/doap#> .\n"                                              \
  "@prefix rsz: <http://lv2plug.in/ns/ext/resize-port#> .\n"
#define PLUGIN(ports)                                                                              \
  PREFIXES "<urn:warprack:broken> a lv2:Plugin ; doap:name \"Broken\" ; lv2:binary <plugin.so> ;"  \
           " lv2:port " ports " ."
#define IN(index, symbol)                                                                          \
  "[ a lv2:AudioPort, lv2:InputPort ; lv2:index " index " ; lv2:symbol \"" symbol                  \
  "\" ; lv2:name \"In\" ]"

static Scratch scratch;

static void
start(void)
{
  scratch = scratch_new();
}

static void
stop(void)
{
  scratch_remove(&scratch);
}

/// Describe the fixtures and a bundle with this manifest.
static Status
describe(const char* const manifest, Error* const error)
{
  const char* const bundles[] = { scratch_path(&scratch, "broken.lv2"), lv2_rig_fixtures() };
  ck_assert_int_eq(mkdir(bundles[0], 0700), 0);
  scratch_write(&scratch, "broken.lv2/manifest.ttl", manifest, strlen(manifest));
  scratch_write(&scratch, "broken.lv2/plugin.so", "", 1U);
  const Status status = lv2_rig_describe(bundles, 2U, error);
  ck_assert_str_eq(lv2_rig_find("urn:warprack:gain")->fault, "");
  return status;
}

static const struct {
  const char* manifest;
  const char* fault;
} fault_rows[] = {
  { PLUGIN(IN("0", "in") ", " IN("0", "in2")), "two ports have the index 0" },
  { PLUGIN(IN("0", "in") ", " IN("7", "in2")), "a port has the index 7, but there are 2 ports" },
  { PLUGIN(IN("0.5", "in")), "a port has the index 0.5" },
  { PLUGIN(IN("-1", "in")), "a port has the index -1" },
  { PLUGIN("[ a lv2:AudioPort, lv2:InputPort ; lv2:symbol \"in\" ]"), "a port has no index" },
  { PLUGIN("[ a lv2:InputPort ; lv2:index 0 ; lv2:symbol \"in\" ]"), "port in has no type" },
  { PLUGIN("[ a lv2:InputPort, <urn:odd> ; lv2:index 0 ; lv2:symbol \"in\" ]"),
    "port in has the unknown type urn:odd" },
  { PLUGIN("[ a lv2:AudioPort ; lv2:index 0 ; lv2:symbol \"in\" ]"),
    "port in is neither input nor output" },
  { PLUGIN("[ a lv2:AudioPort, lv2:InputPort, lv2:OutputPort ; lv2:index 0 ; lv2:symbol \"in\" ]"),
    "port in is input and output" },
  { PLUGIN("[ a atom:AtomPort, lv2:InputPort ; lv2:index 0 ; lv2:symbol \"in\" ;"
           " rsz:minimumSize 4000000000 ]"),
    "port in needs a buffer of 4000000000 bytes" },
  { PREFIXES "<urn:warprack:broken> a lv2:Plugin ; lv2:binary <missing.so> .", "missing.so" },
  { PREFIXES "<urn:warprack:broken> a lv2:Plugin .", "its description names no binary" },
  { PREFIXES "<urn:warprack:broken> a lv2:Plugin ; lv2:binary \"plugin.so\" .",
    "its description names no binary" },
  { PREFIXES
    "<urn:warprack:broken> a lv2:Plugin ; lv2:binary <plugin.so> ; <http://www.w3.org/2000/"
    "01/rdf-schema#seeAlso> <missing.ttl> .",
    "missing.ttl" },
};

TEST_ROWS(a_broken_description_has_a_fault_in_words, fault_rows)
{
  OK(describe(fault_rows[row].manifest, &error));
  const Plugin* const plugin = lv2_rig_find("urn:warprack:broken");
  ck_assert_ptr_nonnull(plugin);
  assert_says(plugin->fault, fault_rows[row].fault);
  ck_assert(plugin->n_ports == 0 || strstr(plugin->fault, "binary") ||
            strstr(plugin->fault, ".so"));
}

static const struct {
  const char* manifest;
  const char* symbol; ///< Of the last port
  const char* note;
} mended_rows[] = {
  { PLUGIN(IN("0", "in") ", " IN("1", "in")), "in_2", "invalid or double symbol: \"in_2\"" },
  { PLUGIN(IN("0", "4 in")), "_4_in", "invalid or double symbol: \"_4_in\"" },
  { PLUGIN("[ a lv2:AudioPort, lv2:InputPort ; lv2:index 0 ]"), "port_0", "no symbol: \"port_0\"" },
  { PREFIXES
    "<urn:warprack:broken> a lv2:Plugin ; lv2:binary <plugin.so> ; lv2:port " IN("0", "in") " .",
    "in", "no name: \"urn:warprack:broken\"" },
};

TEST_ROWS(a_description_is_mended_and_noted, mended_rows)
{
  OK(describe(mended_rows[row].manifest, &error));
  const Plugin* const plugin = lv2_rig_find("urn:warprack:broken");
  ck_assert_str_eq(plugin->fault, "");
  ck_assert_str_eq(plugin->ports[plugin->n_ports - 1U].symbol, mended_rows[row].symbol);
  assert_says(plugin->notes, mended_rows[row].note);
}

static const struct {
  const char* manifest;
  const char* says;
} syntax_rows[] = {
  { PREFIXES "<urn:warprack:broken> a lv2:Plugin ;\n lv2:binary <plugin.so>\n lv2:port 1 .",
    "manifest.ttl:7:" },
  { PREFIXES "<urn:warprack:broken> a lv2:Plugin ; lv2:binary <plugin.so> ; lv2:port [ a",
    "manifest" },
  { PREFIXES "<urn:warprack:broken> a unknown:Plugin .",
    "manifest.ttl: failed to expand CURIE `unknown:Plugin'" },
  { "\xff\xfe\x00\x01 noise", "manifest.ttl:1:" },
};

TEST_ROWS(a_manifest_that_is_no_turtle_is_refused_with_its_line, syntax_rows)
{
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(describe(syntax_rows[row].manifest, &error), STATUS_FILE);
  assert_says(error.text, syntax_rows[row].says);
  ck_assert_ptr_null(lv2_rig_find("urn:warprack:broken"));
}

TEST(a_data_file_that_is_no_turtle_is_named_with_its_line)
{
  ck_assert_int_eq(mkdir(scratch_path(&scratch, "data.lv2"), 0700), 0);
  const char* const manifest =
      PREFIXES "<urn:warprack:data> a lv2:Plugin ; lv2:binary <p.so> ;"
               " <http://www.w3.org/2000/01/rdf-schema#seeAlso> <data.ttl> .";
  const char* const data = PREFIXES "<urn:warprack:data> lv2:port [ a ;; ] ,\n] .";
  scratch_write(&scratch, "data.lv2/manifest.ttl", manifest, strlen(manifest));
  scratch_write(&scratch, "data.lv2/data.ttl", data, strlen(data));
  const char* const bundle = scratch_path(&scratch, "data.lv2");
  OK(lv2_rig_describe(&bundle, 1U, &error));
  assert_says(lv2_rig_find("urn:warprack:data")->fault, "data.ttl:5:");
}

TEST(a_folder_without_a_manifest_is_refused)
{
  const char* const bundle = scratch_path(&scratch, "empty.lv2");
  ck_assert_int_eq(mkdir(bundle, 0700), 0);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(lv2_rig_describe(&bundle, 1U, &error), STATUS_FILE);
  assert_says(error.text, "empty.lv2/manifest.ttl");
}

SUITE_MAIN_WITH("lv2_broken", start, stop)
