// SPDX-License-Identifier: GPL-3.0-or-later
// An edit of a rack is done completely, or leaves the rack unchanged and reports the reason; a node
// keeps its identity through every edit that keeps its name and effect.

#include "engine/rack/rack_private.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
check_text(const Rack* const rack, const char* const text)
{
  SCOPED_MEMORY char* const printed = rack_print(rack);
  ck_assert_str_eq(printed, text);
}

static RackUid
uid_of(const Rack* const rack, const char* const name)
{
  const RackNode* const node = rack_find(rack, name);
  ck_assert_msg(node, "no %s", name);
  return node->uid;
}

TEST(the_empty_rack_connects_in_to_out)
{
  SCOPED_RACK Rack* const rack = rack_new();
  check_text(rack, "connect in out\n");
  ck_assert_uint_eq(rack->n_nodes, 0);
  OK(rack_disconnect(rack, "in", "out", &error));
  check_text(rack, "disconnect in out\n");
  rack_free(NULL);
}

TEST(edits_one_by_one_make_the_rack_that_the_document_describes)
{
  SCOPED_RACK Rack* const rack = rack_new();
  OK(rack_disconnect(rack, "in", "out", &error));
  OK(rack_add(rack, "low", "highpass", &error));
  OK(rack_add(rack, "hall", "convolver", &error));
  OK(set_text_by_name(rack, "hall", "ir", "my hall.wav", &error));
  OK(set_number_by_name(rack, "low", "frequency", 80.0, &error));
  OK(set_text_by_name(rack, "low", "backend", "gpu", &error));
  OK(rack_connect(rack, "in:1-2", "low", 0.0, &error));
  OK(rack_connect(rack, "low", "hall:2", -6.5, &error));
  OK(rack_connect(rack, "hall", "out", 0.0, &error));
  check_text(rack, "add low highpass frequency=80Hz backend=gpu\n"
                   "add hall convolver ir=\"my hall.wav\"\n"
                   "connect in:1-2 low\n"
                   "connect low hall:2 gain=-6.5dB\n"
                   "connect hall out\n");
  OK(rack_connect(rack, "low", "hall:2", 3.0, &error)); // a new gain
  ck_assert_uint_eq(rack->n_edges, 3);
  ck_assert(rack->edges[1].gain_db == 3.0);
  OK(rack_remove(rack, "low", &error)); // removes its connections too
  check_text(rack, "add hall convolver ir=\"my hall.wav\"\n"
                   "connect in:1-2 hall:2 gain=3dB\nconnect hall out\n");
  ck_assert_ptr_null(rack_find(rack, "low"));
  ck_assert_ptr_nonnull(rack_find(rack, "hall"));
}

TEST(an_end_without_channels_disconnects_all_channels)
{
  SCOPED_RACK Rack* const rack = rack_of("add a gain\nadd b gain\nconnect a b\nconnect a:1 b:2\n"
                                         "connect a:1-2 b\nconnect b out",
                                         NULL);
  OK(rack_disconnect(rack, "a:1", "b", &error));
  ck_assert_uint_eq(rack->n_edges, 3);
  OK(rack_disconnect(rack, "a", "b", &error));
  ck_assert_uint_eq(rack->n_edges, 1);
  Error error;
  ck_assert_int_eq(rack_disconnect(rack, "a", "b", &error), STATUS_NOT_FOUND);
  assert_says(error.text, "no connection from a to b");
}

