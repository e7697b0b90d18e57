// SPDX-License-Identifier: GPL-3.0-or-later
// Texts and exit codes of status codes, and the construction of errors.

#include "status.h"

#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
  const char* text;
  int exit_code;
} status_table[STATUS_N_STATUSES] = {
  [STATUS_OK] = { "done", 0 },
  [STATUS_BAD_ARG] = { "bad argument", 2 },
  [STATUS_BAD_RACK] = { "bad rack", 2 },
  [STATUS_NOT_FOUND] = { "not found", 2 },
  [STATUS_EXISTS] = { "exists already", 2 },
  [STATUS_LIMIT] = { "limit reached", 2 },
  [STATUS_NO_MEM] = { "out of memory", 6 },
  [STATUS_AUDIO_IO] = { "audio i/o failed", 3 },
  [STATUS_NO_BACKEND] = { "backend not available", 4 },
  [STATUS_DEVICE_LOST] = { "device lost", 4 },
  [STATUS_FILE] = { "file error", 5 },
  [STATUS_NET] = { "network error", 3 },
  [STATUS_WORKER] = { "worker process failed", 4 },
};

const char*
status_text(const Status status)
{
  return (unsigned)status < STATUS_N_STATUSES ? status_table[status].text : "unknown status";
}

Status
status_of_errno(const int number, const Status otherwise)
{
  return number == EMFILE || number == ENFILE || number == ENOMEM ? STATUS_NO_MEM : otherwise;
}

int
status_exit_code(const Status status)
{
  return (unsigned)status < STATUS_N_STATUSES ? status_table[status].exit_code : 2;
}

Status
error_set(Error* const error, const Status status, const char* const format, ...)
{
  if (error) {
    error->status = status;
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    text_make_printable(error->text);
  }
  return status;
}
