// SPDX-License-Identifier: GPL-3.0-or-later
/**
   `warprack scan` as a child process, which renews the user's catalogue of plugins.  So this process
   runs no code of plugins and reads no Turtle, and it can scan while audio runs.  The child is
   killed when the thread that started it ends. [main]
*/
#ifndef WARPRACK_TOOLS_SCAN_CHILD_H
#define WARPRACK_TOOLS_SCAN_CHILD_H

#include "engine/base/process.h"

typedef struct ScanChild {
  Process* process; ///< NULL: none runs
} ScanChild;

/// Start a scan.  None may run.
NODISCARD Status scan_child_start(ScanChild* child, Error* error);

/// True if the scan has ended; then `why` says why it failed, with STATUS_OK if it succeeded.  Does
/// not wait.
bool scan_child_has_ended(ScanChild* child, Error* why);

/// Start a scan and wait for its end.
NODISCARD Status scan_child_run(Error* error);

/// Kill the scan, if one runs.
void scan_child_stop(ScanChild* child);

#endif
