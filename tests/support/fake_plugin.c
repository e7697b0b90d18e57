// SPDX-License-Identifier: GPL-3.0-or-later
// A plugin format in the test program.

#include "fake_plugin.h"

#include "engine/base/time.h"
#include "plugins/format.h"
#include "plugins/state_file.h"

#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

const PluginFormat* __wrap_plugin_format_find(const char* name);
const PluginFormat* __real_plugin_format_find(const char* name);

struct Instance {
  FakePlugin* fake;
  uint32_t index;
  uint32_t latency_frames;
  double values[FAKE_MAX_PORTS];
  uint32_t n_runs;
  uint64_t n_frames;
  bool is_poisoned;
  float* lines; ///< [n_main][latency_frames + 1]
  const StateFile* state;
  uint32_t part; ///< Of that state
  HostPaths* paths;
};

// ---- description ----

/// Plugin::ports of the controls.
static const PluginPort controls[N_FAKE_CONTROLS] = {
  [GAIN] = { .symbol = "gain", .max = 4.0, .initial = 1.0 },
  [STEPPED] = { .symbol = "stepped", .flags = PORT_STEPPED, .max = 1.0 },
  [WHOLE] = { .symbol = "whole", .flags = PORT_INTEGER, .min = -3.0, .max = 7.0 },
  [CHOICE] = { .symbol = "choice", .flags = PORT_CHOICE, .max = 9.0, .initial = 2.5 },
  [SWITCH] = { .symbol = "switch",
               .flags = PORT_TOGGLED,
               .min = -1.0,
               .max = 5.0,
               .initial = -1.0 },
  [TRIGGER] = { .symbol = "trigger", .flags = PORT_TOGGLED | PORT_TRIGGER, .max = 2.0 },
  [CUTOFF] = { .symbol = "cutoff", .flags = PORT_RATE, .min = 0.001, .max = 0.5, .initial = 0.25 },
  [HIDDEN] = { .symbol = "hidden", .flags = PORT_HIDDEN, .max = 1.0 },
  [OFFLINE] = { .symbol = "offline", .flags = PORT_OFFLINE, .max = 1.0 },
};

static const char* const choice_names[] = { "low", "high", NULL };
static const double choice_values[] = { 2.5, 9.0 };

/// FxInfo::params.
static const FxParam params[N_ALL_FAKE_PARAMS] = {
  [GAIN] = { .id = "gain", .max = 4.0, .initial = 1.0 },
  [STEPPED] = { .id = "stepped", .max = 1.0 },
  [WHOLE] = { .id = "whole", .kind = PARAM_INTEGER, .min = -3.0, .max = 7.0 },
  [CHOICE] = { .id = "choice",
               .kind = PARAM_CHOICE,
               .choices = choice_names,
               .choice_values = choice_values,
               .initial = 2.5 },
  [SWITCH] = { .id = "switch", .kind = PARAM_SWITCH },
  [TRIGGER] = { .id = "trigger", .kind = PARAM_SWITCH },
  [CUTOFF] = { .id = "cutoff", .unit = UNIT_HZ, .min = 8.0, .max = 96000.0, .initial = 12000.0 },
  [FAKE_BYPASS] = { .id = "bypass", .kind = PARAM_SWITCH },
  [FAKE_PRESET] = { .id = "preset", .kind = PARAM_TEXT, .structural = true },
};

static void
add_audio(FakePlugin* const fake, const uint32_t n, const uint32_t flags)
{
  for (uint32_t i = 0; i < n; ++i) {
    fake->ports[fake->plugin.n_ports++] = (PluginPort){ .type = PORT_AUDIO, .flags = flags };
  }
}

void
fake_plugin_init(FakePlugin* const fake, const uint32_t n_main, const uint32_t n_side,
                 const uint32_t n_out)
{
  *fake =
      (FakePlugin){ .n_main = n_main, .n_side = n_side, .n_out = n_out, .fails_at = UINT32_MAX };
  memcpy(fake->params, params, sizeof(params));
  for (uint32_t c = 0; c < N_FAKE_CONTROLS; ++c) {
    fake->ports[c] = controls[c];
    fake->ports[c].type = PORT_CONTROL;
  }
  for (int32_t p = 0; p < N_FAKE_PARAMS; ++p) {
    fake->param_ports[p] = p;
  }
  fake->param_ports[FAKE_BYPASS] = PLUGIN_BYPASS;
  fake->param_ports[FAKE_PRESET] = PLUGIN_PRESET;
  Plugin* const plugin = &fake->plugin;
  *plugin = (Plugin){ .origin = { "fake", "fake" },
                      .binary = "/proc/self/exe",
                      .fault = "",
                      .n_ports = N_FAKE_CONTROLS,
                      .ports = fake->ports,
                      .param_ports = fake->param_ports,
                      .side_of = fake->side_of };
  plugin->fx = host_functions;
  plugin->fx.event = NULL; // it takes no notes
  plugin->fx.name = "fake";
  plugin->fx.origin = &plugin->origin;
  plugin->fx.params = fake->params;
  plugin->fx.n_params = N_ALL_FAKE_PARAMS;
  fake->sides[0] = (FxSide){ "sidechain", n_side };
  plugin->fx.sides = fake->sides;
  plugin->fx.n_sides = n_side ? 1U : 0U;
  plugin->fx.is_source = !n_main;
  // Side chains are between the main inputs, as some plugins have them.
  add_audio(fake, n_main / 2U, PORT_NO_FLAGS);
  add_audio(fake, n_side, PORT_SIDECHAIN);
  add_audio(fake, n_main - n_main / 2U, PORT_NO_FLAGS);
  add_audio(fake, n_out, PORT_OUTPUT);
  OK(file_key(plugin->binary, &plugin->binary_key, &error));
}

