// SPDX-License-Identifier: GPL-3.0-or-later
/// The state of thread and process that a plugin may change when it is loaded, made or freed.  The
/// host saves it before such a call, and restores it after it.
#ifndef WARPRACK_PLUGINS_PROCESS_STATE_H
#define WARPRACK_PLUGINS_PROCESS_STATE_H

#include <locale.h>
#include <signal.h>
#include <stdint.h>

#define PROCESS_STATE_SIGNALS      32 // standard signals, from 1
#define PROCESS_STATE_LOCALE_BYTES 512U

typedef struct ProcessState {
  uint64_t float_mode;                             ///< Of the thread: rt_float_mode()
  locale_t thread_locale;                          ///< Of the thread: uselocale()
  char locale[PROCESS_STATE_LOCALE_BYTES];         ///< Of the process: setlocale()
  struct sigaction actions[PROCESS_STATE_SIGNALS]; ///< By signal
} ProcessState;

/// Read the state.  Takes about 5 us. [any but rt]
void process_state_save(ProcessState* state);

/// Put back what differs. [the thread that saved]
void process_state_restore(const ProcessState* state);

#endif
