// SPDX-License-Identifier: GPL-3.0-or-later
// Files that LV2 plugins make for their states (state:makePath): saved with the state, under names
// made from their contents, and found again when it is restored; only regular files in the folder
// of the instance are accepted; the folder is removed with the instance, or after a kill by the
// next process that makes such a folder.

#include "plugins/host_made.h"
#include "tests/support/plugins/lv2/lv2_rig.h"
#include "tests/support/rack_folder.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TAKER "urn:warprack:taker"

static void
begin(void)
{
  lv2_rig_begin();
  rack_folder_begin();
}

/// Write the files that a state names to the folder of the rack.
static void
write_files(const Lv2StateRig* const rig)
{
  char names[PACKAGE_MAX_FILES][FX_STATE_NAME_BYTES];
  TextBuffer package = { 0 };
  text_buffer_add(&package, "a state");
  OK(package_finish(&package, &rig->paths.kept, &error));
  rack_folder_write(&lv2_rig_find(TAKER)->fx, package.bytes, package.n, names);
  free(package.bytes);
}

static const struct {
  double mode;
  const char* suffix;
} ways[] = { { 0.0, ".raw" }, { 1.0, ".data" } };

TEST_ROWS(a_file_is_saved_with_the_state_and_restored_also_by_a_renewal, ways)
{
  Lv2StateRig rig = { .id = TAKER, .files = &rack_folder_access };
  TextBuffer part = { 0 };
  OK(lv2_rig_state_open(&rig, &error));
  ck_assert_float_eq(lv2_rig_state_play(&rig, 0.5F), 0.75F);
  OK(lv2_rig_state_save(&rig, ways[row].mode, &part, &error));
  ck_assert_float_eq(lv2_rig_state_play(&rig, 0.25F), 0.375F); // plays on
  ck_assert_uint_eq(rig.paths.n_kept, 1);
  assert_says(rig.paths.kept_names[0], ways[row].suffix);
  write_files(&rig);
  lv2_rig_state_close(&rig);
  ck_assert_uint_eq(scratch_count(&rack_folder.made), 0);
  lv2_rig_state_expect_half(TAKER, &rack_folder_access, &part);
  free(part.bytes);
}

TEST(the_same_content_is_one_file)
{
  Lv2StateRig rig = { .id = TAKER, .files = &rack_folder_access };
  TextBuffer parts[3] = { { 0 } };
  OK(lv2_rig_state_open(&rig, &error));
  lv2_rig_state_play(&rig, 0.5F);
  OK(lv2_rig_state_save(&rig, 0.0, &parts[0], &error));
  OK(lv2_rig_state_save(&rig, 0.0, &parts[1], &error));
  ck_assert_uint_eq(rig.paths.n_kept, 1);
  lv2_rig_state_play(&rig, 0.75F);
  OK(lv2_rig_state_save(&rig, 0.0, &parts[2], &error));
  ck_assert_uint_eq(rig.paths.n_kept, 2);
  ck_assert_uint_eq(parts[0].n, parts[2].n);
  ck_assert_mem_eq(parts[0].bytes, parts[1].bytes, parts[0].n);
  ck_assert_mem_ne(parts[0].bytes, parts[2].bytes, parts[0].n);
  for (size_t p = 0; p < ARRAY_LEN(parts); ++p) {
    free(parts[p].bytes);
  }
  lv2_rig_state_close(&rig);
}

static const struct {
  double mode;
  Status status;
  const char* says;
} bad_saves[] = {
  { 2.0, STATUS_FILE,
    "asks for a file \"takes/../../outside\", which is no name below its folder" },
  { 3.0, STATUS_FILE, "asks for a file \"/tmp/warprack-taker\"" },
  { 4.0, STATUS_LIMIT,
    "takes/first.Raw: 20971520 bytes; a state has at most 16 MiB with its files" },
  { 5.0, STATUS_FILE, "takes/first.Raw: a link" },
  { 6.0, STATUS_FILE, "takes/other/passwd: Not a directory" },
  { 7.0, STATUS_FILE, "takes/first.Raw: not a regular file" },
  { 8.0, STATUS_FILE, "takes/first.Raw: No such file" },
  { 9.0, STATUS_LIMIT, "more than 63 files" },
};

TEST_ROWS(what_is_no_file_of_its_own_is_not_saved_and_the_plugin_plays_on, bad_saves)
{
  Lv2StateRig rig = { .id = TAKER, .files = &rack_folder_access };
  TextBuffer part = { 0 };
  Error why = { STATUS_OK, "" };
  OK(lv2_rig_state_open(&rig, &error));
  lv2_rig_state_play(&rig, 0.5F);
  ck_assert_int_eq(lv2_rig_state_save(&rig, bad_saves[row].mode, &part, &why),
                   bad_saves[row].status);
  assert_says(why.text, bad_saves[row].says);
  free(part.bytes);
  ck_assert_float_eq(lv2_rig_state_play(&rig, 0.25F), 0.375F);
  host_paths_forget_kept(&rig.paths);
  OK(lv2_rig_state_save(&rig, 0.0, &part, &error));
  free(part.bytes);
  lv2_rig_state_close(&rig);
  ck_assert_uint_eq(scratch_count(&rack_folder.made), 0);
}

