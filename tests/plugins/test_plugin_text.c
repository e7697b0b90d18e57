// SPDX-License-Identifier: GPL-3.0-or-later
// A description that was written reads back as the same plugin; any text is written printably; each
// kind of wrong line is refused with its number, and what is accepted is in range.

#include "engine/base/text.h"
#include "plugins/plugin.h"
#include "tests/support/plugin_sample.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"
#include "tests/support/wrapped_alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define HEAD                                                                                       \
  "plugin\tlv2\turn:x\tX\t\t\t\t\t\n"                                                              \
  "binary\t/b\t/b/x.so\t1\t2\t3\n"
#define PORT   "port\t0\tcontrol\t\tgain\tGain\t\t\tdb\t-90\t0\t24\t0\n"
#define PORT_1 "port\t1\tcontrol\t\ta\tA\t\t\tdb\t0\t0\t1\t0\n"
#define REPORT "report\t\t\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\n"
#define PRESET "preset\tLoud\t\t0\t0\t6\n"

static Error fault;

static void
assert_same_port(const PluginPort* const a, const PluginPort* const b)
{
  ck_assert_uint_eq(a->index, b->index);
  ck_assert_uint_eq(a->type, b->type);
  ck_assert_uint_eq(a->flags, b->flags);
  ck_assert_str_eq(a->symbol, b->symbol);
  ck_assert_str_eq(a->name, b->name);
  ck_assert_str_eq(a->group, b->group);
  ck_assert_str_eq(a->uri, b->uri);
  ck_assert_uint_eq(a->unit, b->unit);
  ck_assert(a->min == b->min && a->max == b->max && a->initial == b->initial);
  ck_assert_uint_eq(a->n_bytes, b->n_bytes);
  ck_assert_uint_eq(a->n_points, b->n_points);
  for (uint32_t i = 0; i < a->n_points; ++i) {
    ck_assert(a->points[i].value == b->points[i].value);
    ck_assert_str_eq(a->points[i].label, b->points[i].label);
  }
}

static void
assert_same_preset(const PluginPreset* const a, const PluginPreset* const b)
{
  ck_assert_str_eq(a->name, b->name);
  ck_assert_str_eq(a->uri, b->uri);
  ck_assert_str_eq(a->state ? a->state : "", b->state);
  ck_assert_uint_eq(a->n_values, b->n_values);
  for (uint32_t v = 0; v < a->n_values; ++v) {
    ck_assert_uint_eq(a->ports[v], b->ports[v]);
    ck_assert(a->values[v] == b->values[v]);
  }
}

static void
assert_same(const Plugin* const a, const Plugin* const b)
{
  ck_assert_str_eq(a->origin.format, b->origin.format);
  ck_assert_str_eq(a->origin.id, b->origin.id);
  ck_assert_str_eq(a->name, b->name);
  ck_assert_str_eq(a->maker, b->maker);
  ck_assert_str_eq(a->licence, b->licence);
  ck_assert_str_eq(a->category, b->category);
  ck_assert_str_eq(a->bundle, b->bundle);
  ck_assert_str_eq(a->binary, b->binary);
  ck_assert_mem_eq(&a->binary_key, &b->binary_key, sizeof(FileKey));
  ck_assert(a->takes_state == b->takes_state);
  ck_assert_pstr_eq(a->state, b->state);
  ck_assert_str_eq(a->fault, b->fault);
  ck_assert_str_eq(a->notes, b->notes);
  ck_assert_uint_eq(a->n_ports, b->n_ports);
  for (uint32_t p = 0; p < a->n_ports; ++p) {
    assert_same_port(&a->ports[p], &b->ports[p]);
  }
  ck_assert_uint_eq(a->n_presets, b->n_presets);
  for (uint32_t p = 0; p < a->n_presets; ++p) {
    assert_same_preset(&a->presets[p], &b->presets[p]);
  }
}

