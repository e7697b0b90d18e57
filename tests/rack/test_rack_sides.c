// SPDX-License-Identifier: GPL-3.0-or-later
// Side inputs and sources: a connection may end at a side input by its name, in every statement;
// edits of the signal path leave side inputs alone; nothing is connected to a source.

#include "engine/rack/rack_private.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

#define NODES "add k gain\nadd c through\nadd s lv2 synth\n"
#define SYNTH "\"urn:test:synth\""
#define PRINT "add k gain\nadd c through\nadd s lv2 " SYNTH "\n"

static const struct {
  const char *document, *canonical;
} good[] = {
  { NODES "connect k c.sidechain", PRINT "connect k c.sidechain\n" },
  { NODES "connect k:2 c.sidechain:1 gain=-6dB", PRINT "connect k:2 c.sidechain:1 gain=-6dB\n" },
  { NODES "connect in s.low:1-2\nconnect s out", PRINT "connect in s.low:1-2\nconnect s out\n" },
  { NODES "connect k c\nconnect k c.sidechain", PRINT "connect k c\nconnect k c.sidechain\n" },
  { NODES "connect k c.sidechain\nconnect k c.sidechain gain=1dB",
    PRINT "connect k c.sidechain gain=1dB\n" },
  { NODES "connect k c\nconnect k c.sidechain:2\ndisconnect k c.sidechain", PRINT "connect k c\n" },
  { NODES "connect k c\nconnect k c.sidechain\ndisconnect k c", PRINT "connect k c.sidechain\n" },
  { NODES "connect k s.keys\nconnect k s.low\ndisconnect k s.keys", PRINT "connect k s.low\n" },
  { NODES "connect k c.sidechain\nrename c d",
    "add k gain\nadd d through\nadd s lv2 " SYNTH "\nconnect k d.sidechain\n" },
};

TEST(a_connection_ends_at_a_side_input)
{
  for (size_t i = 0; i < ARRAY_LEN(good); ++i) {
    assert_canonical(good[i].document, good[i].canonical);
  }
}

static const struct {
  const char *document, *message;
} bad[] = {
  { NODES "connect k c.key", "t:4:11: \"c\" has no side input \"key\"; it has sidechain" },
  { NODES "connect k s.sidechain",
    "t:4:11: \"s\" has no side input \"sidechain\"; it has keys, low" },
  { NODES "connect c k.sidechain", "t:4:11: \"k\" has no side input \"sidechain\"; it has none" },
  { NODES "connect k c.", "t:4:11: \"c\" has no side input \"\"; it has sidechain" },
  { NODES "connect k c.sidechain:0", "t:4:11: \"0\" are no channels" },
  { NODES "connect k x.sidechain", "t:4:11: no node \"x\"" },
  { NODES "connect in.low c", "t:4:9: only nodes have side inputs" },
  { NODES "connect k out.low", "t:4:11: only nodes have side inputs" },
  { NODES "connect c.sidechain k", "t:4:9: a side input is where a connection ends; connect from" },
  { NODES "disconnect k c.sidechain", "t:4:12: no connection from k to c.sidechain" },
  { NODES "connect c c.sidechain", "t:4:9: \"c\" cannot feed itself" },
  { NODES "connect c k\nconnect k c.sidechain", "t:5:9: signal would go in a circle: k > c > k" },
  { NODES "connect k s", "t:4:9: \"s\" has no audio input; connections can only come from it" },
  { "lv2 synth | gain", "t:1:1: \"synth\" has no audio input" },
  { "chain gain\ninsert x lv2 synth before out", "t:2:27: \"x\" has no audio input to take over" },
  { NODES "connect in c\ninsert x gain before s", "t:5:22: \"s\" has no audio input" },
};

TEST(mistakes_are_reported_with_the_inputs_that_there_are)
{
  for (size_t i = 0; i < ARRAY_LEN(bad); ++i) {
    assert_refused(bad[i].document, bad[i].message);
  }
}

TEST(single_edits_know_side_inputs)
{
  SCOPED_RACK Rack* const rack = rack_of(NODES, NULL);
  OK(rack_connect(rack, "k", "c.sidechain", -3.0, &error));
  ck_assert_uint_eq(rack->n_edges, 1);
  ck_assert_uint_eq(rack->edges[0].to.side, 1);
  ck_assert_int_eq(rack_disconnect(rack, "k", "c", NULL), STATUS_NOT_FOUND);
  OK(rack_disconnect(rack, "k", "c.sidechain", &error));
  ck_assert_uint_eq(rack->n_edges, 0);
}

