// SPDX-License-Identifier: GPL-3.0-or-later
// States of LV2 plugins that users save: saved while the plugin runs, with the same values as lilv
// gets, restored exactly, also by a renewal; bad plugins and bad states are refused.

#include "plugins/lv2/lv2_urids.h"
#include "plugins/lv2/lv2_values.h"
#include "tests/support/plugins/lv2/lv2_rig.h"
#include "tests/support/suite.h"

#include <lilv/lilv.h>
#include <lv2/atom/atom.h>
#include <lv2/state/state.h>
#include <lv2/urid/urid.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEARNER "urn:warprack:learner"

static const InstanceCalls* calls;

static void
start(void)
{
  calls = lv2_rig_begin();
}

TEST(a_state_is_restored_exactly_and_again_by_a_renewal)
{
  Lv2StateRig rig = { .id = LEARNER };
  OK(lv2_rig_state_open(&rig, &error));
  ck_assert_float_eq(lv2_rig_state_play(&rig, 0.5F), 0.75F);
  TextBuffer part = { 0 };
  OK(lv2_rig_state_save(&rig, 0.0, &part, &error));
  ck_assert_float_eq(lv2_rig_state_play(&rig, 0.25F), 0.375F); // plays on
  lv2_rig_state_expect_half(LEARNER, NULL, &part);
  lv2_rig_state_close(&rig);
  free(part.bytes);
}

TEST(a_renewal_restores_the_state_that_came_last)
{
  Lv2StateRig rig = { .id = LEARNER };
  OK(lv2_rig_state_open(&rig, &error));
  ck_assert_float_eq(lv2_rig_state_play(&rig, 0.5F), 0.75F);
  TextBuffer part = { 0 };
  OK(lv2_rig_state_save(&rig, 0.0, &part, &error));
  OK(state_file_set(&rig.state, &(StatePart){ part.bytes, part.n }, 1)); // as host_save() does
  ck_assert_float_eq(lv2_rig_state_play(&rig, 0.75F), 1.3125F);
  OK(calls->renew(rig.instance, &error));
  ck_assert_float_eq(lv2_rig_state_play(&rig, 0.25F), 0.375F);
  lv2_rig_state_close(&rig);
  free(part.bytes);
}

// ---- what lilv makes of the same plugin ----

static LV2_URID
on_map(const LV2_URID_Map_Handle context, const char* const uri)
{
  (void)context;
  return urid_map(uri);
}

/// The values that lilv has, compared with those in `context`.
static LV2_State_Status
compare(const LV2_Handle handle, const LV2_State_Retrieve_Function retrieve,
        const LV2_State_Handle state, const uint32_t flags,
        const LV2_Feature* const* const features)
{
  (void)flags;
  (void)features;
  const Lv2Values* const values = handle;
  for (uint32_t v = 0; v < values->n; ++v) {
    const Lv2Value* const value = &values->list[v];
    size_t n_bytes = 0;
    uint32_t type = 0;
    uint32_t value_flags = 0;
    const void* const body = retrieve(state, value->key, &n_bytes, &type, &value_flags);
    ck_assert_msg(body != NULL, "%s", urid_unmap(value->key));
    ck_assert_str_eq(urid_unmap(type), urid_unmap(value->type));
    ck_assert_uint_eq(n_bytes, value->n_bytes);
    ck_assert_mem_eq(body, value->body, n_bytes);
  }
  return LV2_STATE_SUCCESS;
}

static const void*
compare_extension(const char* const uri)
{
  static const LV2_State_Interface interface = { .restore = compare };
  return strcmp(uri, LV2_STATE__interface) ? NULL : &interface;
}

/// Let lilv run the plugin on a block of `sample`, save its state and compare it with `values`.
static void
compare_with_lilv(Lv2Values* const values, float sample)
{
  LV2_URID_Map map = { .map = on_map };
  const LV2_Feature map_feature = { LV2_URID__map, &map };
  const LV2_Feature* const features[] = { &map_feature, NULL };
  static const LV2_Descriptor descriptor = { .URI = LEARNER, .extension_data = compare_extension };
  float out = 0.0F;
  float mode = 0.0F;
  LilvWorld* const world = lilv_world_new();
  char folder[512];
  snprintf(folder, sizeof(folder), "%s/", lv2_rig_fixtures());
  LilvNode* const bundle = lilv_new_file_uri(world, NULL, folder);
  lilv_world_load_bundle(world, bundle);
  LilvNode* const uri = lilv_new_uri(world, LEARNER);
  const LilvPlugin* const plugin = lilv_plugins_get_by_uri(lilv_world_get_all_plugins(world), uri);
  LilvInstance* const instance = lilv_plugin_instantiate(plugin, LV2_RIG_RATE_HZ, features);
  lilv_instance_connect_port(instance, 0, &sample);
  lilv_instance_connect_port(instance, 1, &out);
  lilv_instance_connect_port(instance, 2, &mode);
  lilv_instance_run(instance, 1);
  LilvState* const state = lilv_state_new_from_instance(
      plugin, instance, &map, NULL, NULL, NULL, NULL, NULL, NULL, LV2_STATE_IS_POD, features);
  ck_assert_uint_eq(lilv_state_get_num_properties(state), values->n);
  LilvInstance comparer = { &descriptor, values, NULL };
  lilv_state_restore(state, &comparer, NULL, NULL, 0, features);
  lilv_state_free(state);
  lilv_instance_free(instance);
  lilv_node_free(uri);
  lilv_node_free(bundle);
  lilv_world_free(world);
}

