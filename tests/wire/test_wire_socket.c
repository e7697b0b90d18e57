// SPDX-License-Identifier: GPL-3.0-or-later
// Over a socket, messages arrive complete and in order, in pieces of any size.  The server never
// blocks, its queue has a limit, and no descriptor leaks.

#include "engine/wire/wire.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"
#include "tests/support/wire_ends.h"
#include "tests/support/wire_samples.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define N_THREADS 4U
#define N_NOTES   300U

static Error error;

static int
descriptor_of(const WireMessage* const message)
{
  return message->kind == WIRE_CONFIG ? message->config.recorder_fd
         : message->kind == WIRE_ARM  ? message->arm.ring_fd
                                      : message->plugins_fd;
}

TEST(every_kind_of_message_is_transmitted)
{
  const unsigned before = descriptors_open();
  const WireEnds pair = wire_ends_new();
  for (WireKind kind = WIRE_CONFIG; kind < WIRE_N_KINDS; ++kind) {
    const WireMessage sent = wire_sample(kind);
    const bool is_up = wire_sample_side(kind) == WIRE_WORKER;
    ck_assert(!wire_send(is_up ? pair.server : pair.worker, &sent, &error));
    SCOPED(wire_message_clear) WireMessage received = wire_next(is_up ? pair.worker : pair.server);
    ck_assert_msg(wire_messages_equal(&sent, &received), "kind %u differs", kind);
    if (wire_sample_has_fd(kind)) {
      const int fd = descriptor_of(&received);
      ck_assert_int_ne(fd, descriptor_of(&sent));
      ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
  }
  wire_ends_free(&pair);
  wire_samples_clear();
  ck_assert_uint_eq(descriptors_open(), before);
}

TEST(a_side_sends_only_what_the_other_may_receive)
{
  const WireEnds pair = wire_ends_new();
  for (WireKind kind = WIRE_CONFIG; kind < WIRE_N_KINDS; ++kind) {
    const WireMessage message = wire_sample(kind);
    const bool is_up = wire_sample_side(kind) == WIRE_WORKER;
    ck_assert(wire_send(is_up ? pair.worker : pair.server, &message, &error) == STATUS_BAD_ARG);
  }
  WireMessage message = wire_sample(WIRE_ARM);
  message.arm.ring_fd = -1;
  ck_assert(wire_send(pair.server, &message, &error) == STATUS_BAD_ARG);
  message = (WireMessage){ .kind = WIRE_PLUGINS, .plugins_fd = -1 };
  ck_assert(wire_send(pair.server, &message, &error) == STATUS_BAD_ARG);
  assert_says(error.text, "PLUGINS: its descriptor: ");
  ck_assert_uint_eq(wire_queued(pair.server), 0);
  ck_assert(!wire_receive(pair.server, &message, &error) && message.kind == WIRE_NONE);
  wire_ends_free(&pair);
  wire_samples_clear();
}

// ---- in pieces ----

TEST(a_message_that_comes_byte_by_byte_is_whole_at_its_last)
{
  const WireEnds pair = wire_ends_half(WIRE_SERVER);
  for (uint32_t round = 0; round < 2U; ++round) {
    for (WireKind kind = WIRE_READY; kind < WIRE_N_KINDS; ++kind) {
      const WireMessage sent = wire_sample(kind);
      unsigned char bytes[WIRE_MESSAGE_BYTES];
      const size_t n = wire_message_bytes(&sent, bytes);
      SCOPED(wire_message_clear) WireMessage received = { .kind = WIRE_NONE };
      for (size_t i = 0; i < n; ++i) {
        ck_assert_uint_eq(received.kind, WIRE_NONE);
        ck_assert_int_eq(write(pair.by_hand, bytes + i, 1), 1);
        ck_assert(!wire_receive(pair.server, &received, &error));
      }
      ck_assert(wire_messages_equal(&sent, &received));
    }
  }
  wire_ends_free(&pair);
  wire_samples_clear();
}

TEST(a_message_that_comes_in_two_pieces_is_whole)
{
  SCOPED(wire_ends_free) const WireEnds pair = wire_ends_half(WIRE_SERVER);
  const WireMessage sent = wire_sample(WIRE_NOTE);
  unsigned char bytes[WIRE_MESSAGE_BYTES];
  const size_t n = wire_message_bytes(&sent, bytes);
  for (size_t cut = 1; cut < n; ++cut) {
    SCOPED(wire_message_clear) WireMessage received = { .kind = WIRE_NONE };
    ck_assert_int_eq(write(pair.by_hand, bytes, cut), (ssize_t)cut);
    ck_assert(!wire_receive(pair.server, &received, &error) && received.kind == WIRE_NONE);
    ck_assert_int_eq(write(pair.by_hand, bytes + cut, n - cut), (ssize_t)(n - cut));
    ck_assert_msg(!wire_receive(pair.server, &received, &error), "cut at %zu: %s", cut, error.text);
    ck_assert_msg(wire_messages_equal(&sent, &received), "cut at %zu", cut);
  }
}

TEST(messages_that_come_at_once_are_taken_one_by_one)
{
  SCOPED(wire_ends_free) const WireEnds pair = wire_ends_new();
  for (uint32_t i = 0; i < 100U; ++i) {
    WireMessage note = { .kind = WIRE_NOTE };
    snprintf(note.note, sizeof(note.note), "note %u", i);
    ck_assert(!wire_send(pair.worker, &note, &error));
  }
  for (uint32_t i = 0; i < 100U; ++i) {
    char expected[32];
    snprintf(expected, sizeof(expected), "note %u", i);
    const WireMessage note = wire_next(pair.server);
    ck_assert_str_eq(note.note, expected);
  }
}

typedef struct Sender {
  Wire* wire;
  uint32_t number;
} Sender;

static void*
send_notes(void* const context)
{
  const Sender* const sender = context;
  for (uint32_t i = 0; i < N_NOTES; ++i) {
    WireMessage note = { .kind = WIRE_NOTE };
    snprintf(note.note, sizeof(note.note), "%u %u %.*s", sender->number, i, (int)(i % 400U),
             "................................................................................"
             "................................................................................"
             "................................................................................"
             "................................................................................"
             "................................................................................");
    if (wire_send(sender->wire, &note, NULL)) {
      return context;
    }
  }
  return NULL;
}

TEST(threads_of_the_worker_send_whole_messages_each_in_its_order)
{
  SCOPED(wire_ends_free) const WireEnds pair = wire_ends_new();
  const int small = 4096; // small, so that the threads have to wait for the server
  ck_assert(!setsockopt(wire_fd(pair.worker), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)));
  pthread_t threads[N_THREADS];
  Sender senders[N_THREADS];
  uint32_t next[N_THREADS] = { 0 };
  for (uint32_t t = 0; t < N_THREADS; ++t) {
    senders[t] = (Sender){ pair.worker, t };
    ck_assert(!pthread_create(&threads[t], NULL, send_notes, &senders[t]));
  }
  for (uint32_t i = 0; i < N_THREADS * N_NOTES; ++i) {
    const WireMessage note = wire_next(pair.server);
    unsigned t = 0;
    unsigned number = 0;
    ck_assert_int_eq(sscanf(note.note, "%u %u", &t, &number), 2);
    ck_assert_uint_lt(t, N_THREADS);
    ck_assert_uint_eq(number, next[t]++);
  }
  for (uint32_t t = 0; t < N_THREADS; ++t) {
    void* failed = NULL;
    pthread_join(threads[t], &failed);
    ck_assert_ptr_null(failed);
  }
}

