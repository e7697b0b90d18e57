// SPDX-License-Identifier: GPL-3.0-or-later
// PortAudio's devices.
//
// PortAudio returns NULL for an unknown device or host API, and an error code in place of their
// number; a host API may also omit a name.  These functions treat such a device as one without name
// and channels.

#include "pa_device.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ANY_API (-1)

PaDeviceInfo
pa_device_info(const PaDeviceIndex device)
{
  const PaDeviceInfo* const known = Pa_GetDeviceInfo(device);
  PaDeviceInfo info = known ? *known : (PaDeviceInfo){ .hostApi = paHostApiNotFound };
  info.name = info.name ? info.name : "";
  info.maxInputChannels = info.maxInputChannels > 0 ? info.maxInputChannels : 0;
  info.maxOutputChannels = info.maxOutputChannels > 0 ? info.maxOutputChannels : 0;
  return info;
}

PaHostApiInfo
pa_api_info(const PaHostApiIndex api)
{
  const PaHostApiInfo* const known = Pa_GetHostApiInfo(api);
  PaHostApiInfo info = known ? *known
                             : (PaHostApiInfo){ .type = paInDevelopment,
                                                .defaultInputDevice = paNoDevice,
                                                .defaultOutputDevice = paNoDevice };
  info.name = info.name ? info.name : "";
  return info;
}

static bool
is_in_api(const PaDeviceIndex device, const PaHostApiIndex api)
{
  return api == ANY_API || pa_device_info(device).hostApi == api;
}

// ---- lists for messages ----

typedef struct List {
  char text[256];
  size_t length;
  bool is_full;
} List;

static void
list_add(List* const list, const char* const item)
{
  const size_t room = sizeof(list->text) - list->length;
  const size_t length = strlen(item);
  if (list->is_full || length + sizeof(", ...") + 1U > room) {
    list->length += (size_t)sprintf(list->text + list->length, "%s", list->is_full ? "" : ", ...");
    list->is_full = true;
  } else {
    list->length +=
        (size_t)sprintf(list->text + list->length, "%s%s", list->length ? ", " : "", item);
  }
}

static Status
no_api(const char* const wanted, Error* const error)
{
  List list = { "", 0, false };
  for (PaHostApiIndex api = 0; api < Pa_GetHostApiCount(); ++api) {
    list_add(&list, pa_api_info(api).name);
  }
  return error_set(error, STATUS_AUDIO_IO, "PortAudio has no host API '%s'; there is %s", wanted,
                   list.length ? list.text : "none");
}

static Status
no_device(const char* const what, const char* const wanted, const PaHostApiIndex api,
          const char* const part, Error* const error)
{
  List list = { "", 0, false };
  for (PaDeviceIndex device = 0; device < Pa_GetDeviceCount(); ++device) {
    const char* const name = pa_device_info(device).name;
    if (is_in_api(device, api) && (!part || strcasestr(name, part))) {
      char item[96];
      snprintf(item, sizeof(item), "'%.80s' (%d)", name, device);
      list_add(&list, item);
    }
  }
  return error_set(error, STATUS_AUDIO_IO, "PortAudio: %s '%s'; there is %s", what, wanted,
                   list.length ? list.text : "no device at all");
}

// ---- find ----

static Status
find_api(const char* const name, PaHostApiIndex* const found, Error* const error)
{
  for (PaHostApiIndex api = 0; api < Pa_GetHostApiCount(); ++api) {
    if (!strncasecmp(pa_api_info(api).name, name, strlen(name))) {
      *found = api;
      return STATUS_OK;
    }
  }
  return no_api(name, error);
}

static Status
find_by_index(const char* const text, const PaHostApiIndex api, PaDeviceIndex* const found,
              Error* const error)
{
  const long index = strtol(text, NULL, 10);
  if (index >= Pa_GetDeviceCount() || !is_in_api((PaDeviceIndex)index, api)) {
    return no_device("no device", text, api, NULL, error);
  }
  *found = (PaDeviceIndex)index;
  return STATUS_OK;
}

static Status
find_by_name(const char* const name, const PaHostApiIndex api, PaDeviceIndex* const found,
             Error* const error)
{
  uint32_t n_parts = 0;
  for (PaDeviceIndex device = 0; device < Pa_GetDeviceCount(); ++device) {
    const char* const candidate = pa_device_info(device).name;
    if (!is_in_api(device, api) || !strcasestr(candidate, name)) {
      continue;
    }
    *found = device;
    if (!strcasecmp(candidate, name)) {
      return STATUS_OK;
    }
    ++n_parts;
  }
  if (n_parts == 1U) {
    return STATUS_OK;
  }
  return n_parts ? no_device("more than one device is called", name, api, name, error)
                 : no_device("no device", name, api, NULL, error);
}

