// SPDX-License-Identifier: GPL-3.0-or-later
// A message that is encoded and decoded is unchanged.  A truncated, changed or invented message is
// refused, or every field is in its range.

#include "engine/wire/wire_private.h"
#include "tests/support/suite.h"
#include "tests/support/wire_samples.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Body {
  unsigned char* bytes;
  uint32_t n;
} Body;

static Body
encoded(const WireMessage* const message)
{
  Body body = { NULL, 0 };
  OK(wire_encode(message, &body.bytes, &body.n, &error));
  return body;
}

/// Decode on the side that receives this kind; the caller clears the message.
static Status
decode(const WireKind kind, const Body body, WireMessage* const message, Error* const error)
{
  const int fd = wire_sample_has_fd(kind) ? dup(wire_sample(WIRE_ARM).arm.ring_fd) : -1;
  const Status status =
      wire_decode(wire_sample_side(kind), kind, body.bytes, body.n, fd, message, error);
  if (status && fd >= 0) {
    ck_assert_int_eq(close(fd), 0); // wire_decode() leaves the descriptor open on error
  }
  return status;
}

// ---- round trips ----

TEST(every_kind_arrives_as_it_was_sent)
{
  for (WireKind kind = WIRE_CONFIG; kind < WIRE_N_KINDS; ++kind) {
    const WireMessage sent = wire_sample(kind);
    ck_assert_msg(!wire_field_out_of_range(&sent), "%u", kind); // the samples are valid
    const Body body = encoded(&sent);
    WireMessage received;
    OK(decode(kind, body, &received, &error));
    ck_assert_msg(wire_messages_equal(&sent, &received), "kind %u differs", kind);
    wire_message_clear(&received);
    ck_assert_uint_eq(received.kind, WIRE_NONE);
    free(body.bytes);
  }
  wire_samples_clear();
}

TEST(a_config_without_a_rack_has_none)
{
  WireMessage sent = wire_sample(WIRE_CONFIG);
  sent.config.rack = NULL;
  const Body body = encoded(&sent);
  WireMessage received;
  ck_assert(!decode(WIRE_CONFIG, body, &received, NULL));
  ck_assert(wire_messages_equal(&sent, &received));
  wire_message_clear(&received);
  free(body.bytes);
  wire_samples_clear();
}

TEST(texts_are_made_printable_before_they_are_sent)
{
  static const struct {
    const char* sent;
    const char* received;
  } rows[] = {
    { "plain", "plain" },
    { "two\nlines\tand \x1B[31m", "two?lines?and ?[31m" },
    { "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9D\x84\x9E", "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9D\x84\x9E" },
    { "latin1 caf\xE9", "latin1 caf?" },
    { "overlong \xC0\xAF \xE0\x80\xAF", "overlong ?? ???" },
    { "surrogate \xED\xA0\x80", "surrogate ???" },
    { "too high \xF4\x90\x80\x80", "too high ????" },
    { "control \xC2\x85", "control ??" },
    { "cut \xE2\x82", "cut ??" },
    { "\x7F", "?" },
    { "", "" },
  };
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    WireMessage message = { .kind = WIRE_NOTE };
    strcpy(message.note, rows[r].sent);
    const Body body = encoded(&message);
    WireMessage received;
    ck_assert(!decode(WIRE_NOTE, body, &received, NULL));
    ck_assert_str_eq(received.note, rows[r].received);
    free(body.bytes);
  }
}

TEST(a_text_that_is_not_printable_is_refused)
{
  static const char* const bad[] = { "\n",
                                     "\x1B",
                                     "\x7F",
                                     "\xE9",
                                     "\xC0\xAF",
                                     "\xC2\x85",
                                     "\xED\xA0\x80",
                                     "\xF4\x90\x80\x80",
                                     "\xE2\x82",
                                     "a\xFF",
                                     "\xF5\x80\x80\x80" };
  for (uint32_t b = 0; b < ARRAY_LEN(bad); ++b) {
    unsigned char bytes[16] = { 0 };
    const uint32_t n = (uint32_t)strlen(bad[b]);
    memcpy(bytes, &n, sizeof(n));
    memcpy(bytes + sizeof(n), bad[b], n);
    WireMessage received;
    ck_assert_msg(decode(WIRE_NOTE, (Body){ bytes, 4U + n }, &received, NULL) == STATUS_BAD_ARG,
                  "text %u was accepted", b);
  }
}

