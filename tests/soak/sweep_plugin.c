// SPDX-License-Identifier: GPL-3.0-or-later
/*
   Plays one plugin of the user's catalogue, for tools/sweep.

     sweep_plugin host FORMAT ID INPUT OUTPUT BLOCK
     sweep_plugin reference FORMAT ID INPUT OUTPUT BLOCK [WORD ...]

   INPUT has planar float samples, 64 rows of the same length; a plugin gets as many of them as it
   has main inputs.  OUTPUT gets the planar samples of the outputs.  A line of JSON goes to stdout.
   WORD is denormals, in-place, nan-outputs, no-options, own-values or second: see SweepPlay.
*/

#include "sweep.h"

#include "engine/base/macros.h"
#include "engine/base/rt.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
die(const char* const what, const char* const why)
{
  fprintf(stderr, "sweep_plugin: %s: %s\n", what, why);
  return EXIT_FAILURE;
}

void
sweep_rows_take(SweepRows* const rows, const uint32_t n_rows, const uint32_t n_frames)
{
  free(rows->samples);
  rows->n_rows = n_rows;
  rows->n_frames = n_frames;
  rows->samples = calloc((size_t)n_rows * n_frames + 1U, sizeof(float));
  if (!rows->samples || n_rows > SWEEP_MAX_ROWS) {
    exit(die("rows", "too many"));
  }
  for (uint32_t r = 0; r < n_rows; ++r) {
    rows->rows[r] = rows->samples + (size_t)r * n_frames;
  }
}

uint32_t
sweep_count(const Plugin* const plugin, const PortType type, const bool is_output,
            const bool with_sidechains)
{
  uint32_t n = 0;
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    const uint32_t flags = plugin->ports[p].flags;
    n += plugin->ports[p].type == type && is_output == ((flags & PORT_OUTPUT) != 0U) &&
         (with_sidechains || !(flags & PORT_SIDECHAIN));
  }
  return n;
}

double
sweep_value(const Plugin* const plugin, const uint32_t port)
{
  const PluginPort* const row = &plugin->ports[port];
  for (uint32_t p = 0; row->flags & PORT_RATE && p < plugin->fx.n_params; ++p) {
    if (plugin->param_ports[p] == (int32_t)port) {
      return plugin->fx.params[p].initial; // in Hz, as lists show it
    }
  }
  return row->flags & (PORT_ENABLED | PORT_OFFLINE) ? row->max
         : row->flags & PORT_BYPASS                 ? row->min
                                                    : row->initial;
}

static int
read_input(const char* const path, const uint32_t n_rows, SweepRows* const in)
{
  FILE* const file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) {
    return die(path, "cannot be read");
  }
  const uint32_t n_frames = (uint32_t)((size_t)ftell(file) / SWEEP_INPUTS / sizeof(float));
  rewind(file);
  sweep_rows_take(in, n_rows, n_frames);
  const size_t n = (size_t)n_rows * n_frames;
  const size_t n_read = fread(in->samples, sizeof(float), n, file);
  fclose(file);
  return n_read == n ? 0 : die(path, "is too short");
}

static int
write_output(const char* const path, const SweepRows* const out)
{
  FILE* const file = fopen(path, "wb");
  const size_t n = (size_t)out->n_rows * out->n_frames;
  if (!file || fwrite(out->samples, sizeof(float), n, file) != n || fclose(file)) {
    return die(path, "cannot be written");
  }
  return 0;
}

/// The control inputs with their numbers, in the order of the ports.
static json_t*
controls_of(const Plugin* const plugin)
{
  json_t* const controls = json_array();
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    const PluginPort* const port = &plugin->ports[p];
    if (port->type == PORT_CONTROL && !(port->flags & PORT_OUTPUT)) {
      json_array_append_new(
          controls, json_pack("[s f]", port->symbol, (double)(float)sweep_value(plugin, p)));
    }
  }
  return controls;
}