static Status
find_named(const char* const device, const PaHostApiIndex api, const uint32_t n_in,
           const uint32_t n_out, PaDeviceIndex* const found, Error* const error)
{
  const bool is_index = device[0] && !device[strspn(device, "0123456789")];
  const Status status =
      is_index ? find_by_index(device, api, found, error) : find_by_name(device, api, found, error);
  if (status) {
    return status;
  }
  const PaDeviceInfo info = pa_device_info(*found);
  if ((uint32_t)info.maxInputChannels < n_in || (uint32_t)info.maxOutputChannels < n_out) {
    return error_set(error, STATUS_AUDIO_IO,
                     "PortAudio device '%s' has %d inputs and %d outputs; %u and %u are wanted",
                     info.name, info.maxInputChannels, info.maxOutputChannels, n_in, n_out);
  }
  return STATUS_OK;
}

// The default host API or, if it has no device, the first host API with a device.
static PaHostApiIndex
default_api(void)
{
  const PaHostApiIndex preferred = Pa_GetDefaultHostApi();
  if (preferred >= 0 && pa_api_info(preferred).deviceCount > 0) {
    return preferred;
  }
  for (PaHostApiIndex api = 0; api < Pa_GetHostApiCount(); ++api) {
    if (pa_api_info(api).deviceCount > 0) {
      return api;
    }
  }
  return paNoDevice;
}

static Status
check_default(const PaDeviceIndex device, const PaHostApiIndex api, const bool is_input,
              const uint32_t n_channels, Error* const error)
{
  const char* const direction = is_input ? "input" : "output";
  if (!n_channels) {
    return STATUS_OK;
  }
  if (device == paNoDevice) {
    return error_set(error, STATUS_AUDIO_IO, "PortAudio: %s has no %s device",
                     pa_api_info(api).name, direction);
  }
  const PaDeviceInfo info = pa_device_info(device);
  const int available = is_input ? info.maxInputChannels : info.maxOutputChannels;
  if ((uint32_t)available < n_channels) {
    return error_set(error, STATUS_AUDIO_IO, "PortAudio device '%s' has %d %ss; %u are wanted",
                     info.name, available, direction, n_channels);
  }
  return STATUS_OK;
}

Status
pa_device_find(const char* const host_api, const char* const device, const uint32_t n_in,
               const uint32_t n_out, PaDeviceIndex* const in, PaDeviceIndex* const out,
               Error* const error)
{
  PaHostApiIndex api = ANY_API;
  PaDeviceIndex found = paNoDevice;
  Status status = host_api ? find_api(host_api, &api, error) : STATUS_OK;
  if (!status && device) {
    status = find_named(device, api, n_in, n_out, &found, error);
    *in = n_in ? found : paNoDevice;
    *out = n_out ? found : paNoDevice;
    return status;
  }
  if (!status && !host_api) {
    api = default_api();
    status =
        api < 0 ? error_set(error, STATUS_AUDIO_IO, "PortAudio finds no audio device") : STATUS_OK;
  }
  if (status) {
    return status;
  }
  *in = n_in ? pa_api_info(api).defaultInputDevice : paNoDevice;
  *out = n_out ? pa_api_info(api).defaultOutputDevice : paNoDevice;
  status = check_default(*in, api, true, n_in, error);
  return status ? status : check_default(*out, api, false, n_out, error);
}

json_t*
pa_device_list(void)
{
  json_t* const list = json_array();
  for (PaDeviceIndex device = 0; device < Pa_GetDeviceCount(); ++device) {
    const PaDeviceInfo info = pa_device_info(device);
    const PaHostApiInfo api = pa_api_info(info.hostApi);
    const bool is_default = device == api.defaultInputDevice || device == api.defaultOutputDevice;
    json_array_append_new(list,
                          json_pack("{si ss ss si si sf sb}", "index", device, "name", info.name,
                                    "host_api", api.name, "inputs", info.maxInputChannels,
                                    "outputs", info.maxOutputChannels, "rate_hz",
                                    info.defaultSampleRate, "default", is_default));
  }
  return list;
}