TEST(a_descriptor_that_came_is_closed_also_when_it_is_zero)
{
  close(STDIN_FILENO);
  WireMessage message = { .kind = WIRE_ARM, .arm.ring_fd = open("/dev/null", O_RDONLY) };
  ck_assert_int_eq(message.arm.ring_fd, 0);
  wire_message_clear(&message);
  ck_assert_int_eq(fcntl(0, F_GETFD), -1);
  message = (WireMessage){ .kind = WIRE_PLUGINS, .plugins_fd = open("/dev/null", O_RDONLY) };
  ck_assert_int_eq(message.plugins_fd, 0);
  wire_message_clear(&message);
  ck_assert_int_eq(fcntl(0, F_GETFD), -1);
}

TEST(a_status_always_has_a_reason_and_success_has_none)
{
  WireMessage message = { .kind = WIRE_REPLY };
  message.reply.reply = (EngineReply){ .status = STATUS_NO_MEM, .text = "" };
  Body body = encoded(&message);
  WireMessage received;
  ck_assert(!decode(WIRE_REPLY, body, &received, NULL));
  ck_assert_str_eq(received.reply.reply.text, status_text(STATUS_NO_MEM));
  free(body.bytes);
  message.reply.reply = (EngineReply){ .status = STATUS_NO_MEM, .text = "!" }; // a short reason
  body = encoded(&message);
  ck_assert(!decode(WIRE_REPLY, body, &received, NULL));
  ck_assert_str_eq(received.reply.reply.text, "!");
  free(body.bytes);
  message.reply.reply = (EngineReply){ .status = STATUS_OK, .text = "left over" };
  body = encoded(&message);
  ck_assert(!decode(WIRE_REPLY, body, &received, NULL));
  ck_assert_str_eq(received.reply.reply.text, "");
  free(body.bytes);
}

// ---- invalid messages ----

/// Decode a body; false if it is refused.  Fails the test if it is accepted with a field out of
/// range, or encodes to another body.
static bool
is_taken(const WireKind kind, const Body body)
{
  WireMessage message;
  Error error = { STATUS_OK, "" };
  const Status status = decode(kind, body, &message, &error);
  if (status) {
    ck_assert_msg(status == STATUS_BAD_ARG, "kind %u: %s", kind, error.text);
    ck_assert_uint_eq(message.kind, WIRE_NONE);
    ck_assert(error.status == status && error.text[0]);
    return false;
  }
  ck_assert_uint_eq(message.kind, kind);
  const char* const wrong = wire_field_out_of_range(&message);
  ck_assert_msg(!wrong, "kind %u: %s out of range", kind, wrong);
  if (kind != WIRE_EDIT && kind != WIRE_CONFIG) { // different texts can be the same document
    const Body again = encoded(&message);
    ck_assert_msg(again.n == body.n && !memcmp(again.bytes, body.bytes, body.n),
                  "kind %u: the message encodes to another body", kind);
    free(again.bytes);
  }
  wire_message_clear(&message);
  return true;
}

TEST(every_cut_is_refused)
{
  for (WireKind kind = WIRE_CONFIG; kind < WIRE_N_KINDS; ++kind) {
    const WireMessage sent = wire_sample(kind);
    const Body body = encoded(&sent);
    for (uint32_t n = 0; n < body.n; ++n) {
      // A copy with exactly n bytes, so that a sanitizer finds reads behind the end.
      unsigned char* const cut = malloc(n + 1U);
      memcpy(cut, body.bytes, n);
      unsigned char* const exact = realloc(cut, n ? n : 1U);
      ck_assert_msg(!is_taken(kind, (Body){ exact, n }), "kind %u cut to %u bytes was accepted",
                    kind, n);
      free(exact);
    }
    unsigned char* const longer = malloc(body.n + 1U);
    if (body.n) {
      memcpy(longer, body.bytes, body.n);
    }
    longer[body.n] = 0;
    ck_assert_msg(!is_taken(kind, (Body){ longer, body.n + 1U }),
                  "a body with a byte more was accepted");
    free(longer);
    free(body.bytes);
  }
  wire_samples_clear();
}

TEST(every_changed_byte_is_refused_or_in_range)
{
  uint32_t n_taken = 0;
  uint32_t n_refused = 0;
  for (WireKind kind = WIRE_CONFIG; kind < WIRE_N_KINDS; ++kind) {
    const WireMessage sent = wire_sample(kind);
    const Body body = encoded(&sent);
    for (uint32_t at = 0; at < body.n; ++at) {
      const unsigned char right = body.bytes[at];
      for (uint32_t change = 1; change < 256U; ++change) {
        body.bytes[at] = (unsigned char)(right ^ change);
        const bool taken = is_taken(kind, body);
        n_taken += taken;
        n_refused += !taken;
      }
      body.bytes[at] = right;
    }
    free(body.bytes);
  }
  ck_assert_uint_gt(n_taken, 1000U);
  ck_assert_uint_gt(n_refused, 1000U);
  wire_samples_clear();
}

