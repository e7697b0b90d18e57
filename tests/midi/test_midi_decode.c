// SPDX-License-Identifier: GPL-3.0-or-later
// MIDI messages become readings: control changes of 7 and 14 bits, NRPNs, pressure, bend, notes and
// programs, each with its position and the one before; bytes of any value are decoded within
// bounds.

#include "engine/midi/midi_decode.h"
#include "tests/support/suite.h"

#include "engine/base/macros.h"

#include <stdio.h>

static MidiDecoder decoder;

static void
set_up(void)
{
  midi_decoder_init(&decoder);
}

static uint32_t
decode(const uint8_t status, const uint8_t first, const uint8_t second,
       MidiReading readings[const MIDI_MAX_READINGS])
{
  const uint8_t type = status & 0xF0U;
  const MidiEvent event = { .n_bytes = type == 0xC0U || type == 0xD0U ? 2U : 3U,
                            .bytes = { status, first, second } };
  return midi_decode(&decoder, &event, readings);
}

/// Print the readings of a message: "cc 0:74 64/128 was -1; ...".
static void
print(const MidiReading* const readings, const uint32_t n, char* const text, const size_t n_bytes)
{
  static const char* const kinds[] = {
    "cc", "cc14", "nrpn", "pressure", "bend", "notes", "program"
  };
  size_t at = 0;
  text[0] = '\0';
  for (uint32_t r = 0; r < n; ++r) {
    const MidiReading* const reading = &readings[r];
    const char* const between = r ? "; " : "";
    at += (size_t)snprintf(text + at, n_bytes - at, "%s%s %u:%u", between,
                           kinds[reading->source.kind], reading->source.channel,
                           reading->source.number);
    if (reading->n_values) {
      at += (size_t)snprintf(text + at, n_bytes - at, " %u/%u was %d", reading->value,
                             reading->n_values, reading->previous);
    } else if (reading->steps) {
      at += (size_t)snprintf(text + at, n_bytes - at, " step %d", reading->steps);
    } else if (reading->source.kind == MIDI_NOTES) {
      at += (size_t)snprintf(text + at, n_bytes - at, " key %u velocity %u", reading->key,
                             reading->velocity);
    }
  }
}

#define MAX_MESSAGES 6U

