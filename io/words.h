// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What audio libraries print instead of returning: libjack and the ALSA library write to stderr.
   Caught, their words become part of our messages, where they say why something failed, and are
   dropped where they are noise (ALSA tells of every card that is not there).
*/
#ifndef WARPRACK_IO_WORDS_H
#define WARPRACK_IO_WORDS_H

#include "../engine/status.h"

#include <stddef.h>

/// Keep libjack and ALSA from printing, from now on. [main]
void words_catch(void);

/// The first line since the last call, "" for none; what followed is dropped, because the first one
/// says what happened. [main, errand]
void words_take(char* buffer, size_t buffer_bytes);

/// Fill `error` with `what` and, in brackets, the words since the last words_take().
Status words_fail(Error* error, Status status, const char* what);

#endif
