// SPDX-License-Identifier: GPL-3.0-or-later
// Plugins that keep the rules, or break one that the host sees.

#include "clap_fixture.h"

#include <clap/ext/log.h>
#include <clap/ext/params.h>
#include <clap/ext/timer-support.h>

#include <math.h>
#include <pthread.h>
#include <stddef.h>

static void
report(const clap_process_t* const block, const clap_id id, const double value)
{
  const clap_event_param_value_t event = {
    .header = { sizeof(event), 0, CLAP_CORE_EVENT_SPACE_ID, CLAP_EVENT_PARAM_VALUE, 0 },
    .param_id = id,
    .note_id = -1,
    .port_index = -1,
    .channel = -1,
    .key = -1,
    .value = value,
  };
  block->out_events->try_push(block->out_events, &event.header);
}

// ---- sounds ----

static void
apply(Fixture* const fixture, const clap_event_header_t* const header)
{
  const clap_event_param_value_t* const event = (const void*)header;
  if (header->type != CLAP_EVENT_PARAM_VALUE) {
    return;
  }
  for (uint32_t p = 0; p < fixture->kind->n_params && p < MAX_VALUES; ++p) {
    if (fixture->kind->params[p].id == event->param_id) {
      fixture->values[p] = event->value;
    }
  }
}

/// Multiply by the first parameter, exactly from the frame of each change.
static void
run_gain(Fixture* const fixture, const clap_process_t* const block)
{
  const clap_input_events_t* const events = block->in_events;
  const uint32_t n_events = events->size(events);
  uint32_t next = 0;
  for (uint32_t f = 0; f < block->frames_count; ++f) {
    for (; next < n_events && events->get(events, next)->time <= f; ++next) {
      apply(fixture, events->get(events, next));
    }
    for (uint32_t c = 0; c < fixture->kind->n_main; ++c) {
      block->audio_outputs[0].data32[c][f] =
          block->audio_inputs[0].data32[c][f] * (float)fixture->values[0];
    }
  }
}

/// Gain and half of the side chain; reports the level of the last frame.
static void
run_params(Fixture* const fixture, const clap_process_t* const block)
{
  run_gain(fixture, block);
  const uint32_t last = block->frames_count - 1U;
  for (uint32_t f = 0; f <= last; ++f) {
    block->audio_outputs[0].data32[1][f] += 0.5F * block->audio_inputs[1].data32[0][f];
  }
  report(block, 18, (double)block->audio_outputs[0].data32[0][last]);
  report(block, 18, (double)NAN);
  report(block, 99, 1.0);
}

static void
run_delay(Fixture* const fixture, const clap_process_t* const block)
{
  for (uint32_t f = 0; f < block->frames_count; ++f) {
    float* const kept = &fixture->delay[fixture->at];
    block->audio_outputs[0].data32[0][f] = *kept;
    *kept = block->audio_inputs[0].data32[0][f];
    fixture->at = (fixture->at + 1U) % DELAY_FRAMES;
  }
}

/// Say what happened on the main thread, and ask for more.
static void
run_main(Fixture* const fixture, const clap_process_t* const block)
{
  run_gain(fixture, block);
  report(block, 1, fixture->n_timers);
  report(block, 2, fixture->n_fds);
  report(block, 3, fixture->n_callbacks);
  report(block, 4, !fixture->is_wrong_thread);
  fixture->host->request_callback(fixture->host);
}

static void*
call_from_thread(void* const context)
{
  const Fixture* const fixture = context;
  const clap_host_t* const host = fixture->host;
  const clap_host_params_t* const params = host->get_extension(host, CLAP_EXT_PARAMS);
  const clap_host_log_t* const log = host->get_extension(host, CLAP_EXT_LOG);
  params->rescan(host, CLAP_PARAM_RESCAN_ALL);
  log->log(host, CLAP_LOG_WARNING, "a word from\nanother thread");
  log->log(host, CLAP_LOG_DEBUG, "a word that nobody asked for");
  return NULL;
}

/// Call the host where the specification forbids it.
static void
run_threads(Fixture* const fixture, const clap_process_t* const block)
{
  const clap_host_t* const host = fixture->host;
  const clap_host_timer_support_t* const timers = host->get_extension(host, CLAP_EXT_TIMER_SUPPORT);
  const clap_host_params_t* const params = host->get_extension(host, CLAP_EXT_PARAMS);
  clap_id timer = 0;
  pthread_t thread;
  run_gain(fixture, block);
  report(block, 1, timers->register_timer(host, 1, &timer));
  params->request_flush(host);
  pthread_create(&thread, NULL, call_from_thread, fixture);
  pthread_join(thread, NULL);
}

