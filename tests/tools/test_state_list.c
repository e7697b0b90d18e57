// SPDX-License-Identifier: GPL-3.0-or-later
// warprack list states: finds each state that a rack names, in whatever file, and lists the others.

#include "control/folder.h"
#include "tests/support/program.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define A "learner-0123456789abcdef.state"
#define B "learner-fedcba9876543210.state"
#define C "other-0000000000000001.state"
#define W "learner-00000000000000aa.wav" // made for a state

static Scratch folder;

static void
put(const char* const name, const char* const text)
{
  scratch_write(&folder, name, text, strlen(text));
}

static void
set_up(void)
{
  folder = scratch_new();
  ck_assert_int_eq(mkdir(scratch_path(&folder, "deep"), 0700), 0);
  ck_assert_int_eq(mkdir(scratch_path(&folder, "deep/er"), 0700), 0);
  put(A, "12345");
  put(B, "");
  put(C, "1");
  put("mine.state", "not of a server");
  put("x-0123456789ABCDEF.state", "nor this one");
  put("deep/" C, "nor in this folder");
  ck_assert_int_eq(mkdir(scratch_path(&folder, "dir-0123456789abcdef.state"), 0700), 0);
  put("a.rack", "add a clap x state=" A "\n");
  put("deep/er/b.rack", "# broken ( state=\"" A "\" " B);
  put("c.txt", "state=" C "\n");
}

static void
tear_down(void)
{
  scratch_remove(&folder);
}

TEST(states_are_listed_with_their_racks)
{
  RUN_GOOD("list", "states", folder.directory);
  ck_assert_str_eq(program.out, A "  5  2\n" B "  0  1\n" C "    1  0\n");
  RUN_GOOD("list", "states", "--json", folder.directory);
  assert_says(program.out, "{\"name\":\"" C "\",\"bytes\":1,\"uses\":0}");
  RUN_GOOD("list", "states", scratch_path(&folder, "deep"));
  ck_assert_str_eq(program.out, C "  18  0\n");
}

TEST(only_states_that_no_rack_names_are_unused)
{
  RUN_GOOD("list", "states", "--unused", folder.directory);
  ck_assert_str_eq(program.out, C "\n");
  RUN_GOOD("list", "states", "--unused", folder.directory, scratch_path(&folder, "c.txt"));
  ck_assert_str_eq(program.out, "");
  SCOPED(scratch_remove) const Scratch other = scratch_new();
  scratch_write(&other, "present.rack", C, strlen(C));
  RUN_GOOD("list", "states", "--unused", folder.directory, other.directory);
  ck_assert_str_eq(program.out, "");
  ck_assert_int_eq(symlink(scratch_path(&folder, "c.txt"), scratch_path(&folder, "l.rack")), 0);
  RUN_GOOD("list", "states", "--unused", folder.directory);
  ck_assert_str_eq(program.out, "");
}

TEST(a_file_that_a_plugin_made_is_used_while_a_state_of_the_plugin_is)
{
  put(W, "sound");
  RUN_GOOD("list", "states", folder.directory);
  ck_assert_str_eq(program.out, W "    5  2\n" A "  5  2\n" B "  0  1\n" C "    1  0\n");
  RUN_GOOD("list", "states", "--unused", folder.directory);
  ck_assert_str_eq(program.out, C "\n");
  put("a.rack", "");
  RUN_GOOD("list", "states", "--unused", folder.directory);
  ck_assert_str_eq(program.out, C "\n");
  put("deep/er/b.rack", "");
  RUN_GOOD("list", "states", "--unused", folder.directory);
  ck_assert_str_eq(program.out, W "\n" A "\n" B "\n" C "\n");
  put("w.rack", "chain convolver " W "\n");
  RUN_GOOD("list", "states", "--unused", folder.directory);
  ck_assert_str_eq(program.out, A "\n" B "\n" C "\n");
}

TEST(files_of_others_are_never_unused)
{
  put("lear-00000000000000aa.wav", "no state has this beginning");
  put("other-2026112623420015.wav", "a recording, with its time");
  put("my other-0123456789abcdef.state", "xargs would make two names of it");
  put("it's-0123456789abcdef.state", "nor this one");
  put("other-0123456789abcdef.d.wav", "nor this one");
  RUN_GOOD("list", "states", "--unused", folder.directory);
  ck_assert_str_eq(program.out, C "\n");
  RUN_GOOD("list", "states", folder.directory);
  ck_assert_str_eq(program.out, A "  5  2\n" B "  0  1\n" C "    1  0\n");
}

TEST(the_folder_of_a_server_has_no_unused_states)
{
  Folder used;
  OK(folder_open(&used, folder.directory, &error));
  SCOPED_FD const int first = folder_mark_used(&used);
  const int second = folder_mark_used(&used); // of another server
  ck_assert_int_ge(first, 0);
  ck_assert_int_ge(second, 0);
  ck_assert(folder_is_used(&used));
  close(second);
  ck_assert(folder_is_used(&used));
  folder_close(&used);
  RUN("list", "states", "--unused", folder.directory);
  program_expect_end(2, "", "a server uses ");
  RUN_GOOD("list", "states", folder.directory);
}

TEST(what_cannot_be_read_may_name_a_state)
{
  RUN("list", "states", "--unused", folder.directory, scratch_path(&folder, "none.rack"));
  program_expect_end(5, "", "none.rack: No such file");
  RUN("list", "states", scratch_path(&folder, "nowhere"));
  program_expect_end(5, "", "nowhere: No such file");
  put("large.rack", "");
  ck_assert_int_eq(truncate(scratch_path(&folder, "large.rack"), 5L << 20U), 0);
  RUN("list", "states", folder.directory);
  program_expect_end(5, "", "large.rack: larger than 4194304 bytes");
}

TEST(wrong_usage_is_refused)
{
  RUN("list", "states");
  program_expect_end(2, "", "list states DIR");
  RUN("list", "--unused", "effects");
  program_expect_end(2, "", "--unused goes with states");
  RUN("list", "--all", "states", folder.directory);
  program_expect_end(2, "", "--all goes with plugins");
}

SUITE_MAIN_WITH("state_list", set_up, tear_down)
