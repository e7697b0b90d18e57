// SPDX-License-Identifier: GPL-3.0-or-later

#include "stage_parts.h"

#include <string.h>

/// Add the parts of unit `index` of a chain, n_before parts of which are in the table; returns the
/// number of parts and of places without a part before them.
static uint32_t
add_unit(Words* const table, const uint32_t unit, const uint32_t index, const uint32_t n_before)
{
  uint32_t words[UNIT_WORDS] = { 0 };
  memcpy(words, table->at + unit, sizeof(words));
  const uint32_t next = words[UNIT_NEXT];
  const uint32_t n = words[UNIT_N_PARTS];
  const uint32_t room = ROUND_PARTS - n_before % ROUND_PARTS;
  const uint32_t n_empty = n > room ? room : 0U;
  uint32_t part[PART_WORDS] = { [PART_STATE] = words[UNIT_STATE],
                                [PART_PARAMS] = words[UNIT_PARAMS],
                                [PART_RECORD] = unit,
                                [PART_LINK] = next ? table->at[next + UNIT_IN] : UNITY_LINK,
                                [PART_UNIT] = index,
                                [PART_N] = n };
  words_add(table, NULL, n_empty * PART_WORDS);
  for (; part[PART_INDEX] < n; ++part[PART_INDEX]) {
    words_add(table, part, PART_WORDS);
  }
  return n_empty + n;
}

/// Add the parts of the chain that begins with unit `head`.
static void
add_chain(Words* const table, const uint32_t head)
{
  const uint32_t first = table->n;
  uint32_t n_parts = 0;
  uint32_t index = 0;
  for (uint32_t unit = head; unit && !table->failed; unit = table->at[unit + UNIT_NEXT]) {
    n_parts += add_unit(table, unit, index++, n_parts);
  }
  if (!table->failed) {
    table->at[head + UNIT_PARTS] = first;
    table->at[head + UNIT_N_PARTS] = n_parts;
  }
}

void
stage_parts_add(Words* const table, const uint32_t first, const uint32_t n)
{
  for (uint32_t u = 0; u < n && !table->failed; ++u) {
    add_chain(table, first + u * UNIT_WORDS);
  }
}
