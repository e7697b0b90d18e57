// SPDX-License-Identifier: GPL-3.0-or-later

#include "fx_words.h"

const char* const fx_unit_words[] = {
  [UNIT_NONE] = "", [UNIT_HZ] = "Hz",     [UNIT_DB] = "dB",
  [UNIT_MS] = "ms", [UNIT_BPM] = "bpm",   [UNIT_DEG] = "deg",
  [UNIT_S] = "s",   [UNIT_PERCENT] = "%", [UNIT_LINEAR] = "",
};

const char* const fx_kind_words[] = {
  [PARAM_NUMBER] = "number", [PARAM_INTEGER] = "integer", [PARAM_SWITCH] = "switch",
  [PARAM_CHOICE] = "choice", [PARAM_FILE] = "file",       [PARAM_PATH] = "file",
  [PARAM_TEXT] = "text",
};