// ---- a worker that does not read ----

/// A rack with `n_texts` texts of 1 MiB.
static Rack*
large_rack(const uint32_t n_texts)
{
  static char text[(1U << 20U) + 1U];
  memset(text, 'x', sizeof(text) - 1U);
  Rack* const rack = rack_new();
  for (uint32_t i = 0; i < n_texts; ++i) {
    char name[16];
    snprintf(name, sizeof(name), "n%u", i);
    ck_assert(!rack_add(rack, name, "matrix", &error));
    ck_assert_msg(!set_text_by_name(rack, name, "rows", text, &error), "%s", error.text);
  }
  return rack;
}

TEST(the_server_never_waits_and_its_queue_has_a_bound)
{
  SCOPED(wire_ends_free) const WireEnds pair = wire_ends_new();
  SCOPED_RACK Rack* const rack = large_rack(1);
  WireMessage edit = { .kind = WIRE_EDIT, .edit = { .rack = rack } };
  uint32_t n_sent = 0;
  Status status = STATUS_OK;
  while (!(status = wire_send(pair.server, &edit, &error))) { // the test times out if this blocks
    edit.edit.id = ++n_sent;
    ck_assert_uint_lt(n_sent, 100U);
  }
  ck_assert_int_eq(status, STATUS_LIMIT);
  ck_assert_uint_ge(n_sent, 16U);
  ck_assert_uint_le(wire_queued(pair.server), WIRE_QUEUE_BYTES);
  for (uint32_t i = 0; i < n_sent; ++i) { // accepted messages arrive
    WireMessage received = { .kind = WIRE_NONE };
    struct pollfd there = { .fd = wire_fd(pair.worker), .events = POLLIN };
    int socket_flags = fcntl(wire_fd(pair.worker), F_GETFL);
    fcntl(wire_fd(pair.worker), F_SETFL, socket_flags | O_NONBLOCK); // one thread plays both sides
    while (received.kind == WIRE_NONE) {
      ck_assert(!wire_flush(pair.server, &error));
      ck_assert_int_eq(poll(&there, 1, 20000), 1);
      ck_assert(!wire_receive(pair.worker, &received, &error));
    }
    ck_assert_uint_eq(received.edit.id, i);
    ck_assert(wire_racks_equal(received.edit.rack, rack));
    wire_message_clear(&received);
  }
  ck_assert_uint_eq(wire_queued(pair.server), 0);
  ck_assert(!wire_send(pair.server, &edit, &error)); // the queue has space again
}

