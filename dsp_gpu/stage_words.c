// SPDX-License-Identifier: GPL-3.0-or-later

#include "stage_words.h"

#include <stdlib.h>
#include <string.h>

uint32_t
words_add(Words* const words, const uint32_t* const values, const uint32_t n)
{
  const uint32_t at = words->n;
  if (words->n + n > words->capacity) {
    const uint32_t capacity = 2U * (words->n + n) + 64U;
    uint32_t* const grown = realloc(words->at, capacity * sizeof(uint32_t));
    if (!grown) {
      words->failed = true;
      return at;
    }
    words->at = grown;
    words->capacity = capacity;
  }
  if (values) {
    memcpy(words->at + at, values, n * sizeof(uint32_t));
  } else {
    memset(words->at + at, 0, n * sizeof(uint32_t));
  }
  words->n += n;
  return at;
}
