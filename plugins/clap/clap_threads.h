// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The two symbolic threads of CLAP.

   A thread of the operating system is a plugin's main or audio thread while warprack calls the
   plugin on it, as the specification allows.  The main thread is always the same one
   (plugins/plugin_thread.h); the player and its helpers are audio threads.
*/
#ifndef WARPRACK_PLUGINS_CLAP_CLAP_THREADS_H
#define WARPRACK_PLUGINS_CLAP_CLAP_THREADS_H

#include "engine/base/macros.h"

typedef enum ClapThread {
  CLAP_THREAD_OTHER, ///< Of the plugin's own
  CLAP_THREAD_MAIN,
  CLAP_THREAD_AUDIO
} ClapThread;

/// What the calling thread is for plugins. [any]
REALTIME ClapThread clap_thread(void);

/// Make this thread one of that kind; returns the kind before, for the next change. [any]
REALTIME ClapThread clap_thread_change(ClapThread to);

#endif
