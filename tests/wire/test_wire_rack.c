// SPDX-License-Identifier: GPL-3.0-or-later
// A rack that is encoded and decoded keeps its uids, its order and every bit of its numbers.  An
// invalid rack is refused.

#include "engine/wire/wire.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"
#include "tests/support/wire_samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double
random_unit(uint64_t* const state)
{
  return (double)(signal_random(state) >> 11U) * 0x1p-53;
}

static void
random_text(char text[const 24], uint64_t* const state)
{
  static const char characters[] = "ab Z9\"\\#|()+:=,;-_./%'\xC3\xA9\xFF";
  const uint32_t n = 1U + (uint32_t)(signal_random(state) % 20U);
  for (uint32_t i = 0; i < n; ++i) {
    text[i] = characters[signal_random(state) % (sizeof(characters) - 1U)];
  }
  text[n] = '\0';
}

/// Set one parameter of any kind to a random value.
static void
set_randomly(Rack* const random, const char* const node, const FxParam* const param,
             uint64_t* const state)
{
  char text[24];
  const double number = param->min + random_unit(state) * (param->max - param->min);
  const uint64_t choice = signal_random(state);
  Status status = STATUS_OK;
  switch (param->kind) {
  case PARAM_NUMBER:
    if (param->unit == UNIT_MS && choice % 2U) {
      snprintf(text, sizeof(text), "%uframes", (unsigned)(choice % 20000U) + 500U);
      status = set_text_by_name(random, node, param->id, text, NULL);
      ck_assert(!status || status == STATUS_BAD_RACK); // may be out of the parameter's range
      return;
    }
    status = set_number_by_name(random, node, param->id, number, NULL);
    break;
  case PARAM_INTEGER:
    status = set_number_by_name(random, node, param->id, floor(number), NULL);
    break;
  case PARAM_SWITCH:
    status = set_number_by_name(random, node, param->id, (double)(choice % 2U), NULL);
    break;
  case PARAM_CHOICE: {
    uint32_t n = 0;
    while (param->choices[n]) {
      ++n;
    }
    status = set_number_by_name(random, node, param->id, (double)(choice % n), NULL);
    break;
  }
  case PARAM_FILE:
  case PARAM_PATH:
  case PARAM_TEXT:
    random_text(text, state);
    status = set_text_by_name(random, node, param->id, text, NULL);
    break;
  }
  ck_assert(!status);
}

/// Make a rack with random effects and values.  Some nodes are removed again, so that the uids have
/// gaps.  Connections go from earlier to later nodes.
static Rack*
random_rack(uint64_t* const state)
{
  uint32_t n_effects = 0;
  const FxInfo* const* const table = fx_table(&n_effects);
  Rack* const random = rack_new();
  const uint32_t n = (uint32_t)(signal_random(state) % 12U);
  char name[24];
  for (uint32_t i = 0; i < n; ++i) {
    const FxInfo* const fx = table[signal_random(state) % n_effects];
    snprintf(name, sizeof(name), "n%u-%s", i, i % 2U ? "x_Y" : "");
    ck_assert(!rack_add(random, name, fx->name, NULL));
    for (uint32_t p = 0; p < fx->n_params; ++p) {
      if (signal_random(state) % 4U) {
        set_randomly(random, name, &fx->params[p], state);
      }
    }
    random->nodes[random->n_nodes - 1U].backend = (RackBackend)(signal_random(state) % 3U);
    if (signal_random(state) % 4U == 0U) {
      ck_assert(!rack_remove(random, name, NULL));
    }
  }
  if (signal_random(state) % 2U) {
    ck_assert(!rack_disconnect(random, "in", "out", NULL));
  }
  for (uint32_t e = 0; e < 3U * random->n_nodes; ++e) {
    static const char* const channels[] = { "", ":1", ":3-7", ":1024" };
    const uint32_t a = (uint32_t)(signal_random(state) % (random->n_nodes + 1U));
    const uint32_t b = a + (uint32_t)(signal_random(state) % (random->n_nodes + 1U - a));
    char from[80];
    char to[80];
    snprintf(from, sizeof(from), "%s%s", a ? random->nodes[a - 1U].name : "in",
             channels[signal_random(state) % 4U]);
    snprintf(to, sizeof(to), "%s%s", b < random->n_nodes ? random->nodes[b].name : "out",
             channels[signal_random(state) % 4U]);
    ck_assert(!rack_connect(random, from, to, 160.0 * random_unit(state) - 120.0, NULL));
  }
  return random;
}

