// SPDX-License-Identifier: GPL-3.0-or-later
// Asks a JACK server that stands still whether it lives, by means of a second client.

#include "jack_session.h"

#include "words.h"

#include <time.h>

#define STEP_NS  10000000
#define N_STEPS  100U
#define N_ENOUGH 4U // periods of the probe without one of the session's

static int
on_process(const jack_nframes_t n_frames, void* const context)
{
  (void)n_frames;
  atomic_fetch_add_explicit((_Atomic uint64_t*)context, 1U, memory_order_relaxed);
  return 0;
}

// For a second and four periods at most.
static JackProbe
compare_periods(const JackSession* const session, jack_client_t* const probe,
                const _Atomic uint64_t* const n_probe)
{
  const double rate_hz = jack_get_sample_rate(probe);
  const double period_s = rate_hz > 0.0 ? jack_get_buffer_size(probe) / rate_hz : 0.0;
  const unsigned n_steps = N_STEPS + (unsigned)(N_ENOUGH * period_s * 1e9 / STEP_NS);
  const uint64_t before = atomic_load(&session->base.periods);
  for (unsigned n = 0; n < n_steps && atomic_load(n_probe) < N_ENOUGH; ++n) {
    nanosleep(&(struct timespec){ .tv_nsec = STEP_NS }, NULL);
  }
  if (atomic_load(&session->base.periods) != before) {
    return JACK_PROBE_NONE;
  }
  return atomic_load(n_probe) < N_ENOUGH ? JACK_PROBE_STANDS : JACK_PROBE_PLAYS;
}

void
jack_session_probe(void* const context)
{
  JackSession* const session = context;
  const jack_options_t options = session->server_name ? JackServerName : JackNullOption;
  _Atomic uint64_t n_probe = 0;
  char complaint[256];
  jack_status_t status = 0;
  jack_client_t* const probe = jack_client_open("warprack_probe", JackNoStartServer | options,
                                                &status, session->server_name);
  if (!probe) {
    session->probe = JACK_PROBE_NO_SERVER;
  } else if (jack_set_process_callback(probe, on_process, &n_probe) || jack_activate(probe)) {
    session->probe = JACK_PROBE_STANDS;
  } else {
    session->probe = compare_periods(session, probe, &n_probe);
  }
  if (probe) {
    jack_client_close(probe);
  }
  words_take(complaint, sizeof(complaint));
}
