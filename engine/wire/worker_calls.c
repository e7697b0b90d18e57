// SPDX-License-Identifier: GPL-3.0-or-later
// The names of the states of a worker.

#include "worker_calls.h"

#define NAME_OF_ROW(word, name) name,

const char* const worker_state_names[WORKER_N_STATES] = { WORKER_STATES(NAME_OF_ROW) };
