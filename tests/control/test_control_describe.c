// SPDX-License-Identifier: GPL-3.0-or-later
// Controllers set and read positions from 0 to 1, get a description of each address, and see what
// became of the last messages.

#include "tests/support/control_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(positions_set_and_read_parameters_by_their_tapers)
{
  client_ask(rig.client, "/done /norm/lowcut/frequency", "/norm/lowcut/frequency", "f", 0.5);
  client_ask(rig.client, "/node/lowcut/frequency 447.214", "/node/lowcut/frequency", "");
  client_ask(rig.client, "/norm/lowcut/frequency 0.5", "/norm/lowcut/frequency", "");
  client_ask(rig.client, "/done /norm/lowcut/type", "/norm/lowcut/type", "f", 0.5);
  client_ask(rig.client, "/node/lowcut/type chebyshev1", "/node/lowcut/type", "");
  client_ask(rig.client, "/done /norm/lowcut/order 1 640", "/norm/lowcut/order", "f", 0.999);
  control_rig_expect_rack("order=16 type=chebyshev1");
  client_ask(rig.client, "/done*", "/rack/chain", "s", "a1: gain | a2: gain | b1: gain");
  client_ask(rig.client, "/done /norm/a?/gain", "/norm/a?/gain", "f", 0.25);
  client_ask(rig.client, "/node/a2/gain -80", "/node/a2/gain", "");
  client_send(rig.client, "/norm/{a2,b1}/gain", "");
  client_expect(rig.client, "/norm/a2/gain 0.25");
  client_expect(rig.client, "/norm/b1/gain 0.75");
}

TEST(positions_are_clipped)
{
  client_ask(rig.client, "/done /norm/vol/gain", "/norm/vol/gain", "f", 1.5);
  client_ask(rig.client, "/node/vol/gain 40", "/node/vol/gain", "");
  client_ask(rig.client, "/done /norm/vol/gain", "/norm/vol/gain", "i", -3);
  client_ask(rig.client, "/node/vol/gain -120", "/node/vol/gain", "");
  client_ask(rig.client, "/done /norm/vol/gain", "/norm/vol/gain", "f", (double)INFINITY);
  client_ask(rig.client, "/norm/vol/gain 1", "/norm/vol/gain", "");
  client_ask(rig.client, "/fail /norm/vol/gain 1 vol.gain: not a number", "/norm/vol/gain", "f",
             (double)NAN);
  client_ask(rig.client, "/norm/vol/gain 1", "/norm/vol/gain", "");
}

TEST(only_numbers_have_positions)
{
  client_ask(rig.client, "/done*", "/rack/chain", "s", "d: delay");
  client_ask(rig.client,
             "/fail /norm/d/note 1 d.note is a text, which has no position from 0 to 1*",
             "/norm/d/note", "f", 0.5);
  client_ask(rig.client, "/fail /norm/d/note 1 d.note is a text*", "/norm/d/note", "");
  client_ask(rig.client, "/done /norm/d/*", "/norm/d/*", "f", 0.0); // all but `note`
  client_ask(rig.client, "/node/d/note 1/4", "/node/d/note", "");
  client_send(rig.client, "/norm/d/*", "");
  client_expect(rig.client, "/norm/d/time 0");
  client_expect(rig.client, "/norm/d/feedback 0");
  client_expect(rig.client, "/norm/d/pingpong 0");
  client_ask(rig.client, "/fail /norm/d/backend 3 d (delay) has no parameter \"backend\"*",
             "/norm/d/backend", "f", 0.5);
  client_ask(rig.client, "/fail /norm/d 3 positions are addressed as /norm/<node>/<param>",
             "/norm/d", "f", 0.5);
  client_ask(rig.client, "/fail /norm/d/time 1 takes position [seconds] (n[n]), not \"s\"*",
             "/norm/d/time", "s", "1s");
  client_expect_nothing(rig.client);
}

