// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Files that exist in memory only, for EngineConfig::load_file: impulse responses of noise that
   decays ("long", "short", of unit energy), coefficients of a filter ("taps") and a matrix of two
   by two ("rotate").
*/
#ifndef WARPRACK_TESTS_MADE_FILES_H
#define WARPRACK_TESTS_MADE_FILES_H

#include "engine/base/status.h"
#include "engine/contract/effect.h"

/// Fill them; before the first one is loaded.
void made_files_begin(void);

/// As EngineLoadFile and EngineFreeFile; `context` is not used.
Status
made_files_load(void* context, const char* name, double rate_hz, FxFile** file, Error* error);
void made_files_free(void* context, FxFile* file);

#endif
