// SPDX-License-Identifier: GPL-3.0-or-later
/**
   `warprack scan` as a child process, which renews the user's catalogue of plugins and also sends
   it to this process.  So this process runs no code of plugins and reads no Turtle, it can scan
   while audio runs, and it has the catalogue also if the file cannot be written; then the child
   reports it on stderr.  The child is killed when the thread that started it ends. [main]
*/
#ifndef WARPRACK_TOOLS_SCAN_CHILD_H
#define WARPRACK_TOOLS_SCAN_CHILD_H

#include "child_mail.h"

#include "plugins/catalogue.h"

/// True if the scan in a child, child_mail_start(&child, "scan", &error), has ended; then the
/// caller owns the catalogue `*out`, or that is NULL and `why` says why.  Does not wait.
bool scan_child_has_ended(ChildMail* child, Catalogue** out, Error* why);

/// Start a scan and wait for its end.  A blocked SIGINT or SIGTERM ends it with STATUS_WORKER, and
/// stays pending.
NODISCARD Status scan_child_run(Catalogue** out, Error* error);

/// In the child: send the catalogue to the parent.  STATUS_NO_MEM, STATUS_WORKER.
NODISCARD Status scan_child_answer(const Catalogue* catalogue, Error* error);

#endif
