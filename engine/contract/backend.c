// SPDX-License-Identifier: GPL-3.0-or-later
// The names of backends, and of the reasons why nodes run on them.

#include "backend.h"

#define NAME_OF_API(word, name) #name,
#define NAME_OF_ROW(word, name) name,

const char* const engine_backend_names[] = { "auto", "cpu", BACKEND_GPU_APIS(NAME_OF_API) NULL };

const char* const place_reason_names[PLACE_N_REASONS] = { PLACE_REASONS(NAME_OF_ROW) };
