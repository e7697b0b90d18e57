// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Texts between a process and a subcommand of the same program that it has started as its child
   (engine/base/process.h): the child has the other end of a socket as PROCESS_SOCKET.  A process
   without that socket is no such child.  A text travels as sealed memory. [main]
*/
#ifndef WARPRACK_TOOLS_CHILD_MAIL_H
#define WARPRACK_TOOLS_CHILD_MAIL_H

#include "engine/base/process.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ChildMail {
  Process* process; ///< NULL: none runs
  int socket;       ///< For texts to and from the child
} ChildMail;

/// Start a subcommand.  None may run.  It is killed when the thread that started it ends.
NODISCARD Status child_mail_start(ChildMail* child, const char* subcommand, Error* error);

/// True if the child has ended; then `text` is what it has sent, which the caller frees, or NULL,
/// and `why` says why; `what` begins that reason.  Does not wait.
bool child_mail_has_ended(ChildMail* child, const char* what, size_t max_bytes, char** text,
                          size_t* n_bytes, Error* why);

/// Kill the child, if one runs.
void child_mail_stop(ChildMail* child);

/// In the child: end with the parent, and disturb neither its sound nor its memory.  False if the
/// parent has ended.
bool child_mail_begin(void);

/// Send a text to the other end of a socket: STATUS_NO_MEM, STATUS_WORKER.
NODISCARD Status child_mail_send(int socket, const char* text, size_t n_bytes, Error* error);

/// Receive a text that has been sent already; the caller frees it.  STATUS_FILE if there is none.
NODISCARD Status child_mail_receive(int socket, size_t max_bytes, char** text, size_t* n_bytes,
                                    Error* error);

#endif
