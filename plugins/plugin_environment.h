// SPDX-License-Identifier: GPL-3.0-or-later
/// The environment of a process that runs plugins, and its standard output, to which only they
/// print.
#ifndef WARPRACK_PLUGINS_PLUGIN_ENVIRONMENT_H
#define WARPRACK_PLUGINS_PLUGIN_ENVIRONMENT_H

#include "engine/base/status.h"

/// Take the display away from this process, and give it plain text without a language: plugins open
/// windows where they find a display, and some end the process where they do not. [main, before
/// other threads]
void plugin_environment(void);

/// Let standard output of this process go to its standard error through a thread, as lines that
/// begin with "plugin: ", with a limit of its own (engine/base/child_output.h).  STATUS_NO_MEM:
/// standard output stays as it is. [main, before plugins run]
NODISCARD Status plugin_output_start(Error* error);

#endif
