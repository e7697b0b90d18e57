// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Works around an assertion in PortAudio's ALSA host API (pa_linux_alsa.c of PortAudio 19.6):
   Pa_Initialize() opens the devices other than `default` and `dmix`, then asserts that their number
   is smaller than that of all devices (BuildDeviceList, "devIdx < numDeviceNames").  Where ALSA's
   configuration is missing or has neither of the two, for example in a container, this fails, and
   Debian builds with assertions: the process ends by SIGABRT.

   Therefore this file adds a device `dmix` that cannot be opened to ALSA's configuration in this
   process.  PortAudio leaves out devices that cannot be opened.
*/
#ifndef WARPRACK_IO_QUIRKS_PA_ALSA_H
#define WARPRACK_IO_QUIRKS_PA_ALSA_H

/// To be called before each Pa_Initialize().  Does nothing if ALSA has `default` or `dmix`, or is
/// not there. [main, async call]
void pa_alsa_prepare(void);

#endif
