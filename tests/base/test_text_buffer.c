// SPDX-License-Identifier: GPL-3.0-or-later
// A growing text: complete, or none at all.

#include "engine/base/text_buffer.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"
#include "tests/support/wrapped_alloc.h"

#include <stdint.h>

TEST(parts_follow_each_other)
{
  TextBuffer buffer = { 0 };
  text_buffer_add(&buffer, "gain ");
  text_buffer_print(&buffer, "%d%s", -3, "dB");
  text_buffer_print(&buffer, "%s", "");
  char* const place = text_buffer_reserve(&buffer, 2);
  memcpy(place, "!!", 3);
  buffer.n += 2;
  SCOPED_MEMORY char* const text = text_buffer_take(&buffer);
  ck_assert_str_eq(text, "gain -3dB!!");
}

TEST(an_empty_text_is_a_text)
{
  TextBuffer buffer = { 0 };
  SCOPED_MEMORY char* const text = text_buffer_take(&buffer);
  ck_assert_str_eq(text, "");
  text_buffer_add(&buffer, "again");
  SCOPED_MEMORY char* const more = text_buffer_take(&buffer);
  ck_assert_str_eq(more, "again");
}

TEST(bytes_are_added_up_to_a_limit)
{
  TextBuffer buffer = { 0 };
  ck_assert(text_buffer_add_bytes(&buffer, "a\0b", 3U, 4U));
  ck_assert(text_buffer_add_bytes(&buffer, NULL, 0U, 4U));
  ck_assert(!text_buffer_add_bytes(&buffer, "cd", 2U, 4U));
  ck_assert(!text_buffer_add_bytes(&buffer, "c", SIZE_MAX, 4U));
  ck_assert(!text_buffer_add_bytes(&buffer, "c", 1U, 2U));
  ck_assert(text_buffer_add_bytes(&buffer, "c", 1U, 4U));
  ck_assert_uint_eq(buffer.n, 4U);
  ck_assert_mem_eq(buffer.bytes, "a\0bc", 4U);
  free(buffer.bytes);
}

TEST(a_text_without_memory_is_none)
{
  bool is_complete = false;
  uint32_t n = 0;
  for (; !is_complete; ++n) {
    TextBuffer buffer = { 0 };
    failing_alloc_arm(n);
    for (unsigned i = 0; i < 100U; ++i) {
      text_buffer_add(&buffer, "0123456789");
      text_buffer_print(&buffer, "%c%d", 'a', 12345);
    }
    SCOPED_MEMORY char* const text = text_buffer_take(&buffer);
    is_complete = !failing_alloc_disarm();
    ck_assert(is_complete == (text != NULL));
    ck_assert(!text || strlen(text) == 1600U);
  }
  ck_assert_uint_gt(n, 3);
}

SUITE_MAIN("text_buffer")
