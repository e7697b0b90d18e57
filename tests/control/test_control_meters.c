// SPDX-License-Identifier: GPL-3.0-or-later
// Meters: the levels of the rack's ports, read and subscribed.  No peak is lost between two
// messages of a client, whatever the rates of the others.

#include "tests/support/control_rig.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPAN 64U // frames of one fake_engine_sound()

typedef struct Heard {
  double peak[FAKE_CHANNELS], rms[FAKE_CHANNELS]; ///< dB
} Heard;

/// Let one span sound with these peaks; the mean square of each port is that of a square wave 6 dB
/// lower.
static void
sound(const float in_1, const float in_2, const float out_1, const float out_2)
{
  const float peaks[2U * FAKE_CHANNELS] = { in_1, in_2, out_1, out_2 };
  Level of[ARRAY_LEN(peaks)];
  for (uint32_t p = 0; p < ARRAY_LEN(peaks); ++p) {
    of[p] = (Level){ peaks[p], SPAN * 0.25 * (double)peaks[p] * (double)peaks[p] };
  }
  fake_engine_sound(rig.engine, SPAN, of);
}

static const char*
ask_subscribe(OscClient* const client, const char* const what)
{
  client_send(client, "/meter/subscribe", "si", what, 1);
  return client_receive(client);
}

/// Read a message with a blob.
static Heard
hear(OscClient* const client, const char* const address)
{
  const char* const answer = client_receive(client);
  char start[64];
  snprintf(start, sizeof(start), "%s blob ", address);
  ck_assert_msg(!strncmp(answer, start, strlen(start)), "%s", answer);
  const char* const digits = answer + strlen(start);
  ck_assert_uint_eq(strlen(digits), 8U * FAKE_CHANNELS);
  Heard heard;
  for (uint32_t c = 0; c < FAKE_CHANNELS; ++c) {
    unsigned peak = 0;
    unsigned rms = 0;
    ck_assert_int_eq(sscanf(digits + 8U * c, "%4x%4x", &peak, &rms), 2);
    heard.peak[c] = (int16_t)peak / 256.0;
    heard.rms[c] = (int16_t)rms / 256.0;
  }
  return heard;
}

static void
expect_db(const double db, const double amplitude)
{
  ck_assert_double_eq_tol(db, fmax(-128.0, 20.0 * log10(amplitude)), 0.5 / 256.0 + 1e-6);
}

TEST(a_read_answers_with_the_newest_levels)
{
  client_ask(rig.client, "/meter/out blob 8000800080008000", "/meter/out", ""); // no audio yet
  sound(1.0F, 0.5F, 0.25F, 0.0F);
  client_send(rig.client, "/meter/in", "");
  const Heard in = hear(rig.client, "/meter/in");
  expect_db(in.peak[0], 1.0);
  expect_db(in.rms[0], 0.5);
  expect_db(in.peak[1], 0.5);
  client_send(rig.client, "/meter/out", "");
  const Heard out = hear(rig.client, "/meter/out");
  expect_db(out.peak[0], 0.25);
  expect_db(out.rms[0], 0.125);
  ck_assert(out.peak[1] == -128.0 && out.rms[1] == -128.0);
  client_send(rig.client, "/meter/out", "s", "floats");
  client_expect(rig.client, "/meter/out -12.0412 -18.0618 -128 -128");
  client_expect_nothing(rig.other);
}

TEST(the_largest_number_of_a_blob_is_just_below_128_dB)
{
  sound(1e30F, 0.0F, 0.0F, 0.0F);
  client_ask(rig.client, "/meter/in blob 7fff7fff80008000", "/meter/in", "");
  fake_engine_sound(rig.engine, SPAN, (const Level[4]){ [1] = { 1.0F, (double)INFINITY } });
  client_ask(rig.client, "/meter/in blob 7fff7fff00007fff", "/meter/in", "");
}

