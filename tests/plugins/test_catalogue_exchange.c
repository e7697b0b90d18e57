// SPDX-License-Identifier: GPL-3.0-or-later
// Another catalogue in a process whose racks have plugins: what changed, what is gone, which
// effects stay, and nothing at all if the worker does not get it.

#include "tests/support/catalogue_rig.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

static char* shared; ///< The last catalogue that share() got
static CatalogueChange change;

static Status
share(void* const context, const Catalogue* const catalogue, const CatalogueChange* const what,
      Error* const why)
{
  size_t n_bytes = 0;
  (void)what;
  free(shared);
  shared = strdup(catalogue_text(catalogue, &n_bytes) ? "shared" : "");
  return context ? error_set(why, STATUS_FILE, "not shared") : STATUS_OK;
}

static void
exchange(Catalogue* const catalogue)
{
  OK(catalogue_exchange(catalogue, share, NULL, &change, &error));
}

TEST(a_plugin_with_new_code_keeps_its_effect_in_a_server)
{
  catalogue_use(catalogue_rig_tube(1, "Tube"));
  const FxInfo* const before = catalogue_rig_find("Tube");
  exchange(catalogue_rig_tube(2, "Tube"));
  ck_assert_uint_eq(change.n_changed, 1);
  ck_assert_uint_eq(change.n_others, 0);
  ck_assert_ptr_eq(catalogue_rig_find("Tube"), before);
  exchange(catalogue_rig_tube(2, "Tube"));
  ck_assert_uint_eq(change.n_changed, 0);
  ck_assert_ptr_eq(catalogue_rig_find("Tube"), before);
}

TEST(a_plugin_with_another_description_gets_another_effect_and_is_named_once)
{
  catalogue_use(catalogue_rig_tube(1, "Tube"));
  const FxInfo* const before = catalogue_rig_find("Tube");
  exchange(catalogue_rig_tube(1, "Valve"));
  ck_assert_uint_eq(change.n_others, 1);
  ck_assert_str_eq(change.names, "Tube");
  ck_assert_ptr_ne(catalogue_rig_find("Tube"), before);
  exchange(catalogue_rig_tube(1, "Valve"));
  ck_assert_uint_eq(change.n_changed, 0);
}

TEST(an_effect_is_outdated_while_its_plugin_has_another_description)
{
  catalogue_use(catalogue_rig_tube(1, "Tube"));
  const FxInfo* const before = catalogue_rig_find("Tube");
  exchange(catalogue_rig_tube(2, "Tube"));
  ck_assert(!fx_is_outdated(before));
  exchange(catalogue_rig_tube(2, "Valve"));
  ck_assert(fx_is_outdated(before));
  const FxInfo* const after = catalogue_rig_find("Tube");
  ck_assert(!fx_is_outdated(after));
  exchange(catalogue_rig_tube(2, "Tube")); // as it was: racks may still hold both effects
  ck_assert_uint_eq(change.n_changed, 1);
  ck_assert(!fx_is_outdated(before));
  ck_assert(fx_is_outdated(after));
  exchange(catalogue_rig_tube(2, "Tube"));
  ck_assert_uint_eq(change.n_changed, 0);
}

TEST(a_plugin_that_no_rack_has_taken_does_not_count)
{
  const Plugin* plugin = NULL;
  catalogue_use(catalogue_rig_tube(1, "Tube"));
  OK(catalogue_find_plugin(catalogue_rig_format, "Tube", &plugin, &error));
  exchange(catalogue_rig_tube(2, "Tube"));
  ck_assert_uint_eq(change.n_changed, 0);
  OK(catalogue_find_plugin(catalogue_rig_format, "Tube", &plugin, &error));
  ck_assert_uint_eq(plugin->binary_key.changed_ns, 2);
  catalogue_rig_find("Tube");
  exchange(catalogue_rig_tube(3, "Tube"));
  ck_assert_uint_eq(change.n_changed, 1);
}

TEST(a_plugin_that_is_gone_stays_if_it_was_read)
{
  catalogue_rig_use_some();
  const FxInfo* const amp = catalogue_rig_find("urn:a:amp");
  exchange(catalogue_rig_tube(1, "Tube"));
  ck_assert_uint_eq(change.n_gone, 1);
  ck_assert_ptr_eq(catalogue_rig_find("urn:a:amp"), amp);
  ck_assert_int_eq(catalogue_rig_search("urn:b:Amp"), STATUS_NOT_FOUND);
}

TEST(a_catalogue_that_is_not_shared_is_not_used)
{
  catalogue_use(catalogue_rig_tube(1, "Tube"));
  const Catalogue* const before = catalogue_current();
  TextBuffer text = catalogue_rig_begin_text();
  catalogue_rig_add(&text, catalogue_rig_format, "urn:test:New", "");
  ck_assert_int_eq(
      catalogue_exchange(catalogue_rig_of(&text), share, &change, &change, &catalogue_rig_fault),
      STATUS_FILE);
  ck_assert_ptr_eq(catalogue_current(), before);
  ck_assert_int_eq(catalogue_rig_search("New"), STATUS_NOT_FOUND);
}

TEST(a_catalogue_that_is_not_shared_changes_no_effect)
{
  static const char* const names[] = { "Tube", "Valve" };
  for (uint32_t n = 0; n < ARRAY_LEN(names); ++n) { // another file of the code, another description
    catalogue_use(catalogue_rig_tube(1, "Tube"));
    const FxInfo* const before = catalogue_rig_find("Tube");
    ck_assert_int_eq(catalogue_exchange(catalogue_rig_tube(2, names[n]), share, &change, &change,
                                        &catalogue_rig_fault),
                     STATUS_FILE);
    ck_assert(!fx_is_outdated(before));
    ck_assert_ptr_eq(catalogue_rig_find("Tube"), before);
    ck_assert_uint_eq(plugin_of(before)->binary_key.changed_ns, 1);
  }
}

/// A catalogue with one plugin, whose report says that it has this latency.
static Catalogue*
probed_catalogue(const uint32_t latency_frames)
{
  char report[64];
  Catalogue* const without = catalogue_rig_tube(1, "Tube");
  TextBuffer text = { .bytes = NULL };
  snprintf(report, sizeof(report), "report\t\t\t%u\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\n",
           latency_frames);
  catalogue_write_reports(&text, without, &(const char*){ report });
  catalogue_free(without);
  return catalogue_rig_of(&text);
}

TEST(a_worker_keeps_the_effect_of_a_plugin_that_was_probed)
{
  catalogue_use(catalogue_rig_tube(1, "Tube"));
  const FxInfo* const before = catalogue_rig_find("Tube");
  for (uint32_t n = 0; n < 3U; ++n) {
    OK(catalogue_follow(probed_catalogue(n), &error));
    ck_assert_ptr_eq(catalogue_rig_find("Tube"), before);
  }
  OK(catalogue_follow(catalogue_rig_tube(2, "Tube"), &error));
  ck_assert_ptr_ne(catalogue_rig_find("Tube"), before);
  catalogue_use(catalogue_rig_tube(1, "Tube")); // others read the report
  const FxInfo* const without = catalogue_rig_find("Tube");
  catalogue_use(probed_catalogue(1));
  ck_assert_ptr_ne(catalogue_rig_find("Tube"), without);
}

SUITE_MAIN_WITH("catalogue_exchange", catalogue_rig_begin, NULL)
