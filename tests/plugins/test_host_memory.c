// SPDX-License-Identifier: GPL-3.0-or-later
// The memory of a plugin's node: what it and the plugin take is counted, and without memory nothing
// is left open.

#include "plugins/host.h"
#include "plugins/plugin_thread.h"
#include "tests/support/fake_plugin.h"
#include "tests/support/sanitized.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"
#include "tests/support/wrapped_alloc.h"

#include <malloc.h>
#include <string.h>

static FakePlugin fake;

static void
do_nothing(void* const context)
{
  (void)context;
}

static void
set_up(void)
{
  fake_plugin_init(&fake, 1, 0, 1);
  OK(plugin_thread_start(&error));     // which allocates
  plugin_thread_run(do_nothing, NULL); // the new thread has freed what it was started with
}

/// What FxInfo::create gets for three channels with default values.
static FxSetup
plain_setup(void)
{
  static double values[N_ALL_FAKE_PARAMS];
  static bool given[N_ALL_FAKE_PARAMS];
  static const char* texts[N_ALL_FAKE_PARAMS];
  for (uint32_t p = 0; p < N_ALL_FAKE_PARAMS; ++p) {
    values[p] = fake.params[p].initial;
  }
  return (FxSetup){ .fx = &fake.plugin.fx,
                    .rate_hz = FAKE_RATE,
                    .max_block_frames = 64,
                    .n_in = 3,
                    .values = values,
                    .given = given,
                    .texts = texts };
}

TEST(without_memory_nothing_is_left_open)
{
  const FxSetup setup = plain_setup();
  uint32_t n_failed = 0;
  for (uint32_t n_good = 0;; ++n_good, ++n_failed) {
    FxShape shape = { .unit_in = 1U, .unit_out = 1U };
    void* node = NULL;
    Error error = { STATUS_OK, "" };
    counted_alloc_begin();
    failing_alloc_arm(n_good);
    const Status status = fake.plugin.fx.create(&setup, &shape, &node, &error);
    const bool has_failed = failing_alloc_disarm();
    ck_assert_int_eq(status, has_failed ? STATUS_NO_MEM : STATUS_OK);
    if (!status) {
      fake.plugin.fx.destroy(node);
    } else {
      assert_says(error.text, "out of memory");
      ck_assert_ptr_null(node);
    }
    ck_assert_uint_eq(fake.n_closed, fake.n_opened);
    ck_assert_int_eq(counted_alloc_now(), 0);
    if (!has_failed) {
      break;
    }
  }
  ck_assert_uint_gt(n_failed, 5); // node, arena, silence, instances
}

#define ROUNDED_BYTES (256 << 10) // the kernel counts pages, and may be wrong by 128 KiB per core
#define OWN_MEMORY    "the sanitizer takes memory of its own"

TEST(the_memory_of_the_node_is_counted)
{
  if (skip_sanitized(OWN_MEMORY)) {
    return;
  }
  const FxSetup setup = plain_setup();
  FxShape shape = { .unit_in = 1U, .unit_out = 1U };
  void* node = NULL;
  counted_alloc_begin();
  OK(fake.plugin.fx.create(&setup, &shape, &node, &error));
  ck_assert_uint_gt(shape.data_bytes, N_ALL_FAKE_PARAMS * sizeof(double));
  ck_assert_int_le((long)shape.data_bytes, counted_alloc_now() + ROUNDED_BYTES);
  fake.plugin.fx.destroy(node);
}

TEST(memory_that_plugins_take_while_they_are_opened_is_counted)
{
  if (skip_sanitized(OWN_MEMORY)) {
    return;
  }
  fake.n_bytes = 3U << 20U;
  SCOPED(rig_free) FxRig rig;
  fake_rig(&rig, &fake, 4, 64);
  ck_assert_uint_ge(rig.shape.data_bytes, 11U << 20U); // a kernel may be wrong by 128 KiB per core
  ck_assert_uint_le(rig.shape.data_bytes, 13U << 20U);
}

