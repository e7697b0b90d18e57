// SPDX-License-Identifier: GPL-3.0-or-later
// The callback overwrites the oldest span.  The reader loads a span, then `n`, the number of spans
// so far: from `n` it knows whether the callback may have overwritten the span meanwhile.

#include "dry_spans.h"

void
dry_spans_add(DrySpans* const spans, const uint64_t first, const uint64_t end, const bool is_dry)
{
  const uint64_t n = atomic_load_explicit(&spans->n, memory_order_relaxed);
  const uint64_t last = (n - 1U) % DRY_SPANS;
  if (is_dry && n && atomic_load_explicit(&spans->spans[last].end, memory_order_relaxed) == first) {
    atomic_store_explicit(&spans->spans[last].end, end, memory_order_release);
  } else if (is_dry) {
    atomic_store_explicit(&spans->spans[n % DRY_SPANS].first, first, memory_order_release);
    atomic_store_explicit(&spans->spans[n % DRY_SPANS].end, end, memory_order_release);
    atomic_store_explicit(&spans->n, n + 1U, memory_order_release);
  }
  atomic_store_explicit(&spans->known, end, memory_order_release);
}

/// Read a span.  Returns false if it is overwritten.
static bool
read_span(const DrySpans* const spans, const uint64_t index, DrySpan* const span)
{
  const uint64_t place = index % DRY_SPANS;
  span->first = atomic_load_explicit(&spans->spans[place].first, memory_order_acquire);
  span->end = atomic_load_explicit(&spans->spans[place].end, memory_order_acquire);
  return atomic_load_explicit(&spans->n, memory_order_relaxed) < index + DRY_SPANS;
}

uint32_t
dry_spans_read(const DrySpans* const spans, uint64_t* const from, DrySpan to[const DRY_SPANS])
{
  const uint64_t begin = *from;
  uint64_t end = atomic_load_explicit(&spans->known, memory_order_acquire);
  uint64_t index = atomic_load_explicit(&spans->n, memory_order_acquire);
  uint32_t n = 0;
  *from = end > begin ? end : begin;
  while (index && begin < end) {
    DrySpan span = { begin, end };
    const bool is_known = read_span(spans, --index, &span);
    span = is_known ? span : (DrySpan){ begin, end };
    span.first = span.first > begin ? span.first : begin;
    span.end = span.end < end ? span.end : end;
    if (span.first < span.end) {
      to[n++] = span;
    }
    end = span.first < end ? span.first : end; // all others are before it
    if (span.end <= begin) {
      break;
    }
  }
  return n;
}
