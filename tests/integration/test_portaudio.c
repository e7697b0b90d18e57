// SPDX-License-Identifier: GPL-3.0-or-later
// The PortAudio driver without hardware: with PortAudio's JACK host API on a server without a sound
// card, and with ALSA's null device.

#include "io/io.h"
#include "tests/support/fake_events.h"
#include "tests/support/jackd.h"
#include "tests/support/scoped.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

#include <dlfcn.h>
#include <portaudio.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JACK_API "JACK Audio Connection Kit"

const PaStreamInfo* __real_Pa_GetStreamInfo(PaStream* stream);
const PaStreamInfo* __wrap_Pa_GetStreamInfo(PaStream* stream);

static bool has_no_info; // PortAudio returns no information about a stream

const PaStreamInfo*
__wrap_Pa_GetStreamInfo(PaStream* const stream)
{
  return has_no_info ? NULL : __real_Pa_GetStreamInfo(stream);
}

void* __real_dlsym(void* handle, const char* name);
void* __wrap_dlsym(void* handle, const char* name);

static atomic_bool unregisters; // libjack's jack_port_unregister() was looked up, to call it

void*
__wrap_dlsym(void* const handle, const char* const name)
{
  if (!strcmp(name, "jack_port_unregister")) {
    atomic_store(&unregisters, true);
  }
  return __real_dlsym(handle, name);
}

static Io*
open_portaudio(const IoConfig* const config, FakeEvents* const fake)
{
  Io* io = NULL;
  const IoEvents events = fake_events(fake, config->n_in, config->n_out);
  OK(io_open(io_find("portaudio"), config, &events, &io, &error));
  return io;
}

static void
refuses(const IoConfig* const config, const char* const reason)
{
  FakeEvents fake = { 0 };
  Io* io = NULL;
  Error error = { STATUS_OK, "" };
  const IoEvents events = fake_events(&fake, config->n_in, config->n_out);
  ck_assert_int_eq(io_open(io_find("portaudio"), config, &events, &io, &error), STATUS_AUDIO_IO);
  assert_says(error.text, reason);
  ck_assert_uint_eq(fake.formats + fake.notes, 0);
}

static void
start_jackd(Jackd* const jackd, const unsigned period)
{
  jackd_start(jackd, 48000, period);
  setenv("JACK_DEFAULT_SERVER", jackd->name, 1); // PortAudio has no option for the server
}

// Configure two null devices in ALSA, with different names.
static void
use_null_devices(const Scratch* const scratch)
{
  static const char text[] = "pcm.silence { type null hint { show on description \"one\" } }\n"
                             "pcm.silent_too { type null hint { show on description \"two\" } }\n";
  scratch_write(scratch, "alsa.conf", text, strlen(text));
  char path[600];
  snprintf(path, sizeof(path), "/usr/share/alsa/alsa.conf:%s", scratch_path(scratch, "alsa.conf"));
  setenv("ALSA_CONFIG_PATH", path, 1);
  setenv("JACK_DEFAULT_SERVER", "warprack-test-nobody", 1);
}

TEST(blocks_have_the_length_that_was_asked_for)
{
  static const uint32_t blocks[] = { 64, 128, 100 };
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  start_jackd(&jackd, 64);
  for (unsigned b = 0; b < ARRAY_LEN(blocks); ++b) {
    const IoConfig config = {
      .host_api = "jack", .block_frames = blocks[b], .n_in = 2, .n_out = 2
    };
    FakeEvents fake = { 0 };
    Io* const io = open_portaudio(&config, &fake);
    ck_assert_double_eq(fake.rate_hz, 48000.0);
    ck_assert_uint_eq(fake.block_frames, blocks[b]);
    POLL_UNTIL(io, fake.periods > 20U);
    ck_assert_uint_eq(fake.waited, 0);
    ck_assert(driver_is_running(io));
    assert_says(driver_status(io).device, JACK_API ": system");
    ck_assert_int_eq(io_close(io), STATUS_OK);
    ck_assert_uint_eq(fake.frames, fake.periods * blocks[b]);
  }
  ck_assert(!atomic_load(&unregisters)); // would race with libjack's notification thread
}

