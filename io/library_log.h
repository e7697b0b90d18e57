// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Captures messages that audio libraries print instead of returning errors: libjack and the ALSA
   library write to stderr.  A captured message becomes part of an error text if it has the reason,
   and is dropped if it is noise (ALSA prints a line for every missing card).
*/
#ifndef WARPRACK_IO_LIBRARY_LOG_H
#define WARPRACK_IO_LIBRARY_LOG_H

#include "engine/base/status.h"

#include <stddef.h>

/// Redirect the output of libjack and ALSA from now on. [main]
void library_log_catch(void);

/// Take the first line since the last call; "" if there is none.  Later lines are dropped, because
/// the first one has the cause. [main, async call]
void library_log_take(char* buffer, size_t buffer_bytes);

/// Set `error` to `what` and, in brackets, the first line since the last library_log_take().
Status library_log_fail(Error* error, Status status, const char* what);

#endif
