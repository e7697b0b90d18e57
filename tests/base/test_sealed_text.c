// SPDX-License-Identifier: GPL-3.0-or-later
// A text in sealed memory arrives as it was and cannot be changed; other descriptors, and texts
// that are too long, are refused.

#include "engine/base/sealed_text.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

TEST(a_text_arrives_as_it_was)
{
  static const size_t sizes[] = { 0, 1, 4096, 1U << 22U };
  for (size_t s = 0; s < ARRAY_LEN(sizes); ++s) {
    SCOPED_MEMORY char* const text = malloc(sizes[s] + 1U);
    memset(text, 'a' + (int)s, sizes[s] + 1U);
    SCOPED_FD int fd = -1;
    OK(sealed_text_new(text, sizes[s], &fd, &error));
    ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    for (int twice = 0; twice < 2; ++twice) {
      SCOPED_MEMORY char* copy = NULL;
      size_t n = 0;
      OK(sealed_text_read(fd, sizes[s], &copy, &n, &error));
      ck_assert_uint_eq(n, sizes[s]);
      ck_assert(!memcmp(copy, text, n) && copy[n] == '\0');
    }
  }
}

TEST(nobody_can_change_a_text)
{
  SCOPED_FD int fd = -1;
  OK(sealed_text_new("abc", 3, &fd, &error));
  ck_assert_int_eq(write(fd, "d", 1), -1);
  ck_assert_int_eq(pwrite(fd, "d", 1, 0), -1);
  ck_assert_int_ne(ftruncate(fd, 2), 0);
  ck_assert_ptr_eq(mmap(NULL, 3, PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
}

static void
expect_refusal(const int fd, const Status status, const char* const why)
{
  char* text = NULL;
  size_t n = 0;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(sealed_text_read(fd, 1000, &text, &n, &error), status);
  ck_assert_ptr_null(text);
  ck_assert_str_eq(error.text, why);
  close(fd);
}

TEST(other_descriptors_are_refused)
{
  static const char why[] = "not a text in sealed memory";
  const int unsealed = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ck_assert_int_eq(write(unsealed, "abc", 3), 3);
  const int writable = dup(unsealed);
  ck_assert_int_eq(fcntl(writable, F_ADD_SEALS, 0), 0);
  expect_refusal(unsealed, STATUS_BAD_ARG, why);
  ck_assert_int_eq(fcntl(writable, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  expect_refusal(writable, STATUS_BAD_ARG, why);
  expect_refusal(memfd_create("test", MFD_CLOEXEC), STATUS_BAD_ARG, why);
  expect_refusal(open("/dev/zero", O_RDONLY), STATUS_BAD_ARG, why);
  expect_refusal(open("/proc/self/exe", O_RDONLY), STATUS_BAD_ARG, why);
  expect_refusal(-1, STATUS_BAD_ARG, why);
}

TEST(a_text_beyond_the_limit_is_refused_before_memory_is_allocated)
{
  int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  ck_assert_int_eq(ftruncate(fd, 1LL << 50U), 0); // more than any machine has
  ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
  expect_refusal(fd, STATUS_LIMIT, "a text of 1125899906842624 bytes; at most 1000");
  static char text[1001];
  memset(text, 'x', sizeof(text));
  OK(sealed_text_new(text, sizeof(text), &fd, &error));
  expect_refusal(fd, STATUS_LIMIT, "a text of 1001 bytes; at most 1000");
}

SUITE_MAIN("sealed text")
