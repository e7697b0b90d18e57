// SPDX-License-Identifier: GPL-3.0-or-later

#include "plugin_sample.h"

#include "scoped.h"
#include "suite.h"

static const PluginPoint points[] = { { -1.5, "Low pass (12 dB)" },
                                      { 0.0, "a\\b" },
                                      { 1e300, "" } };

static const PluginPort ports[] = {
  { .index = 0, .type = PORT_AUDIO, .symbol = "in", .name = "In", .group = "main", .uri = "" },
  { .index = 1,
    .type = PORT_AUDIO,
    .flags = PORT_OUTPUT,
    .symbol = "out",
    .name = "Out",
    .group = "main",
    .uri = "" },
  { .index = 2,
    .type = PORT_CONTROL,
    .flags = PORT_LOGARITHMIC | PORT_STEPPED,
    .symbol = "gain",
    .name = "Gain",
    .group = "",
    .uri = "",
    .unit = UNIT_DB,
    .min = -1e308,
    .max = 1.0 / 3.0,
    .initial = -0.1 },
  { .index = 3,
    .type = PORT_CONTROL,
    .flags = PORT_CHOICE,
    .symbol = "type",
    .name = "Größe 100 %",
    .group = "",
    .uri = "",
    .unit = UNIT_LINEAR,
    .min = -1.5,
    .max = 1e300,
    .initial = 0.0,
    .n_points = 3,
    .points = points },
  { .index = 4, .type = PORT_CV, .symbol = "cv", .name = "", .group = "", .uri = "" },
  { .index = 5,
    .type = PORT_ATOM,
    .flags = PORT_EVENTS | PORT_TIME | PORT_PATCH,
    .symbol = "control",
    .name = "Control",
    .group = "",
    .uri = "",
    .n_bytes = PLUGIN_MAX_BUFFER },
  { .index = UINT32_MAX,
    .type = PORT_PROPERTY,
    .flags = PORT_FILE,
    .symbol = "ir",
    .name = "Impulse",
    .group = "",
    .uri = "urn:test#ir" },
};

static const PluginPreset presets[] = {
  { .name = "Nothing", .uri = "" },
  { .name = "Loud",
    .uri = "urn:test#loud",
    .state = "/tmp/odd\tname.lv2/loud.ttl",
    .n_values = 2,
    .ports = (const uint32_t[]){ 3, 2 },
    .values = (const double[]){ -1.5, 0.25 } },
};

const Plugin plugin_sample = {
  .origin = { .format = "lv2", .id = "urn:test:sample#stereo" },
  .name = "Sample",
  .maker = "Somebody",
  .licence = "ISC",
  .category = "Reverb",
  .bundle = "/tmp/odd\tname\n\x7f\xff.lv2",
  .binary = "/tmp/odd\\name.so",
  .binary_key = { UINT64_MAX, 0, UINT64_C(1700000000123456789) },
  .takes_state = true,
  .state = "/tmp/odd\tname.lv2/sample.ttl",
  .fault = "",
  .notes = "a default was out of range; a minimum was missing",
  .n_ports = ARRAY_LEN(ports),
  .ports = ports,
  .n_presets = ARRAY_LEN(presets),
  .presets = presets,
};

char*
plugin_sample_text(const Plugin* const plugin)
{
  TextBuffer text = { .bytes = NULL };
  plugin_write(&text, plugin);
  char* const taken = text_buffer_take(&text);
  ck_assert_ptr_nonnull(taken);
  return taken;
}

Status
plugin_sample_read(const char* const text, Arena* const arena, Plugin** const plugin,
                   Error* const error)
{
  static const FxInfo functions = { .name = "functions" };
  char* const copy = arena_take(arena, 1, strlen(text) + 1U);
  return copy ? plugin_read(strcpy(copy, text), arena, &functions, plugin, error)
              : error_set(error, STATUS_NO_MEM, "out of memory");
}

const Plugin*
plugin_sample_of(const PluginPort* const of_ports, const uint32_t n_ports, Arena* const arena)
{
  Plugin plugin = plugin_sample;
  plugin.ports = of_ports;
  plugin.n_ports = n_ports;
  plugin.n_presets = 0;
  plugin.takes_state = false;
  SCOPED_MEMORY const char* const text = plugin_sample_text(&plugin);
  Plugin* read = NULL;
  OK(plugin_sample_read(text, arena, &read, &error));
  return read;
}

const FxParam*
plugin_sample_param(const Plugin* const plugin, const char* const id)
{
  const int param = fx_param_find(&plugin->fx, id);
  ck_assert_msg(param >= 0, "no parameter %s", id);
  return &plugin->fx.params[param];
}
