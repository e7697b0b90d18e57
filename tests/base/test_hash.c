// SPDX-License-Identifier: GPL-3.0-or-later
// Hashes equal those that the authors of FNV-1a publish; bytes hashed in several pieces give the
// same hash as in one piece.

#include "engine/base/hash.h"
#include "tests/support/suite.h"

TEST(hashes_are_the_published_ones)
{
  ck_assert_uint_eq(hash_text(HASH32_START, ""), 0x811c9dc5U);
  ck_assert_uint_eq(hash_text(HASH32_START, "a"), 0xe40c292cU);
  ck_assert_uint_eq(hash_text(HASH32_START, "foobar"), 0xbf9cf968U);
  ck_assert_uint_eq(hash_bytes(HASH64_START, "", 0), UINT64_C(0xcbf29ce484222325));
  ck_assert_uint_eq(hash_bytes(HASH64_START, "a", 1), UINT64_C(0xaf63dc4c8601ec8c));
  ck_assert_uint_eq(hash_bytes(HASH64_START, "foobar", 6), UINT64_C(0x85944171f73967e8));
}

TEST(a_hash_goes_on_from_the_one_before)
{
  ck_assert_uint_eq(hash_text(hash_text(HASH32_START, "foo"), "bar"), 0xbf9cf968U);
  ck_assert_uint_eq(hash_bytes(hash_bytes(HASH64_START, "foo", 3), "bar", 3),
                    UINT64_C(0x85944171f73967e8));
}

TEST(bytes_above_127_and_zeros_change_the_hash)
{
  ck_assert_uint_eq(hash_text(HASH32_START, "\xff"), (0x811c9dc5U ^ 0xffU) * 16777619U);
  ck_assert_uint_ne(hash_bytes(HASH64_START, "\0", 1), HASH64_START);
}

SUITE_MAIN("hash")