/// Statements that fail on the rack of the test below.
static const struct {
  const char* statement;
  Status status;
  const char* message;
} refused[] = {
  { "add a gain", STATUS_EXISTS, "e:1:5: the name \"a\" is taken" },
  { "add in gain", STATUS_BAD_RACK, "e:1:5: \"in\" is an end of the rack" },
  { "add 1st gain", STATUS_BAD_RACK, "e:1:5: \"1st\" is not a valid name" },
  { "add -x gain", STATUS_BAD_RACK, "is not a valid name" },
  { "add x.y gain", STATUS_BAD_RACK, "is not a valid name" },
  { "add caf\xC3\xA9 gain", STATUS_BAD_RACK, "is not a valid name" },
  { "add x234567890123456789012345678901234567890123456789012345678901234 gain", STATUS_LIMIT,
    "at most 63 characters" },
  { "add x gian", STATUS_NOT_FOUND, "e:1:7: no effect \"gian\"; did you mean \"gain\"?" },
  { "add x gain 3 order=4", STATUS_NOT_FOUND, "e:1:14: gain has no parameter \"order\"" },
  { "add x", STATUS_BAD_RACK, "e:1:6: unexpected end; the name of an effect comes here" },
  { "remove z", STATUS_NOT_FOUND, "e:1:8: no node \"z\"; one of a, b, c" },
  { "remove in", STATUS_NOT_FOUND, "no node \"in\"" },
  { "connect a z", STATUS_NOT_FOUND, "e:1:11: no node \"z\"" },
  { "connect a a", STATUS_BAD_RACK, "e:1:9: \"a\" cannot feed itself" },
  { "connect a:1 a:2", STATUS_BAD_RACK, "cannot feed itself" },
  { "connect a in", STATUS_BAD_RACK, "nothing goes to it" },
  { "connect out a", STATUS_BAD_RACK, "nothing comes from it" },
  { "connect c a", STATUS_BAD_RACK, "e:1:9: signal would go in a circle: a > b > c > a" },
  { "connect a:0 b", STATUS_BAD_RACK, "e:1:9: \"0\" are no channels" },
  { "connect a:2-1 b", STATUS_BAD_RACK, "\"2-1\" are no channels" },
  { "connect a:1025 b", STATUS_BAD_RACK, "at most 1024" },
  { "connect a:1- b", STATUS_BAD_RACK, "no channels" },
  { "connect a:1-2-3 b", STATUS_BAD_RACK, "no channels" },
  { "connect a:99999999999999999999 b", STATUS_BAD_RACK, "no channels" },
  { "connect a b gain=41dB", STATUS_BAD_RACK, "e:1:18: gain 41dB is out of range" },
  { "connect a b gian=4dB", STATUS_BAD_RACK, "e:1:13: unexpected \"gian\"" },
  { "connect a b gain 4dB", STATUS_BAD_RACK, "write: gain=-6dB" },
  { "connect a", STATUS_BAD_RACK, "write: connect FROM TO" },
  { "disconnect a c", STATUS_NOT_FOUND, "e:1:12: no connection from a to c" },
  { "disconnect a:1 b", STATUS_NOT_FOUND, "no connection from a:1 to b" },
  { "set a.gain 99", STATUS_BAD_RACK, "e:1:12: gain 99dB is out of range; -120dB to 40dB" },
  { "set a.gian 3", STATUS_NOT_FOUND,
    "e:1:7: gain has no parameter \"gian\"; did you mean \"gain\"?" },
  { "set z.gain 3", STATUS_NOT_FOUND, "e:1:5: no node \"z\"" },
  { "set a.gain", STATUS_BAD_RACK, "e:1:11: unexpected end; a value comes here" },
  { "set a.gain = 3", STATUS_BAD_RACK, "e:1:12: unexpected \"=\"" },
  { "set a gain 3", STATUS_BAD_RACK, "e:1:5: unexpected \"a\"; write: set NODE.PARAM VALUE" },
  { "set a.gain 3 4", STATUS_BAD_RACK, "e:1:14: unexpected \"4\"; a statement ends with its line" },
  { "set a.gain 3\nset a.gian 4", STATUS_NOT_FOUND, "e:2:7: gain has no parameter \"gian\"" },
  { "remove b\nremove b", STATUS_NOT_FOUND, "e:2:8: no node \"b\"" },
  { "disconnect b c\nconnect c b\nconnect a c\nconnect b c", STATUS_BAD_RACK,
    "e:4:9: signal would go in a circle: b > c > b" },
  { "insert x gain", STATUS_BAD_RACK, "write: insert NAME EFFECT before|after END" },
  { "insert x gain between a", STATUS_BAD_RACK, "e:1:15: \"between\" is neither before nor after" },
  { "insert x gain before z", STATUS_NOT_FOUND, "e:1:22: no node \"z\"" },
  { "insert a gain before b", STATUS_EXISTS, "e:1:8: the name \"a\" is taken" },
  { "insert x gain before x", STATUS_BAD_RACK, "\"x\" cannot feed itself" },
  { "insert x gain before in", STATUS_BAD_RACK, "nothing goes to it" },
  { "insert x gain after out", STATUS_BAD_RACK, "nothing comes from it" },
  { "insert x gain before out:2", STATUS_NOT_FOUND, "e:1:22: no connection to out:2" },
  { "insert x gain after a:1", STATUS_NOT_FOUND, "no connection from a:1" },
  { "insert x gain before b gian=3", STATUS_NOT_FOUND, "e:1:24: gain has no parameter" },
  { "rename a", STATUS_BAD_RACK, "write: rename NODE NAME" },
  { "rename z y", STATUS_NOT_FOUND, "e:1:8: no node \"z\"" },
  { "rename a b", STATUS_EXISTS, "e:1:10: the name \"b\" is taken" },
  { "rename a out", STATUS_BAD_RACK, "e:1:10: \"out\" is an end of the rack" },
  { "chain gain | nothing", STATUS_NOT_FOUND, "e:1:14: no effect \"nothing\"" },
  { "", STATUS_BAD_RACK, "e:1:1: unexpected end" },
  { "gain 3", STATUS_BAD_RACK, "\"gain\" is no statement; write: chain gain" },
  { "conect a b", STATUS_BAD_RACK, "no statement \"conect\"; did you mean \"connect\"?" },
};

