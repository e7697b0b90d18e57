// SPDX-License-Identifier: GPL-3.0-or-later
/// The folder of a rack, with states as the server writes them, and the folder for the files that
/// plugins make.
#ifndef WARPRACK_TESTS_RACK_FOLDER_H
#define WARPRACK_TESTS_RACK_FOLDER_H

#include "scratch.h"

#include "engine/contract/package.h"

typedef struct RackFolder {
  Scratch root; ///< The folder of the rack
  Scratch made; ///< For the files that plugins make
} RackFolder;

/// The folders from rack_folder_begin() to rack_folder_end(), before and after each test.
extern RackFolder rack_folder;
void rack_folder_begin(void);
void rack_folder_end(void);

/// Finds files of rack_folder.root.
extern const FxFiles rack_folder_access;

/// Write what FxInfo::save has returned: a state, and the files that it names.  Returns how many
/// there are; `names`: of all, the state first.
uint32_t rack_folder_write(const FxInfo* fx, const void* bytes, size_t n_bytes,
                           char names[PACKAGE_MAX_FILES][FX_STATE_NAME_BYTES]);

#endif
