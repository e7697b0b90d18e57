// SPDX-License-Identifier: GPL-3.0-or-later
// An invalid message ends the connection permanently, before memory is allocated for the message,
// and without leaving a descriptor open.

#include "engine/wire/wire.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"
#include "tests/support/wire_ends.h"
#include "tests/support/wire_samples.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static Error error;

static void
expect_broken(Wire* const wire)
{
  WireMessage message;
  for (int i = 0; i < 2; ++i) {
    ck_assert_int_eq(wire_receive(wire, &message, &error), STATUS_BAD_ARG);
    ck_assert_uint_eq(message.kind, WIRE_NONE);
    ck_assert(error.text[0]);
  }
}

TEST(an_invalid_header_ends_the_connection_before_the_body)
{
  static const struct {
    WireSide side;
    uint32_t header[2];
  } rows[] = {
    { WIRE_SERVER, { WIRE_NOTE, 641 } },         { WIRE_SERVER, { WIRE_NOTE, UINT32_MAX } },
    { WIRE_SERVER, { WIRE_STATUS, 1U << 20U } }, { WIRE_SERVER, { WIRE_PLACEMENTS, 1U << 20U } },
    { WIRE_SERVER, { WIRE_DISARMED, 1 } },       { WIRE_SERVER, { WIRE_NONE, 0 } },
    { WIRE_SERVER, { WIRE_N_KINDS, 0 } },        { WIRE_SERVER, { UINT32_MAX, 0 } },
    { WIRE_SERVER, { WIRE_EDIT, 100 } },         { WIRE_SERVER, { WIRE_ARM, 41 } },
    { WIRE_WORKER, { WIRE_EDIT, 5U << 20U } },   { WIRE_WORKER, { WIRE_EDIT, UINT32_MAX } },
    { WIRE_WORKER, { WIRE_DISARM, 1 } },         { WIRE_WORKER, { WIRE_NOTE, 8 } },
    { WIRE_WORKER, { WIRE_CONFIG, 5U << 20U } }, { WIRE_WORKER, { WIRE_PLUGINS, 1 } },
    { WIRE_SERVER, { WIRE_PLUGINS, 0 } },
  };
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    SCOPED(wire_ends_free) const WireEnds pair = wire_ends_half(rows[r].side);
    ck_assert_int_eq(write(pair.by_hand, rows[r].header, 8), 8);
    expect_broken(pair.server ? pair.server : pair.worker);
  }
}

TEST(nothing_is_received_after_invalid_data)
{
  SCOPED(wire_ends_free) const WireEnds pair = wire_ends_half(WIRE_SERVER);
  const uint32_t wrong[] = { WIRE_NOTE, 4, 77 }; // announces a text of 77 bytes, but has none
  const WireMessage note = wire_sample(WIRE_NOTE);
  unsigned char bytes[WIRE_MESSAGE_BYTES];
  const size_t n = wire_message_bytes(&note, bytes);
  ck_assert_int_eq(write(pair.by_hand, wrong, sizeof(wrong)), sizeof(wrong));
  ck_assert_int_eq(write(pair.by_hand, bytes, n), (ssize_t)n);
  expect_broken(pair.server);
}

/// Send bytes, with n_fds descriptors attached to the first byte.
static void
send_with_descriptors(const int socket, const void* const bytes, const size_t n_bytes,
                      const uint32_t n_fds)
{
  int fds[8];
  union {
    struct cmsghdr header;
    unsigned char bytes[CMSG_SPACE(sizeof(fds))];
  } control = { .bytes = { 0 } };
  for (uint32_t i = 0; i < n_fds; ++i) {
    fds[i] = socket;
  }
  control.header.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
  control.header.cmsg_level = SOL_SOCKET;
  control.header.cmsg_type = SCM_RIGHTS;
  memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(int));
  struct iovec piece = { (void*)bytes, n_bytes };
  const struct msghdr message = { .msg_iov = &piece,
                                  .msg_iovlen = 1,
                                  .msg_control = control.bytes,
                                  .msg_controllen = CMSG_SPACE(n_fds * sizeof(int)) };
  ck_assert_int_eq(sendmsg(socket, &message, 0), (ssize_t)n_bytes);
}

