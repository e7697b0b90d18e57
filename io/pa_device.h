// SPDX-License-Identifier: GPL-3.0-or-later
/// Finds PortAudio devices by name or index, and lists them.  PortAudio must be initialised.
#ifndef WARPRACK_IO_PA_DEVICE_H
#define WARPRACK_IO_PA_DEVICE_H

#include "engine/base/status.h"

#include <jansson.h>
#include <portaudio.h>
#include <stdint.h>

/**
   Find devices for n_in inputs and n_out outputs; paNoDevice for 0 channels.

   @param host_api Name of a host API or its start, in any case; NULL: the default one if it has
   devices, else the first that has; with a `device`, all.
   @param device One device for both directions: its index, its name, or a unique part of its name,
   in any case.  NULL: the host API's default devices.
   @return STATUS_AUDIO_IO; the text lists the available devices, or names the channels that the
   device lacks.
*/
NODISCARD Status pa_device_find(const char* host_api, const char* device, uint32_t n_in,
                                uint32_t n_out, PaDeviceIndex* in, PaDeviceIndex* out,
                                Error* error);

/// PortAudio's information about a device; no name and no channels if PortAudio has none.
PaDeviceInfo pa_device_info(PaDeviceIndex device);
/// PortAudio's information about a host API; no name and no devices if PortAudio has none.
PaHostApiInfo pa_api_info(PaHostApiIndex api);

/// All devices, see IoDriver::devices; pa_device_find() accepts their `index`.
json_t* pa_device_list(void);

#endif