/// Messages, and what the last one means.
static const struct {
  uint8_t messages[MAX_MESSAGES][3];
  const char* readings;
} sequences[] = {
  { { { 0xB0, 74, 64 } }, "cc 0:74 64/128 was -1" },
  { { { 0xB0, 74, 64 }, { 0xB1, 74, 1 }, { 0xB0, 74, 65 } }, "cc 0:74 65/128 was 64" },
  // 14 bits: the upper half alone reaches both ends
  { { { 0xBF, 10, 127 } }, "cc 15:10 127/128 was -1; cc14 15:10 16383/16384 was -1" },
  { { { 0xBF, 10, 1 }, { 0xBF, 10, 0 } }, "cc 15:10 0/128 was 1; cc14 15:10 0/16384 was 129" },
  // and with a lower half, in either order
  { { { 0xB0, 10, 64 }, { 0xB0, 42, 3 } }, "cc 0:42 3/128 was -1; cc14 0:10 8195/16384 was 8256" },
  { { { 0xB0, 42, 3 }, { 0xB0, 10, 64 } }, "cc 0:10 64/128 was -1; cc14 0:10 8195/16384 was -1" },
  { { { 0xB0, 42, 3 } }, "cc 0:42 3/128 was -1" }, // no upper half yet
  { { { 0xB0, 64, 127 } }, "cc 0:64 127/128 was -1" },
  // NRPN 260 = 2 * 128 + 4
  { { { 0xB2, 99, 2 }, { 0xB2, 98, 4 }, { 0xB2, 6, 127 } },
    "cc 2:6 127/128 was -1; cc14 2:6 16383/16384 was -1; nrpn 2:260 16383/16384 was -1" },
  { { { 0xB2, 98, 4 }, { 0xB2, 99, 2 }, { 0xB2, 6, 1 }, { 0xB2, 38, 2 } },
    "cc 2:38 2/128 was -1; cc14 2:6 130/16384 was 129; nrpn 2:260 130/16384 was 129" },
  { { { 0xB2, 99, 2 }, { 0xB2, 98, 4 }, { 0xB2, 96, 0 } },
    "cc 2:96 0/128 was -1; nrpn 2:260 step 1" },
  { { { 0xB2, 99, 2 }, { 0xB2, 98, 4 }, { 0xB2, 97, 5 } },
    "cc 2:97 5/128 was -1; nrpn 2:260 step -1" },
  // another parameter, then the first one again: its position is known, its lower half is not
  { { { 0xB0, 99, 0 },
      { 0xB0, 98, 1 },
      { 0xB0, 6, 5 },
      { 0xB0, 98, 2 },
      { 0xB0, 98, 1 },
      { 0xB0, 6, 6 } },
    "cc 0:6 6/128 was 5; cc14 0:6 774/16384 was 645; nrpn 0:1 774/16384 was 645" },
  // the lower half of another parameter does not count
  { { { 0xB0, 99, 0 }, { 0xB0, 98, 1 }, { 0xB0, 38, 3 }, { 0xB0, 98, 2 }, { 0xB0, 6, 5 } },
    "cc 0:6 5/128 was -1; cc14 0:6 643/16384 was -1; nrpn 0:2 645/16384 was -1" },
  // no parameter: never selected, registered, or none
  { { { 0xB0, 6, 5 } }, "cc 0:6 5/128 was -1; cc14 0:6 645/16384 was -1" },
  { { { 0xB0, 99, 0 }, { 0xB0, 98, 1 }, { 0xB0, 101, 0 }, { 0xB0, 96, 5 } },
    "cc 0:96 5/128 was -1" },
  { { { 0xB0, 99, 127 }, { 0xB0, 98, 127 }, { 0xB0, 97, 5 } }, "cc 0:97 5/128 was -1" },
  { { { 0xD3, 1, 0 }, { 0xD3, 100, 0 } }, "pressure 3:0 100/128 was 1" },
  { { { 0xE3, 127, 127 } }, "bend 3:0 16383/16384 was -1" },
  { { { 0xE3, 0, 64 }, { 0xE3, 1, 64 } }, "bend 3:0 8193/16384 was 8192" },
  { { { 0xC9, 7, 0 } }, "program 9:7" },
  { { { 0x90, 60, 100 } }, "notes 0:0 key 60 velocity 100" },
  { { { 0x90, 60, 0 } }, "notes 0:0 key 60 velocity 0" },
  { { { 0x80, 60, 64 } }, "notes 0:0 key 60 velocity 0" },
  { { { 0xB4, 123, 0 } }, "notes 4:0 key 128 velocity 0" },
  { { { 0xB4, 120, 0 } }, "notes 4:0 key 128 velocity 0" },
  { { { 0xB4, 121, 0 } }, "" }, // reset of controllers
  { { { 0xA0, 60, 1 } }, "" },  // pressure of a key
  { { { 0xF8, 0, 0 } }, "" },
};

TEST_ROWS(messages_are_decoded, sequences)
{
  MidiReading readings[MIDI_MAX_READINGS];
  char text[256] = "";
  for (uint32_t m = 0; m < MAX_MESSAGES && sequences[row].messages[m][0]; ++m) {
    const uint8_t* const message = sequences[row].messages[m];
    print(readings, decode(message[0], message[1], message[2], readings), text, sizeof(text));
  }
  ck_assert_str_eq(text, sequences[row].readings);
}