TEST(no_peak_is_lost_between_two_messages_at_any_rate)
{
  client_ask(rig.client, "/done /meter/subscribe", "/meter/subscribe", "si", "out", 60);
  client_ask(rig.other, "/done /meter/subscribe", "/meter/subscribe", "sf", "/meter/out", 5.0);
  double loudest = -128.0;
  sound(0.0F, 0.0F, 0.5F, 0.001F);
  for (int n = 0; n < 6; ++n) {
    const Heard heard = hear(rig.client, "/meter/out");
    loudest = fmax(loudest, heard.peak[0]);
    sound(0.0F, 0.0F, 0.01F, 0.001F);
  }
  expect_db(loudest, 0.5);
  expect_db(hear(rig.client, "/meter/out").peak[0], 0.01); // the peak of before is not held
  const Heard slow = hear(rig.other, "/meter/out");
  expect_db(slow.peak[0], 0.5);
  expect_db(slow.peak[1], 0.001);
  expect_db(slow.rms[1], 0.0005);
}

TEST(levels_before_the_subscription_do_not_count)
{
  sound(1.0F, 1.0F, 1.0F, 1.0F);
  client_ask(rig.client, "/done /meter/subscribe", "/meter/subscribe", "s", "in");
  sound(0.1F, 0.1F, 0.1F, 0.1F); // one span with the one before, unless the server took that
  Heard heard = hear(rig.client, "/meter/in");
  ck_assert(heard.peak[0] < -19.0);
  for (int n = 0; n < 3; ++n) {
    sound(0.1F, 0.1F, 0.1F, 0.1F);
    heard = hear(rig.client, "/meter/in");
    expect_db(heard.peak[0], 0.1);
  }
}

TEST(a_client_has_a_meter_of_each_kind_and_can_change_it)
{
  client_ask(rig.client, "/done /meter/subscribe", "/meter/subscribe", "si", "in", 60);
  client_ask(rig.client, "/done /meter/subscribe", "/meter/subscribe", "s", "out");
  ck_assert_double_eq(control_rig_status("meters"), 2.0);
  client_ask(rig.client, "/done /meter/subscribe", "/meter/subscribe", "sis", "in", 60, "floats");
  ck_assert_double_eq(control_rig_status("meters"), 2.0);
  client_ask(rig.client, "/done /meter/unsubscribe", "/meter/unsubscribe", "s", "out");
  sound(0.5F, 1.0F, 1.0F, 1.0F);
  client_expect(rig.client, "/meter/in -6.0206 -12.0412 0 -6.0206");
  client_ask(rig.client, "/done /meter/unsubscribe", "/meter/unsubscribe", "");
  sound(0.5F, 1.0F, 1.0F, 1.0F);
  client_expect_nothing(rig.client);
  ck_assert_double_eq(control_rig_status("meters"), 0.0);
}

/// The node `vol` of the rig's rack is the second one.
static const NodeTap vol_level = { { 0.5F, 0.0625 * SPAN }, SPAN, 3.0F };

TEST(a_node_has_a_peak_an_rms_and_a_reduction)
{
  client_ask(rig.client, "/done /meter/subscribe", "/meter/subscribe", "si", "node/vol", 60);
  client_ask(rig.other, "/done /meter/subscribe", "/meter/subscribe", "sis", "/meter/node/vol", 60,
             "floats");
  AWAIT(fake_engine_watched(rig.engine, 0) != RACK_UID_NONE);
  ck_assert_uint_eq(fake_engine_watched(rig.engine, 1), RACK_UID_NONE); // one tap for both
  const RackUid vol = fake_engine_watched(rig.engine, 0);
  fake_engine_measure(rig.engine, vol, &vol_level);
  client_expect(rig.client, "/meter/node/vol blob f9fbf3f50300"); // -6.02, -12.04 and 3 dB
  client_expect(rig.other, "/meter/node/vol -6.0206 -12.0412 3");
  client_expect_nothing(rig.client); // while nothing was measured
  client_ask(rig.other, "/done /meter/unsubscribe", "/meter/unsubscribe", "");
  client_ask(rig.other, "/done /rack/rename 1 640", "/rack/rename", "ss", "vol", "loud");
  fake_engine_measure(rig.engine, vol, &vol_level);
  client_expect(rig.client, "/meter/node/loud blob f9fbf3f50300");
  client_ask(rig.other, "/done /meter/subscribe", "/meter/subscribe", "si", "node/lowcut", 60);
  AWAIT(fake_engine_watched(rig.engine, 1) != RACK_UID_NONE);
  client_ask(rig.client, "/done /meter/unsubscribe", "/meter/unsubscribe", "s", "node/loud");
  AWAIT(fake_engine_watched(rig.engine, 0) == RACK_UID_NONE);
  client_ask(rig.client, "/fail /meter/subscribe 3 no node \"vol\"*", "/meter/subscribe", "s",
             "node/vol");
}

