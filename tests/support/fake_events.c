// SPDX-License-Identifier: GPL-3.0-or-later
// The functions that a driver calls, played by a test.

#include "fake_events.h"

#include <stdio.h>
#include <string.h>

static const FakeEvents* last;

/// Record the MIDI that has come, and send it back.
static void
pass_midi(FakeEvents* const fake, MidiPeriod* const midi)
{
  for (uint32_t e = 0; e < midi->in.n && fake->n_midi < ARRAY_LEN(fake->midi); ++e) {
    fake->midi[fake->n_midi] = midi->in.events[e];
    fake->midi_frames[fake->n_midi++] = fake->frames + midi->in.events[e].frame;
  }
  fake->midi_lost += midi->n_lost;
  fake->midi_skipped += midi->n_skipped;
  midi->out = midi->in;
}

static void
fake_process(void* const context, const float* const* const in, float* const* const out,
             const uint32_t n_frames, const bool wait, MidiPeriod* const midi)
{
  FakeEvents* const fake = context;
  fake->inside = true;
  if (midi) {
    pass_midi(fake, midi);
  }
  for (uint32_t c = 0; c < fake->n_in; ++c) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      if (in[c][i] != 0.0F) {
        fake->has_input = true;
        break;
      }
    }
  }
  for (uint32_t c = 0; c < fake->n_out; ++c) {
    if (c < fake->n_in) {
      memcpy(out[c], in[c], n_frames * sizeof(float));
    } else {
      memset(out[c], 0, n_frames * sizeof(float));
    }
  }
  fake->last_frames = n_frames;
  fake->frames += n_frames;
  fake->waited += wait;
  ++fake->periods;
  fake->inside = false;
}

static Status
fake_format(void* const context, const double rate_hz, const uint32_t block_frames,
            Error* const error)
{
  FakeEvents* const fake = context;
  if (fake->inside) {
    fake->overlapped = true;
  }
  fake->rate_hz = rate_hz;
  fake->block_frames = block_frames;
  ++fake->formats;
  return fake->refuse ? error_set(error, fake->refuse, "refused by the test") : STATUS_OK;
}

static uint32_t
fake_latency(void* const context)
{
  return ((FakeEvents*)context)->latency;
}

static void
fake_note(void* const context, const char* const text)
{
  FakeEvents* const fake = context;
  ++fake->notes;
  snprintf(fake->note, sizeof(fake->note), "%s", text);
  const size_t used = strlen(fake->log);
  snprintf(fake->log + used, sizeof(fake->log) - used, "%s\n", text);
}

IoEvents
fake_events(FakeEvents* const fake, const uint32_t n_in, const uint32_t n_out)
{
  last = fake;
  fake->n_in = n_in;
  fake->n_out = n_out;
  period_door_shut(&fake->door, PERIOD_DOOR_DRIVER);
  return (IoEvents){ .context = fake,
                     .door = &fake->door,
                     .process = fake_process,
                     .format = fake_format,
                     .latency = fake_latency,
                     .note = fake_note };
}

const char*
fake_story(void)
{
  static char story[sizeof(last->log) + 128];
  snprintf(story, sizeof(story), "%llu periods, of %u frames; %u formats, %g Hz; notes:\n%s",
           (unsigned long long)last->periods, last->last_frames, last->formats, last->rate_hz,
           last->log);
  return story;
}
