// SPDX-License-Identifier: GPL-3.0-or-later
/// A folder with the files of a rack, among them states, as the server writes them.
#ifndef WARPRACK_TESTS_RACK_FOLDER_H
#define WARPRACK_TESTS_RACK_FOLDER_H

#include "scratch.h"

#include "engine/contract/package.h"

/// FxFiles::find; `folder`: a Scratch.
Status rack_folder_find(void* folder, const char* name, char** path, Error* error);

/// Write what FxInfo::save has returned: a state, and the files that it names.  Returns how many
/// there are; `names`: of all, the state first.
uint32_t rack_folder_write(const Scratch* folder, const FxInfo* fx, const void* bytes,
                           size_t n_bytes, char names[PACKAGE_MAX_FILES][FX_STATE_NAME_BYTES]);

#endif
