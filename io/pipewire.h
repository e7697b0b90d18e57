// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Detects PipeWire, for messages of the JACK driver.

   PipeWire has its own libjack, which clients of its daemon must load (pw-jack sets
   LD_LIBRARY_PATH for it); with jackd's libjack they find no server, even if PipeWire runs.
*/
#ifndef WARPRACK_IO_PIPEWIRE_H
#define WARPRACK_IO_PIPEWIRE_H

#include <stdbool.h>

/// True if the libjack of this process is PipeWire's.
bool pipewire_is_libjack(void);

/// True if a PipeWire daemon accepts clients of this process.
bool pipewire_runs(void);

#endif
