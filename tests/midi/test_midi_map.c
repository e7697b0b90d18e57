// SPDX-License-Identifier: GPL-3.0-or-later
// Readings of controllers become values: range, taper, inversion, pickup, edges of switches, steps
// of encoders.  A controller that gets the feedback for a value gives that value again.

#include "engine/midi/midi_map.h"
#include "tests/support/suite.h"

#include "engine/base/macros.h"

#include <math.h>

static const FxParam frequency = {
  .id = "frequency", .kind = PARAM_NUMBER, .min = 20.0, .max = 20000.0, .taper = TAPER_LOG
};
static const FxParam mix = { .id = "mix", .kind = PARAM_NUMBER, .min = 0.0, .max = 1.0 };
static const FxParam gain = {
  .id = "gain", .kind = PARAM_NUMBER, .min = -120.0, .max = 20.0, .taper = TAPER_DB
};
static const FxParam order = { .id = "order", .kind = PARAM_INTEGER, .min = 1.0, .max = 8.0 };
static const FxParam size = {
  .id = "size", .kind = PARAM_INTEGER, .min = 1.0, .max = 4096.0, .taper = TAPER_LOG
};
static const FxParam mute = { .id = "mute", .kind = PARAM_SWITCH, .min = 0.0, .max = 1.0 };
static const char* const types[] = { "a", "b", "c", NULL };
static const FxParam type = { .id = "type", .kind = PARAM_CHOICE, .choices = types };

#define INVERTED                                                                                   \
  {                                                                                                \
    .is_inverted = true                                                                            \
  }
#define PICKUP                                                                                     \
  {                                                                                                \
    .has_pickup = true                                                                             \
  }
#define TOGGLE                                                                                     \
  {                                                                                                \
    .toggles = true                                                                                \
  }
#define NOTHING -1000.0 // no value
#define ANY     -2      // previous position

