// SPDX-License-Identifier: GPL-3.0-or-later
// A plugin in the reference host of its format, with the values that warprack gives it.

#include "sweep.h"

#include "tests/support/reference_clap.h"
#include "tests/support/reference_ladspa.h"
#include "tests/support/reference_lv2.h"

#include "engine/base/macros.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_FRAMES 512U  // of silence
#define STACK_BYTES  65536 // more than a plugin's run() needs

/// If MALLOC_PERTURB_ is a number, fill the stack with this byte, so that the variables of the next
/// function begin with it.  malloc() fills its memory with the inverse of the same byte.
static void
fill_stack(void)
{
  const char* const number = getenv("MALLOC_PERTURB_");
  if (number) {
    unsigned char bytes[STACK_BYTES];
    volatile unsigned char* const written = bytes; // the compiler may not leave out these writes
    for (size_t b = 0; b < STACK_BYTES; ++b) {
      written[b] = (unsigned char)atoi(number);
    }
  }
}

/// Rows for all audio inputs: those of the signal, and silence for side chains.
static void
take_inputs(const SweepPlay* const play, SweepRows* const in)
{
  const Plugin* const plugin = play->plugin;
  uint32_t row = 0;
  uint32_t main_row = 0;
  sweep_rows_take(in, sweep_count(plugin, PORT_AUDIO, false, true), play->in.n_frames);
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    const uint32_t flags = plugin->ports[p].flags;
    if (plugin->ports[p].type == PORT_AUDIO && !(flags & PORT_OUTPUT)) {
      if (!(flags & PORT_SIDECHAIN)) {
        memcpy(in->rows[row], play->in.rows[main_row++], in->n_frames * sizeof(float));
      }
      ++row;
    }
  }
}

static const char*
play_ladspa(const SweepPlay* const play, SweepRows* const in, SweepRows* const out)
{
  const Plugin* const plugin = play->plugin;
  float* const values = calloc(plugin->n_ports + 1U, sizeof(float));
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    values[plugin->ports[p].index] = (float)sweep_value(plugin, p);
  }
  const ReferenceLadspa reference = {
    .path = plugin->binary,
    .label = strchr(plugin->origin.id, '/') + 1,
    .rate_hz = (unsigned long)SWEEP_RATE_HZ,
    .block_frames = play->block_frames,
    .n_frames = in->n_frames,
    .n_in = in->n_rows,
    .in_place = play->in_place,
    .in = in->rows,
    .out = out->rows,
    .values = values,
    .before_run = fill_stack,
  };
  const char* const reason = reference_ladspa_play(&reference);
  free(values);
  return reason;
}

static void
set_lv2_values(const Plugin* const plugin, ReferenceLv2* const reference)
{
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    const PluginPort* const port = &plugin->ports[p];
    if (port->type == PORT_CONTROL && !(port->flags & PORT_OUTPUT)) {
      reference_lv2_set(reference, port->index, (float)sweep_value(plugin, p));
    }
  }
}

static const char*
play_lv2(const SweepPlay* const play, SweepRows* const in, SweepRows* const out)
{
  const Plugin* const plugin = play->plugin;
  const ReferenceLv2Variant variant = { .no_options = play->without_options,
                                        .nan_outputs = play->has_nan_outputs,
                                        .before_run = fill_stack };
  ReferenceLv2* const reference = reference_lv2_open_variant(
      &variant, plugin->bundle, plugin->origin.id, SWEEP_RATE_HZ, play->block_frames);
  if (!reference) {
    return "lilv does not find it";
  }
  if (!play->with_own_values) {
    set_lv2_values(plugin, reference);
  }
  for (uint32_t at = 0; at < in->n_frames; at += play->block_frames) {
    float* rows_in[SWEEP_MAX_ROWS];
    float* rows_out[SWEEP_MAX_ROWS];
    for (uint32_t r = 0; r < out->n_rows; ++r) {
      rows_out[r] = out->rows[r] + at;
    }
    for (uint32_t r = 0; r < in->n_rows; ++r) {
      rows_in[r] = in->rows[r] + at;
      if (play->in_place && r < out->n_rows) {
        memcpy(rows_out[r], rows_in[r], play->block_frames * sizeof(float));
        rows_in[r] = rows_out[r];
      }
    }
    reference_lv2_run(reference, rows_in, rows_out, play->block_frames);
  }
  return NULL;
}

static const char*
play_clap(const SweepPlay* const play, SweepRows* const in, SweepRows* const out)
{
  ReferenceClap reference = { .path = play->plugin->binary,
                              .id = play->plugin->origin.id,
                              .rate_hz = SWEEP_RATE_HZ,
                              .block_frames = play->block_frames,
                              .n_frames = in->n_frames };
  if (in->n_rows > REFERENCE_CLAP_ROWS || out->n_rows > REFERENCE_CLAP_ROWS) {
    return "too many channels";
  }
  for (uint32_t r = 0; r < in->n_rows; ++r) {
    reference.in[r] = in->rows[r];
  }
  for (uint32_t r = 0; r < out->n_rows; ++r) {
    reference.out[r] = out->rows[r];
  }
  return reference_clap(&reference) ? NULL : "it does not load, or crashes";
}

static const char*
play_format(const SweepPlay* const play, SweepRows* const in, SweepRows* const out)
{
  static const struct {
    const char* format;
    const char* (*play)(const SweepPlay* play, SweepRows* in, SweepRows* out);
  } hosts[] = { { "clap", play_clap }, { "ladspa", play_ladspa }, { "lv2", play_lv2 } };
  for (size_t h = 0; h < ARRAY_LEN(hosts); ++h) {
    if (!strcmp(hosts[h].format, play->plugin->origin.format)) {
      return hosts[h].play(play, in, out);
    }
  }
  return "there is no reference host";
}

const char*
sweep_reference(const SweepPlay* const play, SweepRows* const out)
{
  const uint32_t n_out = sweep_count(play->plugin, PORT_AUDIO, true, true);
  SweepRows in = { 0 };
  if (play->is_second) { // as the instance in which warprack's host finds the latency
    sweep_rows_take(&in, sweep_count(play->plugin, PORT_AUDIO, false, true), FIRST_FRAMES);
    sweep_rows_take(out, n_out, FIRST_FRAMES);
    (void)play_format(play, &in, out);
  }
  take_inputs(play, &in);
  sweep_rows_take(out, n_out, in.n_frames);
  const char* const reason = play_format(play, &in, out);
  free(in.samples);
  return reason;
}
