// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The state of thread and process that a plugin may change when it is loaded, made or freed, or
   works.  The host saves it before such a call, and restores it after the call.

   Calls of several threads may overlap: the state of the process is that before the first of them,
   and the end of each call restores it.  While the work of a plugin does not end, the program must
   not change locale or signal handlers: the end of another call would undo the change.
*/
#ifndef WARPRACK_PLUGINS_PROCESS_STATE_H
#define WARPRACK_PLUGINS_PROCESS_STATE_H

#include <locale.h>
#include <stdint.h>

/// The state of the thread; that of the process is kept once.
typedef struct ProcessState {
  uint64_t float_mode;    ///< rt_float_mode()
  locale_t thread_locale; ///< uselocale()
} ProcessState;

/// A call begins: save the state.  Takes about 5 us. [any but rt]
void process_state_save(ProcessState* state);

/// The call has ended: put back what differs.  Each save needs one restore. [the thread that saved]
void process_state_restore(const ProcessState* state);

#endif