/// Readings and the value that they give.
static const struct {
  const FxParam* param;
  double low, high;
  MidiShape shape;
  MidiKind kind;
  uint32_t value;
  int32_t previous;
  double present, expected;
} rows[] = {
  // the ends are exact, between them the parameter's own taper, or that of the map
  { &frequency, 80, 8000, { 0 }, MIDI_CC, 0, -1, 100, 80 },
  { &frequency, 80, 8000, { 0 }, MIDI_CC, 127, -1, 100, 8000 },
  { &frequency, 80, 8000, { 0 }, MIDI_CC14, 16383, -1, 100, 8000 },
  { &frequency, 80, 8000, { 0 }, MIDI_BEND, 8192, -1, 100, 800.11 },
  { &frequency, 80, 8000, { .has_taper = true }, MIDI_BEND, 8192, -1, 100, 4040.24 },
  { &mix, 0, 1, { 0 }, MIDI_CC, 64, -1, 0, 64.0 / 127.0 },
  { &mix, 0, 1, { .has_taper = true, .taper = TAPER_LOG }, MIDI_CC, 64, -1, 0, 0.03150 },
  { &mix, 0.2, 0.6, INVERTED, MIDI_CC, 0, -1, 0, 0.6 },
  { &mix, 0.2, 0.6, INVERTED, MIDI_CC, 127, -1, 0, 0.2 },
  { &gain, -120, 20, { 0 }, MIDI_BEND, 12287, -1, 0, -0.00122 }, // 3/4 of a fader
  { &gain, -40, 0, { 0 }, MIDI_NRPN, 8192, -1, 0, -20 },         // a part of its way
  { &order, 2, 4, { 0 }, MIDI_CC, 42, -1, 0, 2 },                // a third of the way each
  { &order, 2, 4, { 0 }, MIDI_CC, 43, -1, 0, 3 },
  { &order, 2, 4, { 0 }, MIDI_CC, 127, -1, 0, 4 },
  { &type, 0, 0, { 0 }, MIDI_CC, 64, -1, 0, 1 },
  { &type, 0, 0, INVERTED, MIDI_CC, 127, -1, 0, 0 },
  { &mute, 0, 0, { 0 }, MIDI_CC, 63, -1, 0, 0 },
  { &mute, 0, 0, { 0 }, MIDI_CC, 64, -1, 0, 1 },
  { &mute, 0, 0, INVERTED, MIDI_CC, 64, -1, 0, 0 },
  // pickup: not before the controller meets the value, ...
  { &mix, 0, 1, PICKUP, MIDI_CC, 10, -1, 0.5, NOTHING },
  { &mix, 0, 1, PICKUP, MIDI_CC, 64, -1, 0.5, 64.0 / 127.0 },
  { &mix, 0, 1, PICKUP, MIDI_CC, 20, 10, 0.5, NOTHING },
  { &mix, 0, 1, PICKUP, MIDI_CC, 90, 80, 0.5, NOTHING },
  { &mix, 0, 1, PICKUP, MIDI_CC, 90, 10, 0.5, 90.0 / 127.0 }, // passes it upwards
  { &mix, 0, 1, PICKUP, MIDI_CC, 10, 90, 0.5, 10.0 / 127.0 },
  // ... and from then on as long as nothing else moves it
  { &mix, 0, 1, PICKUP, MIDI_CC, 127, 32, 32.0 / 127.0, 1 },
  { &mix, 0, 1, { .has_pickup = true, .is_inverted = true }, MIDI_CC, 127, 32, 95.0 / 127.0, 0 },
  { &mix, 0, 1, { .has_pickup = true, .is_inverted = true }, MIDI_CC, 20, 10, 0.5, NOTHING },
  { &mix, 0.2, 0.6, PICKUP, MIDI_CC, 100, 90, 0.9, NOTHING }, // a value above the range
  { &mix, 0.2, 0.6, PICKUP, MIDI_CC, 127, 90, 0.9, 0.6 },
  { &order, 1, 8, PICKUP, MIDI_CC, 70, 60, 4, 5 }, // 60 gives 4
  { &order, 1, 8, PICKUP, MIDI_CC, 70, 60, 7, NOTHING },
  { &mix, 0, 1, PICKUP, MIDI_CC14, 8000, 7990, 0.5, NOTHING },
  // a button changes a switch when it is pressed, and not again when it is released
  { &mute, 0, 0, TOGGLE, MIDI_CC, 127, 0, 0, 1 },
  { &mute, 0, 0, TOGGLE, MIDI_CC, 127, -1, 1, 0 },
  { &mute, 0, 0, TOGGLE, MIDI_CC, 0, 127, 1, NOTHING },
  { &mute, 0, 0, TOGGLE, MIDI_CC, 127, 64, 1, NOTHING },
  { &mute, 0, 0, TOGGLE, MIDI_CC, 60, 0, 0, NOTHING },
  // encoders
  { &mix, 0, 1, { .relative = MIDI_TWOS }, MIDI_CC, 1, ANY, 0.5, 0.5 + 1.0 / 128 },
  { &mix, 0, 1, { .relative = MIDI_TWOS }, MIDI_CC, 127, ANY, 0.5, 0.5 - 1.0 / 128 },
  { &mix, 0, 1, { .relative = MIDI_TWOS }, MIDI_CC, 64, ANY, 0.75, 0.25 },
  { &mix, 0, 1, { .relative = MIDI_TWOS }, MIDI_CC, 0, ANY, 0.5, NOTHING },
  { &mix, 0, 1, { .relative = MIDI_SIGNED }, MIDI_CC, 66, ANY, 0.5, 0.5 - 2.0 / 128 },
  { &mix, 0, 1, { .relative = MIDI_SIGNED }, MIDI_CC, 64, ANY, 0.5, NOTHING },
  { &mix, 0, 1, { .relative = MIDI_OFFSET }, MIDI_CC, 66, ANY, 0.5, 0.5 + 2.0 / 128 },
  { &mix, 0, 1, { .relative = MIDI_OFFSET }, MIDI_CC, 0, ANY, 0.5, 0 },
  { &mix, 0, 1, { .relative = MIDI_OFFSET }, MIDI_CC, 127, ANY, 1, NOTHING }, // at its end
  { &mix,
    0,
    1,
    { .relative = MIDI_TWOS, .is_inverted = true },
    MIDI_CC,
    1,
    ANY,
    0.5,
    0.5 - 1.0 / 128 },
  { &order, 1, 8, { .relative = MIDI_TWOS }, MIDI_CC, 1, ANY, 4, 5 },
  { &order, 1, 8, { .relative = MIDI_TWOS }, MIDI_CC, 126, ANY, 4, 2 },
  { &size, 1, 4096, { .relative = MIDI_TWOS }, MIDI_CC, 1, ANY, 1, 2 },
  { &size, 1, 4096, { .relative = MIDI_TWOS }, MIDI_CC, 127, ANY, 2, 1 },
  { &type, 0, 0, { .relative = MIDI_TWOS }, MIDI_CC, 1, ANY, 1, 2 },
  { &mute, 0, 0, { .relative = MIDI_TWOS }, MIDI_CC, 127, ANY, 1, 0 },
  // neither notes nor programs have values
  { &mix, 0, 1, { 0 }, MIDI_NOTES, 0, -1, 0, NOTHING },
  { &mix, 0, 1, { 0 }, MIDI_PROGRAM, 0, -1, 0, NOTHING },
};