/// Functions of libjack that quirks/pa_jack.c defines for PortAudio.
static const char* const replaced[] = { "jack_on_shutdown", "jack_client_close", "jack_deactivate",
                                        "jack_port_unregister" };

TEST_ROWS(portaudio_calls_functions_of_this_program_in_place_of_libjack_s, replaced)
{
  void* const libjacks = __real_dlsym(RTLD_NEXT, replaced[row]);
  ck_assert_ptr_nonnull(libjacks);
  ck_assert_ptr_ne(__real_dlsym(RTLD_DEFAULT, replaced[row]), libjacks);
}

TEST(alsa_without_a_configuration_is_no_reason_to_end)
{
  setenv("ALSA_CONFIG_PATH", "/dev/null", 1);
  setenv("JACK_DEFAULT_SERVER", "warprack-test-nobody", 1);
  for (int n = 0; n < 2; ++n) { // PortAudio is initialised again at each attempt
    refuses(&(IoConfig){ .host_api = "ALSA", .n_in = 1, .n_out = 1 }, "ALSA");
    json_decref(io_find("portaudio")->devices());
  }
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  start_jackd(&jackd, 64); // other systems have their devices
  const IoConfig config = { .host_api = "JACK", .block_frames = 64, .n_in = 2, .n_out = 2 };
  FakeEvents fake = { 0 };
  Io* const io = open_portaudio(&config, &fake);
  POLL_UNTIL(io, fake.periods > 20U);
  ck_assert_int_eq(io_close(io), STATUS_OK);
}

TEST(a_device_that_falls_silent_is_opened_again)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  start_jackd(&jackd, 64);
  const IoConfig config = { .host_api = "JACK", .block_frames = 64, .n_in = 2, .n_out = 2 };
  FakeEvents fake = { 0 };
  SCOPED(driver_close) Io* const io = open_portaudio(&config, &fake);
  POLL_UNTIL(io, fake.periods > 20U);
  kill(jackd.pid, SIGSTOP);
  POLL_UNTIL(io, strstr(fake.log, "no period for 2 s"));
  io_poll(io);
  ck_assert(!driver_is_running(io));
  const uint64_t periods = fake.periods;
  kill(jackd.pid, SIGCONT);
  POLL_UNTIL(io, driver_is_running(io) && fake.periods > periods + 10U);
  ck_assert_uint_eq(driver_status(io).reconnects, 1);
  ck_assert_uint_eq(fake.formats, 2);
  ck_assert_uint_eq(fake.last_frames, 64);
  ck_assert(!fake.overlapped);
  assert_says(fake.log, "is back");
}

static void
die_and_return(const int signal_number)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  start_jackd(&jackd, 64);
  const IoConfig config = { .host_api = "JACK", .block_frames = 64, .n_in = 2, .n_out = 2 };
  FakeEvents fake = { 0 };
  SCOPED(driver_close) Io* const io = open_portaudio(&config, &fake);
  for (unsigned n = 1; n <= 2U; ++n) {
    POLL_UNTIL(io, fake.periods > 20U);
    jackd_kill(&jackd, signal_number);
    POLL_UNTIL(io, strstr(fake.note, "lost PortAudio device"));
    assert_says(fake.note, "the JACK server has ended");
    poll_for(io, 50U); // the driver's attempts to reopen fail
    ck_assert(!driver_is_running(io));
    const uint64_t periods = fake.periods;
    jackd_start(&jackd, 48000, 64);
    POLL_UNTIL(io, driver_is_running(io) && fake.periods > periods + 10U);
    ck_assert_uint_eq(driver_status(io).reconnects, n);
    assert_says(fake.note, "is back");
  }
  ck_assert_msg(!strstr(fake.log, "does not answer"), "%s", fake.log);
  ck_assert(!fake.overlapped);
}

TEST(a_killed_server_is_detected_at_once_and_audio_returns)
{
  die_and_return(SIGKILL);
}

