// SPDX-License-Identifier: GPL-3.0-or-later
// The packages of Debian 12 that have plugins, by the forms of ids.  The forms are from the
// manifests and file names in these packages.

#include "packages.h"

#include "engine/base/macros.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

/// The first row whose form (glob(7)) fits an id counts.
static const struct {
  const char *format, *form, *package;
} rows[] = {
  { "clap", "com.zamaudio.*", "zam-plugins" },
  { "ladspa", "*-ladspa-1*/*", "lsp-plugins-ladspa" },
  { "ladspa", "3Band*-ladspa/*", "dpf-plugins-ladspa" },
  { "ladspa", "AmplitudeImposer-ladspa/*", "dpf-plugins-ladspa" },
  { "ladspa", "CycleShifter-ladspa/*", "dpf-plugins-ladspa" },
  { "ladspa", "MVerb-ladspa/*", "dpf-plugins-ladspa" },
  { "ladspa", "Ma*-ladspa/*", "dpf-plugins-ladspa" },
  { "ladspa", "PingPongPan-ladspa/*", "dpf-plugins-ladspa" },
  { "ladspa", "SoulForce-ladspa/*", "dpf-plugins-ladspa" },
  { "ladspa", "Za[Mm]*-ladspa/*", "zam-plugins" },
  { "ladspa", "*_16[4-8][0-9]/*", "blop" },
  { "ladspa", "*_20[23][0-9]/*", "blop" },
  { "ladspa", "*_1[0-9][0-9][0-9]/*", "swh-plugins" },
  { "ladspa", "*_2[67][0-9][0-9]/*", "omins" },
  { "ladspa", "*_4[0-9][0-9][0-9]/*", "omins" },
  { "ladspa", "ambisonic?/*", "amb-plugins" },
  { "ladspa", "autowah/*", "wah-plugins" },
  { "ladspa", "blvco/*", "vco-plugins" },
  { "ladspa", "bs2b/*", "bs2b-ladspa" },
  { "ladspa", "caps/*", "caps" },
  { "ladspa", "cmt/*", "cmt" },
  { "ladspa", "cs_*/*", "mcp-plugins" },
  { "ladspa", "filters/*", "fil-plugins" },
  { "ladspa", "guitarix*/*", "guitarix-ladspa" },
  { "ladspa", "inv_*/*", "invada-studio-plugins-ladspa" },
  { "ladspa", "ladspa-rubberband/*", "rubberband-ladspa" },
  { "ladspa", "mvc?pf24/*", "mcp-plugins" },
  { "ladspa", "stereo-plugins/*", "ste-plugins" },
  { "ladspa", "tap_*/*", "tap-plugins" },
  { "ladspa", "vco_sawpulse/*", "vco-plugins" },
  { "ladspa", "vlevel-ladspa/*", "vlevel" },
  { "ladspa", "zita-reverbs/*", "rev-plugins" },
  { "lv2", "http://breakfastquay.com/rdf/lv2-rubberband#*", "rubberband-lv2" },
  { "lv2", "http://calf.sourceforge.net/plugins/*", "calf-plugins" },
  { "lv2", "http://distrho.sf.net/plugins/*", "dpf-plugins-lv2" },
  { "lv2", "http://drobilla.net/plugins/blop/*", "blop-lv2" },
  { "lv2", "http://drobilla.net/plugins/fomp/*", "fomp" },
  { "lv2", "http://drobilla.net/plugins/mda/*", "mda-lv2" },
  { "lv2", "http://eq10q.sourceforge.net/*", "eq10q" },
  { "lv2", "http://gareus.org/oss/lv2/*", "x42-plugins" },
  { "lv2", "http://guitarix.sourceforge.net/plugins/*", "guitarix-lv2" },
  { "lv2", "http://home.gna.org/lv2vocoder/*", "lv2vocoder" },
  { "lv2", "http://hyperglitch.com/dev/VocProc", "vocproc" },
  { "lv2", "http://invadarecords.com/plugins/lv2/*", "invada-studio-plugins-lv2" },
  { "lv2", "http://lsp-plug.in/plugins/lv2/*", "lsp-plugins-lv2" },
  { "lv2", "http://lv2plug.in/plugins/eg-*", "lv2-examples" },
  { "lv2", "http://plugin.org.uk/swh-plugins/*", "swh-lv2" },
  { "lv2", "http://tomszilagyi.github.io/plugins/lv2/ir", "ir.lv2" },
  { "lv2", "https://github.com/michaelwillis/dragonfly-reverb", "dragonfly-reverb-lv2" },
  { "lv2", "urn:dragonfly:*", "dragonfly-reverb-lv2" },
  { "lv2", "urn:zamaudio:*", "zam-plugins" },
};

const char*
plugin_package(const char* const format, const char* const reference)
{
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    if (!strcmp(rows[r].format, format) && !fnmatch(rows[r].form, reference, FNM_NOESCAPE)) {
      return rows[r].package;
    }
  }
  return NULL;
}