static void
assert_same_report(const PluginReport* const a, const PluginReport* const b)
{
  ck_assert_str_eq(a->fault, b->fault);
  ck_assert_uint_eq(a->flags, b->flags);
  ck_assert_uint_eq(a->latency_frames, b->latency_frames);
  ck_assert_uint_eq(a->tail_frames, b->tail_frames);
  ck_assert_uint_eq(a->block_ns, b->block_ns);
  ck_assert_uint_eq(a->n_bytes, b->n_bytes);
  ck_assert_uint_eq(a->n_threads, b->n_threads);
  ck_assert_uint_eq(a->n_allocations, b->n_allocations);
  ck_assert_uint_eq(a->n_locks, b->n_locks);
  ck_assert(a->run_error == b->run_error && a->block_error == b->block_error &&
            a->move_error == b->move_error);
  ck_assert_uint_eq(a->n_moving, b->n_moving);
  ck_assert_mem_eq(a->moving, b->moving, a->n_moving * sizeof(uint32_t));
}

TEST(a_report_reads_back_as_it_was_written)
{
  static const uint32_t moving[] = { 2, 3 };
  const PluginReport report = { .fault = "crashed: \\",
                                .flags = REPORT_NAN | REPORT_WRITES_INPUT,
                                .latency_frames = 4294967295U,
                                .tail_frames = 2,
                                .block_ns = 3,
                                .n_bytes = UINT64_MAX,
                                .n_threads = 4,
                                .n_allocations = 5,
                                .n_locks = 6,
                                .run_error = 0.1,
                                .block_error = 1e-7,
                                .move_error = 1e9,
                                .n_moving = 2,
                                .moving = moving };
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  Plugin plugin = plugin_sample;
  plugin.report = &report;
  SCOPED_MEMORY char* const text = plugin_sample_text(&plugin);
  Plugin* read = NULL;
  OK(plugin_sample_read(text, &arena, &read, &error));
  assert_same_report(&report, read->report);
  SCOPED_MEMORY char* const again = plugin_sample_text(read);
  ck_assert_str_eq(text, again);
}

static const struct {
  const char* fault;
  double run_error, block_error, move_error;
  ReportPromise promise;
} promises[] = {
  { "", 0.0, 0.0, 0.0, REPORT_EXACT },   { "", 1e-7, 2e-7, 3e-7, REPORT_EXACT },
  { "", 0.1, 0.0, 0.0, REPORT_SPLITS },  { "", 0.0, 0.0, 0.1, REPORT_SPLITS },
  { "", 0.0, 0.1, 0.0, REPORT_NOTHING }, { "crashed", 0.0, 0.0, 0.0, REPORT_NOTHING },
};

TEST_ROWS(the_effect_promises_what_the_report_allows, promises)
{
  const PluginReport report = { .fault = promises[row].fault,
                                .run_error = promises[row].run_error,
                                .block_error = promises[row].block_error,
                                .move_error = promises[row].move_error };
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  Plugin plugin = plugin_sample;
  plugin.report = &report;
  SCOPED_MEMORY char* const text = plugin_sample_text(&plugin);
  Plugin* read = NULL;
  OK(plugin_sample_read(text, &arena, &read, &error));
  const ReportPromise promise = promises[row].promise;
  ck_assert_int_eq(report_promise(read->report), promise);
  ck_assert_int_eq(read->fx.cut_at_events, promise != REPORT_NOTHING);
  ck_assert(read->fx.tolerance == (promise == REPORT_EXACT ? promises[row].move_error : 0.0));
  ck_assert_int_eq(report_promise(NULL), REPORT_NOTHING);
}

TEST(parameters_that_move_the_latency_are_structural)
{
  static const uint32_t moving[] = { 3 };
  const PluginReport report = { .fault = "", .n_moving = 1, .moving = moving };
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  Plugin plugin = plugin_sample;
  plugin.report = &report;
  SCOPED_MEMORY char* const text = plugin_sample_text(&plugin);
  Plugin* read = NULL;
  OK(plugin_sample_read(text, &arena, &read, &error));
  for (uint32_t p = 0; p < read->fx.n_params; ++p) {
    const FxParam* const param = &read->fx.params[p];
    const bool is_always = param->kind == PARAM_PATH || param->kind == PARAM_TEXT ||
                           param->of_engine == FX_SWITCH_SOLO; // files, texts, the preset
    ck_assert_int_eq(read->fx.params[p].structural, read->param_ports[p] == 3 || is_always);
  }
}