TEST(a_refused_edit_says_where_and_why_and_leaves_the_rack_as_it_was)
{
  SCOPED_RACK Rack* const rack =
      rack_of("chain a: gain -3 | b: delay 1s note=\"1/8\" | c: convolver hall.wav", NULL);
  SCOPED_RACK Rack* const before = rack_copy(rack);
  Error error;
  for (size_t i = 0; i < ARRAY_LEN(refused); ++i) {
    const Status status = rack_apply(rack, refused[i].statement, "e", &error);
    ck_assert_msg(status == refused[i].status && error.status == status &&
                      strstr(error.text, refused[i].message),
                  "\"%s\" gives %s (%s)", refused[i].statement, status ? error.text : "nothing",
                  status_text(status));
    ck_assert(rack_equal(rack, before) && rack->next_uid == before->next_uid);
  }
  ck_assert_int_eq(rack_connect(rack, "c", "a", 0.0, &error), STATUS_BAD_RACK);
  assert_says(error.text, "a > b > c > a");
  ck_assert(rack_equal(rack, before));
  ck_assert_int_eq(rack_connect(rack, "a", "c", 99.0, &error), STATUS_BAD_RACK);
  ck_assert(rack_equal(rack, before));
}

TEST(a_statement_edits_a_rack_that_is_there)
{
  SCOPED_RACK Rack* const rack = rack_of("chain a: gain", NULL);
  const char* const statements[] = { "add b delay 10frames", "connect a b gain=-6dB",
                                     "connect b out", "disconnect a out", "set b.feedback 50%" };
  for (size_t i = 0; i < ARRAY_LEN(statements); ++i) {
    OK(rack_apply(rack, statements[i], "e", &error));
  }
  check_text(rack, "add a gain\nadd b delay time=10frames feedback=0.5\n"
                   "connect in a\nconnect a b gain=-6dB\nconnect b out\n");
  OK(rack_apply(rack, "chain in:2 | gain | out:2", "e", &error));
  ck_assert_uint_eq(rack->n_nodes, 3);
  ck_assert_uint_eq(rack->n_edges, 5);
}

TEST(several_statements_are_one_edit_and_each_sees_the_ones_before)
{
  SCOPED_RACK Rack* const rack = rack_of("chain a: gain", NULL);
  OK(rack_apply(rack, "\n# then\nadd b gain\nconnect a b\n\ndisconnect a out\nconnect b out", "e",
                &error));
  check_text(rack, "add a gain\nadd b gain\nconnect in a\nconnect a b\nconnect b out\n");
  OK(rack_apply(rack, "remove a\nremove b\nchain c: gain", "e", &error));
  check_text(rack, "add c gain\nconnect in c\nconnect c out\n"); // the rack was empty by then
  Error error;
  ck_assert_int_eq(rack_apply(rack, "# nothing\n\n", "e", &error), STATUS_BAD_RACK);
}

