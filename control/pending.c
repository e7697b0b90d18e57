// SPDX-License-Identifier: GPL-3.0-or-later
// A list of messages, and a hash table with linear probing, whose used slots are known.

#include "pending.h"

#define N_SLOTS (2U * PENDING_MAX)

/// The slot of a parameter: its own, or the free one for it.
static uint32_t
find_slot(const Pending* const pending, const ParamMessage* const message)
{
  const uint64_t key = (uint64_t)message->uid << 32U | message->param;
  uint32_t slot = (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 40U) % N_SLOTS;
  for (uint32_t index = 0; (index = pending->slots[slot]); slot = (slot + 1U) % N_SLOTS) {
    const ParamMessage* const other = &pending->messages[index - 1U];
    if (other->uid == message->uid && other->param == message->param) {
      break;
    }
  }
  return slot;
}

static void
put(Pending* const pending, const ParamMessage* const message)
{
  const uint32_t slot = find_slot(pending, message);
  if (pending->slots[slot]) {
    pending->messages[pending->slots[slot] - 1U] = *message;
    ++pending->merged;
    return;
  }
  pending->messages[pending->n] = *message;
  pending->slots_of[pending->n] = (uint16_t)slot;
  pending->slots[slot] = (uint16_t)++pending->n;
}

/// True if the values fit.  A parameter that is twice among them counts twice.
static bool
has_room(const Pending* const pending, const ParamMessage* const messages, const uint32_t n)
{
  uint32_t n_new = n;
  for (uint32_t m = 0; m < n && pending->n + n_new > PENDING_MAX; ++m) {
    n_new -= pending->slots[find_slot(pending, &messages[m])] != 0;
  }
  return pending->n + n_new <= PENDING_MAX;
}

void
pending_follow(Pending* const pending, const ParamMessage* const message)
{
  const uint32_t index = pending->slots[find_slot(pending, message)];
  if (index) {
    pending->messages[index - 1U].value = message->value;
  }
}

Status
pending_send(Pending* const pending, Engine* const engine)
{
  const Status status = pending->n ? engine_set(engine, pending->messages, pending->n) : STATUS_OK;
  for (; !status && pending->n; --pending->n) {
    pending->slots[pending->slots_of[pending->n - 1U]] = 0;
  }
  return status;
}

Status
pending_add(Pending* const pending, Engine* const engine, const ParamMessage* const messages,
            const uint32_t n)
{
  if (!has_room(pending, messages, n)) {
    const Status status = pending_send(pending, engine);
    if (status || n > PENDING_MAX) {
      return status ? status : engine_set(engine, messages, n);
    }
  }
  for (uint32_t m = 0; m < n; ++m) {
    put(pending, &messages[m]);
  }
  return STATUS_OK;
}

void
pending_send_if_room(Pending* const pending, Engine* const engine)
{
  const uint32_t n_waiting = pending->n ? engine_n_waiting(engine) : 0U;
  if (n_waiting == 0U || n_waiting + pending->n <= PENDING_AT_ONCE) {
    (void)!pending_send(pending, engine); // else they stay
  }
}
