// SPDX-License-Identifier: GPL-3.0-or-later
// Bells: made for a process, freed with their last user.

#include "group_bell.h"

#include <stdlib.h>

Status
group_bell_new(GroupBell** const out, Error* const error)
{
  const RingShape shape = { .block_frames = 1U, .n_slots = 4U, .n_messages = 1U };
  GroupBell* const bell = calloc(1, sizeof(GroupBell));
  if (!bell) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  const Status status = ring_new(&shape, &bell->ring, error);
  if (status) {
    free(bell);
    return status;
  }
  bell->n_users = 1U;
  *out = bell;
  return STATUS_OK;
}

void
group_bell_leave(GroupBell* const bell)
{
  if (!--bell->n_users) {
    ring_free(bell->ring);
    free(bell);
  }
}