/// Racks, the node to remove, and the expected rack.
static const struct {
  const char* rack;
  const char* removed;
  const char* left;
} removals[] = {
  // A chain is joined, also at its ends; gains are added.
  { "a: gain | b: gain | c: gain", "b",
    "add a gain\nadd c gain\nconnect in a\nconnect a c\nconnect c out\n" },
  { "a: gain", "a", "connect in out\n" },
  { "chain a: gain\nconnect in a gain=-6dB\nconnect a out gain=2dB", "a",
    "connect in out gain=-4dB\n" },
  { "chain a: gain\nconnect in a gain=-90dB\nconnect a out gain=-90dB", "a",
    "connect in out gain=-120dB\n" },
  { "chain a: gain\nconnect in a gain=30dB\nconnect a out gain=30dB", "a",
    "connect in out gain=40dB\n" },
  // A branch beside others is removed without a replacement.
  { "a: gain | (b: gain + c: gain) | d: gain", "b",
    "add a gain\nadd c gain\nadd d gain\nconnect in a\nconnect a c\nconnect c d\nconnect d out\n" },
  { "a: gain | (b: gain | x: gain | y: gain) + c: gain", "x",
    "add a gain\nadd b gain\nadd y gain\nadd c gain\nconnect in a\nconnect a b\nconnect b y\n"
    "connect a c\nconnect y out\nconnect c out\n" },
  { "chain a: gain\nconnect in out", "a", "connect in out\n" },
  { "chain b: gain | c: gain\nadd a gain\nconnect in a\nconnect a out", "a",
    "add b gain\nadd c gain\nconnect in b\nconnect b c\nconnect c out\n" },
  // With several inputs or outputs, nothing is joined.
  { "(a: gain + b: gain) | c: gain", "c", "add a gain\nadd b gain\nconnect in a\nconnect in b\n" },
  { "c: gain | (a: gain + b: gain)", "c",
    "add a gain\nadd b gain\nconnect a out\nconnect b out\n" },
  { "add a gain\nconnect in a", "a", "disconnect in out\n" },
  // Channels: only those that passed through the node are joined.
  { "add a gain\nconnect in:3-4 a\nconnect a out:1-2", "a", "connect in:3-4 out:1-2\n" },
  { "add a gain\nconnect in:1 a\nconnect a out", "a", "connect in:1 out\n" },
  { "add a gain\nconnect in a\nconnect a:2 out:1", "a", "connect in:2 out:1\n" },
  { "add a gain\nconnect in:5-8 a\nconnect a:2-3 out", "a", "connect in:6-7 out:1-2\n" },
  { "add a gain\nconnect in:1-2 a:3-4\nconnect a:4-9 out:11-16", "a", "connect in:2 out:11\n" },
  { "add a gain\nconnect in:1 a:1-4\nconnect a:3-4 out:1-2", "a", "connect in:1 out:1-2\n" },
  { "add a gain\nconnect in a\nconnect a:2 out:3-4", "a", "connect in:2 out:3-4\n" },
  { "add a gain\nconnect in a:1\nconnect a:2 out", "a", "disconnect in out\n" },
  { "add a gain\nconnect in a\nconnect a:1000-1024 out:1000-1024", "a",
    "connect in:1000-1024 out:1000-1024\n" },
  // Nodes in parallel on different channels do not bypass each other.
  { "add a gain\nadd b gain\nconnect in:1 a\nconnect a out:1\nconnect in:2 b\nconnect b out:2", "a",
    "add b gain\nconnect in:1 out:1\nconnect in:2 b\nconnect b out:2\n" },
  { "add a gain\nadd b gain\nconnect in a\nconnect a out:1-2\nconnect in:2 b\nconnect b out:2", "a",
    "add b gain\nconnect in:2 b\nconnect b out:2\n" },
};

TEST(removing_a_node_joins_a_chain_and_takes_a_branch_away)
{
  for (size_t i = 0; i < ARRAY_LEN(removals); ++i) {
    SCOPED_RACK Rack* const rack = rack_of(removals[i].rack, NULL);
    OK(rack_remove(rack, removals[i].removed, &error));
    SCOPED_MEMORY char* const left = rack_print(rack);
    ck_assert_msg(!strcmp(left, removals[i].left), "%s\nwithout %s:\n%s", removals[i].rack,
                  removals[i].removed, left);
  }
}