TEST(the_values_are_those_that_lilv_gets)
{
  Lv2StateRig rig = { .id = LEARNER };
  TextBuffer part = { 0 };
  Lv2Values values = { 0 };
  OK(lv2_rig_state_open(&rig, &error));
  lv2_rig_state_play(&rig, 0.3F);
  OK(lv2_rig_state_save(&rig, 0.0, &part, &error));
  OK(lv2_values_read(&(StatePart){ part.bytes, part.n }, &values, &error));
  ck_assert_uint_eq(values.n, 7);
  compare_with_lilv(&values, 0.3F);
  lv2_values_clear(&values);
  lv2_rig_state_close(&rig);
  free(part.bytes);
}

// ---- plugins that do not save ----

static const struct {
  double mode;
  Status status;
  const char* says;
} bad_saves[] = {
  { 1.0, STATUS_LIMIT, "its state has more than 16 MiB" },
  { 2.0, STATUS_LIMIT, "its state has more than 16 MiB" },
  { 3.0, STATUS_FILE, "names /etc/passwd, which is neither a file of the rack nor of the plugin" },
  { 4.0, STATUS_FILE, "a value that cannot be saved: " LEARNER "#event of type " LV2_ATOM__Event },
  { 5.0, STATUS_FILE, "a value that cannot be copied" },
  { 8.0, STATUS_FILE, "does not save its state: it gives no reason" },
};

TEST_ROWS(a_state_that_cannot_be_kept_is_an_error_and_the_plugin_plays_on, bad_saves)
{
  Lv2StateRig rig = { .id = LEARNER };
  TextBuffer part = { 0 };
  Error why = { STATUS_OK, "" };
  OK(lv2_rig_state_open(&rig, &error));
  lv2_rig_state_play(&rig, 0.5F);
  ck_assert_int_eq(lv2_rig_state_save(&rig, bad_saves[row].mode, &part, &why),
                   bad_saves[row].status);
  assert_says(why.text, bad_saves[row].says);
  ck_assert_uint_le(part.n, FX_STATE_MAX_BYTES);
  ck_assert_float_eq(lv2_rig_state_play(&rig, 0.25F), 0.375F);
  lv2_rig_state_close(&rig);
  free(part.bytes);
}

// ---- bad states ----

#define URIS  "uri " LEARNER "#peak\nuri " LV2_ATOM__Float "\n"
#define TUPLE "uri " LV2_ATOM__Tuple "\nvalue 1 3 "

static const struct {
  const char* part;
  const char* says;
} bad_states[] = {
  { URIS "value 1 2 4\n\1\1\1\1\n", "lv2 " LEARNER " refuses its state: a value is missing" },
  { URIS "value 1 2 4\n123\n", "damaged after 0 values" },
  { URIS "value 1 2 4\n1234", "damaged after 0 values" },
  { URIS "value 1 2 4\n1234\nx", "damaged after 1 values" },
  { URIS "value 1 2 -4\n1234\n", "damaged after 0 values" },
  { URIS "value 1 2 9999999999\n1234\n", "damaged after 0 values" },
  { URIS "value 0 2 4\n1234\n", "damaged after 0 values" },
  { URIS "value 1 3 4\n1234\n", "damaged after 0 values" },
  { URIS "value 1 2\n1234\n", "damaged after 0 values" },
  { URIS "value 1  4\n1234\n", "damaged after 0 values" },
  { URIS TUPLE "4\n1234\n", "damaged after 1 values" },     // no room for the head of an atom
  { URIS TUPLE "8\n12341234\n", "damaged after 1 values" }, // a type without a URI
  { "uri \n", "damaged after 0 values" },
  { "uri x", "damaged after 0 values" },
  { "\n", "damaged after 0 values" },
};

