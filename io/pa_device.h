// SPDX-License-Identifier: GPL-3.0-or-later
/// PortAudio's devices: found by what the user calls them, and listed.  PortAudio is initialised.
#ifndef WARPRACK_IO_PA_DEVICE_H
#define WARPRACK_IO_PA_DEVICE_H

#include "engine/base/status.h"

#include <jansson.h>
#include <portaudio.h>
#include <stdint.h>

/**
   Find devices for n_in inputs and n_out outputs; paNoDevice where 0 are wanted.

   @param host_api Name of a host API or its beginning, any case; NULL: the default one if it has
   devices, else the first that has; with a `device`, all.
   @param device One device for both directions: its index, its name, or a part of the name that
   only one has, any case.  NULL: the host API's default ones.
   @return STATUS_AUDIO_IO, with what there is to choose from, or what the device lacks.
*/
NODISCARD Status pa_device_find(const char* host_api, const char* device, uint32_t n_in,
                                uint32_t n_out, PaDeviceIndex* in, PaDeviceIndex* out,
                                Error* error);

/// What PortAudio knows of a device: no name and no channels where it knows none.
PaDeviceInfo pa_device_info(PaDeviceIndex device);
/// The same of a host API.
PaHostApiInfo pa_api_info(PaHostApiIndex api);

/// All devices, see IoDriver::devices; `index` is what pa_device_find() takes.
json_t* pa_device_list(void);

#endif