static uint32_t
n_values_of(const MidiKind kind)
{
  return kind == MIDI_CC || kind == MIDI_PRESSURE ? MIDI_VALUES : MIDI_VALUES_14;
}

TEST_ROWS(a_reading_gives_a_value, rows)
{
  MidiTarget target = { .source = { .kind = rows[row].kind } };
  const MidiReading reading = { .source = target.source,
                                .n_values = n_values_of(rows[row].kind),
                                .value = rows[row].value,
                                .previous = rows[row].previous };
  ck_assert(
      midi_target_init(&target, rows[row].param, rows[row].low, rows[row].high, rows[row].shape));
  double value = NOTHING;
  const bool has = midi_target_value(&target, &reading, rows[row].present, &value);
  value = has ? value : NOTHING;
  ck_assert_msg(fabs(value - rows[row].expected) <= 1e-4 * fmax(1.0, fabs(value)), "%.9g, not %.9g",
                value, rows[row].expected);
}

TEST(an_nrpn_moves_in_steps)
{
  MidiTarget target = { .source = { .kind = MIDI_NRPN } };
  ck_assert(midi_target_init(&target, &mix, 0.0, 1.0, (MidiShape){ 0 }));
  const MidiReading up = { .source = target.source, .previous = -1, .steps = 1 };
  double value = 0.0;
  ck_assert(midi_target_value(&target, &up, 0.5, &value));
  ck_assert_double_eq_tol(value, 0.5 + 1.0 / 128.0, 1e-12);
}

static const struct {
  const FxParam* param;
  double low, high;
  FxTaper taper;
} impossible[] = {
  { &mix, 0.5, 0.5, TAPER_LINEAR }, { &mix, 0.5, 0.4, TAPER_LINEAR }, { &gain, -60, 0, TAPER_DB },
  { &gain, -30, 6, TAPER_DB },      { &gain, -60, 6, TAPER_LOG },
};

TEST_ROWS(an_impossible_range_is_refused, impossible)
{
  MidiTarget target = { 0 };
  const MidiShape shape = { .has_taper = true, .taper = impossible[row].taper };
  ck_assert(!midi_target_init(&target, impossible[row].param, impossible[row].low,
                              impossible[row].high, shape));
}

TEST(a_table_finds_all_targets_of_a_source)
{
  MidiTarget targets[] = { { .source = { MIDI_CC, 0, 7 }, .uid = 1 },
                           { .source = { MIDI_CC, 0, 7 }, .uid = 2 },
                           { .source = { MIDI_CC, 1, 7 }, .uid = 3 },
                           { .source = { MIDI_CC14, 0, 7 }, .uid = 4 } };
  const MidiTable table = { targets, ARRAY_LEN(targets) };
  uint32_t n = 9;
  ck_assert_uint_eq(midi_table_find(&table, targets[0].source, &n)->uid, 1);
  ck_assert_uint_eq(n, 2);
  ck_assert_uint_eq(midi_table_find(&table, targets[3].source, &n)->uid, 4);
  ck_assert_uint_eq(n, 1);
  midi_table_find(&table, (MidiSource){ MIDI_CC, 0, 8 }, &n);
  ck_assert_uint_eq(n, 0);
  midi_table_find(&(MidiTable){ 0 }, (MidiSource){ MIDI_CC, 0, 8 }, &n);
  ck_assert_uint_eq(n, 0);
}