/// Overwrite a field of the sample's body; the body must then be refused.
static void
expect_refusal(const WireKind kind, const uint32_t at, const void* const bytes, const size_t n)
{
  const WireMessage sent = wire_sample(kind);
  const Body body = encoded(&sent);
  ck_assert_uint_le(at + n, body.n);
  memcpy(body.bytes + at, bytes, n);
  ck_assert_msg(!is_taken(kind, body), "kind %u: wrong bytes at %u were accepted", kind, at);
  free(body.bytes);
}

static void
expect_u32_refusal(const WireKind kind, const uint32_t at, const uint32_t value)
{
  expect_refusal(kind, at, &value, sizeof(value));
}

static void
expect_double_refusal(const WireKind kind, const uint32_t at, const double value)
{
  expect_refusal(kind, at, &value, sizeof(value));
}

static void
expect_float_refusal(const WireKind kind, const uint32_t at, const float value)
{
  expect_refusal(kind, at, &value, sizeof(value));
}

#define FACTS_BYTES  (56U + 2U * 13U) // the facts of the samples, which have two fallbacks
#define COUNTS_BYTES (8U * N_WORKER_COUNTS)

TEST(values_just_beyond_their_range_are_refused)
{
  static const uint32_t large[] = { 0x7FFFFFFFU, 0x80000000U, UINT32_MAX };
  expect_u32_refusal(WIRE_CONFIG, 4, 1025);    // n_in
  expect_u32_refusal(WIRE_CONFIG, 12, 3);      // depth
  expect_double_refusal(WIRE_CONFIG, 17, 0.1); // on_late
  expect_double_refusal(WIRE_CONFIG, 17, (double)NAN);
  expect_u32_refusal(WIRE_CONFIG, 26, 100); // priority
  expect_u32_refusal(WIRE_CONFIG, 34, 4);   // backend
  expect_u32_refusal(WIRE_CONFIG, 58, ENGINE_PLUGIN_START_LONGEST_S + 1U);
  expect_double_refusal(WIRE_ARM, 0, nextafter(1e6, 2e6)); // rate
  expect_double_refusal(WIRE_ARM, 0, nextafter(1000.0, 0.0));
  expect_double_refusal(WIRE_ARM, 0, (double)NAN);
  expect_u32_refusal(WIRE_ARM, 8, 8193); // block
  expect_u32_refusal(WIRE_ARM, 8, 0);
  expect_u32_refusal(WIRE_EDIT, 24, 15);                    // next uid
  expect_u32_refusal(WIRE_EDIT, 40, WIRE_MAX_LATENCY + 4U); // quarantine
  expect_u32_refusal(WIRE_EDIT, 40, WIRE_MAX_LATENCY + 3U); // a missing plugin, but it is none
  expect_u32_refusal(WIRE_PLACEMENTS, 16, WIRE_MAX_LATENCY + 1U);
  expect_u32_refusal(WIRE_SET, 0, 0);                   // count
  expect_double_refusal(WIRE_SET, 4 + 16, (double)NAN); // value
  expect_double_refusal(WIRE_SET, 4 + 28 + 16, -(double)INFINITY);
  expect_u32_refusal(WIRE_CHANGED, 8, WIRE_MAX_LATENCY + 1U); // latency
  expect_u32_refusal(WIRE_CHANGED, 12, 1025);                 // n_out
  expect_u32_refusal(WIRE_FAILED, 0, STATUS_OK);
  expect_u32_refusal(WIRE_FAILED, 0, STATUS_N_STATUSES);
  expect_u32_refusal(WIRE_ARMED, 0, STATUS_FILE);           // an error without a text
  expect_u32_refusal(WIRE_ARMED, 8, RACK_MAX_REFUSED + 1U); // refused nodes
  expect_u32_refusal(WIRE_ARMED, 12, RACK_UID_OUT);
  expect_u32_refusal(WIRE_CHANGED, 52, 1025);                     // fallbacks
  expect_float_refusal(WIRE_CHANGED, 56, nextafterf(1.0F, 2.0F)); // level
  expect_float_refusal(WIRE_CHANGED, 56, NAN);
  expect_float_refusal(WIRE_CHANGED, 56 + 13 + 4, -0.1F); // response
  expect_u32_refusal(WIRE_CHANGED, 56 + 9, FALLBACK_N_WHYS);
  expect_double_refusal(WIRE_STATUS, FACTS_BYTES + COUNTS_BYTES, -0.1); // load
  expect_double_refusal(WIRE_STATUS, FACTS_BYTES + COUNTS_BYTES, (double)INFINITY);
  expect_double_refusal(WIRE_STATUS, FACTS_BYTES + COUNTS_BYTES + 24, (double)NAN); // cost
  expect_u32_refusal(WIRE_PLACEMENTS, 4 + 4, 0);                 // backend: "auto" is invalid here
  expect_u32_refusal(WIRE_PLACEMENTS, 4 + 4, ENGINE_N_BACKENDS); // backend
  expect_u32_refusal(WIRE_PLACEMENTS, 4 + 8, PLACE_N_REASONS);   // reason
  expect_u32_refusal(WIRE_PLACEMENTS, 4, RACK_UID_OUT);
  for (uint32_t l = 0; l < ARRAY_LEN(large); ++l) { // counts and lengths: nothing is allocated
    expect_u32_refusal(WIRE_EDIT, 28, large[l]);
    expect_u32_refusal(WIRE_EDIT, 40, large[l]);
    expect_u32_refusal(WIRE_SET, 0, large[l]);
    expect_u32_refusal(WIRE_PLACEMENTS, 0, large[l]);
    expect_u32_refusal(WIRE_NOTE, 0, large[l]);
  }
  wire_samples_clear();
}

