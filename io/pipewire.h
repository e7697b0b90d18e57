// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Detects PipeWire, for messages of the JACK driver.

   PipeWire brings a libjack of its own that clients of its daemon must be started with (pw-jack
   sets LD_LIBRARY_PATH to it); with jackd's, they find no server even where PipeWire plays.
*/
#ifndef WARPRACK_IO_PIPEWIRE_H
#define WARPRACK_IO_PIPEWIRE_H

#include <stdbool.h>

/// The libjack of this process is PipeWire's.
bool pipewire_is_libjack(void);

/// A daemon accepts clients of this process.
bool pipewire_runs(void);

#endif
