// SPDX-License-Identifier: GPL-3.0-or-later
// The catalogue of plugins: refused with a reason, or an index whose plugins are refused or valid.

#include "fuzz.h"

#include "engine/base/text.h"
#include "plugins/catalogue_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
check_params(const Plugin* const plugin)
{
  fuzz_check(plugin->fx.n_params > 0, "each plugin has a parameter");
  for (uint32_t p = 0; p < plugin->fx.n_params; ++p) {
    const FxParam* const param = &plugin->fx.params[p];
    fuzz_check(isfinite(param->min) && isfinite(param->max) && param->min <= param->initial &&
                   param->initial <= param->max,
               "the initial value of a parameter is in its range");
    fuzz_check(fx_param_find(&plugin->fx, param->id) == (int)p, "no other parameter has its id");
    fuzz_check(*param->id && text_is_printable(param->id) && text_is_printable(param->help),
               "its id and its help are printable");
    for (uint32_t c = 0; param->choices && param->choices[c]; ++c) {
      fuzz_check(*param->choices[c] && text_is_printable(param->choices[c]),
                 "a choice is printable");
    }
  }
}

static void
check_presets(const Plugin* const plugin)
{
  for (uint32_t p = 0; p < plugin->n_presets; ++p) {
    for (uint32_t v = 0; v < plugin->presets[p].n_values; ++v) {
      const uint32_t port = plugin->presets[p].ports[v];
      fuzz_check(port < plugin->n_ports, "a value of a preset has a port");
      fuzz_check(!(plugin->ports[port].flags & (PORT_FILE | PORT_TEXT | PORT_OUTPUT)),
                 "the port of a value takes numbers");
    }
  }
}

/// Read a description, and check that it is written and read again as the same one.
static void
try_plugin(const char* const at, const size_t n_bytes, const int is_again)
{
  static const FxInfo functions = { .name = NULL };
  Arena arena = { .chunks = NULL };
  Plugin* plugin = NULL;
  Error error = { STATUS_OK, "" };
  char* const text = strndup(at, n_bytes);
  if (text && plugin_read(text, &arena, &functions, &plugin, &error)) {
    fuzz_check(!is_again && error.text[0] != '\0', "an error has a reason");
  } else if (text) {
    check_params(plugin);
    check_presets(plugin);
    TextBuffer written = { .bytes = NULL };
    plugin_write(&written, plugin);
    fuzz_check(!written.failed, "a plugin can be written");
    fuzz_check(!is_again || (written.n == n_bytes && !memcmp(written.bytes, at, n_bytes)),
               "what was written is written again");
    if (!is_again) {
      try_plugin(written.bytes, written.n, 1);
    }
    free(written.bytes);
  }
  free(text);
  arena_clear(&arena);
}

int
LLVMFuzzerTestOneInput(const uint8_t* const bytes, const size_t n_bytes)
{
  char* const text = malloc(n_bytes + !n_bytes);
  Catalogue* catalogue = NULL;
  Error error = { STATUS_OK, "" };
  if (text && catalogue_new(memcpy(text, bytes, n_bytes), n_bytes, &catalogue, &error)) {
    fuzz_check(error.text[0] != '\0', "an error has a reason");
    fuzz_check(!catalogue, "a catalogue that is refused is none");
  }
  for (uint32_t e = 0; catalogue && e < catalogue->n_entries; ++e) {
    try_plugin(catalogue->descriptions[e].at, catalogue->descriptions[e].n_bytes, 0);
  }
  catalogue_free(catalogue);
  return 0;
}

void
fuzz_examples(FuzzVisit* const visit, void* const context)
{
  static const char* const texts[] = {
    CATALOGUE_START,
    CATALOGUE_START "bundle\tlv2\t/b\t18446744073709551615\tcrashed (SIGSEGV)\n",
    CATALOGUE_START "bundle\tladspa\t/b\\x09.so\t1\t\n"
                    "plugin\tladspa\tb/eq\tEqualiser\tSomebody\tGPL\tEQ\t\ta \\x5C b\n"
                    "binary\t/b\t/b\t1\t2\t3\n"
                    "port\t0\taudio\t\t\tIn\t\t\tnone\t0\t0\t0\t0\n"
                    "port\t1\tcontrol\trate,logarithmic\t\tFreq (Hz)\t\t\tnone\t0\t0.1\t0.5\t0\n"
                    "port\t2\tcontrol\ttoggled\t\tFreq\t\t\tnone\t-1\t0\t1\t0\n"
                    "plugin\tladspa\tb/comp\tComp\t\t\t\tneeds a feature\t\n"
                    "binary\t/b\t/b\t1\t2\t3\n",
    CATALOGUE_START "bundle\tlv2\t/b\t1\t\n"
                    "plugin\tlv2\turn:x#stereo\tX\t\t\t\t\t\n"
                    "binary\t/b\t/b/x.so\t1\t2\t3\n"
                    "port\t0\tcontrol\tchoice,integer\tstate\tType\tgroup\t\tdb\t0\t1\t2.5\t0\n"
                    "points\t0\tLow pass\t1\tlow-pass\t2\t+\n"
                    "port\t1\tcontrol\tinteger\tn\tN\t\t\tms\t-1e300\t-0.5\t1e300\t0\n"
                    "points\t-1\tOff\t7\t7\n"
                    "port\t2\tatom\tevents,time,patch\tin\tIn\t\t\tnone\t0\t0\t0\t8192\n"
                    "port\t0\tproperty\tfile\tir\tIR\t\turn:x#ir\tnone\t0\t0\t0\t0\n"
                    "preset\tLoud\turn:x#loud\t1\t0\t2\t1\t-3\n"
                    "preset\tNothing\t\t0\n"
                    "report\t\tnan,prints\t64\t0\t500\t4096\t0\t2\t1\t0\t1e-7\t0.5\t0\t1\n",
    CATALOGUE_START "bundle\tlv2\t/b\t1\t\n" // a preset with a number for a file
                    "plugin\tlv2\turn:y\tY\t\t\t\t\t\n"
                    "binary\t/b\t/b/y.so\t1\t2\t3\n"
                    "port\t0\tproperty\tfile\tir\tIR\t\turn:y#ir\tnone\t0\t0\t0\t0\n"
                    "preset\tHall\turn:y#hall\t\t0\t0\n",
    CATALOGUE_START "bundle\tclap\t/c\t1\t\n"
                    "plugin\tclap\tc.x\tX\t\t\t\t\t\n"
                    "binary\t/c\t/c\t1\t2\t3\n"
                    "report\tcrashed (SIGSEGV) while it ran\t\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\n",
  };
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
    visit(context, texts[i], strlen(texts[i]));
  }
}
