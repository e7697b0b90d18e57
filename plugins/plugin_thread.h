// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The thread on which all plugins of the process are made, activated and freed, and do their work
   besides audio.

   Some plugins, those of JUCE for example, take the thread that makes their first instance for the
   main thread of the process for ever.  Without a thread of its own, the host would make the first
   instances on the thread that starts the audio, and later ones on the builder.
*/
#ifndef WARPRACK_PLUGINS_PLUGIN_THREAD_H
#define WARPRACK_PLUGINS_PLUGIN_THREAD_H

#include "engine/base/status.h"

#include <stdbool.h>

/// Start the thread, unless it runs.  It runs until the process ends.  STATUS_NO_MEM. [any but rt]
NODISCARD Status plugin_thread_start(Error* error);

/// Run a call on the thread, which was started, and wait for its end.  One caller at a time; a call
/// from the thread itself runs at once. [any but rt]
void plugin_thread_run(void (*call)(void* context), void* context);

/// True if the thread was started in this process. [any]
bool plugin_thread_exists(void);

#endif