/// A copy of a body in which `n` letters replace the text `text`.
static Body
with_text_of(const Body body, const char* const text, const uint32_t n)
{
  const uint32_t length = (uint32_t)strlen(text);
  const unsigned char* const at = memmem(body.bytes, body.n, text, length);
  ck_assert_msg(at && length, "the body has no text \"%s\"", text);
  const uint32_t before = (uint32_t)(at - body.bytes);
  const uint32_t after = body.n - before - length;
  const Body longer = { malloc(body.n + n), before + n + after };
  memcpy(longer.bytes, body.bytes, before);
  memcpy(longer.bytes + before - sizeof(n), &n, sizeof(n));
  memset(longer.bytes + before, 'x', n);
  memcpy(longer.bytes + before + n, at + length, after);
  return longer;
}

TEST(a_text_that_is_longer_than_its_room_is_refused)
{
  WireMessage status = wire_sample(WIRE_STATUS);
  WireMessage failed = wire_sample(WIRE_FAILED);
  WireMessage armed = wire_sample(WIRE_ARMED);
  WireMessage reply = wire_sample(WIRE_REPLY);
  WireMessage note = wire_sample(WIRE_NOTE);
  armed.armed.error.status = reply.reply.reply.status = STATUS_NO_MEM;
  const struct {
    const WireMessage* message;
    char* text;
    size_t room;
  } texts[] = {
    { &status, status.status.device, sizeof(status.status.device) },
    { &status, status.status.backend_note, sizeof(status.status.backend_note) },
    { &status, status.status.realtime_note, sizeof(status.status.realtime_note) },
    { &failed, failed.failed.text, sizeof(failed.failed.text) },
    { &armed, armed.armed.error.text, sizeof(armed.armed.error.text) },
    { &reply, reply.reply.reply.text, sizeof(reply.reply.reply.text) },
    { &note, note.note, sizeof(note.note) },
  };
  // If the length is not checked, the text overruns the message.  `behind` is there to detect that
  // without a crash.
  static struct {
    WireMessage message;
    unsigned char behind[65536];
  } into;
  for (uint32_t t = 0; t < ARRAY_LEN(texts); ++t) {
    const WireKind kind = texts[t].message->kind;
    strcpy(texts[t].text, "this is it");
    const Body body = encoded(texts[t].message);
    const uint32_t room = (uint32_t)texts[t].room;
    const uint32_t lengths[] = { room - 1U, room, room + 1U, 60000U };
    for (uint32_t l = 0; l < ARRAY_LEN(lengths); ++l) {
      const Body longer = with_text_of(body, "this is it", lengths[l]);
      memset(into.behind, 0xA5, sizeof(into.behind));
      Error error = { STATUS_OK, "" };
      const Status result = decode(kind, longer, &into.message, &error);
      ck_assert_msg(result == (l ? STATUS_BAD_ARG : STATUS_OK),
                    "kind %u: text %u of %u bytes, room for %u: %s", kind, t, lengths[l], room,
                    result ? error.text : "accepted");
      for (size_t b = 0; b < sizeof(into.behind); ++b) {
        ck_assert_msg(into.behind[b] == 0xA5U, "kind %u: the text overran the message", kind);
      }
      wire_message_clear(&into.message);
      free(longer.bytes);
    }
    free(body.bytes);
    strcpy(texts[t].text, "another");
  }
  wire_samples_clear();
}