/// The row of the signal for each audio input; -1 for side chains.
static json_t*
inputs_of(const Plugin* const plugin)
{
  json_t* const inputs = json_array();
  int row = 0;
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    const PluginPort* const port = &plugin->ports[p];
    if (port->type == PORT_AUDIO && !(port->flags & PORT_OUTPUT)) {
      json_array_append_new(inputs, json_integer(port->flags & PORT_SIDECHAIN ? -1 : row++));
    }
  }
  return inputs;
}

static json_t*
play_host(const SweepPlay* const of, SweepRows* const out)
{
  rt_flush_denormals(); // as the engine does on its threads
  json_t* const result = sweep_steps(of, out);
  json_object_set_new(result, "controls", controls_of(of->plugin));
  json_object_set_new(result, "binary", json_string(of->plugin->binary));
  json_object_set_new(result, "notes", json_string(of->plugin->notes));
  json_object_set_new(result, "inputs", inputs_of(of->plugin));
  return result;
}

static json_t*
play_reference(const SweepPlay* const of, SweepRows* const out)
{
  if (!of->with_denormals) {
    rt_flush_denormals();
  }
  const char* const reason = sweep_reference(of, out);
  return json_pack("{sb ss}", "plays", reason == NULL, "reason", reason ? reason : "");
}

static bool
has_word(const int argc, char** const argv, const char* const word)
{
  bool has = false;
  for (int a = 7; a < argc; ++a) {
    has = has || !strcmp(argv[a], word);
  }
  return has;
}

static SweepPlay play;
static const char* const* arguments;

static json_t*
play_chosen(SweepRows* const out)
{
  return strcmp(arguments[1], "host") ? play_reference(&play, out) : play_host(&play, out);
}

/// The rigs of the tests report their failures to Check.
START_TEST(a_plugin_plays)
{
  SweepRows out = { 0 };
  ck_assert_int_eq(
      read_input(arguments[4], sweep_count(play.plugin, PORT_AUDIO, false, false), &play.in), 0);
  json_t* const result = play_chosen(&out);
  ck_assert_int_eq(write_output(arguments[5], &out), 0);
  puts(json_dumps(result, JSON_COMPACT));
}
END_TEST

static int
run_check(void)
{
  Suite* const suite = suite_create("sweep");
  TCase* const tcase = tcase_create("sweep");
  tcase_add_test(tcase, a_plugin_plays);
  suite_add_tcase(suite, tcase);
  SRunner* const runner = srunner_create(suite);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_SILENT);
  if (!srunner_ntests_failed(runner)) {
    return EXIT_SUCCESS;
  }
  return die(arguments[3], tr_msg(srunner_failures(runner)[0]));
}

int
main(const int argc, char** const argv)
{
  if (argc < 7) {
    return die("usage", "sweep_plugin host|reference FORMAT ID INPUT OUTPUT BLOCK [WORD ...]");
  }
  Error failure = { STATUS_OK, "" };
  const FxInfo* fx = NULL;
  if (fx_find_plugin(argv[2], argv[3], &fx, &failure)) {
    return die(argv[3], failure.text);
  }
  arguments = (const char* const*)argv;
  play = (SweepPlay){ .plugin = plugin_of(fx),
                      .block_frames = (uint32_t)atoi(argv[6]),
                      .in_place = has_word(argc, argv, "in-place"),
                      .with_denormals = has_word(argc, argv, "denormals"),
                      .with_own_values = has_word(argc, argv, "own-values"),
                      .without_options = has_word(argc, argv, "no-options"),
                      .has_nan_outputs = has_word(argc, argv, "nan-outputs"),
                      .is_second = has_word(argc, argv, "second") };
  snprintf(play.state, sizeof(play.state), "%s.state", argv[5]);
  const int status = run_check();
  fflush(stdout);
  _Exit(status); // without the destructors of plugins, as the program's own processes
}