TEST(memory_that_closed_plugins_have_left_is_counted)
{
  if (skip_sanitized(OWN_MEMORY)) {
    return;
  }
  static const PluginReport report = { .fault = "", .n_bytes = 3U << 20U };
  fake.n_bytes = 3U << 20U;
  fake.plugin.report = &report;
  mallopt(M_TRIM_THRESHOLD, -1); // as if memory was locked
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  for (uint32_t n = 0; n < 2U; ++n) {
    SCOPED(rig_free) FxRig rig;
    fake_rig(&rig, &fake, 4, 64);
    ck_assert_uint_ge(rig.shape.data_bytes, 12U << 20U);
    ck_assert_uint_le(rig.shape.data_bytes, 13U << 20U);
  }
}

TEST(a_saved_state_is_counted)
{
  const FxSetup setup = plain_setup();
  FxShape shape = { .unit_in = 1U, .unit_out = 1U };
  void* node = NULL;
  OK(fake.plugin.fx.create(&setup, &shape, &node, &error));
  const size_t n_before = shape.data_bytes;
  static const size_t sizes[] = { 1U << 20U, 3U << 20U, 1000U }; // the last one counts
  for (size_t s = 0; s < ARRAY_LEN(sizes); ++s) {
    unsigned char* bytes = NULL;
    size_t n_bytes = 0;
    fake.n_state = sizes[s];
    OK(fake.plugin.fx.save(node, &shape, &bytes, &n_bytes, &error));
    free(bytes);
    ck_assert_uint_ge(shape.data_bytes, n_before + sizes[s]);
    ck_assert_uint_le(shape.data_bytes, n_before + sizes[s] + 4096U);
  }
  const size_t n_saved = shape.data_bytes - n_before;
  fake.plugin.fx.end_save(node, &shape, true); // takes the place of none
  ck_assert_uint_eq(shape.data_bytes, n_before + n_saved);
  unsigned char* bytes = NULL;
  size_t n_bytes = 0;
  OK(fake.plugin.fx.save(node, &shape, &bytes, &n_bytes, &error));
  free(bytes);
  ck_assert_uint_eq(shape.data_bytes, n_before + 2U * n_saved); // both may be needed
  fake.plugin.fx.end_save(node, &shape, false);
  ck_assert_uint_eq(shape.data_bytes, n_before + n_saved);
  fake.plugin.fx.destroy(node);
}

TEST(a_renewal_restores_the_state_that_the_rack_names)
{
  const FxSetup setup = plain_setup();
  const FxInfo* const fx = &fake.plugin.fx;
  FxShape shape = { .unit_in = 1U, .unit_out = 1U };
  void* node = NULL;
  OK(fx->create(&setup, &shape, &node, &error));
  for (size_t s = 1; s < 4U; ++s) { // the file of the second one could not be written
    static const size_t restored[] = { 0U, 1000U, 1000U, 3000U };
    unsigned char* bytes = NULL;
    size_t n_bytes = 0;
    fake.n_state = 1000U * s;
    OK(fx->save(node, &shape, &bytes, &n_bytes, &error));
    free(bytes);
    OK(fx->renew(node, &error));
    ck_assert_uint_eq(fake.n_restored, restored[s - 1U]);
    fx->end_save(node, &shape, s != 2U);
    OK(fx->renew(node, &error));
    ck_assert_uint_eq(fake.n_restored, restored[s]);
  }
  fx->destroy(node);
}

TEST(a_state_whose_files_are_too_large_is_not_kept)
{
  const FxSetup setup = plain_setup();
  FxShape shape = { .unit_in = 1U, .unit_out = 1U };
  void* node = NULL;
  unsigned char* bytes = NULL;
  size_t n_bytes = 0;
  Error why = { STATUS_OK, "" };
  OK(fake.plugin.fx.create(&setup, &shape, &node, &error));
  const size_t n_before = shape.data_bytes;
  fake.n_state = 100000U;
  fake.n_file = FX_STATE_MAX_BYTES - 50000U;
  ck_assert_int_eq(fake.plugin.fx.save(node, &shape, &bytes, &n_bytes, &why), STATUS_LIMIT);
  assert_says(why.text, "more than 16 MiB with its files");
  ck_assert_ptr_null(bytes);
  ck_assert_uint_eq(shape.data_bytes, n_before); // a renewal would not find the files
  fake.plugin.fx.destroy(node);
}

SUITE_MAIN_WITH("host_memory", set_up, NULL)
