// SPDX-License-Identifier: GPL-3.0-or-later
// A RACK on a command line is a chain or a file; what cannot be read is refused with its place.

#include "../tools/rack_arg.h"
#include "support/scratch.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

static Error error;
static RackArg arg;

static void
assert_refused(const char* const word, const int exit_code, const char* const said)
{
  ck_assert_int_eq(status_exit_code(rack_arg_read(word, &arg, &error)), exit_code);
  ck_assert_msg(strstr(error.text, said), "'%s' is not in: %s", said, error.text);
  ck_assert_ptr_null(arg.rack);
  ck_assert_ptr_null(arg.root);
}

START_TEST(a_chain_is_read_and_its_files_are_here)
{
  ck_assert_msg(!rack_arg_read("a: gain -6dB | gain 3", &arg, &error), "%s", error.text);
  ck_assert(!arg.is_file);
  ck_assert_uint_eq(arg.rack->n_nodes, 2);
  ck_assert_str_eq(arg.root, ".");
  rack_arg_clear(&arg);
}
END_TEST

START_TEST(nothing_is_the_empty_rack)
{
  ck_assert_msg(!rack_arg_read("", &arg, &error), "%s", error.text);
  ck_assert_uint_eq(arg.rack->n_nodes, 0);
  ck_assert_uint_eq(arg.rack->n_edges, 1);
  rack_arg_clear(&arg);
}
END_TEST

START_TEST(a_file_is_read_and_its_files_are_beside_it)
{
  const Scratch scratch = scratch_new();
  scratch_write(&scratch, "one.rack", "chain gain -6dB\n", 16);
  const char* const path = scratch_path(&scratch, "one.rack");
  ck_assert_msg(!rack_arg_read(path, &arg, &error), "%s", error.text);
  ck_assert(arg.is_file);
  ck_assert_uint_eq(arg.rack->n_nodes, 1);
  ck_assert(!strncmp(path, arg.root, strlen(arg.root)));
  ck_assert_str_eq(path + strlen(arg.root), "/one.rack");
  rack_arg_clear(&arg);
  scratch_remove(&scratch);
}
END_TEST

START_TEST(an_existing_file_needs_no_ending)
{
  const Scratch scratch = scratch_new();
  scratch_write(&scratch, "rack without ending", "chain gain\n", 11);
  const char* const path = scratch_path(&scratch, "rack without ending");
  ck_assert_msg(!rack_arg_read(path, &arg, &error), "%s", error.text);
  ck_assert(arg.is_file);
  rack_arg_clear(&arg);
  scratch_remove(&scratch);
}
END_TEST

START_TEST(what_is_wrong_is_said_with_its_place)
{
  const Scratch scratch = scratch_new();
  scratch_write(&scratch, "wrong.rack", "# one\nchain gian\n", 17);
  const char* const path = scratch_path(&scratch, "wrong.rack");
  char place[256];
  snprintf(place, sizeof(place), "%s:2:7: ", path);
  assert_refused(path, 2, place);
  assert_refused("gian", 2, "rack:1:1: ");
  assert_refused("gian", 2, "gain");
  scratch_remove(&scratch);
}
END_TEST

START_TEST(files_that_cannot_be_read_are_refused)
{
  assert_refused("no/such.rack", 5, "no/such.rack: cannot be opened: No such file");
  const Scratch scratch = scratch_new();
  scratch_write(&scratch, "binary.rack", "gain\0gain", 9);
  const char* const path = scratch_path(&scratch, "binary.rack");
  assert_refused(path, 5, "not a text file");
  assert_refused(scratch.directory, 2, "rack:1:1: "); // a folder is no file: a chain
  scratch_remove(&scratch);
}
END_TEST

SUITE_MAIN("rack argument", a_chain_is_read_and_its_files_are_here, nothing_is_the_empty_rack,
           a_file_is_read_and_its_files_are_beside_it, an_existing_file_needs_no_ending,
           what_is_wrong_is_said_with_its_place, files_that_cannot_be_read_are_refused)