TEST(a_state_whose_file_is_gone_or_elsewhere_makes_no_instance)
{
  Lv2StateRig rig = { .id = TAKER, .files = &rack_folder_access };
  TextBuffer part = { 0 };
  Error why = { STATUS_OK, "" };
  OK(lv2_rig_state_open(&rig, &error));
  lv2_rig_state_play(&rig, 0.5F);
  OK(lv2_rig_state_save(&rig, 0.0, &part, &error));
  Lv2StateRig other = { .id = TAKER, .files = &rack_folder_access };
  OK(state_file_set(&other.state, &(StatePart){ part.bytes, part.n }, 1));
  ck_assert_int_eq(lv2_rig_state_open(&other, &why), STATUS_FILE);
  assert_says(why.text, "No such file");
  state_file_clear(&other.state);
  host_paths_clear(&other.paths);
  lv2_rig_state_close(&rig);
  free(part.bytes);
}

TEST(names_stay_below_the_folder)
{
  static const char* const bad[] = { "",   ".",     "..", "a/..", "../a", "a//b",
                                     "/a", "a/./b", "a/", "a\nb", "\x7F" };
  static const char* const good[] = { "a", "a.b", "..a", "a/b/c", "a b", "...", "\xC3\xA4" };
  HostMade made;
  host_made_init(&made);
  for (size_t b = 0; b < ARRAY_LEN(bad); ++b) {
    ck_assert_msg(!host_made_path(&made, bad[b]), "%s", bad[b]);
    ck_assert_int_eq(host_made_take_error(&made).status, STATUS_FILE);
  }
  ck_assert_uint_eq(scratch_count(&rack_folder.made), 0); // made with the first file
  for (size_t g = 0; g < ARRAY_LEN(good); ++g) {
    char* const path = host_made_path(&made, good[g]);
    ck_assert_msg(path != NULL, "%s", good[g]);
    ck_assert_str_eq(host_made_name(&made, path), good[g]);
    free(path);
  }
  ck_assert_ptr_null(host_made_name(&made, "/etc/passwd"));
  ck_assert_ptr_null(host_made_name(&made, made.folder));
  host_made_clear(&made);
  ck_assert_uint_eq(scratch_count(&rack_folder.made), 0);
}

/// Make a folder with a file in another process, which is killed.
static void
leave_folder(void)
{
  const pid_t child = fork();
  if (!child) {
    HostMade made;
    host_made_init(&made);
    char* const path = host_made_path(&made, "a/b");
    _exit(!path || close(open(path, O_CREAT | O_WRONLY, 0600)));
  }
  int status = 0;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
}

/// Let all folders be old.
static void
age_folders(void)
{
  char command[256];
  snprintf(command, sizeof(command), "touch -d '1 hour ago' '%s'/*", rack_folder.made.directory);
  ck_assert_int_eq(system(command), 0);
}

TEST(a_folder_that_a_killed_process_left_is_removed)
{
  HostMade made;
  HostMade other;
  leave_folder();
  ck_assert_uint_eq(scratch_count(&rack_folder.made), 1);
  host_made_init(&made);
  free(host_made_path(&made, "a"));
  ck_assert_uint_eq(scratch_count(&rack_folder.made), 2); // it is not old
  age_folders();
  host_made_init(&other);
  free(host_made_path(&other, "a"));
  ck_assert_uint_eq(scratch_count(&rack_folder.made),
                    2); // of `made`, which is locked, and of `other`
  ck_assert_int_eq(access(made.folder, F_OK), 0);
  host_made_clear(&made);
  host_made_clear(&other);
  ck_assert_uint_eq(scratch_count(&rack_folder.made), 0);
}

TEST(a_linked_folder_gives_paths_without_links)
{
  HostMade made;
  const char* const link = scratch_path(&rack_folder.root, "link");
  ck_assert_int_eq(symlink(rack_folder.made.directory, link), 0);
  setenv("TMPDIR", link, 1);
  host_made_init(&made);
  SCOPED_MEMORY char* const path = host_made_path(&made, "a/b");
  SCOPED_MEMORY char* const real = realpath(rack_folder.made.directory, NULL);
  ck_assert_ptr_nonnull(path);
  ck_assert_int_eq(strncmp(path, real, strlen(real)), 0);
  ck_assert_str_eq(host_made_name(&made, path), "a/b");
  host_made_clear(&made);
  ck_assert_uint_eq(scratch_count(&rack_folder.made), 0);
}

TEST(more_than_a_gibibyte_of_all_instances_is_refused)
{
  HostMade made[2];
  TextBuffer content = { 0 };
  Error why = { STATUS_OK, "" };
  host_made_init(&made[0]);
  host_made_init(&made[1]);
  SCOPED_MEMORY char* const large = host_made_path(&made[0], "deep/large");
  SCOPED_MEMORY char* const small = host_made_path(&made[1], "small");
  close(open(large, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  close(open(small, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ck_assert_int_eq(truncate(large, (off_t)HOST_MADE_MAX_BYTES), 0);
  OK(host_made_read(&made[1], "small", 100U, &content, &error));
  ck_assert_int_eq(truncate(small, 1), 0);
  ck_assert_int_eq(host_made_read(&made[1], "small", 100U, &content, &why), STATUS_LIMIT);
  ck_assert_ptr_null(host_made_path(&made[0], "more"));
  ck_assert_ptr_null(host_made_path(&made[1], "more"));
  why = host_made_take_error(&made[1]);
  ck_assert_int_eq(why.status, STATUS_LIMIT);
  assert_says(why.text, "plugins have made files of 1024 MiB in ");
  host_made_clear(&made[0]);
  free(host_made_path(&made[1], "more"));
  ck_assert_int_eq(host_made_take_error(&made[1]).status, STATUS_OK);
  host_made_clear(&made[1]);
  free(content.bytes);
}

SUITE_MAIN_WITH("lv2_files", begin, rack_folder_end)