TEST(a_plugin_reads_back_as_it_was_written)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  SCOPED_MEMORY char* const text = plugin_sample_text(&plugin_sample);
  Plugin* plugin = NULL;
  OK(plugin_sample_read(text, &arena, &plugin, &error));
  assert_same(&plugin_sample, plugin);
  SCOPED_MEMORY char* const again = plugin_sample_text(plugin);
  ck_assert_str_eq(text, again);
}

#define ATOM(index, flags) "port\t" index "\tatom\t" flags "\ta\tA\t\t\tnone\t0\t0\t0\t1024\n"

static const struct {
  const char* ports;
  bool takes;
} ports_for_notes[] = {
  { PORT, false },
  { ATOM("0", "events"), true },
  { PORT ATOM("1", "events,time"), true },
  { ATOM("0", "output,events") ATOM("1", "time"), false },
  { ATOM("0", "output,events") ATOM("1", "optional,events"), true },
  { "port\t0\tcv\t\tport\tatom\t\tevents\tnone\t0\t0\t0\t0\n", false },
  { "port\t0\tatom", false },
};

TEST_ROWS(a_description_shows_whether_the_plugin_takes_notes, ports_for_notes)
{
  char text[512];
  const int n = snprintf(text, sizeof(text), HEAD "%s", ports_for_notes[row].ports);
  ck_assert(plugin_text_takes_notes(text, (size_t)n) == ports_for_notes[row].takes);
}

TEST(the_effect_has_the_names_of_the_plugin)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  SCOPED_MEMORY char* const text = plugin_sample_text(&plugin_sample);
  Plugin* plugin = NULL;
  OK(plugin_sample_read(text, &arena, &plugin, &error));
  ck_assert_ptr_eq(plugin_of(&plugin->fx), plugin);
  ck_assert_str_eq(plugin->fx.name, "sample-stereo");
  ck_assert_str_eq(plugin->fx.summary, "Sample");
  ck_assert_str_eq(plugin->fx.origin->format, "lv2");
  ck_assert_str_eq(plugin->fx.origin->id, "urn:test:sample#stereo");
  ck_assert(plugin->fx.tolerance == 0.0 && plugin->fx.tolerance_reason);
}

TEST(a_text_becomes_printable_and_a_path_stays)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  Plugin plugin = plugin_sample;
  plugin.name = "a\tb\nc\\d\x1b[31m \xff\xe2\x80\xae end";
  SCOPED_MEMORY char* const text = plugin_sample_text(&plugin);
  Plugin* read = NULL;
  OK(plugin_sample_read(text, &arena, &read, &error));
  ck_assert_str_eq(read->name, "a?b?c\\d?[31m ???? end");
  ck_assert_str_eq(read->bundle, plugin.bundle);
  uint32_t n_lines = 0;
  for (char* at = text; (at = strpbrk(at, "\t\n")); ++at) {
    n_lines += *at == '\n';
    *at = ' ';
  }
  ck_assert(text_is_printable(text));
  ck_assert_uint_eq(n_lines, 3U + plugin.n_ports + 1U + plugin.n_presets);
}

TEST(a_number_that_is_not_finite_is_written_so_that_it_is_refused)
{
  static const double numbers[] = { NAN, INFINITY, -INFINITY };
  for (uint32_t n = 0; n < ARRAY_LEN(numbers); ++n) {
    SCOPED(arena_clear) Arena arena = { .chunks = NULL };
    PluginPort port = plugin_sample.ports[0];
    port.max = numbers[n];
    Plugin plugin = plugin_sample;
    plugin.ports = &port;
    plugin.n_ports = 1;
    SCOPED_MEMORY char* const text = plugin_sample_text(&plugin);
    Plugin* read = NULL;
    ck_assert_int_eq(plugin_sample_read(text, &arena, &read, &fault), STATUS_FILE);
    ck_assert_str_eq(fault.text, "line 4: the maximum is not a finite number: \"nan\"");
  }
}

