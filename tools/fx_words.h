// SPDX-License-Identifier: GPL-3.0-or-later
/// Words for the kinds and units of parameters.
#ifndef WARPRACK_TOOLS_FX_WORDS_H
#define WARPRACK_TOOLS_FX_WORDS_H

#include "engine/contract/effect.h"

extern const char* const fx_unit_words[]; ///< By FxMeasure: "Hz"; "" for none
extern const char* const fx_kind_words[]; ///< By FxKind: "number"

#endif
