// SPDX-License-Identifier: GPL-3.0-or-later
// States with files of LV2 plugins in a group: saved as in this process, and restored, also by a
// renewal.  The worker finds the files that a state names, and uses nothing that the process names.

#include "tests/support/group_rig.h"
#include "tests/support/rack_folder.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include "plugins/group/group.h"

#include <lv2/atom/atom.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCK    GROUP_RIG_BLOCK
#define LEARNING 10U // blocks of the sine, after which the peak is 0.5
#define TAKER    "urn:warprack:taker"
#define KEEPER   "urn:warprack:keeper"

static const Plugin*
fixture(const char* const id)
{
  return group_rig_plugin("lv2", "WARPRACK_LV2_FIXTURES", "", id);
}

/// A node in a group; `state`: the name of its file in the rack's folder, or NULL.
static GroupRigSetup
setup_with(const char* const state)
{
  return (GroupRigSetup){ .group = "fx",
                          .n_in = 1U,
                          .state = state ? scratch_path(&rack_folder.root, state) : NULL,
                          .access = &rack_folder_access };
}

/// What FxInfo::save returns; zeros: nothing.
typedef struct Saved {
  unsigned char* bytes;
  size_t n_bytes;
  char names[PACKAGE_MAX_FILES][FX_STATE_NAME_BYTES]; ///< After write_saved()
} Saved;

static void
saved_free(const Saved* const saved)
{
  free(saved->bytes);
}

#define SCOPED_SAVED SCOPED(saved_free) Saved

static Status
save(GroupRig* const rig, Saved* const saved, Error* const error)
{
  free(saved->bytes);
  *saved = (Saved){ .bytes = NULL };
  return rig->fx->save(rig->node, &rig->shape, &saved->bytes, &saved->n_bytes, error);
}

static uint32_t
write_saved(const GroupRig* const rig, Saved* const saved)
{
  return rack_folder_write(rig->fx, saved->bytes, saved->n_bytes, saved->names);
}

/// The node plays its next two blocks as one that has learnt the peak from the first sample on.
static void
expect_peak(GroupRig* const rig)
{
  const float* const out = rig->out[0] + rig->n_played + BLOCK;
  const float* const in = rig->in[0] + rig->n_played;
  group_rig_play_blocks(rig, 2U);
  ck_assert_float_eq_tol(out[9], 1.5F * in[9], 1e-3F);
}

static void
renew(GroupRig* const rig)
{
  OK(rig->fx->renew(rig->node, &error));
  rig->fx->unit_init(rig->node, rig->states[0], 0U);
  rig->n_played = 0;
}

static void
expect_no_loss(void)
{
  FxLoss loss;
  fx_idle();
  ck_assert(!fx_take_loss(&loss));
  ck_assert_uint_eq(fx_take_missed(), 0U);
}

// ---- files that plugins make ----

TEST(a_file_is_saved_as_in_this_process_and_restored_also_by_a_renewal)
{
  const Plugin* const plugin = fixture(TAKER);
  const GroupRigSetup setup = setup_with(NULL);
  SCOPED_SAVED saved_here = { .bytes = NULL };
  SCOPED_SAVED saved = { .bytes = NULL };
  SCOPED_SAVED saved_again = { .bytes = NULL };
  GroupRig* const here = group_rig_open(plugin, &setup);
  group_rig_start();
  GroupRig* const there = group_rig_open(plugin, &setup);
  group_rig_play_blocks(here, LEARNING);
  group_rig_play_blocks(there, LEARNING);
  OK(save(here, &saved_here, &error));
  OK(save(there, &saved, &error));
  ck_assert_uint_eq(saved.n_bytes, saved_here.n_bytes);
  ck_assert_mem_eq(saved.bytes, saved_here.bytes, saved.n_bytes);
  group_rig_play_blocks(here, 2U);
  group_rig_play_blocks(there, 2U);
  ck_assert_mem_eq(here->out, there->out, sizeof(here->out));
  ck_assert_uint_eq(write_saved(there, &saved), 2U);
  group_rig_close(here);
  group_rig_close(there);
  ck_assert_uint_eq(scratch_count(&rack_folder.made), 0U);

  const GroupRigSetup with_state = setup_with(saved.names[0]);
  GroupRig* const again = group_rig_open(plugin, &with_state);
  expect_peak(again);
  renew(again);
  expect_peak(again);
  OK(save(again, &saved_again, &error));
  ck_assert_uint_eq(write_saved(again, &saved_again), 2U);
  ck_assert_str_eq(saved_again.names[0], saved.names[0]);
  ck_assert_str_eq(saved_again.names[1], saved.names[1]);
  group_rig_close(again);
  expect_no_loss();
  ck_assert_uint_eq(scratch_count(&rack_folder.made), 0U);
}