static const struct {
  const char *text, *says;
} broken[] = {
  { "", "line 1: the text ends" },
  { "plugin\tlv2\turn:x\tX\t\t\t\t\t\n", "line 2: the text ends" },
  { "\n", "line 1: unexpected line \"\"" },
  { "port\n", "line 1: unexpected line \"port\"" },
  { "plugin\n", "line 1: the format is missing" },
  { "plugin\tlv2\turn:x\tX\t\t\t\t\n", "line 1: the notes is missing" },
  { "plugin\tlv2\turn:x\tX\t\t\t\t\t\t\n", "line 1: too many fields" },
  { "plugin\tlv2\t\tX\t\t\t\t\t\n", "line 1: the plugin has no id" },
  { "plugin\t\turn:x\tX\t\t\t\t\t\n", "line 1: the plugin has no id" },
  { "plugin\tlv2\turn:x\t\xff\t\t\t\t\t\n", "line 1: the name is not printable UTF-8" },
  { "plugin\tlv2\turn:x\t\\x0a\t\t\t\t\t\n", "line 1: the name is not printable UTF-8" },
  { "plugin\tlv2\turn:x\t\\n\t\t\t\t\t\n", "line 1: the name has a wrong escape" },
  { "plugin\tlv2\turn:x\t\\x0\t\t\t\t\t\n", "line 1: the name has a wrong escape" },
  { "plugin\tlv2\turn:x\t\\\t\t\t\t\t\n", "line 1: the name has a wrong escape" },
  { "plugin\tlv2\turn:x\t\\x00\t\t\t\t\t\n", "line 1: the name has a wrong escape" },
  { HEAD HEAD, "line 3: unexpected line \"plugin" },
  { "plugin\tlv2\turn:x\tX\t\t\t\t\t\n" PORT, "line 2: unexpected line \"port" },
  { HEAD "binary\t/b\t/b/x.so\t1\t2\t3\n", "line 3: unexpected line \"binary" },
  { HEAD "prt\n", "line 3: unexpected line \"prt\"" },
  { HEAD "p\\x6Frt\t0\n", "line 3: unexpected line" },
  { HEAD "\n", "line 3: unexpected line \"\"" },
  { HEAD PORT "port\n", "line 4: the index is missing" },
  { HEAD "port\t1\tcontrol\t\ta\tA\t\t\tdb\t0\t0\t1\t0\n", "line 3: the port 1 of 1 ports" },
  { HEAD PORT PORT, "line 4: the port 0 of 2 ports" }, // twice
  { HEAD "port\t-1\taudio\t\ta\tA\t\t\tnone\t0\t0\t1\t0\n",
    "line 3: the index is not a whole number" },
  { HEAD "port\t0\tcontrols\t\ta\tA\t\t\tdb\t0\t0\t1\t0\n",
    "line 3: the type is unknown: \"controls\"" },
  { HEAD "port\t0\tcontrol\toutput,\ta\tA\t\t\tdB\t0\t0\t1\t0\n",
    "line 3: the unit is unknown: \"dB\"" },
  { HEAD "port\t0\tcontrol\toutput,no\ta\tA\t\t\tdb\t0\t0\t1\t0\n", "line 3: unknown flag \"no\"" },
  { HEAD "port\t0\tcontrol\t,\ta\tA\t\t\tdb\t0\t0\t1\t0\n", "line 3: unknown flag \",\"" },
  { HEAD "port\t0\tcontrol\t\ta\tA\t\t\tdb\tnan\t0\t1\t0\n",
    "line 3: the minimum is not a finite number" },
  { HEAD "port\t0\tcontrol\t\ta\tA\t\t\tdb\t0\t0\t1e999\t0\n",
    "line 3: the maximum is not a finite number" },
  { HEAD "port\t0\tcontrol\t\ta\tA\t\t\tdb\t0\t\t1\t0\n",
    "line 3: the initial value is not a finite" },
  { HEAD "port\t0\tcontrol\t\ta\tA\t\t\tdb\t0\t0x1\t1\t0\n",
    "line 3: the initial value is not a finite" },
  { HEAD "port\t0\tcontrol\t\ta\tA\t\t\tdb\t0\t2\t1\t0\n",
    "line 3: the initial value 2 is not between 0 and 1" },
  { HEAD "port\t0\tcontrol\t\ta\tA\t\t\tdb\t2\t1\t0\t0\n",
    "line 3: the initial value 1 is not between 2 and 0" },
  { HEAD "port\t0\tatom\t\ta\tA\t\t\tnone\t0\t0\t0\t4294967296\n",
    "line 3: the size is not a whole number" },
  { HEAD PORT PRESET PORT, "line 5: unexpected line \"port" },
  { HEAD PORT REPORT REPORT, "line 5: a line after the report" },
  { HEAD PORT REPORT PRESET, "line 5: a line after the report" },
  { HEAD PORT "report\t\tnan,no\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\n", "line 4: unknown flag \"no\"" },
  { HEAD PORT "report\t\t\t0\t0\t0\t0\t0\t0\t0\t0\t0\n",
    "line 4: the difference of moves is missing" },
  { HEAD PORT "report\t\t\t0\t0\t0\t0\t0\t0\t0\t-1\t0\t0\n",
    "line 4: the difference of runs is negative" },
  { HEAD PORT "report\t\t\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t1\n",
    "line 4: the port of the latency is not a whole number from 0 to 0" },
  { HEAD PORT "report\t\t\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\n",
    "line 4: more ports than the plugin has" },
  { HEAD PORT PORT_1 "report\t\t\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t1\t0\n",
    "line 5: the port 0 is not above the one before it" },
  { HEAD "points\t0\tA\n", "line 3: points without a port" },
  { HEAD PORT "points\t0\tA\npoints\t1\tB\n", "line 5: points without a port" },
  { HEAD PORT PRESET "points\t0\tA\n", "line 5: points without a port" },
  { HEAD PORT "points\n", "line 4: 0 points" },
  { HEAD PORT "points\t0\n", "line 4: the label of a point is missing" },
  { HEAD PORT "points\tx\tA\n", "line 4: the value of a point is not a finite number" },
  { HEAD PORT "points\t0\tA\t0\tB\n", "line 4: the point 0 is not above the one before it" },
  { HEAD PORT "points\t1\tA\t0\tB\n", "line 4: the point 0 is not above the one before it" },
  { HEAD PORT "preset\tLoud\t\n", "line 4: the state is missing" },
  { HEAD "state\n", "line 3: the state is missing" },
  { HEAD "state\t/a\t\n", "line 3: too many fields" },
  { HEAD PORT "state\t\n", "line 4: unexpected line \"state" },
  { HEAD PORT "preset\tLoud\t\t0\t0\n", "line 4: the value is missing" },
  { HEAD PORT "preset\tLoud\t\t0\t1\t0\n", "line 4: the port 1 is no parameter" },
  { HEAD PORT "preset\tLoud\t\t0\t0\tinf\n", "line 4: the value is not a finite number" },
  { HEAD PORT "preset\tLoud\t\t0\t0\t0\t0\t0\n", "line 4: 2 values for 1 ports" },
  { HEAD "port\t0\tcontrol\toutput\ta\tA\t\t\tdb\t0\t0\t1\t0\npreset\tA\t\t0\t0\t0\n",
    "line 4: the port 0 is no parameter" },
  { HEAD "port\t0\taudio\t\ta\tA\t\t\tnone\t0\t0\t0\t0\npreset\tA\t\t0\t0\t0\n",
    "line 4: the port 0 is no parameter" },
  { HEAD "port\t0\tproperty\tfile\ta\tA\t\turn:a\tnone\t0\t0\t0\t0\npreset\tA\t\t0\t0\t0\n",
    "line 4: the port 0 takes no number" },
  { HEAD "port\t0\tproperty\ttext\ta\tA\t\turn:a\tnone\t0\t0\t0\t0\npreset\tA\t\t0\t0\t0\n",
    "line 4: the port 0 takes no number" },
  { "plugin\tlv2\turn:x\tX\t\t\t\t\t\nbinary\t/b\t/b/x.so\t1\t2\t18446744073709551616\n",
    "line 2: the time is not a whole number" },
  { "plugin\tlv2\turn:x\tX\t\t\t\t\t\nbinary\t/b\t/b/x.so\t1\t\t3\n",
    "line 2: the size is not a whole number" },
  { "plugin\tlv2\turn:x\tX\t\t\t\t\t\nbinary\t/b\t/b/x.so\t 1\t2\t3\n",
    "line 2: the inode is not a whole number" },
};