/// A NaN that stays until a reset, once "Burst" is set.
static void
run_nan(Fixture* const fixture, const clap_process_t* const block)
{
  run_gain(fixture, block);
  fixture->memory = fixture->values[0] > 1.0 ? NAN : fixture->memory;
  for (uint32_t f = 0; f < block->frames_count; ++f) {
    block->audio_outputs[0].data32[0][f] += fixture->memory;
  }
}

/// Add the input times its peak, which it has learnt.
static void
run_learner(Fixture* const fixture, const clap_process_t* const block)
{
  run_gain(fixture, block);
  for (uint32_t f = 0; f < block->frames_count; ++f) {
    const float sample = block->audio_inputs[0].data32[0][f];
    fixture->peak = fmaxf(fixture->peak, fabsf(sample));
    block->audio_outputs[0].data32[0][f] += sample * fixture->peak;
  }
}

static void
run_render(Fixture* const fixture, const clap_process_t* const block)
{
  for (uint32_t f = 0; f < block->frames_count; ++f) {
    block->audio_outputs[0].data32[0][f] = fixture->is_offline ? 1.0F : 0.0F;
  }
}

/// Play the tempo, and report the position of the block.
static void
run_clock(Fixture* const fixture, const clap_process_t* const block)
{
  const clap_event_transport_t* now = block->transport;
  const clap_input_events_t* const events = block->in_events;
  const uint32_t n_events = events->size(events);
  uint32_t next = 0;
  (void)fixture;
  report(block, 1, (double)now->song_pos_beats / (double)CLAP_BEATTIME_FACTOR);
  report(block, 2, (double)now->song_pos_seconds / (double)CLAP_SECTIME_FACTOR);
  report(block, 3, (double)now->bar_start / (double)CLAP_BEATTIME_FACTOR);
  report(block, 4, now->bar_number);
  report(block, 5, now->flags & CLAP_TRANSPORT_IS_PLAYING ? now->tsig_num : 0.0);
  for (uint32_t f = 0; f < block->frames_count; ++f) {
    for (; next < n_events && events->get(events, next)->time <= f; ++next) {
      const clap_event_header_t* const event = events->get(events, next);
      if (event->type == CLAP_EVENT_TRANSPORT) {
        now = (const void*)event;
        report(block, 6, (double)now->song_pos_beats / (double)CLAP_BEATTIME_FACTOR);
      }
    }
    block->audio_outputs[0].data32[0][f] = (float)now->tempo;
  }
}

// ---- the table of plugins ----

static const char* const modes[] = { "Soft", "Medium", "Hard" };
static const char* const orders[] = { "first", "", "third", "first" };
static const char* const off_on[] = { "Off", "On" };

#define AUTOMATED CLAP_PARAM_IS_AUTOMATABLE
#define STEPPED   (CLAP_PARAM_IS_STEPPED | CLAP_PARAM_IS_AUTOMATABLE)

static const Param gain_params[] = {
  { 7, AUTOMATED, "", "Gain", 0.0, 4.0, 1.0, "%.2f", NULL },
};

static const Param many_sorts[] = {
  { 30, AUTOMATED, "Bands/Low", "Gain", 0.0, 2.0, 1.0, "%.2f x", NULL },
  { 31, AUTOMATED, "Bands/High", "Gain", 0.0, 2.0, 1.0, "%.2f x", NULL },
  { 10, STEPPED, "", "Mode", 0.0, 2.0, 1.0, NULL, modes },
  { 11, STEPPED | CLAP_PARAM_IS_ENUM, "", "Order", 4.0, 7.0, 4.0, NULL, orders },
  { 12, STEPPED | CLAP_PARAM_IS_BYPASS, "", "Bypass", 0.0, 1.0, 0.0, NULL, off_on },
  { 14, STEPPED, "", "Voices", 1.0, 8.0, 4.0, "%.0f", NULL },
  { 15, AUTOMATED, "", "Cutoff", 20.0, 20000.0, 1000.0, "%.1f Hz", NULL },
  { 16, AUTOMATED, "", "Level", -60.0, 12.0, 0.0, "%.1f dB", NULL },
  { 17, AUTOMATED | CLAP_PARAM_IS_PERIODIC, "", "Phase", 0.0, 360.0, 0.0, "%.0f °", NULL },
  { 18, CLAP_PARAM_IS_READONLY, "", "Meter", 0.0, 4.0, 0.25, "%.2f", NULL },
  { 19, AUTOMATED | CLAP_PARAM_IS_HIDDEN, "", "Secret", 0.0, 1.0, 0.0, "%.2f", NULL },
  { 20, 0, "", "Size", 0.0, 1.0, 0.5, "%.2f", NULL },
  { 23, AUTOMATED, "", "Attack", (double)0.1F, 1.0, (double)0.3F, "%.2f", NULL },
  // The number in the text is not the value, except by chance.
  { 21, AUTOMATED, "", "Mix", 0.0, 1.0, 0.5, "50 %%", NULL },
  { 22, AUTOMATED, "", "Trim", 0.0, 1.0, 0.0, "0 dB", NULL },
};

