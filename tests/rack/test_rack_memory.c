// SPDX-License-Identifier: GPL-3.0-or-later
// Whichever allocation fails, the function reports that memory ran out and leaves the rack
// unchanged.

#include "engine/rack/rack.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"
#include "tests/support/wrapped_alloc.h"

#include <stdlib.h>

static const char document[] =
    "chain a: gain -3 | (convolver \"my hall.wav\" + delay 1s note=\"1/8\")\n"
    "add eq lv2 fil4-stereo slope=\"12 dB/oct\"\nconnect in eq\nconnect eq out\n"
    "add b highpass 80 type=elliptic\nconnect in b\nconnect b out:1-2\n"
    "scene v a.gain=-3 b.type=elliptic\nscene w b.order=4\nsafe b.* eq.slope\n"
    "midi cc 1:1 a.gain -20..0 pickup=on\nmidi cc 1:2 b.frequency\nmidi program 1:1 scene v\n";

static Error error;

TEST(parsing_without_memory_leaves_nothing)
{
  uint32_t n = 0;
  for (;; ++n) {
    Rack* rack = NULL;
    failing_alloc_arm(n);
    const Status status = rack_parse(document, "t", NULL, &rack, &error);
    if (!failing_alloc_disarm()) {
      ck_assert_int_eq(status, STATUS_OK);
      rack_free(rack);
      break;
    }
    ck_assert_int_eq(status, STATUS_NO_MEM);
    ck_assert_ptr_null(rack);
    assert_says(error.text, "out of memory");
  }
  ck_assert_uint_gt(n, 20); // number of allocations that failed
}

TEST(copying_and_printing_without_memory_leave_nothing)
{
  SCOPED_RACK Rack* const rack = rack_of(document, NULL);
  bool copied = false;
  for (uint32_t n = 0; !copied; ++n) {
    failing_alloc_arm(n);
    SCOPED_RACK Rack* const copy = rack_copy(rack);
    copied = !failing_alloc_disarm();
    ck_assert(copied == (copy != NULL));
  }
  bool printed = false;
  for (uint32_t n = 0; !printed; ++n) {
    failing_alloc_arm(n);
    SCOPED_MEMORY char* const text = rack_print(rack);
    printed = !failing_alloc_disarm();
    ck_assert(printed == (text != NULL));
  }
  bool made = false;
  for (uint32_t n = 0; !made; ++n) {
    failing_alloc_arm(n);
    SCOPED_RACK Rack* const empty = rack_new();
    made = !failing_alloc_disarm();
    ck_assert(made == (empty != NULL));
  }
}

TEST(warnings_without_memory_are_complete_or_none)
{
  SCOPED_RACK Rack* const rack = rack_of(
      "add a highpass 20000\nadd b highpass 20000\nadd c highpass 20000\nconnect in a\n", NULL);
  SCOPED_MEMORY char* const all = rack_warnings(rack, 32000.0);
  bool warned = false;
  uint32_t n = 0;
  for (; !warned; ++n) {
    failing_alloc_arm(n);
    SCOPED_MEMORY char* const text = rack_warnings(rack, 32000.0);
    warned = !failing_alloc_disarm();
    ck_assert(warned == (text != NULL));
    ck_assert(!text || !strcmp(text, all));
  }
  ck_assert_uint_gt(n, 2);
}

/// Make one of the edits.
static Status
edit(Rack* const rack, const uint32_t kind)
{
  switch (kind) {
  case 0:
    return rack_add(rack, "new", "delay", &error);
  case 1:
    return rack_connect(rack, "a", "b", -3.0, &error);
  case 2:
    return set_text_by_name(rack, "convolver", "ir", "another.wav", &error);
  case 3:
    return rack_apply(rack, "chain x: gain | convolver room.wav", "t", &error);
  case 4:
    return rack_remove(rack, "delay", &error);
  case 5:
    return rack_insert(rack, "new", "delay", "before", "delay", &error);
  case 6:
    return rack_add(rack, "new", "lv2 \"urn:zamaudio:ZamTube\"", &error);
  case 7:
    return rack_rename(rack, "b", "c", &error);
  case 8:
    return rack_remove(rack, "a", &error);
  case 9:
    return rack_remove_safe(rack, "eq.slope", &error);
  case 10:
    return rack_apply(rack, "scene w a.gain=1 b.order=2\nsafe x.y", "t", &error);
  case 11:
    return rack_apply(rack, "midi cc 1:3 a.gain\nmidi cc 1:1 a.gain\n", "t", &error);
  default:
    return rack_apply(rack, "connect b a", "t", &error);
  }
}

TEST(an_edit_without_memory_leaves_the_rack_as_it_was)
{
  SCOPED_RACK Rack* const before = rack_of(document, NULL);
  for (uint32_t kind = 0; kind < 13U; ++kind) {
    bool done = false;
    for (uint32_t n = 0; !done; ++n) {
      SCOPED_RACK Rack* const rack = rack_of(document, NULL);
      failing_alloc_arm(n);
      const Status status = edit(rack, kind);
      done = !failing_alloc_disarm();
      ck_assert_msg(status == (done ? STATUS_OK : STATUS_NO_MEM), "edit %u, allocation %u: %s",
                    kind, n, error.text);
      ck_assert(rack_equal(rack, before) == !done);
    }
  }
}

TEST(a_wrong_name_is_reported_even_without_memory_for_the_hint)
{
  SCOPED_RACK Rack* const rack = rack_of(document, NULL);
  failing_alloc_arm(0);
  ck_assert_int_eq(rack_add(rack, "new", "dleay", &error), STATUS_NOT_FOUND);
  ck_assert(failing_alloc_disarm());
  assert_says(error.text, "no effect \"dleay\"");
}

SUITE_MAIN("rack_memory")
