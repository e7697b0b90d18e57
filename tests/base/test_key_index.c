// SPDX-License-Identifier: GPL-3.0-or-later
// An index finds each key that was set, at its newest place, and no other one.

#include "engine/base/key_index.h"

#include "tests/support/suite.h"

static KeyIndex table;

TEST(each_key_has_its_newest_place)
{
  ck_assert_uint_eq(key_index_find(&table, 1U, 2U), KEY_INDEX_NONE);
  for (uint32_t i = 0; i < 5000U; ++i) {
    ck_assert(key_index_set(&table, i / 7U, i % 7U, i));
  }
  ck_assert(key_index_set(&table, 10U, 3U, 99999U));
  ck_assert(key_index_set(&table, 10U, 4U, KEY_INDEX_NONE));
  for (uint32_t i = 0; i < 5000U; ++i) {
    const uint32_t place = i == 73U ? 99999U : i == 74U ? KEY_INDEX_NONE : i;
    ck_assert_uint_eq(key_index_find(&table, i / 7U, i % 7U), place);
  }
  ck_assert_uint_eq(key_index_find(&table, 3U, 7U), KEY_INDEX_NONE);
  ck_assert_uint_eq(key_index_find(&table, 0U, UINT32_MAX), KEY_INDEX_NONE);
}

TEST(a_forgotten_key_can_be_set_again)
{
  ck_assert(key_index_set(&table, 1U, 2U, 3U));
  key_index_forget(&table);
  ck_assert_uint_eq(key_index_find(&table, 1U, 2U), KEY_INDEX_NONE);
  ck_assert(key_index_set(&table, 2U, 1U, 4U));
  ck_assert_uint_eq(key_index_find(&table, 1U, 2U), KEY_INDEX_NONE);
  ck_assert_uint_eq(key_index_find(&table, 2U, 1U), 4U);
}

static void
stop(void)
{
  key_index_clear(&table);
}

SUITE_MAIN_WITH("key_index", NULL, stop)
