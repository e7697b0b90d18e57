// SPDX-License-Identifier: GPL-3.0-or-later
// The source text for the compiler, and the message of a compile error.

#include "gpu_compile.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const GpuSource*
gpu_source_find(const char* const name)
{
  for (uint32_t i = 0; i < gpu_n_sources; ++i) {
    if (!strcmp(gpu_sources[i].name, name)) {
      return &gpu_sources[i];
    }
  }
  return NULL;
}

char*
gpu_compile_text(const char* const name, const char* const source)
{
  char* text = NULL;
  const int length =
      asprintf(&text, "#line 1 \"dialect.h\"\n%s\n#line 1 \"%s\"\n%s", gpu_dialect, name, source);
  return length < 0 ? NULL : text;
}

// Start of the first error message in a log; warnings may precede it.
static const char*
first_error(const char* const log)
{
  const char* found = strstr(log, "error");
  while (found && found > log && found[-1] != '\n') {
    --found;
  }
  return found ? found : log;
}

Status
gpu_compile_failed(Error* const error, const char* const name, const char* const log)
{
  char line[400];
  size_t length = 0;
  bool is_blank = true; // several blanks and newlines become one blank
  for (const char* from = first_error(log); *from && length < sizeof(line) - 1U; ++from) {
    const bool was_blank = is_blank;
    is_blank = *from == ' ' || *from == '\n' || *from == '\t' || *from == '\r';
    if (!is_blank) {
      line[length++] = *from;
    } else if (!was_blank) {
      line[length++] = ' ';
    }
  }
  while (length > 0 && line[length - 1U] == ' ') {
    --length;
  }
  line[length] = '\0';
  return error_set(error, STATUS_BAD_ARG, "%s does not compile: %s", name,
                   length ? line : "the compiler gives no reason");
}
