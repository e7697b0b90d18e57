// SPDX-License-Identifier: GPL-3.0-or-later
// The automatic connections choose ports of other clients, whenever these appear; a place stays
// with the port that was chosen for it.

#include "io/jack_places.h"
#include "tests/support/played_jack.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static jack_port_t* own[4]; // in_1, in_2, out_1, out_2
static JackConnections connections;
static JackPlaces places;

#define SOURCE (JackPortIsOutput | JackPortIsPhysical)
#define SINK   (JackPortIsInput | JackPortIsPhysical)

static void
begin(const char* const pattern)
{
  play_jack("rack");
  own[0] = add_port("rack:in_1", JackPortIsInput);
  own[1] = add_port("rack:in_2", JackPortIsInput);
  own[2] = add_port("rack:out_1", JackPortIsOutput);
  own[3] = add_port("rack:out_2", JackPortIsOutput);
  connections = (JackConnections){ NULL, 0 };
  OK(jack_places_init(&places, pattern, 2, 2, &error));
}

static void
end(void)
{
  jack_connections_clear(&connections);
  jack_places_clear(&places);
}

static uint32_t
fill(void)
{
  return jack_places_fill(&places, &connections, NULL, own);
}

/// The partners of in_1, in_2, out_1 and out_2, "" for none, each followed by a space.
static const char*
partners(void)
{
  static char text[256];
  text[0] = '\0';
  for (unsigned p = 0; p < 4U; ++p) {
    const size_t used = strlen(text);
    snprintf(text + used, sizeof(text) - used, "%s ",
             places.partners[p] ? places.partners[p] : "-");
  }
  return text;
}

TEST(ports_of_a_device_are_taken_in_order)
{
  begin(NULL);
  add_port("system:capture_1", SOURCE);
  add_port("system:capture_2", SOURCE);
  add_port("system:playback_1", SINK);
  add_port("system:playback_2", SINK);
  add_port("system:playback_3", SINK);
  add_port("peer:in", JackPortIsInput);
  ck_assert_uint_eq(fill(), 4);
  ck_assert_str_eq(partners(),
                   "system:capture_1 system:capture_2 system:playback_1 system:playback_2 ");
  ck_assert_uint_eq(places.n_open, 0);
  ck_assert_uint_eq(jack_connections_restore(&connections, NULL), 4);
  ck_assert(has_wire("system:capture_2", "rack:in_2"));
  ck_assert(has_wire("rack:out_1", "system:playback_1"));
  end();
}

TEST(a_device_that_comes_later_is_taken_and_a_second_one_is_not)
{
  begin(NULL);
  ck_assert_uint_eq(fill(), 0);
  add_port("card:playback_1", SINK);
  ck_assert_uint_eq(fill(), 1);
  add_port("screen:playback_1", SINK);
  ck_assert_uint_eq(fill(), 0); // half a rack on each of two devices is worse than half a rack
  add_port("card:playback_2", SINK);
  ck_assert_uint_eq(fill(), 1);
  ck_assert_str_eq(partners(), "- - card:playback_1 card:playback_2 ");
  add_port("webcam:capture_1", SOURCE); // it becomes the first choice for inputs
  ck_assert_uint_eq(fill(), 1);
  ck_assert_str_eq(partners(), "webcam:capture_1 - card:playback_1 card:playback_2 ");
  end();
}

TEST(a_place_stays_its_ports_when_that_is_away)
{
  begin(NULL);
  jack_port_t* const card = add_port("card:playback_1", SINK);
  ck_assert_uint_eq(fill(), 1);
  remove_port(card);
  add_port("screen:playback_1", SINK);
  ck_assert_uint_eq(fill(), 0);
  add_port("card:playback_1", SINK);
  ck_assert_uint_eq(fill(), 0); // the other place does not accept the same port
  ck_assert_str_eq(partners(), "- - card:playback_1 - ");
  end();
}

TEST(a_pattern_chooses_among_all_ports_by_part_of_the_name)
{
  begin("2i2 (USB)"); // as a pattern, not a valid regular expression
  add_port("system:playback_1", SINK);
  add_port("2i2 (USB):playback_1", SINK);
  add_port("2i2 (USB):capture_1", SOURCE);
  ck_assert_uint_eq(fill(), 2);
  ck_assert_str_eq(partners(), "2i2 (USB):capture_1 - 2i2 (USB):playback_1 - ");
  end();
}

TEST(a_pattern_chooses_by_regular_expression)
{
  begin("^player:out|hall:in_[13]$");
  add_port("hall:in_1", JackPortIsInput);
  add_port("hall:in_2", JackPortIsInput);
  add_port("hall:in_3", JackPortIsInput);
  add_port("player:out_l", JackPortIsOutput);
  add_port("other player:out_l", JackPortIsOutput);
  add_port("player:midi", JackPortIsOutput)->type = JACK_DEFAULT_MIDI_TYPE;
  ck_assert_uint_eq(fill(), 3);
  ck_assert_str_eq(partners(), "player:out_l - hall:in_1 hall:in_3 ");
  end();
}

TEST(a_port_fed_by_the_outputs_is_no_input)
{
  begin("^speakers|^card|^rack");
  add_port("speakers:playback_FL", SINK);
  add_port("speakers:monitor_FL", JackPortIsOutput); // returns
  add_port("card:playback_1", SINK);
  add_port("card:capture_1", SOURCE); // the two halves of a device are not one signal
  ck_assert_uint_eq(fill(), 3);
  ck_assert_str_eq(partners(), "card:capture_1 - speakers:playback_FL card:playback_1 ");
  end();
}

TEST(a_monitor_that_is_asked_for_is_an_input)
{
  begin("speakers:monitor|card:playback");
  add_port("speakers:playback_FL", SINK);
  add_port("speakers:monitor_FL", JackPortIsOutput);
  add_port("card:playback_1", SINK);
  ck_assert_uint_eq(fill(), 2);
  ck_assert_str_eq(partners(), "speakers:monitor_FL - card:playback_1 - ");
  end();
}

TEST(an_invalid_pattern_is_refused)
{
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(jack_places_init(&places, "a(b", 1, 1, &error), STATUS_BAD_ARG);
  assert_says(error.text, "'a(b' is no regular expression");
  jack_places_clear(&places);
}

TEST(without_ports_the_server_is_not_asked)
{
  begin(NULL);
  jack_places_clear(&places);
  OK(jack_places_init(&places, NULL, 0, 0, &error));
  add_port("card:playback_1", SINK);
  ck_assert_uint_eq(fill(), 0);
  end();
}

TEST(a_graph_that_is_gone_fills_nothing)
{
  begin(NULL);
  add_port("card:playback_1", SINK);
  graph_is_gone = true;
  ck_assert_uint_eq(fill(), 0);
  graph_is_gone = false;
  ck_assert_uint_eq(fill(), 1);
  end();
}

SUITE_MAIN("jack_places")
