// SPDX-License-Identifier: GPL-3.0-or-later
// If any allocation fails, sending and receiving return STATUS_NO_MEM, and no message is lost or
// handled in part.  A count allocates no memory before its bytes have arrived.

#include "engine/wire/wire.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"
#include "tests/support/wire_ends.h"
#include "tests/support/wire_samples.h"
#include "tests/support/wrapped_alloc.h"

#include <stdlib.h>
#include <string.h>

static Error error;

TEST(encoding_and_decoding_fail_whole)
{
  for (WireKind kind = WIRE_CONFIG; kind < WIRE_N_KINDS; ++kind) {
    const WireMessage sent = wire_sample(kind);
    unsigned char* body = NULL;
    uint32_t n_bytes = 0;
    for (uint32_t n = 0; !body; ++n) {
      failing_alloc_arm(n);
      const Status status = wire_encode(&sent, &body, &n_bytes, &error);
      const bool failed = failing_alloc_disarm();
      ck_assert_int_eq(status, failed ? STATUS_NO_MEM : STATUS_OK);
      if (!failed) {
        break; // `body` may be NULL: a body without bytes
      }
    }
    for (uint32_t n = 0; !wire_sample_has_fd(kind); ++n) { // descriptors: see the next test
      WireMessage received;
      failing_alloc_arm(n);
      const Status status =
          wire_decode(wire_sample_side(kind), kind, body, n_bytes, -1, &received, &error);
      const bool failed = failing_alloc_disarm();
      ck_assert_int_eq(status, failed ? STATUS_NO_MEM : STATUS_OK);
      ck_assert_uint_eq(received.kind, failed ? WIRE_NONE : kind);
      ck_assert(failed || wire_messages_equal(&sent, &received));
      wire_message_clear(&received);
      if (!failed) {
        ck_assert(n > 0U || (kind != WIRE_EDIT && kind != WIRE_SET && kind != WIRE_PLACEMENTS));
        break;
      }
    }
    free(body);
  }
  wire_samples_clear();
}

TEST(a_message_without_memory_is_not_sent)
{
  const unsigned before = descriptors_open();
  const WireEnds ends = wire_ends_new();
  const WireMessage arm = wire_sample(WIRE_ARM);
  bool failed = true;
  uint32_t n = 0;
  for (; failed; ++n) {
    failing_alloc_arm(n);
    const Status status = wire_send(ends.server, &arm, &error);
    failed = failing_alloc_disarm();
    ck_assert_int_eq(status, failed ? STATUS_NO_MEM : STATUS_OK);
  }
  ck_assert_uint_gt(n, 1U);
  WireMessage received = wire_next(ends.worker); // only the last attempt has sent a message
  ck_assert(wire_messages_equal(&arm, &received));
  wire_message_clear(&received);
  const WireMessage reset = { .kind = WIRE_RESET_LOAD };
  ck_assert(!wire_send(ends.server, &reset, &error));
  received = wire_next(ends.worker);
  ck_assert_uint_eq(received.kind, WIRE_RESET_LOAD);
  wire_ends_free(&ends);
  wire_samples_clear();
  ck_assert_uint_eq(descriptors_open(), before);
}

TEST(receiving_without_memory_ends_the_connection)
{
  const WireMessage note = wire_sample(WIRE_NOTE);
  SCOPED(wire_ends_free) const WireEnds ends = wire_ends_new();
  ck_assert(!wire_send(ends.worker, &note, &error));
  WireMessage received;
  failing_alloc_arm(0);
  const Status status = wire_receive(ends.server, &received, &error);
  ck_assert(failing_alloc_disarm());
  ck_assert_int_eq(status, STATUS_NO_MEM);
  ck_assert_int_eq(wire_receive(ends.server, &received, &error), STATUS_NO_MEM);
}

TEST(counts_take_no_memory_before_their_bytes_are_there)
{
  static const struct {
    WireKind kind;
    uint32_t words[11];
    uint32_t n_words;
  } rows[] = {
    { WIRE_SET, { WIRE_MAX_MESSAGES }, 1 },
    { WIRE_PLACEMENTS, { RACK_MAX_NODES }, 1 },
    { WIRE_EDIT, { 0, 0, 0, 0, 0, 0, 100, RACK_MAX_NODES }, 8 },
  };
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    WireMessage received;
    failing_alloc_arm(0);
    const Status status = wire_decode(wire_sample_side(rows[r].kind), rows[r].kind,
                                      (const unsigned char*)rows[r].words, 4U * rows[r].n_words, -1,
                                      &received, &error);
    ck_assert(!failing_alloc_disarm()); // there was no allocation
    ck_assert_int_eq(status, STATUS_BAD_ARG);
  }
}

TEST(uids_are_set_whole_or_not_at_all)
{
  Rack* const rack = rack_copy(wire_sample(WIRE_EDIT).edit.rack);
  const RackUid uids[] = { 16, 17 };
  failing_alloc_arm(0);
  const Status status = rack_set_uids(rack, uids, 2, 30, &error);
  ck_assert(failing_alloc_disarm());
  ck_assert_int_eq(status, STATUS_NO_MEM);
  ck_assert(wire_racks_equal(rack, wire_sample(WIRE_EDIT).edit.rack));
  rack_free(rack);
  wire_samples_clear();
}

SUITE_MAIN("wire memory")
