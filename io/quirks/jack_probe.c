// SPDX-License-Identifier: GPL-3.0-or-later

#include "jack_probe.h"

#include "engine/base/time.h"

#include <jack/jack.h>

#define STEP_NS  (10U * NS_PER_MS)
#define N_STEPS  100U // maximum wait for the first period of the probe
#define N_ENOUGH 4U   // periods of the probe
// Steps after the probe's first period, because the first client may get CPU time later.
#define N_STEPS_ENOUGH 25U

static int
on_process(const jack_nframes_t n_frames, void* const context)
{
  (void)n_frames;
  atomic_fetch_add_explicit((_Atomic uint64_t*)context, 1U, memory_order_relaxed);
  return 0;
}

static JackProbe
compare_periods(jack_client_t* const probe, const _Atomic uint64_t* const n_probe,
                const _Atomic uint64_t* const n_periods)
{
  const double rate_hz = jack_get_sample_rate(probe);
  const double period_s = rate_hz > 0.0 ? jack_get_buffer_size(probe) / rate_hz : 0.0;
  const unsigned n_steps = N_STEPS + (unsigned)(N_ENOUGH * period_s * 1e9 / STEP_NS);
  const uint64_t before = atomic_load(n_periods);
  unsigned n_enough = 0;
  for (unsigned n = 0; n < n_steps && n_enough < N_STEPS_ENOUGH; n += !n_enough) {
    time_sleep(STEP_NS);
    if (atomic_load(n_periods) != before) {
      return JACK_PROBE_NONE;
    }
    n_enough += atomic_load(n_probe) >= N_ENOUGH;
  }
  return n_enough ? JACK_PROBE_PLAYS : JACK_PROBE_STANDS;
}

JackProbe
jack_probe(const char* const server_name, const _Atomic uint64_t* const n_periods)
{
  const jack_options_t options = server_name ? JackServerName : JackNullOption;
  _Atomic uint64_t n_probe = 0;
  jack_status_t status = 0;
  jack_client_t* const probe =
      jack_client_open("warprack_probe", JackNoStartServer | options, &status, server_name);
  if (!probe) {
    return JACK_PROBE_NO_SERVER;
  }
  JackProbe result = JACK_PROBE_STANDS;
  if (!jack_set_process_callback(probe, on_process, &n_probe) && !jack_activate(probe)) {
    result = compare_periods(probe, &n_probe, n_periods);
  }
  jack_client_close(probe);
  return result;
}
