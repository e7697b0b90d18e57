// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Files that exist in memory only, for EngineConfig::files: impulse responses of decaying noise
   with unit energy ("long", "short"), the coefficients of a filter ("taps"), and a 2 x 2 matrix
   ("rotate").
*/
#ifndef WARPRACK_TESTS_MADE_FILES_H
#define WARPRACK_TESTS_MADE_FILES_H

#include "engine/base/status.h"
#include "engine/contract/effect.h"

/// Compute the contents of the files.  Call it before the first file is loaded.
void made_files_begin(void);

extern const FxFiles made_files;

#endif
