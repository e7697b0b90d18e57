// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Describes addresses as lines, for `/server/describe`: commands, and the parameters of a rack with
   their ranges and values.  control/OSC.md has the fields of a line.
*/
#ifndef WARPRACK_CONTROL_DESCRIBE_H
#define WARPRACK_CONTROL_DESCRIBE_H

#include "engine/base/status.h"
#include "engine/rack/rack.h"

#include <stdint.h>

struct CommandInfo;

#define DESCRIBE_MAX          1024U // addresses in one answer, which take about 3 ms
#define DESCRIBE_MAX_PATTERNS 16U

/// The objects whose addresses are described.
typedef struct DescribeOf {
  const struct CommandInfo* commands; ///< [n_commands] in the order of the lines
  uint32_t n_commands;
  const Rack* rack;
  double rate_hz; ///< Of the engine, for times in frames; 0: not known
} DescribeOf;

/**
   Print a line for each address that one of the patterns matches.

   @param patterns Address patterns of OSC, matched part by part between slashes.  [n_patterns], at
   most DESCRIBE_MAX_PATTERNS; none: everything matches.
   @param[out] text The lines; the caller frees them.  Set only on success.
   @return STATUS_NOT_FOUND if nothing matches; STATUS_LIMIT for more than DESCRIBE_MAX addresses or
   VALUES_MAX_COMPARE names to compare; STATUS_NO_MEM. [control]
*/
NODISCARD Status describe_print(const DescribeOf* of, const char* const* patterns,
                                uint32_t n_patterns, char** text, Error* error);

#endif