TEST(racks_with_and_without_a_side_input_differ)
{
  SCOPED_RACK Rack* const side = rack_of(NODES "connect k c.sidechain", NULL);
  SCOPED_RACK Rack* const main = rack_of(NODES "connect k c", side);
  ck_assert(!rack_equal(side, main));
  ck_assert(!rack_differs_in_values(side, main));
  SCOPED_RACK Rack* const copy = rack_copy(side);
  ck_assert(rack_equal(side, copy));
}

/// Racks, a statement, and the connections afterwards.
static const struct {
  const char *rack, *statement, *connections;
} rewired[] = {
  // A node with a side chain is joined as one without.
  { "chain k: gain | c: through | o: gain\nadd h gain\nconnect in h\nconnect h c.sidechain",
    "remove c", "connect in k\nconnect k o\nconnect o out\nconnect in h\n" },
  // Connections to side inputs do not count, on either side and in any order.
  { "chain c: through | d: through\nadd h gain\nconnect in h\nconnect h c.sidechain\n"
    "connect c d.sidechain",
    "remove c", "connect in d\nconnect d out\nconnect in h\n" },
  { "add c gain\nadd d through\nconnect in c\nconnect c d.sidechain\nconnect c d\n"
    "connect d out",
    "remove c", "connect in d\nconnect d out\n" },
  // Two side inputs are two neighbours.
  { "add c gain\nadd s lv2 synth\nconnect in c\nconnect c s.keys\nconnect c s.low\nconnect s out",
    "remove c", "connect s out\n" },
  // A chain to a side input stays one.
  { "chain c: through\nadd h highpass\nconnect in h gain=-2dB\nconnect h c.sidechain:1 gain=1dB",
    "remove h", "connect in c\nconnect c out\nconnect in c.sidechain:1 gain=-1dB\n" },
  // A voice that also controls a node is no branch beside that node.
  { "add v gain\nadd c through\nconnect in:1 v\nconnect v out\nconnect in:2 c\n"
    "connect in:1 c.sidechain\nconnect c out",
    "remove v", "connect in:1 out\nconnect in:2 c\nconnect in:1 c.sidechain\nconnect c out\n" },
  { "chain c: through\nconnect in c.sidechain gain=-1dB", "insert h highpass before c.sidechain",
    "connect in c\nconnect c out\nconnect in h gain=-1dB\nconnect h c.sidechain\n" },
  { "chain c: through\nconnect in c.sidechain", "insert h highpass before c",
    "connect in h\nconnect c out\nconnect in c.sidechain\nconnect h c\n" },
};

TEST(edits_of_the_signal_path_keep_side_inputs_apart)
{
  for (size_t i = 0; i < ARRAY_LEN(rewired); ++i) {
    SCOPED_RACK Rack* const rack = rack_of(rewired[i].rack, NULL);
    OK(rack_apply(rack, rewired[i].statement, "t", &error));
    SCOPED_MEMORY char* const text = rack_print(rack);
    const char* const connections = strstr(text, "connect");
    ck_assert_msg(connections && !strcmp(connections, rewired[i].connections), "%s\n%s:\n%s",
                  rewired[i].rack, rewired[i].statement, text);
  }
}

static void
expect_warnings(const char* const document, const char* const lines)
{
  SCOPED_RACK Rack* const rack = rack_of(document, NULL);
  SCOPED_MEMORY char* const warnings = rack_warnings(rack, 48000.0);
  ck_assert_msg(warnings && !strcmp(warnings, lines), "%s\ngives\n%s", document, warnings);
}

TEST(a_rack_that_a_source_plays_gets_no_warning)
{
  expect_warnings("add s lv2 synth\nconnect s out", "");
  expect_warnings("add s lv2 synth\nadd g gain\nconnect s g\nconnect g out", "");
  expect_warnings("add s lv2 synth\nadd g gain\nconnect in s.low\nconnect g out\nconnect s g", "");
  expect_warnings("add s lv2 synth\nadd g gain\nconnect in g",
                  "nothing reaches out, so the rack is silent; connect a node to out\n");
  expect_warnings("add s lv2 synth\nadd g gain\nconnect g out",
                  "no connections lead from in to out, so the rack is silent\n");
}

SUITE_MAIN("rack_sides")