static const struct {
  const FxParam* param;
  double low, high;
  MidiShape shape;
} maps[] = {
  { &frequency, 80, 8000, { 0 } },
  { &frequency, 20, 20000, INVERTED },
  { &gain, -120, 20, { 0 } },
  { &gain, -30, 6, { 0 } },
  { &mix, 0, 1, { .has_taper = true, .taper = TAPER_LOG } },
  { &order, 1, 8, { 0 } },
  { &size, 1, 4096, { 0 } },
  { &type, 0, 0, INVERTED },
  { &mute, 0, 0, { 0 } },
};

/// Check that each position gives a value that the parameter accepts, and that the feedback for it,
/// decoded, gives that value again.
static void
check_positions(MidiTarget* const target, const uint32_t n_values, const FxParam* const param)
{
  MidiDecoder decoder;
  midi_decoder_init(&decoder);
  for (uint32_t p = 0; p<n_values; p += n_values> MIDI_VALUES ? 127U : 1U) {
    const MidiReading reading = {
      .source = target->source, .n_values = n_values, .value = p, .previous = -1
    };
    double value = 0.0;
    ck_assert(midi_target_value(target, &reading, 0.0, &value));
    ck_assert_msg(fx_param_accepts(param, value), "%.17g", value);
    ck_assert(midi_target_shows(target, p, value));
    const uint32_t position = midi_target_position(target, value);
    MidiEvent events[MIDI_FEEDBACK_EVENTS];
    MidiReading readings[MIDI_MAX_READINGS];
    const uint32_t n = midi_feedback(target, position, events);
    for (uint32_t e = 0; e < n; ++e) {
      ck_assert_uint_ge(midi_decode(&decoder, &events[e], readings), 1);
    }
    uint32_t n_decoded = 0;
    ck_assert_int_eq(midi_decoder_position(&decoder, target->source, &n_decoded), (int)position);
    MidiReading again = reading;
    again.value = position;
    double shown = 0.0;
    ck_assert(midi_target_value(target, &again, 0.0, &shown));
    ck_assert_double_eq_tol(shown, value, 1e-9 * fmax(1.0, fabs(value)));
  }
}

TEST_ROWS(feedback_is_the_inverse, maps)
{
  static const MidiSource sources[] = {
    { MIDI_CC, 3, 74 }, { MIDI_CC14, 15, 31 }, { MIDI_NRPN, 0, 16000 }, { MIDI_BEND, 7, 0 }
  };
  for (size_t s = 0; s < ARRAY_LEN(sources); ++s) {
    MidiTarget target = { .source = sources[s] };
    ck_assert(
        midi_target_init(&target, maps[row].param, maps[row].low, maps[row].high, maps[row].shape));
    check_positions(&target, n_values_of(sources[s].kind), maps[row].param);
  }
}

TEST(a_value_between_two_positions_needs_feedback_when_it_moves_on)
{
  MidiTarget target = { .source = { MIDI_CC, 0, 1 } };
  ck_assert(midi_target_init(&target, &mix, 0.0, 1.0, (MidiShape){ 0 }));
  ck_assert(midi_target_shows(&target, 64, 64.4 / 127.0));
  ck_assert(!midi_target_shows(&target, 64, 65.0 / 127.0));
  target.shape.relative = MIDI_TWOS;
  MidiEvent events[MIDI_FEEDBACK_EVENTS];
  ck_assert_uint_eq(midi_feedback(&target, 1, events), 0);
}

SUITE_MAIN("midi_map")
