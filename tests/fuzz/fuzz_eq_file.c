// SPDX-License-Identifier: GPL-3.0-or-later
// Equaliser settings of other programs: refused with a reason, or converted to a valid rack.

#include "fuzz.h"

#include "engine/rack/rack.h"
#include "tools/eq_file.h"

#include <stdlib.h>
#include <string.h>

static void
ignore(void* const context, const char* const text)
{
  (void)context;
  (void)text;
}

int
LLVMFuzzerTestOneInput(const uint8_t* const bytes, const size_t n_bytes)
{
  char* const text = strndup((const char*)bytes, n_bytes); // files with zeros are refused earlier
  char* made = NULL;
  Rack* rack = NULL;
  Error error = { STATUS_OK, "" };
  if (text && eq_file_to_rack(text, "fuzz", ignore, NULL, &made, &error)) {
    fuzz_check(error.text[0] != '\0', "an error has a reason");
  } else if (made) {
    const Status status = rack_parse(made, "made", NULL, &rack, &error);
    fuzz_check(status == STATUS_OK || status == STATUS_LIMIT, "the printed rack is valid");
  }
  rack_free(rack);
  free(made);
  free(text);
  return 0;
}

void
fuzz_examples(FuzzVisit* const visit, void* const context)
{
  static const char* const texts[] = {
    "Preamp: -6.2 dB\nFilter 1: ON PK Fc 105 Hz Gain 5.5 dB Q 0.70\nFilter 2: OFF None\n",
    "Filter Settings file\n\nEqualiser: Generic\nFilter  1: ON  LS 6dB  Fc  1.000 Hz  Gain -5,0 "
    "dB\n",
    "Channel: L 2\nDelay: 3 ms\nFilter: ON LP Q Fc 1 kHz Q 2\nFilter: ON BP Fc 100 Hz BW Oct 1\n",
    "Filter: ON LS 0.0001 dB Fc 100 Hz Gain 30 dB\n",
    "GraphicEQ: 20 -1.5; 200 3; 20000 0\nConvolution: a.wav\n",
    "Filter: ON LS Fc 100 Hz Gain 3 dB Q 0.5\nFilter: ON HSC 10.8 dB Fc 100 Hz Gain 3 dB\n",
  };
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
    visit(context, texts[i], strlen(texts[i]));
  }
}