TEST(the_orderly_end_of_a_server_is_detected_at_once_and_audio_returns)
{
  die_and_return(SIGTERM);
}

TEST(a_device_that_is_not_there_yet_can_be_waited_for)
{
  Jackd jackd = { "", 0 };
  start_jackd(&jackd, 64);
  jackd_stop(&jackd);
  const IoConfig config = {
    .host_api = "JACK", .block_frames = 64, .n_in = 2, .n_out = 2, .wait = true
  };
  FakeEvents fake = { 0 };
  Io* const io = open_portaudio(&config, &fake);
  ck_assert(!driver_is_running(io));
  assert_says(fake.note, "waiting for it");
  jackd_start(&jackd, 48000, 64);
  POLL_UNTIL(io, driver_is_running(io) && fake.periods > 10U);
  assert_says(fake.note, "is available");
  io_close(io);
  jackd_stop(&jackd);
}

TEST(the_server_may_change_its_period_and_blocks_stay_as_they_are)
{
  static const char* const periods[] = { "1024", "17", "64" };
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  start_jackd(&jackd, 64);
  const IoConfig config = { .host_api = "JACK", .block_frames = 64, .n_in = 2, .n_out = 2 };
  FakeEvents fake = { 0 };
  SCOPED(driver_close) Io* const io = open_portaudio(&config, &fake);
  for (unsigned p = 0; p < ARRAY_LEN(periods); ++p) {
    const uint64_t before = fake.periods;
    ck_assert_int_eq(jackd_tool(&jackd, "jack_bufsize", periods[p], NULL), 0);
    POLL_UNTIL(io, fake.periods > before + 50U);
    ck_assert_uint_eq(fake.last_frames, 64);
    ck_assert(driver_is_running(io));
  }
  ck_assert(!fake.overlapped);
}

TEST(a_stream_on_alsa_survives_the_death_of_a_jack_server)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  use_null_devices(&scratch);
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  start_jackd(&jackd, 64);
  const IoConfig config = {
    .host_api = "ALSA", .device = "silent_too", .rate_hz = 32000.0, .block_frames = 256, .n_out = 2
  };
  FakeEvents fake = { 0 };
  Io* const io = open_portaudio(&config, &fake);
  POLL_UNTIL(io, fake.periods > 5U);
  jackd_kill(&jackd, SIGKILL);
  poll_for(io, 50U);
  ck_assert(driver_is_running(io));
  ck_assert_uint_eq(fake.notes, 0);
  io_close(io);
  jackd_start(&jackd, 48000, 64); // takes over the dead server's entry in JACK's registry
}

TEST(xruns_are_counted)
{
  SCOPED(jackd_stop) Jackd jackd = { "", 0 };
  start_jackd(&jackd, 64);
  const IoConfig config = { .host_api = "JACK", .block_frames = 64, .n_in = 1, .n_out = 1 };
  FakeEvents fake = { 0 };
  SCOPED(driver_close) Io* const io = open_portaudio(&config, &fake);
  POLL_UNTIL(io, fake.periods > 20U);
  const uint64_t before = driver_status(io).xruns;
  kill(jackd.pid, SIGSTOP);
  usleep(100000);
  kill(jackd.pid, SIGCONT);
  POLL_UNTIL(io, driver_status(io).xruns > before);
}