TEST(a_renewal_restores_the_state_that_came_last)
{
  const GroupRigSetup setup = setup_with(NULL);
  SCOPED_SAVED saved = { .bytes = NULL };
  group_rig_start();
  GroupRig* const node = group_rig_open(fixture(TAKER), &setup);
  group_rig_play_blocks(node, LEARNING);
  OK(save(node, &saved, &error));
  write_saved(node, &saved);
  node->fx->end_save(node->node, &node->shape, true);
  renew(node);
  expect_peak(node);
  group_rig_close(node);
}

TEST(a_state_whose_file_is_gone_makes_no_instance)
{
  const Plugin* const plugin = fixture(TAKER);
  GroupRigSetup setup = setup_with(NULL);
  Error why = { STATUS_OK, "" };
  GroupRig other;
  SCOPED_SAVED saved = { .bytes = NULL };
  group_rig_start();
  GroupRig* const node = group_rig_open(plugin, &setup);
  OK(save(node, &saved, &error));
  write_saved(node, &saved);
  ck_assert_int_eq(unlink(scratch_path(&rack_folder.root, saved.names[1])), 0);
  setup = setup_with(saved.names[0]);
  ck_assert_int_eq(group_rig_try(&other, plugin, &setup, &why), STATUS_FILE);
  assert_says(why.text, "No such file");
  assert_says(why.text, saved.names[1]);
  group_rig_close(node);
  expect_no_loss();
}

static const struct {
  double mode;
  Status status;
  const char* says;
} bad_saves[] = {
  { 2.0, STATUS_FILE, "which is no name below its folder" },
  { 3.0, STATUS_FILE, "asks for a file \"/tmp/warprack-taker\"" },
  { 5.0, STATUS_FILE, "takes/first.Raw: a link" },
  { 6.0, STATUS_FILE, "takes/other/passwd: Not a directory" },
  { 7.0, STATUS_FILE, "takes/first.Raw: not a regular file" },
  { 8.0, STATUS_FILE, "takes/first.Raw: No such file" },
  { 9.0, STATUS_LIMIT, "more than 63 files" },
};

TEST_ROWS(a_plugin_that_names_other_files_is_refused_and_plays_on, bad_saves)
{
  const GroupRigSetup setup = setup_with(NULL);
  Error why = { STATUS_OK, "" };
  SCOPED_SAVED saved = { .bytes = NULL };
  group_rig_start();
  GroupRig* const node = group_rig_open(fixture(TAKER), &setup);
  group_rig_play_blocks(node, LEARNING);
  group_rig_set(node, "mode", bad_saves[row].mode);
  group_rig_play_blocks(node, 2U); // the plugin reads the mode when it runs
  ck_assert_int_eq(save(node, &saved, &why), bad_saves[row].status);
  assert_says(why.text, bad_saves[row].says);
  expect_peak(node);
  group_rig_set(node, "mode", 0.0);
  group_rig_play_blocks(node, 2U);
  OK(save(node, &saved, &error));
  ck_assert_uint_eq(write_saved(node, &saved), 2U);
  group_rig_close(node);
  expect_no_loss();
  ck_assert_uint_eq(scratch_count(&rack_folder.made), 0U);
}

// ---- files of the rack ----

/// Write a state in which the plugin has the level 0.25 and a file of the rack with a number.
static void
write_kept(const Plugin* const plugin, const char* const name)
{
  const float level = 0.25F;
  TextBuffer part = { 0 };
  TextBuffer file = { 0 };
  text_buffer_print(&part, "uri " KEEPER "#level\nuri " LV2_ATOM__Float "\nvalue 1 2 4\n");
  ck_assert(state_append(&part, &level, sizeof(level)));
  text_buffer_print(&part, "\nuri " KEEPER "#file\nuri " LV2_ATOM__Path "\nvalue 3 4 %zu\n%s",
                    strlen(name) + 1U, name);
  ck_assert(state_append(&part, "\0\n", 2U));
  const StatePart parts[] = { { part.bytes, part.n } };
  OK(state_file_write(&plugin->origin, parts, 1U, &file, &error));
  scratch_write(&rack_folder.root, "kept.state", file.bytes, file.n);
  free(part.bytes);
  free(file.bytes);
}