TEST(subscribers_get_the_value_of_a_position)
{
  client_ask(rig.other, "/done /server/notify", "/server/notify", "i", 1);
  client_expect(rig.other, "/node/lowcut/frequency 80"); // the present values come first
  client_expect(rig.other, "/node/lowcut/order 2");
  client_expect(rig.other, "/node/lowcut/type butterworth");
  client_expect(rig.other, "/node/vol/gain -6");
  client_ask(rig.client, "/done /norm/vol/gain", "/norm/vol/gain", "f", 0.5);
  client_expect(rig.other, "/node/vol/gain -40");
}

TEST(subscribers_that_use_positions_get_them_beside_values)
{
  client_ask(rig.other, "/done /server/notify", "/server/notify", "i", 1);
  client_expect(rig.other, "/node/lowcut/frequency 80");
  client_expect(rig.other, "/node/lowcut/order 2");
  client_expect(rig.other, "/node/lowcut/type butterworth");
  client_expect(rig.other, "/node/vol/gain -6");
  client_ask(rig.other, "/norm/vol/gain 0.7125", "/norm/vol/gain", "");
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "f", -40.0);
  client_expect(rig.other, "/node/vol/gain -40");
  client_expect(rig.other, "/norm/vol/gain 0.5");
  client_ask(rig.other, "/done /norm/vol/gain", "/norm/vol/gain", "f", 0.75);
  client_expect_nothing(rig.other); // its own change
  client_ask(rig.client, "/done*", "/rack/chain", "s", "d: delay");
  client_expect(rig.other, "/rack/changed 1");
  client_expect(rig.other, "/node/d/time 500");
  client_expect(rig.other, "/norm/d/time 0.0998*");
  client_expect(rig.other, "/node/d/feedback 0");
  client_expect(rig.other, "/norm/d/feedback 0.5");
  client_expect(rig.other, "/node/d/pingpong 0");
  client_expect(rig.other, "/norm/d/pingpong 0");
  client_expect(rig.other, "/node/d/note 1/4"); // a text has no position
  client_expect_nothing(rig.other);
}

// ---- descriptions of addresses ----

TEST(a_description_has_a_line_per_parameter_with_its_range_and_value)
{
  client_ask(rig.client,
             "/server/describe /node/vol/gain\tnumber\tf\tdB\t-120\t40\t0\tlinear\tvalue\t-6"
             "\tA number\n 1 1",
             "/server/describe", "s", "/node/vol/*");
  client_ask(rig.client,
             "/server/describe "
             "/node/lowcut/frequency\tnumber\tf\tHz\t10\t20000\t1000\tlog\tvalue\t80\tA number\n"
             "/node/lowcut/order\tinteger\ti\t\t1\t16\t2\tlinear\tedit\t2\tA whole number\n"
             "/node/lowcut/type\tchoice\ts\t\t\t\tbutterworth\t\tvalue\tbutterworth\tA choice"
             "\tbutterworth\t0\tchebyshev1\t1\telliptic\t2\n 1 1",
             "/server/describe", "is", 1, "/no?e/low*/*");
  client_ask(rig.client, "/done*", "/rack/chain", "s", "d: delay 100frames note=\"1\t4\"");
  client_ask(rig.client,
             "/server/describe "
             "/node/d/pingpong\tswitch\ti\t\t0\t1\t0\t\tvalue\t0\tA switch\n"
             "/node/d/note\ttext\ts\t\t\t\t1/4\t\tedit\t1 4\tA text with a default\n 1 1",
             "/server/describe", "s", "/node/d/{note,pingpong}");
  client_ask(rig.client,
             "/server/describe /node/d/time\tnumber\tf\tms\t1\t5000\t500\tlinear\tvalue"
             "\t2.083333333\tA number\n 1 1",
             "/server/describe", "ss", "/node/d/time", "/node/d/t*");
}

TEST(a_description_has_a_line_per_command)
{
  client_ask(
      rig.client,
      "/server/describe /server/ping\tcommand\t\t\tAnswer, to show that the server runs\n 1 1",
      "/server/describe", "s", "/server/ping");
  client_ask(rig.client,
             "/server/describe /rack/add\tcommand\tss[sv]...\tname effect [param value]...\tAdd a "
             "node\n/server/sync\tcommand\ti\tnumber\tAnswer when all edits before it are "
             "audible\n 1 1",
             "/server/describe", "ss", "/server/sync", "/rack/a*");
  client_ask(rig.client, "/server/describe /rack/add\tcommand*", "/server/describe", "");
}