TEST(the_last_position_is_known)
{
  MidiReading readings[MIDI_MAX_READINGS];
  uint32_t n_values = 0;
  const MidiSource sources[] = { { MIDI_CC, 0, 10 },    { MIDI_CC14, 0, 10 },
                                 { MIDI_NRPN, 0, 130 }, { MIDI_PRESSURE, 0, 0 },
                                 { MIDI_BEND, 0, 0 },   { MIDI_PROGRAM, 0, 1 } };
  const int32_t expected[] = { 1, 129, 258, 3, 514, -1 };
  for (size_t s = 0; s < ARRAY_LEN(sources); ++s) {
    ck_assert_int_eq(midi_decoder_position(&decoder, sources[s], &n_values), -1);
  }
  decode(0xB0, 10, 1, readings);
  decode(0xB0, 99, 1, readings);
  decode(0xB0, 98, 2, readings);
  decode(0xB0, 6, 2, readings);
  decode(0xD0, 3, 0, readings);
  decode(0xE0, 2, 4, readings);
  decode(0xC0, 1, 0, readings);
  for (size_t s = 0; s < ARRAY_LEN(sources); ++s) {
    ck_assert_int_eq(midi_decoder_position(&decoder, sources[s], &n_values), expected[s]);
  }
}

/// A number that depends on the ones before (Marsaglia, "Xorshift RNGs", 2003).
static uint32_t
next_random(uint32_t* const state)
{
  *state ^= *state << 13U;
  *state ^= *state >> 17U;
  *state ^= *state << 5U;
  return *state;
}

/// Another decoder goes on with an NRPN, unless a registered parameter was selected after it.
TEST(another_decoder_goes_on_with_the_selected_parameter)
{
  static MidiEvent known[MIDI_KNOWN_EVENTS];
  MidiReading readings[MIDI_MAX_READINGS];
  for (uint32_t selects = 0; selects < 2U; ++selects) {
    midi_decoder_init(&decoder);
    (void)decode(0xB2, 99, 2, readings);
    (void)decode(0xB2, 98, 4, readings);
    if (selects) {
      (void)decode(0xB2, 101, 0, readings);
    }
    const uint32_t n = midi_decoder_known(&decoder, known);
    ck_assert_uint_eq(n, 2U);
    midi_decoder_init(&decoder);
    for (uint32_t e = 0; e < n; ++e) {
      (void)midi_decode(&decoder, &known[e], readings);
    }
    const uint32_t n_readings = decode(0xB2, 6, 1, readings);
    ck_assert_int_eq(readings[n_readings - 1U].source.kind, selects ? MIDI_CC14 : MIDI_NRPN);
  }
}

static bool
are_same(const MidiReading* const a, const MidiReading* const b)
{
  return midi_source_key(a->source) == midi_source_key(b->source) && a->n_values == b->n_values &&
         a->value == b->value && a->previous == b->previous && a->steps == b->steps;
}

/// Remove the readings of controllers that are parts of NRPNs: another decoder does not know them.
/// Returns the number of the others.
static uint32_t
leave_parts(MidiReading* const readings, const uint32_t n)
{
  uint32_t n_left = 0;
  for (uint32_t r = 0; r < n; ++r) {
    const MidiKind kind = readings[r].source.kind;
    const uint16_t number = readings[r].source.number;
    const bool is_part = (kind == MIDI_CC || kind == MIDI_CC14) &&
                         (number == 6U || number == 38U || (number >= 96U && number <= 101U));
    readings[n_left] = readings[r];
    n_left += !is_part;
  }
  return n_left;
}

