// SPDX-License-Identifier: GPL-3.0-or-later
// Each dry block is in one span, to the frame, and in one call of the reader.  More spans than are
// kept become one that covers them.

#include "engine/callback/dry_spans.h"
#include "tests/support/suite.h"

#include <string.h>

#define BLOCK 64U

static DrySpans spans;
static DrySpan read_spans[DRY_SPANS];
static uint64_t from;

static void
play(const uint64_t block, const bool is_dry)
{
  dry_spans_add(&spans, block * BLOCK, (block + 1U) * BLOCK, is_dry);
}

/// Play blocks from number `first` on: 'd' is dry.
static void
play_all(const uint64_t first, const char* const blocks)
{
  for (size_t b = 0; b < strlen(blocks); ++b) {
    play(first + b, blocks[b] == 'd');
  }
}

static void
expect_span(const uint32_t s, const uint64_t first_block, const uint64_t end_block)
{
  ck_assert_uint_eq(read_spans[s].first, first_block * BLOCK);
  ck_assert_uint_eq(read_spans[s].end, end_block * BLOCK);
}

TEST(each_dry_block_is_read_once)
{
  ck_assert_uint_eq(dry_spans_read(&spans, &from, read_spans), 0U);
  play_all(0, "..d..ddd.d");
  ck_assert_uint_eq(dry_spans_read(&spans, &from, read_spans), 3U);
  expect_span(0, 9, 10);
  expect_span(1, 5, 8);
  expect_span(2, 2, 3);
  ck_assert_uint_eq(from, 10U * BLOCK);
  ck_assert_uint_eq(dry_spans_read(&spans, &from, read_spans), 0U);
  play_all(10, "dd."); // the last span goes on
  ck_assert_uint_eq(dry_spans_read(&spans, &from, read_spans), 1U);
  expect_span(0, 10, 12);
  from = 100U * BLOCK; // a reader that begins later
  play_all(13, "ddd");
  ck_assert_uint_eq(dry_spans_read(&spans, &from, read_spans), 0U);
  ck_assert_uint_eq(from, 100U * BLOCK);
  from = 6U * BLOCK; // ... or in the middle of a span
  ck_assert_uint_eq(dry_spans_read(&spans, &from, read_spans), 3U);
  expect_span(2, 6, 8);
}

TEST(spans_that_are_overwritten_are_covered_by_one)
{
  for (uint64_t s = 0; s < DRY_SPANS + 10U; ++s) {
    play_all(2U * s, "d.");
  }
  const uint32_t n = dry_spans_read(&spans, &from, read_spans);
  ck_assert_uint_eq(n, DRY_SPANS);
  expect_span(0, 2U * (DRY_SPANS + 9U), 2U * (DRY_SPANS + 9U) + 1U);
  expect_span(n - 1U, 0, read_spans[n - 2U].first / BLOCK);
  ck_assert_uint_eq(dry_spans_read(&spans, &from, read_spans), 0U);
}

SUITE_MAIN("dry_spans")