/// Racks, an insertion, and the expected connections.
static const struct {
  const char* rack;
  const char* statement;
  const char* connections;
} insertions[] = {
  { "a: gain | b: gain", "insert x gain before b", "in a, a x, b out, x b" },
  { "a: gain | b: gain", "insert x gain after b", "in a, a b, x out, b x" },
  { "", "insert x gain after in", "x out, in x" },
  { "", "insert x gain before out", "in x, x out" },
  // All connections lead through the new node, with their gains and channels.
  { "chain (a: gain + b: gain) | c: gain\nconnect a c gain=-6dB", "insert x gain before c",
    "in a, in b, a x gain=-6dB, b x, c out, x c" },
  { "a: gain | (b: gain + c: gain)", "insert x gain after a", "in a, x b, x c, b out, c out, a x" },
  { "add a gain\nadd b gain\nconnect in a\nconnect in b\nconnect a out:1-2\nconnect b out:3-4",
    "insert x gain before out", "in a, in b, a x:1-2, b x:3-4, x out" },
  // At an end with channels, only connections of exactly these channels.
  { "add a gain\nadd b gain\nconnect in a\nconnect in b\nconnect a out:1-2\nconnect b out:3-4",
    "insert x gain before out:3-4", "in a, in b, a out:1-2, b x, x out:3-4" },
  { "chain in:2 | a: gain | out:1", "insert x gain after in:2", "x a, a out:1, in:2 x" },
};

TEST(a_node_is_inserted_into_the_connections_of_an_end)
{
  for (size_t i = 0; i < ARRAY_LEN(insertions); ++i) {
    SCOPED_RACK Rack* const rack = rack_of(insertions[i].rack, NULL);
    OK(rack_apply(rack, insertions[i].statement, "e", &error));
    OK(rack_check(rack, &error));
    char expected[256] = "connect ";
    for (const char* at = insertions[i].connections; *at; ++at) {
      const size_t n = strlen(expected);
      snprintf(expected + n, sizeof(expected) - n, *at == ',' ? "\nconnect" : "%c", *at);
    }
    strcat(expected, "\n");
    SCOPED_MEMORY char* const text = rack_print(rack);
    ck_assert_msg(!strcmp(strstr(text, "connect"), expected), "%s\n%s", insertions[i].statement,
                  text);
  }
}

TEST(an_inserted_node_takes_values_and_is_inserted_as_osc_does_it)
{
  Rack* const a =
      rack_of("chain g: gain\ninsert x delay before g 250ms feedback=20%\nchain gain", NULL);
  check_text(a, "add g gain\nadd x delay time=250ms feedback=0.2\nadd gain gain\nconnect in x\n"
                "connect g out\nconnect x g\nconnect in gain\nconnect gain out\n");
  rack_free(a);
  SCOPED_RACK Rack* const b = rack_new();
  OK(rack_insert(b, "x", "gain", "before", "out", &error));
  check_text(b, "add x gain\nconnect in x\nconnect x out\n");
  SCOPED_RACK Rack* const before = rack_copy(b);
  Error error;
  ck_assert_int_eq(rack_insert(b, "y", "gain", "before", "out:2", &error), STATUS_NOT_FOUND);
  ck_assert_int_eq(rack_insert(b, "y", "gain", "at", "out", &error), STATUS_BAD_RACK);
  ck_assert_int_eq(rack_insert(b, "y", "gain", "after", "z", &error), STATUS_NOT_FOUND);
  ck_assert(rack_equal(b, before));
}

TEST(a_renamed_node_keeps_its_uid_its_place_and_its_connections)
{
  SCOPED_RACK Rack* const rack = rack_of("a: gain 3 | b: gain | c: gain", NULL);
  const RackUid uid = uid_of(rack, "a");
  OK(rack_rename(rack, "a", "first", &error));
  check_text(rack, "add first gain gain=3dB\nadd b gain\nadd c gain\n"
                   "connect in first\nconnect first b\nconnect b c\nconnect c out\n");
  ck_assert_uint_eq(uid_of(rack, "first"), uid);
  ck_assert_ptr_null(rack_find(rack, "a"));
  OK(rack_rename(rack, "first", "first", &error));
  OK(rack_apply(rack, "rename b x\nrename c b\nrename x c", "e", &error));
  check_text(rack, "add first gain gain=3dB\nadd c gain\nadd b gain\n"
                   "connect in first\nconnect first c\nconnect c b\nconnect b out\n");
}

