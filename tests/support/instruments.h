// SPDX-License-Identifier: GPL-3.0-or-later
/// The instruments of the tests (plugins/tones.c), in all formats.
#ifndef WARPRACK_TESTS_INSTRUMENTS_H
#define WARPRACK_TESTS_INSTRUMENTS_H

#include "plugins/format.h"

typedef struct Instrument {
  const char* format;
  const char* folder; ///< Environment variable
  const char* file;   ///< In that folder; "": the folder is the bundle
  const char* id;
} Instrument;

#define N_INSTRUMENTS 4

extern const Instrument instruments[N_INSTRUMENTS];

/// Describe an instrument, with the functions of the host.  NULL, after suite_skip(), if the build
/// has not its format.
const Plugin* instrument_describe(int index);

#endif