TEST(descriptors_where_none_belong_are_closed)
{
  const unsigned before = descriptors_open();
  const WireMessage note = wire_sample(WIRE_NOTE);
  const WireMessage arm = wire_sample(WIRE_ARM);
  const WireMessage plugins = wire_sample(WIRE_PLUGINS);
  const WireMessage set = wire_sample(WIRE_SET);
  unsigned char bytes[WIRE_MESSAGE_BYTES];
  for (uint32_t n_fds = 1; n_fds <= 8U; ++n_fds) { // the server receives no kind with descriptors
    SCOPED(wire_ends_free) const WireEnds pair = wire_ends_half(WIRE_SERVER);
    send_with_descriptors(pair.by_hand, bytes, wire_message_bytes(&note, bytes), n_fds);
    expect_broken(pair.server);
  }
  for (uint32_t n_fds = 2; n_fds <= 8U; ++n_fds) { // ARM and PLUGINS have one descriptor
    const WireMessage* const each = n_fds % 2U ? &arm : &plugins;
    SCOPED(wire_ends_free) const WireEnds pair = wire_ends_half(WIRE_WORKER);
    send_with_descriptors(pair.by_hand, bytes, wire_message_bytes(each, bytes), n_fds);
    expect_broken(pair.worker);
  }
  const WireEnds other = wire_ends_half(WIRE_WORKER); // SET has no descriptor
  send_with_descriptors(other.by_hand, bytes, wire_message_bytes(&set, bytes), 1);
  expect_broken(other.worker);
  wire_ends_free(&other);
  const size_t n = wire_message_bytes(&arm, bytes);
  for (size_t at = 8; at < n; ++at) { // the descriptor belongs to the header, not to the body
    SCOPED(wire_ends_free) const WireEnds pair = wire_ends_half(WIRE_WORKER);
    ck_assert_int_eq(write(pair.by_hand, bytes, at), (ssize_t)at);
    send_with_descriptors(pair.by_hand, bytes + at, n - at, 1);
    expect_broken(pair.worker);
  }
  const WireEnds without = wire_ends_half(WIRE_WORKER);
  ck_assert_int_eq(write(without.by_hand, bytes, n), (ssize_t)n);
  expect_broken(without.worker);
  wire_ends_free(&without);
  const WireEnds empty = wire_ends_half(WIRE_WORKER);
  const size_t n_plugins = wire_message_bytes(&plugins, bytes);
  ck_assert_int_eq(write(empty.by_hand, bytes, n_plugins), (ssize_t)n_plugins);
  expect_broken(empty.worker);
  wire_ends_free(&empty);
  wire_samples_clear();
  ck_assert_uint_eq(descriptors_open(), before);
}

TEST(a_descriptor_belongs_to_its_own_message)
{
  const WireEnds pair = wire_ends_half(WIRE_WORKER);
  const WireMessage set = wire_sample(WIRE_SET);
  const WireMessage arm = wire_sample(WIRE_ARM);
  unsigned char bytes[WIRE_MESSAGE_BYTES];
  for (uint32_t i = 0; i < 3U; ++i) { // all messages are sent before the first one is read
    size_t n = wire_message_bytes(&set, bytes);
    ck_assert_int_eq(write(pair.by_hand, bytes, n), (ssize_t)n);
    n = wire_message_bytes(&arm, bytes);
    send_with_descriptors(pair.by_hand, bytes, n, 1);
  }
  for (uint32_t i = 0; i < 6U; ++i) {
    SCOPED(wire_message_clear) WireMessage message = wire_next(pair.worker);
    ck_assert_uint_eq(message.kind, i % 2U ? WIRE_ARM : WIRE_SET);
  }
  wire_ends_free(&pair);
  wire_samples_clear();
}

SUITE_MAIN("wire hostile")