TEST(a_chain_takes_the_place_of_the_empty_racks_connection_and_an_added_node_does_not)
{
  Rack* rack = rack_new();
  OK(rack_apply(rack, "chain gain", "e", &error));
  check_text(rack, "add gain gain\nconnect in gain\nconnect gain out\n");
  rack_free(rack);
  rack = rack_new();
  OK(rack_apply(rack, "add gain gain", "e", &error));
  check_text(rack, "add gain gain\nconnect in out\n"); // audio continues while a rack is built
  rack_free(rack);
}

TEST(nodes_keep_their_uid_while_name_and_effect_stay)
{
  SCOPED_RACK Rack* const first = rack_of("chain a: gain | b: delay | c: gain", NULL);
  const RackUid a = uid_of(first, "a");
  const RackUid b = uid_of(first, "b");
  const RackUid c = uid_of(first, "c");
  ck_assert(a >= RACK_UID_FIRST && a != b && b != c && a != c);

  SCOPED_RACK Rack* const second =
      rack_of("chain c: gain -3 | b: gain | a: gain 6 | d: gain", first);
  ck_assert_uint_eq(uid_of(second, "a"), a);
  ck_assert_uint_eq(uid_of(second, "c"), c);
  ck_assert_uint_ge(uid_of(second, "b"), first->next_uid); // another effect: another node
  ck_assert_uint_ge(uid_of(second, "d"), first->next_uid);
  ck_assert_uint_ne(uid_of(second, "d"), uid_of(second, "b"));
  ck_assert_ptr_eq(rack_find_uid(second, a), rack_find(second, "a"));
  ck_assert_ptr_null(rack_find_uid(second, b));
  ck_assert_ptr_null(rack_find_uid(second, RACK_UID_IN));

  SCOPED_RACK Rack* const third = rack_copy(second);
  OK(rack_remove(third, "a", &error));
  OK(rack_add(third, "a", "gain", &error));
  ck_assert_uint_ge(uid_of(third, "a"), second->next_uid); // removed and added: another node
  OK(rack_apply(third, "set c.gain 1", "e", &error));
  ck_assert_uint_eq(uid_of(third, "c"), c);
}

TEST(racks_are_equal_whatever_their_order_and_uids)
{
  SCOPED_RACK Rack* const a =
      rack_of("add x gain 3\nadd y delay\nconnect in x\nconnect x y\nconnect y:1 out", NULL);
  const struct {
    const char* text;
    bool equal;
  } others[] = {
    { "add y delay 500ms\nadd x gain 3dB\nconnect y:1-1 out gain=0\nconnect x y\nconnect in x",
      true },
    { "add x gain 3.5\nadd y delay\nconnect in x\nconnect x y\nconnect y:1 out", false },
    { "add x gain 3\nadd y delay\nconnect in x\nconnect x y\nconnect y:1 out\nlate auto", false },
    { "add x gain 3\nadd y delay 500frames\nconnect in x\nconnect x y\nconnect y:1 out", false },
    { "add x gain 3\nadd y delay note=1/8\nconnect in x\nconnect x y\nconnect y:1 out", false },
    { "add x gain 3 backend=cpu\nadd y delay\nconnect in x\nconnect x y\nconnect y:1 out", false },
    { "add x gain 3\nadd y gain\nconnect in x\nconnect x y\nconnect y:1 out", false },
    { "add x gain 3\nadd z delay\nconnect in x\nconnect x z\nconnect z:1 out", false },
    { "add x gain 3\nadd y delay\nconnect in x\nconnect x y\nconnect y:2 out", false },
    { "add x gain 3\nadd y delay\nconnect in x\nconnect x y\nconnect y:1 out gain=1", false },
    { "add x gain 3\nadd y delay\nconnect in x\nconnect x y", false },
    { "add x gain 3\nadd y delay\nadd z gain\nconnect in x\nconnect x y\nconnect y:1 out", false },
  };
  for (size_t i = 0; i < ARRAY_LEN(others); ++i) {
    SCOPED_RACK Rack* const b = rack_of(others[i].text, NULL);
    ck_assert_msg(rack_equal(a, b) == others[i].equal && rack_equal(b, a) == others[i].equal, "%s",
                  others[i].text);
  }
}