TEST(a_message_that_the_receiver_would_refuse_is_not_sent)
{
  unsigned char* body = NULL;
  uint32_t n = 0;
  WireMessage message = wire_sample(WIRE_ARM);
  message.arm.format.offline = true;
  ck_assert(wire_encode(&message, &body, &n, NULL) == STATUS_BAD_ARG);
  message = wire_sample(WIRE_SET);
  message.set.n = 0;
  ck_assert(wire_encode(&message, &body, &n, NULL) == STATUS_BAD_ARG);
  const EnginePlacement unknown = { 16, ENGINE_BACKEND_CPU, PLACE_N_REASONS, 0, 0, 0 };
  message = (WireMessage){ .kind = WIRE_PLACEMENTS, .placements = { &unknown, 1 } };
  ck_assert(wire_encode(&message, &body, &n, NULL) == STATUS_BAD_ARG);
  message = (WireMessage){ .kind = WIRE_NONE };
  ck_assert(wire_encode(&message, &body, &n, NULL) == STATUS_BAD_ARG);
  message.kind = (WireKind)99;
  ck_assert(wire_encode(&message, &body, &n, NULL) == STATUS_BAD_ARG);
  ck_assert_ptr_null(body);
  wire_samples_clear();
}

TEST(fields_that_are_larger_together_than_the_message_may_be_are_not_sent)
{
  Coder coder = { .writes = true, .max = 11 };
  uint32_t value = 5;
  coder_u32(&coder, &value, 0U, 9U, "one");
  coder_u32(&coder, &value, 0U, 9U, "two");
  ck_assert_int_eq(coder.error.status, STATUS_OK);
  coder_u32(&coder, &value, 0U, 9U, "three");
  ck_assert_int_eq(coder.error.status, STATUS_LIMIT);
  ck_assert_uint_eq(coder.at, 8);
  free(coder.out);
}

TEST(a_text_without_an_end_is_sent_as_far_as_its_room)
{
  struct {
    char text[8];
    char behind[8];
  } sent = { "xxxxxxxx", "\n\n\n\n\n\n\n" };
  Coder coder = { .writes = true, .max = 100 };
  coder_text(&coder, sent.text, sizeof(sent.text), "text");
  ck_assert_msg(!coder.error.status, "%s", coder.error.text);
  ck_assert_str_eq(sent.behind, "\n\n\n\n\n\n\n"); // outside of the text's room: unchanged
  ck_assert_uint_eq(coder.at, sizeof(uint32_t) + 7U);
  ck_assert_int_eq(memcmp(coder.out + sizeof(uint32_t), "xxxxxxx", 7), 0);
  free(coder.out);
}

TEST(a_kind_for_the_other_side_is_refused)
{
  for (uint32_t kind = 0; kind < 100U; ++kind) {
    for (WireSide side = WIRE_SERVER; side <= WIRE_WORKER; ++side) {
      const bool is_known = kind > WIRE_NONE && kind < WIRE_N_KINDS;
      if (is_known && wire_sample_side((WireKind)kind) == side) {
        continue;
      }
      WireMessage message;
      ck_assert(wire_decode(side, kind, NULL, 0, -1, &message, NULL) == STATUS_BAD_ARG);
    }
  }
}

TEST(a_descriptor_comes_with_arm_and_plugins_and_with_nothing_else)
{
  const WireMessage sent = wire_sample(WIRE_ARM);
  const Body body = encoded(&sent);
  WireMessage message;
  ck_assert(wire_decode(WIRE_WORKER, WIRE_ARM, body.bytes, body.n, -1, &message, NULL) ==
            STATUS_BAD_ARG);
  free(body.bytes);
  ck_assert(wire_decode(WIRE_WORKER, WIRE_PLUGINS, NULL, 0, -1, &message, NULL) == STATUS_BAD_ARG);
  ck_assert(wire_decode(WIRE_WORKER, WIRE_DISARM, NULL, 0, 0, &message, NULL) == STATUS_BAD_ARG);
  ck_assert(wire_decode(WIRE_SERVER, WIRE_PLUGINS, NULL, 0, 0, &message, NULL) == STATUS_BAD_ARG);
  wire_samples_clear();
}

SUITE_MAIN("wire")