TEST_ROWS(a_broken_line_is_named, broken)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  Plugin* plugin = NULL;
  ck_assert_int_eq(plugin_sample_read(broken[row].text, &arena, &plugin, &fault), STATUS_FILE);
  assert_says(fault.text, broken[row].says);
  ck_assert_ptr_null(plugin);
  ck_assert(text_is_printable(fault.text));
}

TEST(the_head_of_the_broken_lines_is_right)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  Plugin* plugin = NULL;
  OK(plugin_sample_read(HEAD PORT "points\t0\tA\t1\tB\n" PRESET, &arena, &plugin, &error));
  OK(plugin_sample_read(HEAD, &arena, &plugin, &error));
  ck_assert_uint_eq(plugin->n_ports, 0);
}

TEST(the_value_of_a_preset_is_in_the_range_of_its_port)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  Plugin* plugin = NULL;
  OK(plugin_sample_read(HEAD PORT "preset\tA\t\t0\t0\t1e9\npreset\tB\t\t0\t0\t-1e9\n", &arena,
                        &plugin, &error));
  ck_assert(plugin->presets[0].values[0] == 24.0);
  ck_assert(plugin->presets[1].values[0] == -90.0);
}

/// HEAD, then n lines; ports are numbered.
static char*
text_with(const uint32_t n, const char* const line)
{
  TextBuffer text = { .bytes = NULL };
  text_buffer_add(&text, HEAD);
  for (uint32_t i = 0; i < n; ++i) {
    if (!strncmp(line, "port\t0", 6)) {
      text_buffer_print(&text, "port\t%u%s", i, line + 6);
    } else {
      text_buffer_add(&text, line);
    }
  }
  return text_buffer_take(&text);
}