void
fake_plugin_add(FakePlugin* const fake, const uint32_t flags, const double initial)
{
  ck_assert_uint_lt(fake->plugin.n_ports, FAKE_MAX_PORTS);
  fake->ports[fake->plugin.n_ports++] =
      (PluginPort){ .type = PORT_CONTROL, .flags = flags, .max = 1.0, .initial = initial };
}

void
fake_plugin_presets(FakePlugin* const fake, const PluginPreset* const presets,
                    const uint32_t n_presets)
{
  fake->plugin.presets = presets;
  fake->plugin.n_presets = n_presets;
}

uint32_t
fake_plugin_values(const FakePlugin* const fake, const uint32_t first, const uint32_t port,
                   double* const values, const uint32_t n_values)
{
  uint32_t n = 0;
  for (uint32_t s = first; s < fake->n_sets; ++s) {
    const FakeSet* const set = &fake->sets[s];
    if (set->instance == 0U && set->port == port) {
      if (n < n_values) {
        values[n] = set->value;
      }
      ++n;
    }
  }
  return n;
}

// ---- the calls ----

/// As ck_assert(), which allocates.
static void
demand(const bool holds)
{
  if (!holds) {
    abort();
  }
}

static void
on_signal(const int number)
{
  (void)number;
}

static void
change_float_mode(void)
{
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() ^ 0xE040U); // rounding and denormals
#endif
}

static void
change_process(const FakePlugin* const fake)
{
  if (fake->changes_process) {
    change_float_mode();
    demand(setlocale(LC_ALL, "C.UTF-8") != NULL);
    static locale_t other; // a thread must not lose its locale
    other = other ? other : newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
    uselocale(other);
    signal(SIGSEGV, on_signal);
    signal(SIGABRT, on_signal);
    signal(SIGPIPE, SIG_IGN);
  }
}

static size_t
line_frames(const Instance* const instance)
{
  return (size_t)instance->latency_frames + 1U;
}

static void
begin_anew(Instance* const instance)
{
  memset(instance->lines, 0, instance->fake->n_main * line_frames(instance) * sizeof(float));
  instance->n_frames = 0;
  instance->n_runs = 0;
  instance->is_poisoned = false;
}

/// Note the thread of a call.
static void
note_thread(FakePlugin* const fake)
{
  fake->thread = fake->n_opened ? fake->thread : pthread_self();
  fake->n_elsewhere += !pthread_equal(fake->thread, pthread_self());
}

static Status
fake_open(const Plugin* const plugin, const InstanceSetup* const setup, Instance** const out,
          Error* const error)
{
  FakePlugin* const fake = (FakePlugin*)(void*)plugin; // only the fake itself is const to the host
  note_thread(fake);
  change_process(fake);
  fake->was_offline = setup->offline;
  fake->last_preset = setup->preset;
  time_sleep((uint64_t)fake->open_ms * NS_PER_MS);
  if (fake->n_opened == fake->fails_at) {
    return error_set(error, STATUS_FILE, "the fake does not want to");
  }
  Instance* const instance = calloc(1, sizeof(Instance));
  const uint32_t latency_frames = fake->latency_frames + fake->n_opened * fake->latency_growth;
  const size_t n_line = (fake->n_main + 1U) * (size_t)(latency_frames + 1U);
  float* const lines = calloc(n_line + fake->n_bytes / sizeof(float), sizeof(float));
  if (!instance || !lines) {
    free(instance);
    free(lines);
    return error_set(error, STATUS_NO_MEM, "the fake is out of memory");
  }
  memset(lines + n_line, 1, fake->n_bytes); // else the kernel has not given it yet
  *instance = (Instance){ fake,
                          fake->n_opened++,
                          latency_frames,
                          .lines = lines,
                          .state = setup->state,
                          .part = setup->index,
                          .paths = setup->paths };
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    instance->values[p] = plugin->ports[p].initial;
  }
  begin_anew(instance);
  *out = instance;
  return STATUS_OK;
}

static void
fake_close(Instance* const instance)
{
  note_thread(instance->fake);
  change_process(instance->fake);
  ++instance->fake->n_closed;
  free(instance->lines);
  free(instance);
}