TEST(small_messages_count_with_their_memory)
{
  SCOPED(wire_ends_free) const WireEnds pair = wire_ends_new();
  const WireMessage reset = { .kind = WIRE_RESET_LOAD };
  uint32_t n_sent = 0;
  while (!wire_send(pair.server, &reset, &error)) {
    ++n_sent;
  }
  ck_assert_uint_lt(n_sent, WIRE_QUEUE_BYTES / 32U);
}

TEST(a_document_beyond_the_limit_is_not_sent)
{
  SCOPED(wire_ends_free) const WireEnds pair = wire_ends_new();
  SCOPED_RACK Rack* const rack = large_rack(4);
  const WireMessage edit = { .kind = WIRE_EDIT, .edit = { .rack = rack } };
  ck_assert_int_eq(wire_send(pair.server, &edit, &error), STATUS_LIMIT);
  ck_assert_uint_eq(wire_queued(pair.server), 0);
}

TEST(descriptors_that_wait_are_not_lost)
{
  const unsigned before = descriptors_open();
  const WireEnds pair = wire_ends_new();
  Rack* const rack = large_rack(1); // larger than the socket's buffer
  const WireMessage edit = { .kind = WIRE_EDIT, .edit = { .rack = rack } };
  const WireMessage arm = wire_sample(WIRE_ARM);
  const WireMessage plugins = wire_sample(WIRE_PLUGINS);
  ck_assert(!wire_send(pair.server, &edit, &error));
  ck_assert_uint_gt(wire_queued(pair.server), 0);
  for (uint32_t i = 0; i < 5U; ++i) {
    ck_assert(!wire_send(pair.server, i % 2U ? &plugins : &arm, &error));
  }
  rack_free(rack);
  wire_ends_free(&pair);
  wire_samples_clear();
  ck_assert_uint_eq(descriptors_open(), before);
}

// ---- the end ----

TEST(the_end_of_the_peer_is_reported_permanently)
{
  SCOPED(wire_ends_free) WireEnds pair = wire_ends_new();
  WireMessage message = { .kind = WIRE_NOTE, .note = "last words" };
  ck_assert(!wire_send(pair.worker, &message, &error));
  wire_free(pair.worker);
  pair.worker = NULL;
  message = wire_next(pair.server);
  ck_assert_str_eq(message.note, "last words");
  for (int i = 0; i < 3; ++i) {
    errno = EINTR; // left by an earlier call: the end of a connection does not set errno
    ck_assert_int_eq(wire_receive(pair.server, &message, &error), STATUS_NET);
    ck_assert_uint_eq(message.kind, WIRE_NONE);
  }
  const WireMessage reset = { .kind = WIRE_RESET_LOAD };
  ck_assert_int_eq(wire_send(pair.server, &reset, &error), STATUS_NET);
  ck_assert_int_eq(wire_flush(pair.server, &error), STATUS_NET);
}

TEST(an_end_within_a_message_is_reported)
{
  const WireMessage note = wire_sample(WIRE_NOTE);
  unsigned char bytes[WIRE_MESSAGE_BYTES];
  const size_t n = wire_message_bytes(&note, bytes);
  for (size_t cut = 1; cut < n; ++cut) {
    SCOPED(wire_ends_free) WireEnds pair = wire_ends_half(WIRE_SERVER);
    ck_assert_int_eq(write(pair.by_hand, bytes, cut), (ssize_t)cut);
    close(pair.by_hand);
    pair.by_hand = -1;
    WireMessage message;
    ck_assert_int_eq(wire_receive(pair.server, &message, &error), STATUS_NET);
    assert_says(error.text, "middle");
  }
}

SUITE_MAIN("wire socket")