static const struct {
  const char* line;
  uint32_t most;
} limits[] = { { PORT, PLUGIN_MAX_PORTS }, { "preset\tA\t\t0\n", PLUGIN_MAX_PRESETS } };

TEST_ROWS(too_many_lines_are_refused, limits)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  Plugin* plugin = NULL;
  SCOPED_MEMORY char* const most = text_with(limits[row].most, limits[row].line);
  OK(plugin_sample_read(most, &arena, &plugin, &error));
  SCOPED_MEMORY char* const more = text_with(limits[row].most + 1U, limits[row].line);
  ck_assert_int_eq(plugin_sample_read(more, &arena, &plugin, &fault), STATUS_LIMIT);
  assert_says(fault.text, "at most 8192 and 16384");
}

TEST(too_many_points_are_refused)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  TextBuffer buffer = { .bytes = NULL };
  text_buffer_add(&buffer, HEAD PORT "points");
  for (uint32_t i = 0; i <= PLUGIN_MAX_POINTS; ++i) {
    text_buffer_print(&buffer, "\t%u\tA", i);
  }
  SCOPED_MEMORY char* const text = text_buffer_take(&buffer);
  Plugin* plugin = NULL;
  ck_assert_int_eq(plugin_sample_read(text, &arena, &plugin, &fault), STATUS_FILE);
  assert_says(fault.text, "line 4: 1025 points; 1 to 1024");
}

TEST(a_plugin_without_memory_is_none)
{
  SCOPED_MEMORY char* const text = text_with(700, PORT); // more than one chunk of an arena
  bool is_read = false;
  uint32_t n = 0;
  for (; !is_read; ++n) {
    SCOPED(arena_clear) Arena arena = { .chunks = NULL };
    Plugin* plugin = NULL;
    failing_alloc_arm(n);
    const Status status = plugin_sample_read(text, &arena, &plugin, &fault);
    is_read = !failing_alloc_disarm();
    ck_assert_int_eq(status, is_read ? STATUS_OK : STATUS_NO_MEM);
    ck_assert(is_read == (plugin != NULL));
  }
  ck_assert_uint_gt(n, 3);
}

TEST(a_description_without_memory_is_not_written)
{
  bool is_written = false;
  uint32_t n = 0;
  for (; !is_written; ++n) {
    TextBuffer buffer = { .bytes = NULL };
    failing_alloc_arm(n);
    plugin_write(&buffer, &plugin_sample);
    SCOPED_MEMORY char* const text = text_buffer_take(&buffer);
    is_written = !failing_alloc_disarm();
    ck_assert(is_written == (text != NULL));
  }
  ck_assert_uint_gt(n, 20);
}

SUITE_MAIN("plugin_text")