TEST(alsa_devices_are_found_by_name_part_and_index)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  use_null_devices(&scratch);
  json_t* const devices = io_find("portaudio")->devices();
  size_t i;
  json_t* device;
  char index[16] = "";
  json_array_foreach(devices, i, device)
  {
    if (!strcmp(json_string_value(json_object_get(device, "name")), "silent_too")) {
      snprintf(index, sizeof(index), "%d",
               (int)json_integer_value(json_object_get(device, "index")));
      ck_assert_str_eq(json_string_value(json_object_get(device, "host_api")), "ALSA");
      ck_assert_int_ge(json_integer_value(json_object_get(device, "inputs")), 2);
      ck_assert_int_ge(json_integer_value(json_object_get(device, "outputs")), 2);
      ck_assert_double_gt(json_real_value(json_object_get(device, "rate_hz")), 0.0);
      ck_assert(json_is_boolean(json_object_get(device, "default")));
    }
  }
  ck_assert_str_ne(index, "");
  json_decref(devices);

  const char* const names[] = { "silent_too", "SILENT", index };
  for (unsigned n = 0; n < ARRAY_LEN(names); ++n) {
    const IoConfig config = { .host_api = "ALSA",
                              .device = names[n],
                              .rate_hz = 32000.0,
                              .block_frames = 256,
                              .n_in = n,
                              .n_out = 2 };
    FakeEvents fake = { 0 };
    SCOPED(driver_close) Io* const io = open_portaudio(&config, &fake);
    ck_assert_double_eq(fake.rate_hz, 32000.0);
    POLL_UNTIL(io, fake.periods > 5U);
    assert_says(driver_status(io).device, "ALSA: silent_too");
  }
}

TEST(a_missing_device_is_reported_with_the_available_ones)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  use_null_devices(&scratch);
  IoConfig config = { .host_api = "CoreAudio", .n_out = 2 };
  refuses(&config, "no host API 'CoreAudio'; there is ALSA");
  config = (IoConfig){ .host_api = "ALSA", .device = "speaker", .n_out = 2 };
  refuses(&config, "no device 'speaker'; there is 'silen");
  config = (IoConfig){ .host_api = "ALSA", .device = "sil", .n_out = 2 };
  refuses(&config, "more than one device is called 'sil'; there is 'silen");
  config = (IoConfig){ .device = "99", .n_out = 2 };
  refuses(&config, "no device '99'");
  config = (IoConfig){ .device = "silence", .n_out = 1000 };
  refuses(&config, "0 and 1000 are wanted");
}

TEST(a_stream_without_information_is_refused_and_opened_again)
{
  SCOPED(scratch_remove) const Scratch scratch = scratch_new();
  use_null_devices(&scratch);
  IoConfig config = {
    .host_api = "ALSA", .device = "silent_too", .rate_hz = 32000.0, .block_frames = 256, .n_out = 2
  };
  has_no_info = true;
  refuses(&config, "PortAudio device 'ALSA: silent_too' reports no rate");
  config.wait = true;
  FakeEvents fake = { 0 };
  SCOPED(driver_close) Io* const io = open_portaudio(&config, &fake);
  poll_for(io, 50U); // failed attempts
  ck_assert(!driver_is_running(io));
  ck_assert_uint_eq(fake.periods + fake.formats, 0);
  has_no_info = false;
  POLL_UNTIL(io, driver_is_running(io) && fake.periods > 5U);
  ck_assert_double_eq(fake.rate_hz, 32000.0);
}

TEST(nothing_is_printed)
{
  FILE* const caught = tmpfile();
  const int kept = dup(STDERR_FILENO);
  dup2(fileno(caught), STDERR_FILENO);
  setenv("JACK_DEFAULT_SERVER", "warprack-test-nobody", 1);
  json_decref(io_find("portaudio")->devices());
  FakeEvents fake = { 0 };
  Io* io = NULL;
  Error error;
  const IoConfig config = { .device = "nobody has this", .n_out = 2 };
  const IoEvents events = fake_events(&fake, 0, 2);
  const Status status = io_open(io_find("portaudio"), &config, &events, &io, &error);
  fflush(stderr);
  dup2(kept, STDERR_FILENO);
  ck_assert_int_eq(status, STATUS_AUDIO_IO);
  fseek(caught, 0, SEEK_END);
  ck_assert_int_eq(ftell(caught), 0);
  fclose(caught);
}

int
main(void)
{
  if (!dlsym(RTLD_DEFAULT, "PaJack_SetClientName")) {
    printf("skipped: this PortAudio was built without " JACK_API "\n");
    return TEST_SKIPPED;
  }
  return jackd_suite_run("portaudio");
}