TEST_ROWS(a_bad_state_makes_no_instance, bad_states)
{
  Lv2StateRig rig = { .id = LEARNER };
  Error why = { STATUS_OK, "" };
  const StatePart part = { bad_states[row].part, strlen(bad_states[row].part) };
  OK(state_file_set(&rig.state, &part, 1));
  ck_assert_int_eq(lv2_rig_state_open(&rig, &why), STATUS_FILE);
  assert_says(why.text, bad_states[row].says);
  ck_assert_ptr_null(rig.instance);
  state_file_clear(&rig.state);
}

TEST(a_file_outside_makes_no_instance)
{
  Lv2StateRig rig = { .id = LEARNER };
  TextBuffer part = { 0 };
  Error why = { STATUS_OK, "" };
  OK(lv2_rig_state_open(&rig, &error));
  OK(lv2_rig_state_save(&rig, 0.0, &part, &error));
  char* const name = strstr(part.bytes + part.n - 64, "three.txt"); // the last value
  ck_assert_ptr_nonnull(name);
  memcpy(name, "../th.txt", 9);
  Lv2StateRig other = { .id = LEARNER };
  OK(state_file_set(&other.state, &(StatePart){ part.bytes, part.n }, 1));
  ck_assert_int_eq(lv2_rig_state_open(&other, &why), STATUS_FILE);
  state_file_clear(&other.state);
  lv2_rig_state_close(&rig);
  free(part.bytes);
}

TEST(a_bundle_has_only_files_below_it)
{
  static const struct {
    const char* below;
    bool is_of_bundle;
  } rows[] = { { "/learner.ttl", true }, { "/a/b", true },
               { "/a..b/..c", true },    { "", false },
               { "x/learner", false },   { "/../learner.ttl", false },
               { "/a/../b", false },     { "/..", false },
               { "/a/..", false } };
  const HostPaths paths = { .bundle = "/lv2/a.lv2" };
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    char path[64];
    snprintf(path, sizeof(path), "/lv2/a.lv2%s", rows[r].below);
    ck_assert_msg(!host_paths_name(&paths, path) == !rows[r].is_of_bundle, "%s", path);
  }
}

// ---- limits ----

TEST(a_state_that_is_saved_can_be_read)
{
  TextBuffer part = { 0 };
  Lv2ValueWriter writer = { .part = &part };
  Lv2Values values = { 0 };
  char text[] = "abc";
  const Lv2Value value = { urid_map(LEARNER "#key"), urid_map(LV2_ATOM__String), text, 3U };
  for (uint32_t v = 0; v < LV2_VALUES_MAX; ++v) {
    OK(lv2_values_write(&writer, &value, &error));
  }
  const size_t n_bytes = part.n;
  Error why = { STATUS_OK, "" };
  ck_assert_int_eq(lv2_values_write(&writer, &value, &why), STATUS_LIMIT);
  assert_says(why.text, "its state has more than 16384 values");
  ck_assert_uint_eq(part.n, n_bytes);
  lv2_values_end(&writer);
  mallopt(M_PERTURB, 0x55); // new memory is not zero
  OK(lv2_values_read(&(StatePart){ part.bytes, part.n }, &values, &error));
  mallopt(M_PERTURB, 0);
  ck_assert_uint_eq(values.n, LV2_VALUES_MAX);
  ck_assert_str_eq((const char*)values.list[0].body, "abc"); // although its zero was not stored
  lv2_values_clear(&values);
  free(part.bytes);
}

TEST(states_leave_numbers_of_uris_to_plugins)
{
  Status status = STATUS_OK;
  Error why = { STATUS_OK, "" };
  for (uint32_t s = 0; s < 4U && !status; ++s) {
    TextBuffer part = { 0 };
    Lv2Values values = { 0 };
    for (uint32_t u = 0; u < LV2_URIS_MAX / 2U; ++u) {
      text_buffer_print(&part, "uri urn:state:%u:%u\n", s, u);
    }
    status = lv2_values_read(&(StatePart){ part.bytes, part.n }, &values, &why);
    lv2_values_clear(&values);
    free(part.bytes);
  }
  ck_assert_int_eq(status, STATUS_LIMIT);
  assert_says(why.text, "too many URIs to read the state");
  ck_assert_uint_ne(urid_map_sparingly("urn:state:0:7"), 0); // has its number
  for (uint32_t u = 0; u < URIDS_KEPT / 2U; ++u) {
    char uri[32];
    snprintf(uri, sizeof(uri), "urn:plugin:%u", u);
    ck_assert_uint_ne(urid_map(uri), 0);
  }
}

SUITE_MAIN_WITH("lv2_state", start, NULL)
