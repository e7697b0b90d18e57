// SPDX-License-Identifier: GPL-3.0-or-later
// No client is opened if libjack would end the process or damage its database: a file is empty,
// there is no space, or the process may open too few files.

#include "io/quirks/jack_database.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static uint64_t free_bytes;

int __wrap_statvfs64(const char* path, struct statvfs* space);

int
__wrap_statvfs64(const char* const path, struct statvfs* const space)
{
  (void)path;
  *space = (struct statvfs){ .f_blocks = 1U << 20,
                             .f_frsize = 4096,
                             .f_bavail = (fsblkcnt_t)(free_bytes / 4096U) };
  return 0;
}

static Scratch scratch;
static char why[256];

/// Make a database of three files, one of them of this size.
static bool
would_crash(const unsigned number, const size_t n_bytes)
{
  static const char zeros[64];
  char name[64];
  snprintf(name, sizeof(name), "jack_db-%u", (unsigned)getuid());
  (void)mkdir(scratch_path(&scratch, name), 0700);
  for (unsigned n = 1; n <= 3; ++n) {
    snprintf(name, sizeof(name), "jack_db-%u/__db.%03u", (unsigned)getuid(), n);
    scratch_write(&scratch, name, zeros, n == number ? n_bytes : sizeof(zeros));
  }
  why[0] = '\0';
  return jack_database_would_fail(scratch.directory, why, sizeof(why));
}

static void
set_up(void)
{
  scratch = scratch_new();
  free_bytes = 8U << 20;
}

TEST(without_a_database_a_client_is_opened)
{
  ck_assert(!jack_database_would_fail(scratch.directory, why, sizeof(why)));
}

TEST(an_empty_file_is_named_with_the_folder_to_remove)
{
  ck_assert(!would_crash(1, 1));
  for (unsigned n = 1; n <= 3; ++n) {
    char name[32];
    snprintf(name, sizeof(name), "/__db.%03u is empty", n);
    ck_assert(would_crash(n, 0));
    assert_says(why, name);
    assert_says(why, "remove ");
  }
  ck_assert(!would_crash(1, 1));
}

TEST(a_file_system_without_space_is_named)
{
  free_bytes = (1U << 20) - 4096U;
  ck_assert(would_crash(1, 1));
  assert_says(why, "is full");
  assert_says(why, scratch.directory);
  free_bytes = 1U << 20;
  ck_assert(!would_crash(1, 1));
}

TEST(a_limit_of_open_files_that_is_too_low_is_named)
{
  struct rlimit before;
  ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(STDOUT_FILENO);
  close(next);
  for (rlim_t n = 0; n <= 16U; ++n) {
    const struct rlimit few = { (rlim_t)next + n, before.rlim_max };
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    ck_assert_int_eq(jack_database_lacks_files(), n < 16U);
    const bool fails = jack_database_would_fail(scratch.directory, why, sizeof(why));
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(fails, n < 16U);
    ck_assert_msg(!fails || strstr(why, "ulimit -n"), "%s", why);
  }
}

static void
tear_down(void)
{
  scratch_remove(&scratch);
}

SUITE_MAIN_WITH("jack_database", set_up, tear_down)
