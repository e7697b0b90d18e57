// SPDX-License-Identifier: GPL-3.0-or-later
// A clock for tests, on the JACK server of JACK_DEFAULT_SERVER.  "clock:out" plays the number of
// each frame as a sample; "clock:in" reads the samples that return, and computes their age in
// frames.  On SIGTERM it prints the input as runs of samples of the same age, with a line "FRAME
// AGE LENGTH" for each run: its first frame, the age (-1 for silence), and the number of samples.
// On SIGUSR1 it disconnects "clock:out" from PORT and connects it again, TIMES times, and prints
// "reconnected".
//
//     jack_clock [PORT TIMES]

#include <inttypes.h>
#include <jack/jack.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FRAMES   (1U << 24) // numbers that a sample holds exactly: 349 s at 48 kHz
#define MAX_RUNS 65536U     // runs that are recorded at most

typedef struct Run {
  uint32_t frame;
  int32_t age;
  uint64_t length;
} Run;

static jack_port_t* in;
static jack_port_t* out;
static _Atomic uint32_t now; // number of the next frame
static Run runs[MAX_RUNS];
static uint32_t n_runs;

static void
record(const uint32_t frame, const float sample)
{
  const int32_t age =
      sample == 0.0F ? -1 : (int32_t)((frame - (uint32_t)(sample * (float)FRAMES)) % FRAMES);
  if (n_runs && runs[n_runs - 1U].age == age) {
    ++runs[n_runs - 1U].length;
  } else if (n_runs < MAX_RUNS) {
    runs[n_runs++] = (Run){ frame, age, 1U };
  }
}

static int
process(const jack_nframes_t n_frames, void* const context)
{
  (void)context;
  float* const to = jack_port_get_buffer(out, n_frames);
  const float* const from = jack_port_get_buffer(in, n_frames);
  for (jack_nframes_t i = 0; i < n_frames; ++i) {
    const uint32_t frame = (now + i) % FRAMES;
    record(frame, from[i]);
    to[i] = (float)frame / (float)FRAMES;
  }
  now = (now + n_frames) % FRAMES;
  return 0;
}

/// Wait four periods, until a change has taken effect.
static void
wait_frames(jack_client_t* const client)
{
  const uint32_t n_frames = 4U * jack_get_buffer_size(client);
  for (const uint32_t began = now; (now - began) % FRAMES < n_frames;) {
    usleep(500);
  }
}

static bool
reconnect(jack_client_t* const client, const char* const port, const int times)
{
  bool done = true;
  for (int i = 0; i < times && done; ++i) {
    done = !jack_disconnect(client, jack_port_name(out), port);
    wait_frames(client);
    done = done && !jack_connect(client, jack_port_name(out), port);
    wait_frames(client);
  }
  return done;
}

int
main(const int argc, char** const argv)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL); // the clock must not outlive its test
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGUSR1);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  jack_client_t* const client = jack_client_open("clock", JackNoStartServer, NULL);
  if (!client) {
    return EXIT_FAILURE;
  }
  jack_set_process_callback(client, process, NULL);
  out = jack_port_register(client, "out", JACK_DEFAULT_AUDIO_TYPE, JackPortIsOutput, 0);
  in = jack_port_register(client, "in", JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput, 0);
  if (!in || !out || jack_activate(client)) {
    return EXIT_FAILURE;
  }
  int taken = 0;
  while (!sigwait(&signals, &taken) && taken == SIGUSR1 && argc == 3) {
    if (!reconnect(client, argv[1], atoi(argv[2]))) {
      return EXIT_FAILURE;
    }
    puts("reconnected");
    fflush(stdout);
  }
  jack_client_close(client); // without this, the server would not answer for a while
  for (uint32_t r = 0; r < n_runs; ++r) {
    printf("%" PRIu32 " %" PRId32 " %" PRIu64 "\n", runs[r].frame, runs[r].age, runs[r].length);
  }
  return EXIT_SUCCESS;
}