static Status
fake_renew(Instance* const instance, Error* const error)
{
  note_thread(instance->fake);
  change_process(instance->fake);
  ++instance->fake->n_renewed;
  const StatePart* const part = state_file_part(instance->state, instance->part);
  instance->fake->n_restored = part ? part->n_bytes : 0U;
  if (instance->fake->renewal_fails) {
    return error_set(error, STATUS_NO_MEM, "the fake stays as it is");
  }
  begin_anew(instance);
  return STATUS_OK;
}

static void
fake_set(Instance* const instance, const uint32_t port, const double value, const uint32_t frame)
{
  FakePlugin* const fake = instance->fake;
  demand(fake->n_sets < FAKE_MAX_SETS);
  fake->sets[fake->n_sets++] = (FakeSet){ instance->index, instance->n_runs, port, value, frame };
  instance->values[port] = value;
}

static double
fake_get(const Instance* const instance, const uint32_t port)
{
  return instance->values[port];
}

/// The sum of the inputs that a frame of an output is made of.
static float
next_sample(Instance* const instance, const float* const* const in, const uint32_t output,
            const uint32_t i)
{
  const FakePlugin* const fake = instance->fake;
  const uint32_t before_side = fake->n_main / 2U;
  if (!fake->n_main) {
    return (float)instance->values[GAIN];
  }
  const uint32_t channel = output % fake->n_main;
  const float main = in[channel < before_side ? channel : channel + fake->n_side][i];
  const size_t n = line_frames(instance);
  float* const line = instance->lines + channel * n;
  const uint64_t frame = instance->n_frames + i;
  line[frame % n] = main;
  instance->is_poisoned = instance->is_poisoned || fake->gives_nan || main > FAKE_POISON;
  float sum = (float)instance->values[GAIN] * line[(frame + 1U) % n];
  for (uint32_t s = 0; s < fake->n_side; ++s) {
    sum += in[before_side + s][i];
  }
  return instance->is_poisoned ? NAN : sum;
}

static void
overwrite_inputs(const FakePlugin* const fake, const float* const* const in,
                 const uint32_t n_frames)
{
  for (uint32_t r = 0; fake->writes_inputs && r < fake->n_main + fake->n_side; ++r) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      ((float*)(void*)in[r])[i] = 99.0F;
    }
  }
}

static void
fake_run(Instance* const instance, const float* const* const in, float* const* const out,
         const uint32_t n_frames)
{
  demand(n_frames > 0U);
  FakePlugin* const fake = instance->fake;
  void (*const meanwhile)(void) = fake->meanwhile;
  fake->meanwhile = NULL;
  if (meanwhile) {
    meanwhile();
  }
  for (uint32_t o = 0; o < fake->n_out; ++o) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      out[o][i] = next_sample(instance, in, o, i);
    }
  }
  overwrite_inputs(fake, in, n_frames);
  instance->n_frames += n_frames;
  ++instance->n_runs;
  ++fake->n_runs;
  if (fake->changes_process) {
    change_float_mode();
  }
}

/// Known after the second run, as of some plugins.
static uint32_t
fake_latency(const Instance* const instance)
{
  const double whole = instance->fake->latency_follows ? instance->values[WHOLE] : 0.0;
  const uint32_t frames = instance->latency_frames + (uint32_t)whole;
  return instance->n_runs < 2U ? 0U : frames + instance->fake->latency_error;
}

static bool
fake_has_latency(const Instance* const instance)
{
  const FakePlugin* const fake = instance->fake;
  return fake->latency_frames || fake->latency_follows || fake->latency_error;
}

static Status
fake_save(Instance* const instance, TextBuffer* const part, Error* const error)
{
  const FakePlugin* const fake = instance->fake;
  char* const state = calloc(fake->n_state + 1U, 1U);
  const bool is_saved = state && state_append(part, state, fake->n_state);
  free(state);
  if (!is_saved || !fake->n_file) {
    return is_saved ? STATUS_OK : error_set(error, STATUS_NO_MEM, "out of memory");
  }
  char* const bytes = calloc(fake->n_file, 1U);
  const PackageFile file = { "wav", bytes, fake->n_file };
  char stored[FX_STATE_NAME_BYTES];
  const Status status = host_paths_keep(instance->paths, &fake->plugin.fx, &file, stored, error);
  free(bytes);
  return status;
}

static const InstanceCalls fake_calls = {
  .open = fake_open,
  .close = fake_close,
  .renew = fake_renew,
  .set = fake_set,
  .get = fake_get,
  .run = fake_run,
  .latency = fake_latency,
  .has_latency = fake_has_latency,
  .save = fake_save,
};

static const PluginFormat fake_format = { .name = "fake", .calls = &fake_calls };

const PluginFormat*
__wrap_plugin_format_find(const char* const name)
{
  return strcmp(name, "fake") ? __real_plugin_format_find(name) : &fake_format;
}