TEST(a_copy_is_equal_and_independent)
{
  Rack* const rack = rack_of("chain convolver hall.wav | delay\nlate out:2 -20dB", NULL);
  SCOPED_RACK Rack* const copy = rack_copy(rack);
  ck_assert(rack_equal(rack, copy));
  ck_assert_uint_eq(uid_of(rack, "delay"), uid_of(copy, "delay"));
  OK(set_text_by_name(copy, "convolver", "ir", "room.wav", &error));
  OK(rack_remove(copy, "delay", &error));
  OK(rack_late(copy, "out", "dry", &error));
  ck_assert(rack_find_fallback(rack, 2)->level_db == -20.0 && !rack_find_fallback(rack, 1));
  ck_assert(rack_find_fallback(copy, 1)->level_db == 0.0);
  ck_assert_str_eq(rack_text(rack_find(rack, "convolver"), 0), "hall.wav");
  ck_assert_ptr_nonnull(rack_find(rack, "delay"));
  rack_free(rack);
  ck_assert_str_eq(rack_text(rack_find(copy, "convolver"), 0), "room.wav");
}

TEST(a_rack_that_differs_only_in_values_is_recognised)
{
  static const struct {
    const char* edit;
    bool only_values;
  } edits[] = { { "set gain.gain -6dB", true },     { "set delay.time 2ms", true },
                { "rename gain other", true },      { "set convolver.ir b.wav", false },
                { "add more gain", false },         { "remove gain", false },
                { "disconnect gain delay", false }, { "connect gain out gain=-3dB", false },
                { "late out silence", false } };
  for (size_t i = 0; i < ARRAY_LEN(edits); ++i) {
    SCOPED_RACK Rack* const rack = rack_of("chain gain | delay 1ms | convolver a.wav", NULL);
    SCOPED_RACK Rack* const edited = rack_copy(rack);
    ck_assert(rack_differs_in_values(rack, edited));
    OK(rack_apply(edited, edits[i].edit, "edit", &error));
    ck_assert_msg(rack_differs_in_values(rack, edited) == edits[i].only_values, "%s",
                  edits[i].edit);
  }
}

TEST(connections_that_dangle_are_found)
{
  const RackEdge wrong[] = {
    { .from = { 999, 0, 0 }, .to = { RACK_UID_OUT, 0, 0 } },
    { .from = { RACK_UID_IN, 0, 0 }, .to = { 999, 0, 0 } },
    { .from = { RACK_UID_OUT, 0, 0 }, .to = { RACK_UID_OUT, 0, 0 } },
    { .from = { RACK_UID_IN, 0, 0 }, .to = { RACK_UID_IN, 0, 0 } },
    { .from = { RACK_UID_IN, 3, 2 }, .to = { RACK_UID_OUT, 0, 0 } },
    { .from = { RACK_UID_IN, 0, 0 }, .to = { RACK_UID_OUT, 1, FX_MAX_CHANNELS + 1U } },
  };
  for (size_t i = 0; i < ARRAY_LEN(wrong); ++i) {
    SCOPED_RACK Rack* const rack = rack_new();
    OK(rack_check(rack, &error));
    rack->edges[0] = wrong[i];
    Error error;
    ck_assert_int_eq(rack_check(rack, &error), STATUS_BAD_RACK);
    assert_says(error.text, "dangles");
  }
}

TEST(the_number_of_nodes_is_bounded)
{
  SCOPED_RACK Rack* const rack = rack_new();
  char name[32];
  for (uint32_t n = 0; n < RACK_MAX_NODES; ++n) {
    snprintf(name, sizeof(name), "n%u", n);
    OK(rack_add(rack, name, "through", &error));
  }
  Error error;
  ck_assert_int_eq(rack_add(rack, "more", "through", &error), STATUS_LIMIT);
  ck_assert_uint_eq(rack->n_nodes, RACK_MAX_NODES);
  for (uint32_t n = 0; n < RACK_MAX_NODES; n += 2U) {
    snprintf(name, sizeof(name), "n%u", n);
    ck_assert_int_eq(rack_remove(rack, name, &error), STATUS_OK);
    ck_assert_ptr_null(rack_find(rack, name));
  }
  for (uint32_t n = 1; n < RACK_MAX_NODES; n += 2U) {
    snprintf(name, sizeof(name), "n%u", n);
    const RackNode* const node = rack_find(rack, name);
    ck_assert_ptr_nonnull(node);
    ck_assert_str_eq(node->name, name);
    ck_assert_ptr_eq(rack_find_uid(rack, node->uid), node);
  }
}

SUITE_MAIN("rack")
