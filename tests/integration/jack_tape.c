// SPDX-License-Identifier: GPL-3.0-or-later
// A tape machine for tests, on the JACK server of JACK_DEFAULT_SERVER:
//
//     jack_tape freewheel|live CLIENT IN.wav OUT.wav
//
// plays IN.wav into CLIENT:in_1 …, and records as many frames of CLIENT:out_1 …, from the same
// period on.  Two clients, `driver` and `recorder`, do this: a single client that is connected to
// itself through CLIENT would be a loop, into which JACK inserts a delay of one period.
//
// It prints how often JACK reported an xrun, and how often the frame clock of one of the two
// clients jumped, while the tape ran: such a recording has gaps that CLIENT did not make.

#include <jack/jack.h>
#include <sndfile.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CHANNELS 16

typedef struct Tape {
  jack_client_t* client;
  jack_port_t* ports[MAX_CHANNELS];
  int n_channels;
  sf_count_t n_frames, position;
  float* samples;      // interleaved
  jack_nframes_t next; // frame clock that the next period should have, once the tape moves
} Tape;

static Tape driver;
static Tape recorder;
static atomic_bool rolling;  // set by the main thread
static atomic_bool started;  // `driver` has started, in this period or before
static atomic_bool finished; // `recorder` has all frames
static atomic_uint n_xruns;
static atomic_uint n_jumps;

/// Copy one period from a tape to its ports, or from its ports to the tape.
static void
roll(Tape* const tape, const jack_nframes_t n_frames, const bool to_ports)
{
  for (int c = 0; c < tape->n_channels; ++c) {
    float* const port = jack_port_get_buffer(tape->ports[c], n_frames);
    for (jack_nframes_t i = 0; i < n_frames; ++i) {
      const sf_count_t at = tape->position + i;
      float* const sample = at < tape->n_frames ? &tape->samples[at * tape->n_channels + c] : NULL;
      if (to_ports) {
        port[i] = sample ? *sample : 0.0F;
      } else if (sample) {
        *sample = port[i];
      }
    }
  }
  const jack_nframes_t now = jack_last_frame_time(tape->client);
  if (tape->position && now != tape->next) {
    atomic_fetch_add(&n_jumps, 1);
  }
  tape->next = now + n_frames;
  tape->position += n_frames;
}

static int
play(const jack_nframes_t n_frames, void* const context)
{
  (void)context;
  if (atomic_load(&rolling)) {
    roll(&driver, n_frames, true);
    atomic_store(&started, true); // the recorder runs later in the same period
  } else {
    for (int c = 0; c < driver.n_channels; ++c) {
      memset(jack_port_get_buffer(driver.ports[c], n_frames), 0, n_frames * sizeof(float));
    }
  }
  return 0;
}

static int
record(const jack_nframes_t n_frames, void* const context)
{
  (void)context;
  if (atomic_load(&started) && recorder.position < recorder.n_frames) {
    roll(&recorder, n_frames, false);
    atomic_store(&finished, recorder.position >= recorder.n_frames);
  }
  return 0;
}

static int
count_xrun(void* const context)
{
  (void)context;
  if (atomic_load(&started)) {
    atomic_fetch_add(&n_xruns, 1);
  }
  return 0;
}

static void
fail(const char* const what)
{
  fprintf(stderr, "jack_tape: %s\n", what);
  exit(EXIT_FAILURE);
}

static void
open_tape(Tape* const tape, const char* const name, const JackProcessCallback process,
          const unsigned long flags)
{
  tape->client = jack_client_open(name, JackNoStartServer, NULL);
  if (!tape->client) {
    fail("no JACK server");
  }
  jack_set_process_callback(tape->client, process, NULL);
  if (tape == &recorder) {
    jack_set_xrun_callback(tape->client, count_xrun, NULL);
  }
  for (int c = 0; c < tape->n_channels; ++c) {
    char port[32];
    snprintf(port, sizeof(port), "%d", c + 1);
    tape->ports[c] = jack_port_register(tape->client, port, JACK_DEFAULT_AUDIO_TYPE, flags, 0);
  }
  if (jack_activate(tape->client)) {
    fail("cannot activate");
  }
}

static void
connect_to(const char* const client)
{
  for (int c = 0; c < driver.n_channels; ++c) {
    char port[256];
    snprintf(port, sizeof(port), "%s:in_%d", client, c + 1);
    if (jack_connect(driver.client, jack_port_name(driver.ports[c]), port)) {
      fail(port);
    }
    snprintf(port, sizeof(port), "%s:out_%d", client, c + 1);
    if (jack_connect(recorder.client, port, jack_port_name(recorder.ports[c]))) {
      fail(port);
    }
  }
}

static void
load(const char* const name)
{
  SF_INFO info = { 0 };
  SNDFILE* const file = sf_open(name, SFM_READ, &info);
  if (!file || info.channels > MAX_CHANNELS) {
    fail(name);
  }
  driver.n_channels = recorder.n_channels = info.channels;
  driver.n_frames = recorder.n_frames = info.frames;
  driver.samples = calloc((size_t)info.frames * (size_t)info.channels, sizeof(float));
  recorder.samples = calloc((size_t)info.frames * (size_t)info.channels, sizeof(float));
  if (!driver.samples || !recorder.samples ||
      sf_readf_float(file, driver.samples, info.frames) != info.frames) {
    fail(name);
  }
  sf_close(file);
}

static void
save(const char* const name)
{
  SF_INFO info = { .samplerate = (int)jack_get_sample_rate(recorder.client),
                   .channels = recorder.n_channels,
                   .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT };
  SNDFILE* const file = sf_open(name, SFM_WRITE, &info);
  if (!file || sf_writef_float(file, recorder.samples, recorder.n_frames) != recorder.n_frames) {
    fail(name);
  }
  sf_close(file);
}

int
main(const int argc, char** const argv)
{
  if (argc != 5) {
    fail("usage: jack_tape freewheel|live CLIENT IN.wav OUT.wav");
  }
  const bool freewheel = !strcmp(argv[1], "freewheel");
  load(argv[3]);
  open_tape(&driver, "tape-play", play, JackPortIsOutput);
  open_tape(&recorder, "tape-record", record, JackPortIsInput);
  connect_to(argv[2]);
  usleep(300000); // until JACK has sorted its graph for the new connections
  if (freewheel && jack_set_freewheel(driver.client, 1)) {
    fail("cannot freewheel");
  }
  usleep(300000);
  atomic_store(&rolling, true);
  while (!atomic_load(&finished)) {
    usleep(10000);
  }
  usleep(100000); // an xrun of the last period is reported by another thread
  if (freewheel) {
    jack_set_freewheel(driver.client, 0);
  }
  jack_deactivate(driver.client);
  jack_deactivate(recorder.client);
  save(argv[4]);
  printf("%u xruns, %u jumps\n", atomic_load(&n_xruns), atomic_load(&n_jumps));
  return EXIT_SUCCESS;
}
