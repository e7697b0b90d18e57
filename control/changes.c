// SPDX-License-Identifier: GPL-3.0-or-later
#include "changes.h"

#include <stdlib.h>

void
changes_clear(Changes* const changes)
{
  free(changes->items);
  *changes = (Changes){ .items = NULL };
}

Status
changes_add(Changes* const changes, const Change* const change, Error* const error)
{
  if (changes->n == VALUES_MAX) {
    return error_set(error, STATUS_LIMIT, "more than %u parameters at once", VALUES_MAX);
  }
  if (changes->n == changes->capacity) {
    const uint32_t capacity = changes->capacity ? changes->capacity * 2U : 4U;
    Change* const items = realloc(changes->items, capacity * sizeof(Change));
    if (!items) {
      return error_set(error, STATUS_NO_MEM, "out of memory");
    }
    changes->items = items;
    changes->capacity = capacity;
  }
  changes->items[changes->n++] = *change;
  return STATUS_OK;
}
