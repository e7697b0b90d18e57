// SPDX-License-Identifier: GPL-3.0-or-later
// Devices are found by index, by name and by default; a device that PortAudio does not know is
// never returned.  This file defines PortAudio's functions.

#include "io/pa_device.h"
#include "tests/support/suite.h"

#include <stdbool.h>
#include <string.h>

// ---- PortAudio ----

static PaHostApiInfo apis[2];
static PaDeviceInfo devices[3];
static PaHostApiIndex n_apis;
static PaDeviceIndex n_devices;
static bool knows_nothing; // PortAudio returns only the number of devices

int
Pa_GetHostApiCount(void)
{
  return n_apis;
}

PaHostApiIndex
Pa_GetDefaultHostApi(void)
{
  return n_apis > 0 ? 0 : paNotInitialized;
}

const PaHostApiInfo*
Pa_GetHostApiInfo(const PaHostApiIndex api)
{
  return knows_nothing || api < 0 || api >= n_apis ? NULL : &apis[api];
}

PaDeviceIndex
Pa_GetDeviceCount(void)
{
  return n_devices;
}

const PaDeviceInfo*
Pa_GetDeviceInfo(const PaDeviceIndex device)
{
  return knows_nothing || device < 0 || device >= n_devices ? NULL : &devices[device];
}

// ---- set-up of every test ----

static PaDeviceIndex in, out;
static Error error;

static void
begin(void)
{
  apis[0] = (PaHostApiInfo){ .type = paALSA,
                             .name = "ALSA",
                             .deviceCount = 2,
                             .defaultInputDevice = 0,
                             .defaultOutputDevice = 1 };
  apis[1] = (PaHostApiInfo){ .type = paJACK,
                             .name = "JACK Audio Connection Kit",
                             .deviceCount = 1,
                             .defaultInputDevice = 2,
                             .defaultOutputDevice = 2 };
  devices[0] = (PaDeviceInfo){ .name = "Desk", .hostApi = 0, .maxInputChannels = 2 };
  devices[1] = (PaDeviceInfo){ .name = "Stage", .hostApi = 0, .maxOutputChannels = 2 };
  devices[2] = (PaDeviceInfo){
    .name = "system", .hostApi = 1, .maxInputChannels = 8, .maxOutputChannels = 8
  };
  n_apis = 2;
  n_devices = 3;
  knows_nothing = false;
}

static Status
find(const char* const api, const char* const device)
{
  error.text[0] = '\0';
  return pa_device_find(api, device, 1, 1, &in, &out, &error);
}

// ---- tests ----

TEST(a_device_is_found_by_default_index_and_name)
{
  begin();
  ck_assert_msg(!find(NULL, NULL), "%s", error.text);
  ck_assert_int_eq(in, 0);
  ck_assert_int_eq(out, 1);
  ck_assert_msg(!find("jack", NULL), "%s", error.text);
  ck_assert_int_eq(in, 2);
  ck_assert_msg(!find(NULL, "2"), "%s", error.text);
  ck_assert_int_eq(out, 2);
  ck_assert_msg(!find(NULL, "SYS"), "%s", error.text);
  ck_assert_int_eq(out, 2);
  ck_assert_int_eq(find(NULL, "Desk"), STATUS_AUDIO_IO);
  assert_says(error.text, "has 2 inputs and 0 outputs");
}

// Each way to find a device fails with a message.
static void
find_nothing(void)
{
  static const char* const names[] = { NULL, "", "0", "2", "99999999999", "Stage" };
  static const char* const api_names[] = { NULL, "", "ALSA" };
  for (unsigned a = 0; a < ARRAY_LEN(api_names); ++a) {
    for (unsigned d = 0; d < ARRAY_LEN(names); ++d) {
      ck_assert_int_eq(find(api_names[a], names[d]), STATUS_AUDIO_IO);
      ck_assert_uint_gt(strlen(error.text), 0);
    }
  }
}

TEST(devices_unknown_to_portaudio_are_skipped)
{
  begin();
  knows_nothing = true;
  find_nothing();
  json_t* const list = pa_device_list();
  ck_assert_uint_eq(json_array_size(list), 3); // as many entries, without details
  json_decref(list);
}

TEST(a_portaudio_that_is_not_initialised_has_no_device)
{
  begin();
  n_apis = n_devices = paNotInitialized; // a number below 0
  find_nothing();
  json_t* const list = pa_device_list();
  ck_assert_uint_eq(json_array_size(list), 0);
  json_decref(list);
}

TEST(names_may_be_missing_and_channels_below_none)
{
  begin();
  for (unsigned d = 0; d < 3U; ++d) {
    devices[d] = (PaDeviceInfo){
      .name = NULL, .hostApi = 7, .maxInputChannels = -1, .maxOutputChannels = -1
    };
  }
  apis[0].name = apis[1].name = NULL;
  find_nothing();
  ck_assert_int_eq(pa_device_info(0).maxInputChannels, 0);
  ck_assert_str_eq(pa_api_info(0).name, "");
  json_decref(pa_device_list());
}

SUITE_MAIN("pa_device")
