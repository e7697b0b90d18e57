// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A text in sealed memory (memfd_create(2)) for another process, which gets the descriptor through
   a socket.  Nobody can change the text.
*/
#ifndef WARPRACK_ENGINE_BASE_SEALED_TEXT_H
#define WARPRACK_ENGINE_BASE_SEALED_TEXT_H

#include "status.h"

#include <stddef.h>

/// Copy a text into sealed memory.  The caller closes the descriptor, which is close-on-exec.
/// STATUS_NO_MEM. [any but rt]
NODISCARD Status sealed_text_new(const char* text, size_t n_bytes, int* fd, Error* error);

/**
   Read a text.

   @param[out] text With a zero behind its end; the caller frees it.
   @return STATUS_BAD_ARG if the descriptor is not of sealed memory; STATUS_LIMIT for more than
   max_bytes, before memory is allocated; STATUS_NO_MEM.
   [any but rt]
*/
NODISCARD Status sealed_text_read(int fd, size_t max_bytes, char** text, size_t* n_bytes,
                                  Error* error);

#endif
