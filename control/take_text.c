// SPDX-License-Identifier: GPL-3.0-or-later
// Writes the lines of a take.

#include "take_text.h"

#include "engine/base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PARTS        4294967296.0L // of a second
#define MAX_VELOCITY 127.0

uint64_t
take_time(const uint64_t frame, const double rate_hz)
{
  return (uint64_t)llroundl((long double)frame / (long double)rate_hz * PARTS);
}

uint64_t
take_frame(const uint64_t time, const double rate_hz)
{
  return (uint64_t)llroundl((long double)time / PARTS * (long double)rate_hz);
}

/// The type of a number: f if a float holds it.
static char
type_of(const double number)
{
  return (double)(float)number == number ? 'f' : 'd';
}

void
take_line(TextBuffer* const text, const uint64_t frame, const double rate_hz,
          const char* const path, const char* const types)
{
  const uint64_t time = take_time(frame, rate_hz);
  text_buffer_print(text, "%08" PRIx32 ".%08" PRIx32 " %s %s", (uint32_t)(time >> 32U),
                    (uint32_t)time, path, types);
}

void
take_add_number(TextBuffer* const text, const double number)
{
  char digits[NUMBER_BYTES];
  text_buffer_add(text, " ");
  text_buffer_add(text, number_print(number, digits));
}

void
take_add_whole(TextBuffer* const text, const int64_t number)
{
  text_buffer_print(text, " %" PRId64, number);
}

void
take_add_text(TextBuffer* const text, const char* const word)
{
  text_buffer_add(text, " \"");
  for (const char* c = word; *c; ++c) {
    const char escape = *c == '\n' ? 'n' : *c;
    if (*c == '\n' || *c == '"' || *c == '\\') {
      text_buffer_print(text, "\\%c", escape);
    } else {
      text_buffer_print(text, "%c", *c);
    }
  }
  text_buffer_add(text, "\"");
}

void
take_add_rack(TextBuffer* const text, const uint64_t frame, const double rate_hz,
              const Rack* const rack, const uint64_t stamp, const int64_t planned)
{
  char* const document = rack_print_sound(rack);
  if (!document) {
    text->failed = true;
    return;
  }
  take_line(text, frame, rate_hz, TAKE_RACK, "shhi");
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    text_buffer_add(text, "i");
  }
  take_add_text(text, document);
  take_add_whole(text, (int64_t)stamp);
  take_add_whole(text, planned);
  take_add_whole(text, rack->next_uid);
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    take_add_whole(text, rack->nodes[n].uid);
  }
  text_buffer_add(text, "\n");
  free(document);
}

/// MIDI's velocity that gives exactly this one, from 0 to 1.
static double
midi_velocity(const double velocity)
{
  const double near = velocity * MAX_VELOCITY;
  const double below = nextafter(near, 0.0);
  const double above = nextafter(near, 2.0 * MAX_VELOCITY);
  return near / MAX_VELOCITY == velocity ? near : below / MAX_VELOCITY == velocity ? below : above;
}

static void
add_value(TextBuffer* const text, const uint64_t frame, const double rate_hz,
          const RackNode* const node, const ParamMessage* const message)
{
  const double seconds = message->fade_frames / rate_hz;
  const bool has_curve = message->fade_frames && message->curve != CURVE_LINEAR;
  const char types[] = { type_of(message->value), message->fade_frames ? type_of(seconds) : '\0',
                         has_curve ? 's' : '\0', '\0' };
  char path[sizeof("/node//") + RACK_NAME_BYTES + 256U];
  snprintf(path, sizeof(path), "/node/%s/%s", node->name, node->fx->params[message->param].id);
  take_line(text, frame, rate_hz, path, types);
  take_add_number(text, message->value);
  if (message->fade_frames) {
    take_add_number(text, seconds);
  }
  if (has_curve) {
    take_add_text(text, fx_curve_names[message->curve]);
  }
  text_buffer_add(text, "\n");
}

static void
add_note(TextBuffer* const text, const uint64_t frame, const double rate_hz,
         const RackNode* const node, const ParamMessage* const message)
{
  const double velocity = midi_velocity(message->value);
  const double seconds = message->n_frames / rate_hz;
  const char types[] = { 'i', type_of(velocity), message->n_frames ? type_of(seconds) : '\0',
                         '\0' };
  char path[sizeof("/note//off") + RACK_NAME_BYTES];
  snprintf(path, sizeof(path), "/note/%s", node->name);
  take_line(text, frame, rate_hz, path, types);
  take_add_whole(text, message->param);
  take_add_number(text, velocity);
  if (message->n_frames) {
    take_add_number(text, seconds);
  }
  text_buffer_add(text, "\n");
}

void
take_add_message(TextBuffer* const text, const uint64_t frame, const double rate_hz,
                 const RackNode* const node, const ParamMessage* const message)
{
  if (message->kind == MESSAGE_VALUE) {
    add_value(text, frame, rate_hz, node, message);
  } else if (message->kind == MESSAGE_NOTE) {
    add_note(text, frame, rate_hz, node, message);
  } else {
    char path[sizeof("/note//off") + RACK_NAME_BYTES];
    snprintf(path, sizeof(path), "/note/%s/off", node->name);
    take_line(text, frame, rate_hz, path, "");
    text_buffer_add(text, "\n");
  }
}
