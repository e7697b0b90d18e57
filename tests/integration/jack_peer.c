// SPDX-License-Identifier: GPL-3.0-or-later
// Another program on the JACK server, for tests: "peer:out" plays a constant 0.25, "peer:in" only
// listens.  Ends with the server.

#include <jack/jack.h>
#include <stdlib.h>
#include <unistd.h>

static jack_port_t* out;

static int
process(const jack_nframes_t n_frames, void* const context)
{
  (void)context;
  float* const samples = jack_port_get_buffer(out, n_frames);
  for (jack_nframes_t i = 0; i < n_frames; ++i) {
    samples[i] = 0.25F;
  }
  return 0;
}

static void
shutdown(void* const context)
{
  (void)context;
  _exit(EXIT_SUCCESS);
}

int
main(void)
{
  jack_client_t* const client = jack_client_open("peer", JackNoStartServer, NULL);
  if (!client) {
    return EXIT_FAILURE;
  }
  jack_set_process_callback(client, process, NULL);
  jack_on_shutdown(client, shutdown, NULL);
  out = jack_port_register(client, "out", JACK_DEFAULT_AUDIO_TYPE, JackPortIsOutput, 0);
  jack_port_register(client, "in", JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput, 0);
  if (jack_activate(client)) {
    return EXIT_FAILURE;
  }
  for (;;) {
    pause();
  }
}