TEST(descriptions_of_nothing_or_too_much_are_refused)
{
  static const char* const none[] = {
    "/node/x/*",   "node",         "", "/", "/node/vol", "/node/vol/gain/x", "/a/b/c/d/e/f",
    "/node/vol/[", "/node/vol/{ga"
  };
  for (uint32_t i = 0; i < ARRAY_LEN(none); ++i) {
    char expected[128];
    snprintf(expected, sizeof(expected), "/fail /server/describe 3 no address matches \"%s\"",
             none[i]);
    client_ask(rig.client, expected, "/server/describe", "s", none[i]);
  }
  client_ask(rig.client, "/fail /server/describe 5 at most 16 patterns", "/server/describe",
             "sssssssssssssssss", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "",
             "");
  SCOPED_MEMORY char* const chain = calloc(1200, 8);
  for (uint32_t n = 0; n < 1100U; ++n) {
    strcat(chain, n ? "| gain " : "gain ");
  }
  client_ask(rig.client, "/done*", "/rack/chain", "s", chain);
  client_ask(rig.client,
             "/fail /server/describe 5 more than 1024 addresses; describe some of them*",
             "/server/describe", "s", "/node/*/gain");
  client_ask(rig.client, "/fail /server/describe 1 the text has parts 1 to 2", "/server/describe",
             "is", 3, "/node/gain1?*/gain");
  client_ask(rig.client, "/server/describe *", "/server/describe", "is", 2, "/node/gain1?*/gain");
  client_expect_nothing(rig.client);
}

// ---- the last messages ----

/// The line of /server/watch with this text; NULL if there is none.
static const char*
find_line(const char* const text)
{
  client_send(rig.other, "/server/watch", "i", 1);
  return strstr(client_receive(rig.other), text);
}

TEST(the_last_messages_show_what_became_of_them)
{
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "f", -3.0);
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "f", -4.0);
  ck_assert(find_line("\tdone\t2\t1\t/node/vol/gain\t\n"));
  client_ask(rig.client, "/fail /node/voll/gain 3 *", "/node/voll/gain", "f", -3.0);
  ck_assert(
      find_line("\tfailed\t1\t1\t/node/voll/gain\tno node \"voll\"; did you mean \"vol\"?\n"));
  client_ask(rig.client, "/fail /server/stats 3 *", "/server/stats", "");
  ck_assert(find_line("\t/server/stats\tno such address; did you mean \"/server/status\"?\n"));
  client_ask(rig.client, "/done /server/ping", "/server/ping", "");
  ck_assert(find_line("\tdone\t1\t1\t/server/ping\t\n"));
  client_ask(rig.client, "/done /rack/clear 1 640", "/rack/clear", "");
  ck_assert(find_line("\tdone\t1\t1\t/rack/clear\t\n"));
  client_send(rig.client, "/server/synced", "i", 1);
  client_send_bytes(rig.client, "/a/\0,\0\0", 8);
  client_expect(rig.client, "/fail  1 packet refused: *");
  ck_assert(find_line("\tignored\t1\t1\t/server/synced\tonly servers send this\n"));
  ck_assert(find_line("\trefused\t1\t1\t/a/\t"));
  ck_assert(!find_line("/server/watch\t")); // its own messages would replace all others
}

TEST(a_bundle_is_shown_once_by_the_message_that_failed)
{
  lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/node/vol/gain", "f", -3.0);
  bundle_add(bundle, "/node/voll/gain", "f", -3.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/fail /node/vol/gain 3 *");
  client_expect(rig.client, "/fail /node/voll/gain 3 *");
  ck_assert(find_line("\tfailed\t1\t2\t/node/voll/gain\tno node"));
  ck_assert(!find_line("/node/vol/gain\t"));
}

SUITE_MAIN_WITH("control_describe", control_rig_start, control_rig_stop)