TEST(a_file_of_the_rack_is_found_and_its_name_saved)
{
  const Plugin* const plugin = fixture(KEEPER);
  const GroupRigSetup setup = setup_with("kept.state");
  SCOPED_SAVED saved = { .bytes = NULL };
  write_kept(plugin, "number.txt");
  scratch_write(&rack_folder.root, "number.txt", "3", 1U);
  group_rig_start();
  GroupRig* const node = group_rig_open(plugin, &setup);
  group_rig_play_blocks(node, 2U);
  ck_assert_float_eq(node->out[0][BLOCK + 9U], 0.75F * node->in[0][9]);
  scratch_write(&rack_folder.root, "number.txt", "5", 1U);
  renew(node);
  group_rig_play_blocks(node, 2U);
  ck_assert_float_eq(node->out[0][BLOCK + 9U], 1.25F * node->in[0][9]);
  OK(save(node, &saved, &error));
  ck_assert_ptr_nonnull(memmem(saved.bytes, saved.n_bytes, "\nnumber.txt", 12U)); // with its zero
  group_rig_close(node);
  expect_no_loss();
}

static const char* const others[] = { "nothing.txt", "/etc/passwd" };

TEST_ROWS(another_file_makes_no_instance, others)
{
  const Plugin* const plugin = fixture(KEEPER);
  const GroupRigSetup setup = setup_with("kept.state");
  Error why = { STATUS_OK, "" };
  GroupRig node;
  write_kept(plugin, others[row]);
  group_rig_start();
  ck_assert_int_eq(group_rig_try(&node, plugin, &setup, &why), STATUS_FILE);
  assert_says(why.text, others[row]);
  assert_says(why.text, "the worker has found no such file of the rack");
  expect_no_loss();
}

// ---- a process that breaks rules ----

#define DAMAGED "the process of its group has sent a damaged package of files"

static const struct {
  const char* rule;
  Status status;
  const char* says;
} packages[] = {
  { "sends_file", STATUS_OK, "" },
  { "sends_huge", STATUS_LIMIT, "a text of 16777217 bytes; at most 16777216" },
  { "sends_many", STATUS_FILE, DAMAGED },
  { "sends_newline", STATUS_FILE, DAMAGED },
  { "sends_no_state", STATUS_FILE, DAMAGED },
  { "sends_outside", STATUS_FILE, DAMAGED },
  { "sends_pipe", STATUS_BAD_ARG, "not a text in sealed memory" },
  { "sends_rack", STATUS_FILE, DAMAGED },
  { "sends_short", STATUS_FILE, DAMAGED },
  { "sends_system", STATUS_BAD_ARG, "not a text in sealed memory" },
  { "sends_unsealed", STATUS_BAD_ARG, "not a text in sealed memory" },
  { "sends_zero", STATUS_FILE, DAMAGED },
};

TEST_ROWS(of_a_bad_process_only_contents_are_taken, packages)
{
  const GroupRigSetup setup = setup_with(NULL);
  Error why = { STATUS_OK, "" };
  SCOPED_SAVED saved = { .bytes = NULL };
  setenv("WARPRACK_FIXTURE", packages[row].rule, 1);
  groups_start(getenv("WARPRACK_BAD_GROUP"));
  GroupRig* const node = group_rig_open(fixture(TAKER), &setup);
  ck_assert_int_eq(save(node, &saved, &why), packages[row].status);
  assert_says(why.text, packages[row].says);
  if (!packages[row].status) {
    ck_assert_uint_eq(write_saved(node, &saved), 2U);
    ck_assert_str_eq(strrchr(saved.names[1], '.'), ".raw");
  }
  ck_assert_uint_eq(scratch_count(&rack_folder.root), packages[row].status ? 0U : 2U);
  expect_no_loss();
  group_rig_close(node);
}

SUITE_MAIN_WITH("group_states", rack_folder_begin, rack_folder_end)