TEST(a_rack_arrives_with_its_uids_its_order_and_every_bit)
{
  uint64_t state = 1;
  uint32_t most = 0;
  for (uint32_t i = 0; i < 1500U; ++i) {
    SCOPED_RACK Rack* const rack = random_rack(&state);
    most = rack->n_nodes > most ? rack->n_nodes : most;
    const WireMessage sent = { .kind = WIRE_EDIT, .edit = { .rack = rack } };
    unsigned char* body = NULL;
    uint32_t n_body = 0;
    ck_assert(!wire_encode(&sent, &body, &n_body, NULL));
    SCOPED(wire_message_clear) WireMessage received;
    Error error = { STATUS_OK, "" };
    ck_assert_msg(!wire_decode(WIRE_WORKER, WIRE_EDIT, body, n_body, -1, &received, &error),
                  "rack %u: %s:\n%s", i, error.text, rack_print(rack));
    ck_assert_msg(wire_racks_equal(rack, received.edit.rack), "rack %u differs:\n%s", i,
                  rack_print(rack));
    free(body);
  }
  ck_assert_uint_gt(most, 8U);
}

TEST(invalid_uids_are_refused_and_change_nothing)
{
  static const RackUid wrong[][2] = { { 20, 20 }, { 0, 20 }, { 2, 20 }, { 15, 20 }, { 30, 20 } };
  Rack* const rack = rack_copy(wire_sample(WIRE_EDIT).edit.rack);
  Rack* const before = rack_copy(rack);
  for (uint32_t w = 0; w < ARRAY_LEN(wrong); ++w) {
    ck_assert(rack_set_uids(rack, wrong[w], 2, 30, NULL) == STATUS_BAD_ARG);
    ck_assert(wire_racks_equal(rack, before));
  }
  const RackUid good[] = { 17, 29 };
  ck_assert(rack_set_uids(rack, good, 1, 30, NULL) == STATUS_BAD_ARG);
  ck_assert(rack_set_uids(rack, good, 3, 30, NULL) == STATUS_BAD_ARG);
  ck_assert(wire_racks_equal(rack, before));
  ck_assert(!rack_set_uids(rack, good, 2, 30, NULL));
  ck_assert(rack_equal(rack, before)); // the connections have the new uids
  ck_assert(rack_find_uid(rack, 29) == &rack->nodes[1] && !rack_find_uid(rack, 16));
  Rack* const empty = rack_new();
  ck_assert(!rack_set_uids(empty, NULL, 0, 5000, NULL));
  ck_assert_uint_eq(empty->next_uid, 5000);
  ck_assert(rack_set_uids(empty, NULL, 0, 15, NULL) == STATUS_BAD_ARG);
  rack_free(empty);
  rack_free(before);
  rack_free(rack);
  wire_samples_clear();
}

/// Decode an EDIT of a document with one uid.
static Status
decode_document(const char* const text, WireMessage* const received, Error* const error)
{
  unsigned char bytes[256] = { 0 };
  const uint32_t n_text = (uint32_t)strlen(text);
  const uint32_t words[] = { 7, 0, 0, 0, 0, 0, 100, 1, 20, 0, n_text };
  memcpy(bytes, words, sizeof(words));
  memcpy(bytes + sizeof(words), text, n_text);
  return wire_decode(WIRE_WORKER, WIRE_EDIT, bytes, (uint32_t)sizeof(words) + n_text, -1, received,
                     error);
}

TEST(a_document_that_is_no_rack_here_arrives_with_the_reason)
{
  static const char* const wrong[] = { "add a nothing", "add a gain\nadd a gain", "add a lv2 x",
                                       "add a gain\nadd b gain\nconnect a b\nconnect b a" };
  for (uint32_t w = 0; w < ARRAY_LEN(wrong); ++w) {
    SCOPED(wire_message_clear) WireMessage received;
    OK(decode_document(wrong[w], &received, &error));
    ck_assert_uint_eq(received.edit.id, 7);
    ck_assert_ptr_null(received.edit.rack);
    ck_assert_int_ne(received.edit.refusal.status, STATUS_OK);
    assert_says(received.edit.refusal.text, "document:");
  }
  SCOPED(wire_message_clear) WireMessage received;
  OK(decode_document("add a gain", &received, &error));
  ck_assert_ptr_nonnull(received.edit.rack);
  ck_assert_int_eq(received.edit.refusal.status, STATUS_OK);
}

TEST(a_rack_with_another_number_of_nodes_than_uids_is_refused)
{
  static const char* const wrong[] = { "", "add a gain\nadd b gain" };
  for (uint32_t w = 0; w < ARRAY_LEN(wrong); ++w) {
    WireMessage received;
    Error why;
    ck_assert_int_eq(decode_document(wrong[w], &received, &why), STATUS_BAD_ARG);
    assert_says(why.text, "EDIT: 1 uids for ");
  }
}

SUITE_MAIN("wire rack")