static const Param main_params[] = {
  { 7, AUTOMATED, "", "Gain", 0.0, 4.0, 1.0, "%.2f", NULL },
  { 1, CLAP_PARAM_IS_READONLY, "", "Timers", 0.0, 1e6, 0.0, "%.0f", NULL },
  { 2, CLAP_PARAM_IS_READONLY, "", "Descriptors", 0.0, 1e6, 0.0, "%.0f", NULL },
  { 3, CLAP_PARAM_IS_READONLY, "", "Callbacks", 0.0, 1e6, 0.0, "%.0f", NULL },
  { 4, CLAP_PARAM_IS_READONLY, "", "Right", 0.0, 1.0, 0.0, "%.0f", NULL },
};

#define READ CLAP_PARAM_IS_READONLY

static const Param clock_params[] = {
  { 1, READ, "", "Beats", 0.0, 1e6, 0.0, "%.3f", NULL },
  { 2, READ, "", "Seconds", 0.0, 1e6, 0.0, "%.3f", NULL },
  { 3, READ, "", "Bar start", 0.0, 1e6, 0.0, "%.3f", NULL },
  { 4, READ, "", "Bar", 0.0, 1e6, 0.0, "%.0f", NULL },
  { 5, READ, "", "Signature", 0.0, 16.0, 0.0, "%.0f", NULL },
  { 6, READ, "", "Changed", 0.0, 1e6, 0.0, "%.3f", NULL },
};

static const Param learner_params[] = {
  { 7, AUTOMATED, "", "Gain", 0.0, 4.0, 1.0, "%.2f", NULL },
  { 8, STEPPED, "", "Mode", 0.0, 5.0, 0.0, "%.0f", NULL },
};

#define EFFECT(word) .descriptor = { VERSION, .id = "test." word, .name = word, .features = effect }
#define GAIN         .params = gain_params, .n_params = N(gain_params)

static const char* const effect[] = { CLAP_PLUGIN_FEATURE_AUDIO_EFFECT, CLAP_PLUGIN_FEATURE_MONO,
                                      CLAP_PLUGIN_FEATURE_DEESSER, CLAP_PLUGIN_FEATURE_FILTER,
                                      NULL };

const Kind fixture_kinds[] = {
  { EFFECT("gain"), .n_main = 1, GAIN, .process = run_gain },
  { EFFECT("params"), .n_main = 2, .n_side = 1, .params = many_sorts, .n_params = N(many_sorts),
    .process = run_params },
  { EFFECT("delay"), .n_main = 1, .process = run_delay },
  { EFFECT("main"), .n_main = 1, .params = main_params, .n_params = N(main_params),
    .process = run_main },
  { EFFECT("threads"), .n_main = 1, .params = main_params, .n_params = N(main_params),
    .process = run_threads },
  { EFFECT("nan"), .n_main = 1, GAIN, .process = run_nan },
  { EFFECT("failing"), .n_main = 1, GAIN, .process = run_gain },  // fails with the gain 0
  { EFFECT("once"), .n_main = 1, GAIN, .process = run_gain },     // is only activated once
  { EFFECT("restless"), .n_main = 1, GAIN, .process = run_gain }, // wants a restart
  { EFFECT("initial"), .n_main = 1, GAIN, .process = run_gain },  // begins at 3, not at its default
  { EFFECT("render"), .n_main = 1, .process = run_render },
  { EFFECT("clock"), .n_main = 1, .params = clock_params, .n_params = N(clock_params),
    .process = run_clock },
  { EFFECT("refusing"), .n_main = 1, GAIN, .process = run_gain }, // only runs at 48 kHz
  { EFFECT("notes"), .n_main = 1, .n_notes = 1, .process = run_delay },
  { EFFECT("midi2"), .n_main = 1, .n_notes = 1, .process = run_delay }, // in no dialect of the host
  { EFFECT("deaf"), .n_main = 0, GAIN, .process = run_gain },           // without audio
  { EFFECT("learner"), .n_main = 1, .params = learner_params, .n_params = N(learner_params),
    .process = run_learner }, // has a state
  { EFFECT("fault"), .n_main = 1, GAIN, .process = run_gain },
};

const uint32_t fixture_n_kinds = N(fixture_kinds);
