// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What audio libraries print instead of returning: libjack and the ALSA library write to stderr.
   Caught, their words become part of our messages, where they say why something failed, and are
   dropped where they are noise (ALSA tells of every card that is not there).
*/
#ifndef WARPRACK_IO_LIBRARY_LOG_H
#define WARPRACK_IO_LIBRARY_LOG_H

#include "engine/base/status.h"

#include <stddef.h>

/// Keep libjack and ALSA from printing, from now on. [main]
void library_log_catch(void);

/// The first line since the last call, "" for none; what followed is dropped, because the first one
/// says what happened. [main, async call]
void library_log_take(char* buffer, size_t buffer_bytes);

/// Fill `error` with `what` and, in brackets, the words since the last library_log_take().
Status library_log_fail(Error* error, Status status, const char* what);

#endif
