// SPDX-License-Identifier: GPL-3.0-or-later
/// What plugins print to standard output.
#ifndef WARPRACK_PLUGINS_PLUGIN_OUTPUT_H
#define WARPRACK_PLUGINS_PLUGIN_OUTPUT_H

#include "engine/base/status.h"

#define PLUGIN_OUTPUT_LINES 20U // in PLUGIN_OUTPUT_S
#define PLUGIN_OUTPUT_S     60U

/// Let standard output of this process go to its standard error through a thread: at most
/// PLUGIN_OUTPUT_LINES lines in PLUGIN_OUTPUT_S seconds, and the number of the others.  Printing
/// never waits: what does not fit into the pipe is lost.  STATUS_LIMIT or STATUS_NO_MEM: standard
/// output stays as it is. [main, before plugins run]
NODISCARD Status plugin_output_start(Error* error);

#endif