TEST(a_loudness_meter_has_four_floats)
{
  static float sine[2U * 48000U];
  for (uint32_t i = 0; i < ARRAY_LEN(sine); ++i) {
    sine[i] = (float)(0.1 * sin(2.0 * M_PI * 1000.0 * (i / 2U) / FAKE_RATE_HZ));
  }
  client_ask(rig.client, "/done /meter/subscribe", "/meter/subscribe", "si", "loudness/out", 60);
  client_expect(rig.client, "/meter/loudness/out:1-2 -128 -128 -128 -128");
  fake_engine_play(rig.engine, sine, 48000U);
  double values[4] = { -128.0 };
  while (values[0] == -128.0) {
    ck_assert_int_eq(sscanf(client_receive(rig.client), "/meter/loudness/out:1-2 %lf %lf %lf %lf",
                            &values[0], &values[1], &values[2], &values[3]),
                     4);
  }
  ck_assert_double_eq_tol(values[0], -20.0, 0.1); // both channels at -23 dB
  ck_assert_double_eq_tol(values[3], -20.0, 0.1);
  client_ask(rig.other, "/fail /meter/subscribe 1 \"out:3\" names no ports*", "/meter/subscribe",
             "s", "loudness/out:3");
  static const char* const others[] = { "loudness/out:1", "loudness/out:2", "loudness/in:1-2" };
  for (uint32_t o = 0; o < ARRAY_LEN(others); ++o) {
    client_ask(rig.other, "/done /meter/subscribe", "/meter/subscribe", "si", others[o], 1);
  }
  client_ask(rig.other, "/fail /meter/subscribe 5 clients have 4 other loudness meters already",
             "/meter/subscribe", "s", "loudness/in:1");
  client_ask(rig.other, "/done /meter/unsubscribe", "/meter/unsubscribe", "s", others[0]);
  AWAIT(!strcmp(ask_subscribe(rig.other, "loudness/in:1"), "/done /meter/subscribe"));
}

TEST(without_audio_a_meter_falls_to_the_floor)
{
  client_ask(rig.client, "/done /meter/subscribe", "/meter/subscribe", "si", "in", 60);
  client_expect(rig.client, "/meter/in blob 8000800080008000");
}

TEST(the_meters_of_a_closed_port_are_removed)
{
  OscClient* const client = client_new(control_port(rig.control));
  client_ask(client, "/done /meter/subscribe", "/meter/subscribe", "s", "in");
  ck_assert_double_eq(control_rig_status("meters"), 1.0);
  client_free(client);
  AWAIT(control_rig_status("meters") == 0.0);
}

TEST(wrong_meters_are_refused)
{
  client_ask(
      rig.client,
      "/fail /meter/subscribe 3 no meter \"side\"; there are in, out, node/NAME and loudness/PORTS",
      "/meter/subscribe", "s", "side");
  client_ask(rig.client, "/fail /meter/subscribe 1 a rate of 61 Hz is not within 1 to 60 Hz",
             "/meter/subscribe", "si", "in", 61);
  client_ask(rig.client, "/fail /meter/subscribe 1 a rate of *", "/meter/subscribe", "sf", "in",
             (double)NAN);
  client_ask(rig.client,
             "/fail /meter/subscribe 1 \"ints\" is not floats, the only form beside blobs",
             "/meter/subscribe", "sis", "in", 10, "ints");
  client_ask(rig.client, "/fail /meter/out 1 \"9\" is not floats*", "/meter/out", "s", "9");
  client_ask(rig.client, "/fail /meter/side 3 no such address*", "/meter/side", "");
  ck_assert_double_eq(control_rig_status("meters"), 0.0);
}

SUITE_MAIN_WITH("control_meters", control_rig_start, control_rig_stop)
