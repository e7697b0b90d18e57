// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Probes plugins and keeps their reports in the user's catalogue.

   The catalogue is written after every few plugins, so that what an interrupted run has measured is
   not measured again.
*/
#ifndef WARPRACK_TOOLS_PROBING_H
#define WARPRACK_TOOLS_PROBING_H

#include "commands.h"

#include "engine/rack/rack.h"
#include "plugins/catalogue.h"

/// Probe all plugins of a catalogue that can be used and have no report, or all if `again`, with
/// the lowest priority.  Replaces the catalogue, and writes each new one.  On a terminal, stderr
/// shows the progress.  For threads and descriptors see probe_run(). [main]
NODISCARD Status probing_all(Catalogue** catalogue, bool again, Error* error);

/**
   Probe the plugins of a rack that have no report, name them on stderr, and make the new catalogue
   that of this process.  If writing its file fails, this is reported only.  For threads and
   descriptors see probe_run().

   @param[out] is_new There is a new catalogue: the rack has effects of the earlier one.
   [main]
*/
NODISCARD Status probing_rack(const Command* command, const Rack* rack, bool* is_new, Error* error);

#endif
