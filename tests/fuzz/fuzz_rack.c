// SPDX-License-Identifier: GPL-3.0-or-later
// The rack language: whole documents, and statements applied to a rack.

#include "fuzz.h"

#include "engine/rack/rack.h"

#include <stdlib.h>
#include <string.h>

/// Check that a printed rack reads back as the same rack.
static void
check_print(const Rack* const rack)
{
  char* const text = rack_print(rack);
  Rack* again = NULL;
  Error error;
  fuzz_check(text != NULL, "a rack can be printed");
  fuzz_check(rack_parse(text, "printed", rack, &again, &error) == STATUS_OK,
             "a printed rack is valid");
  fuzz_check(rack_equal(rack, again), "a printed rack reads back as the same rack");
  rack_free(again);
  free(text);
}

static void
try_rack(const char* const text, const Rack* const before)
{
  Rack* rack = NULL;
  Error error = { STATUS_OK, "" };
  if (rack_parse(text, "fuzz", before, &rack, &error) != STATUS_OK) {
    fuzz_check(error.text[0] != '\0', "an error has a reason");
    return;
  }
  fuzz_check(!rack_check(rack, &error), "a document that is accepted gives a valid rack");
  check_print(rack);
  rack_free(rack);
}

static void
try_statement(const char* const text, const Rack* const before)
{
  Rack* const rack = rack_copy(before);
  Error error = { STATUS_OK, "" };
  if (rack && rack_apply(rack, text, "fuzz", &error) == STATUS_OK) {
    fuzz_check(!rack_check(rack, &error), "a statement leaves a valid rack");
    check_print(rack);
  }
  rack_free(rack);
}

int
LLVMFuzzerTestOneInput(const uint8_t* const bytes, const size_t n_bytes)
{
  static Rack* before;
  Error error;
  if (!before) {
    fuzz_check(
        rack_parse("lowcut: highpass 80 order=4 | (hall: convolver hall.wav + echo: delay 250ms)"
                   " | vol: gain -6dB",
                   "before", NULL, &before, &error) == STATUS_OK,
        "the rack that statements are applied to");
  }
  char* const text = strndup((const char*)bytes, n_bytes); // files with zeros are refused earlier
  if (text) {
    try_rack(text, NULL);
    try_rack(text, before);
    try_statement(text, before);
  }
  free(text);
  return 0;
}

void
fuzz_examples(FuzzVisit* const visit, void* const context)
{
  static const char* const statements[] = {
    "add pk peaking 1000 6dB q=2",
    "add c compressor\nconnect vol c.sidechain:1-2\ndisconnect vol c.sidechain",
    "set vol.gain 10%",
    "remove echo",
    "connect in:1-2 vol gain=-3dB",
    "disconnect lowcut hall",
    "chain gain | delay 1s",
    "set hall.ir \"my hall (1).wav\"",
    "insert x gain after in:2 3dB",
    "rename echo x\nremove x",
    "add eq lv2 \"http://gareus.org/oss/lv2/fil4#stereo\" HPfreq=80Hz slope=\"12 dB/oct\" mark=1/4",
    "insert t lv2 ZamTube before out 3 bypass=on",
    "chain tube: lv2 \"urn:zamaudio:ZamTube\" tubedrive=3 | ladspa tap_reverb/tap_reverb 2s",
    "chain clap com.zamaudio.ZamComp -20dB + lv2 fil4-stereo level=-6dB wet=50% decay=20ms "
    "hold=3ms",
    "midi cc 1:74 lowcut.frequency 80Hz..8kHz taper=log pickup=on\nmidi nrpn 16:260 vol.gain "
    "invert=on\nmidi program 16:1 scene v\nrename vol x\nremove lowcut",
    "tempo 90 jack\nset echo.bpm tempo\ntempo midi\nscene v echo.bpm=tempo",
    "chain urn:zamaudio:ZamTube | lv2 wide p999=1 p3=0.5",
  };
  for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); ++i) {
    visit(context, statements[i], strlen(statements[i]));
  }
  fuzz_visit_files("WARPRACK_RACKS", ".", visit, context);
}
