// SPDX-License-Identifier: GPL-3.0-or-later
// A key changes with the content of a file or bundle, and with nothing else.

#include "plugins/catalogue.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static Scratch bundle;

static void
begin(void)
{
  bundle = scratch_new();
  scratch_write(&bundle, "manifest.ttl", "abc", 3);
  scratch_write(&bundle, "plugin.so", "abcd", 4);
}

static void
end(void)
{
  scratch_remove(&bundle);
}

/// Give a file both times, which must differ from those it has.
static void
set_time(const char* const name, const time_t seconds)
{
  const struct timespec times[] = { { .tv_sec = seconds }, { .tv_sec = seconds, .tv_nsec = 5 } };
  ck_assert_int_eq(utimensat(AT_FDCWD, scratch_path(&bundle, name), times, 0), 0);
}

static FileKey
key_of(const char* const name)
{
  FileKey key;
  OK(file_key(scratch_path(&bundle, name), &key, &error));
  return key;
}

TEST(the_key_of_a_file_has_what_identifies_it)
{
  struct stat facts;
  ck_assert_int_eq(stat(scratch_path(&bundle, "plugin.so"), &facts), 0);
  const FileKey key = key_of("plugin.so");
  ck_assert_uint_eq(key.inode, facts.st_ino);
  ck_assert_uint_eq(key.n_bytes, 4);
  set_time("plugin.so", 1000); // changes the file's ctime, which is later
  ck_assert_uint_gt(key_of("plugin.so").changed_ns, UINT64_C(1000) * 1000000000U + 5U);
  set_time("plugin.so", INT64_C(4000000000));
  ck_assert_uint_eq(key_of("plugin.so").changed_ns, UINT64_C(4000000000000000005));
}

TEST(a_missing_file_has_no_key)
{
  FileKey key;
  Error error;
  ck_assert_int_eq(file_key(scratch_path(&bundle, "none"), &key, &error), STATUS_FILE);
  assert_says(error.text, "none: No such file");
}

TEST(the_key_of_a_bundle_stays_if_nothing_changes)
{
  const uint64_t key = catalogue_key(bundle.directory);
  ck_assert_uint_ne(key, 0);
  ck_assert_uint_eq(catalogue_key(bundle.directory), key);
  ck_assert_int_eq(mkdir(scratch_path(&bundle, "folder"), 0700), 0);
  ck_assert_uint_eq(catalogue_key(bundle.directory), key); // only regular files count
  rmdir(scratch_path(&bundle, "folder"));
}

TEST(the_key_of_a_bundle_changes_with_files_in_its_folders)
{
  ck_assert_int_eq(mkdir(scratch_path(&bundle, "x86_64"), 0700), 0);
  ck_assert_int_eq(symlink(".", scratch_path(&bundle, "x86_64/round")), 0);
  const uint64_t empty = catalogue_key(bundle.directory);
  scratch_write(&bundle, "x86_64/plugin.so", "abc", 3);
  const uint64_t key = catalogue_key(bundle.directory);
  ck_assert_uint_ne(key, empty);
  scratch_write(&bundle, "x86_64/plugin.so", "abcd", 4);
  ck_assert_uint_ne(catalogue_key(bundle.directory), key);
  unlink(scratch_path(&bundle, "x86_64/plugin.so"));
  unlink(scratch_path(&bundle, "x86_64/round"));
  rmdir(scratch_path(&bundle, "x86_64"));
}

TEST(the_key_of_a_bundle_changes_with_its_files)
{
  const uint64_t first = catalogue_key(bundle.directory);
  set_time("plugin.so", 1000);
  const uint64_t touched = catalogue_key(bundle.directory);
  ck_assert_uint_ne(first, touched);
  scratch_write(&bundle, "presets.ttl", "", 0);
  const uint64_t added = catalogue_key(bundle.directory);
  ck_assert_uint_ne(touched, added);
  ck_assert_int_eq(rename(scratch_path(&bundle, "presets.ttl"), scratch_path(&bundle, "p.ttl")), 0);
  ck_assert_uint_ne(catalogue_key(bundle.directory), added);
  unlink(scratch_path(&bundle, "p.ttl"));
  ck_assert_uint_eq(catalogue_key(bundle.directory), touched);
}

TEST(the_key_of_a_bundle_changes_with_a_file_of_the_same_size_and_age)
{
  set_time("plugin.so", 1000);
  const uint64_t key = catalogue_key(bundle.directory);
  AWAIT((set_time("plugin.so", 1000), catalogue_key(bundle.directory) != key)); // by its ctime
}

TEST(a_link_counts_as_the_file_that_it_leads_to)
{
  ck_assert_int_eq(symlink(scratch_path(&bundle, "plugin.so"), scratch_path(&bundle, "link.so")),
                   0);
  const uint64_t key = catalogue_key(bundle.directory);
  ck_assert_uint_eq(catalogue_key(scratch_path(&bundle, "link.so")),
                    catalogue_key(scratch_path(&bundle, "plugin.so")));
  set_time("plugin.so", 1000);
  ck_assert_uint_ne(catalogue_key(bundle.directory), key);
}

TEST(the_key_of_a_file_that_is_a_bundle_changes_with_it)
{
  const uint64_t key = catalogue_key(scratch_path(&bundle, "plugin.so"));
  ck_assert_uint_ne(key, 0);
  ck_assert_uint_ne(key, catalogue_key(scratch_path(&bundle, "manifest.ttl")));
  scratch_write(&bundle, "plugin.so", "abcde", 5);
  ck_assert_uint_ne(catalogue_key(scratch_path(&bundle, "plugin.so")), key);
}

TEST(a_bundle_that_is_not_there_has_no_key)
{
  ck_assert_uint_eq(catalogue_key(scratch_path(&bundle, "none")), 0);
}

SUITE_MAIN_WITH("file_key", begin, end)
