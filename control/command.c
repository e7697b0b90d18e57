// SPDX-License-Identifier: GPL-3.0-or-later
#include "command.h"

#include <stdio.h>

const char*
command_types(const CommandInfo* const info, char* const buffer, const size_t buffer_bytes)
{
  snprintf(buffer, buffer_bytes, "%s%s%s%s%s%s%s", info->required ? info->required : "",
           info->optional ? "[" : "", info->optional ? info->optional : "",
           info->optional ? "]" : "", info->repeated ? "[" : "",
           info->repeated ? info->repeated : "", info->repeated ? "]..." : "");
  return buffer;
}