TEST(another_decoder_that_begins_with_what_one_knows_reads_the_same)
{
  static MidiEvent known[MIDI_KNOWN_EVENTS];
  static MidiDecoder other;
  static const uint8_t types[] = { 0xB0, 0xB0, 0xB0, 0xB0, 0xD0, 0xE0 };
  static const uint8_t parts[] = { 6, 38, 96, 97, 98, 99, 100, 101 };
  uint32_t random = 1;
  for (uint32_t round = 0; round < 200U; ++round) {
    midi_decoder_init(&decoder);
    midi_decoder_init(&other);
    for (uint32_t e = 0; e < 400U; ++e) {
      if (e == 200U) {
        const uint32_t n = midi_decoder_known(&decoder, known);
        ck_assert_uint_le(n, MIDI_KNOWN_EVENTS);
        for (uint32_t k = 0; k < n; ++k) {
          MidiReading unused[MIDI_MAX_READINGS];
          (void)midi_decode(&other, &known[k], unused);
        }
      }
      const uint8_t type = types[next_random(&random) % ARRAY_LEN(types)];
      const uint8_t channel = next_random(&random) % 2U;
      const bool is_any = next_random(&random) % 2U;
      const uint8_t first = is_any ? (uint8_t)(next_random(&random) % MIDI_CONTROLLERS)
                                   : parts[next_random(&random) % ARRAY_LEN(parts)];
      const MidiEvent event = { .n_bytes = type == 0xD0 ? 2U : 3U,
                                .bytes = { type | channel, first, next_random(&random) % 128U } };
      MidiReading one[MIDI_MAX_READINGS];
      MidiReading two[MIDI_MAX_READINGS];
      const uint32_t n = midi_decode(&decoder, &event, one);
      if (e < 200U) {
        continue;
      }
      const uint32_t n_two = leave_parts(two, midi_decode(&other, &event, two));
      ck_assert_uint_eq(leave_parts(one, n), n_two);
      for (uint32_t r = 0; r < n_two; ++r) {
        ck_assert_msg(are_same(&one[r], &two[r]), "kind %d number %u: %u after %d, not %u after %d",
                      (int)one[r].source.kind, one[r].source.number, two[r].value, two[r].previous,
                      one[r].value, one[r].previous);
      }
    }
  }
}

static void
check_reading(const MidiReading* const reading)
{
  const bool is_note = reading->source.kind == MIDI_NOTES;
  ck_assert(reading->source.kind < MIDI_N_KINDS && reading->source.channel < MIDI_CHANNELS);
  ck_assert(reading->source.number < MIDI_VALUES_14);
  ck_assert(reading->n_values == 0U || reading->n_values == MIDI_VALUES ||
            reading->n_values == MIDI_VALUES_14);
  ck_assert(reading->n_values ? reading->value < reading->n_values : reading->value == 0U);
  ck_assert(reading->previous >= -1 && reading->previous < (int32_t)MIDI_VALUES_14);
  ck_assert(!reading->n_values || reading->previous < (int32_t)reading->n_values);
  ck_assert(is_note ? reading->key <= MIDI_ALL_KEYS && reading->velocity < MIDI_VALUES
                    : !reading->key && !reading->velocity);
}

TEST(any_bytes_are_decoded_within_bounds)
{
  uint32_t state = 2463534242U;
  for (uint32_t i = 0; i < 60000U; ++i) {
    const uint32_t bits = next_random(&state);
    const uint32_t more = next_random(&state);
    MidiEvent event = { .frame = more, .n_bytes = (uint8_t)(more >> 5U) };
    event.n_bytes = i % 2U ? 3U : event.n_bytes; // half of them are complete
    for (uint32_t b = 0; b < MIDI_EVENT_BYTES; ++b) {
      event.bytes[b] = (uint8_t)(bits >> (8U * b));
    }
    if (i % 4U == 1U) { // and half of these are control changes
      event.bytes[0] = 0xB0U | (event.bytes[0] & 0x0FU);
      event.bytes[1] &= 0x7FU;
      event.bytes[2] &= 0x7FU;
    }
    MidiReading readings[MIDI_MAX_READINGS];
    const uint32_t n = midi_decode(&decoder, &event, readings);
    ck_assert_uint_le(n, MIDI_MAX_READINGS);
    for (uint32_t r = 0; r < n; ++r) {
      check_reading(&readings[r]);
      uint32_t n_values = 0;
      const int32_t position = midi_decoder_position(&decoder, readings[r].source, &n_values);
      ck_assert(!readings[r].n_values || position == (int32_t)readings[r].value);
    }
  }
}

SUITE_MAIN_WITH("midi_decode", set_up, NULL)
