// SPDX-License-Identifier: GPL-3.0-or-later
// The thread takes samples from the engine a few times a second.  Other ports, and another rate,
// begin a new measurement.  Integrated loudness uses libebur128's histogram, whose memory does not
// grow; its steps of 0.1 LU are the resolution.

#include "loudness.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#include <ebur128.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define POLL_NS      (50U * NS_PER_MS) // a tenth of what the engine keeps
#define CHUNK_FRAMES 4800U
#define NICE         10
#define MODE         (EBUR128_MODE_I | EBUR128_MODE_S | EBUR128_MODE_TRUE_PEAK | EBUR128_MODE_HISTOGRAM)

/// One measurement.
typedef struct Place {
  PortRange wanted;      ///< [lock] By the control thread ...
  uint64_t n_asked;      ///< [lock] ... and how often it has asked
  LoudnessValues values; ///< [lock]
  // Of the thread:
  PortRange ports;
  uint64_t n_taken;
  double rate_hz;
  ebur128_state* state; ///< NULL: nothing was measured yet
} Place;

struct Loudness {
  Engine* engine;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t woken;
  bool stops;      ///< [lock]
  uint64_t n_lost; ///< [lock]
  Place places[LISTEN_MAX];
  float samples[LISTEN_CHANNELS * CHUNK_FRAMES]; ///< Of the thread
};

static const LoudnessValues silence = { -INFINITY, -INFINITY, -INFINITY, -INFINITY };

// ---- the thread ----

/// Begin again if the control thread has asked for other ports.
static void
take_wanted(Loudness* const loudness, Place* const place)
{
  pthread_mutex_lock(&loudness->lock);
  const bool is_new = place->n_taken != place->n_asked;
  place->n_taken = place->n_asked;
  place->ports = place->wanted;
  pthread_mutex_unlock(&loudness->lock);
  if (is_new && place->state) {
    ebur128_destroy(&place->state);
  }
}

/// Make libebur128's state when the first samples are there, and again at another rate.
static bool
has_state(Place* const place, const double rate_hz)
{
  if (place->state && place->rate_hz != rate_hz) {
    ebur128_destroy(&place->state);
  }
  if (!place->state) {
    place->rate_hz = rate_hz;
    place->state = ebur128_init(place->ports.n, (unsigned long)lrint(rate_hz), MODE);
  }
  return place->state;
}

static LoudnessValues
measure(const Place* const place)
{
  LoudnessValues values = silence;
  if (ebur128_loudness_momentary(place->state, &values.momentary) ||
      ebur128_loudness_shortterm(place->state, &values.short_term) ||
      ebur128_loudness_global(place->state, &values.integrated)) {
    return silence;
  }
  double largest = 0.0;
  for (uint32_t c = 0; c < place->ports.n; ++c) {
    double peak = 0.0;
    largest = ebur128_true_peak(place->state, c, &peak) ? largest : fmax(largest, peak);
  }
  values.true_peak = 20.0 * log10(largest);
  return values;
}

static void
store(Loudness* const loudness, Place* const place, const LoudnessValues* const values,
      const uint64_t n_lost)
{
  pthread_mutex_lock(&loudness->lock);
  if (place->n_taken == place->n_asked) {
    place->values = *values;
  }
  loudness->n_lost += n_lost;
  pthread_mutex_unlock(&loudness->lock);
}

/// Measure all samples that wait for a place.
static void
listen(Loudness* const loudness, const uint32_t index)
{
  Place* const place = &loudness->places[index];
  double rate_hz = 0.0;
  uint64_t n_lost = 0;
  bool is_measured = false;
  take_wanted(loudness, place);
  for (uint32_t n = CHUNK_FRAMES; n == CHUNK_FRAMES;) {
    n = engine_listen(loudness->engine, index, &place->ports, loudness->samples, CHUNK_FRAMES,
                      &rate_hz, &n_lost);
    if (n && has_state(place, rate_hz)) {
      is_measured = ebur128_add_frames_float(place->state, loudness->samples, n) == 0;
    }
  }
  if (is_measured || n_lost) {
    const LoudnessValues values = place->state ? measure(place) : silence;
    store(loudness, place, &values, n_lost);
  }
}

/// Wait for the next round.  Returns false at the end.
static bool
wait_round(Loudness* const loudness)
{
  pthread_mutex_lock(&loudness->lock);
  if (!loudness->stops) {
    (void)time_cond_wait(&loudness->woken, &loudness->lock, time_now_ns() + POLL_NS);
  }
  const bool goes_on = !loudness->stops;
  pthread_mutex_unlock(&loudness->lock);
  return goes_on;
}

static void*
run(void* const context)
{
  Loudness* const loudness = context;
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE); // of this thread alone
  do {
    for (uint32_t p = 0; p < LISTEN_MAX; ++p) {
      listen(loudness, p);
    }
  } while (wait_round(loudness));
  return NULL;
}

// ---- the control thread ----

Status
loudness_new(Engine* const engine, Loudness** const out, Error* const error)
{
  Loudness* const loudness = calloc(1, sizeof(Loudness));
  if (!loudness) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  time_cond_init(&loudness->woken);
  pthread_mutex_init(&loudness->lock, NULL);
  loudness->engine = engine;
  const Status status = rt_thread_start("warprack-loud", run, loudness, &loudness->thread, error);
  if (status) {
    pthread_cond_destroy(&loudness->woken);
    pthread_mutex_destroy(&loudness->lock);
    free(loudness);
    return status;
  }
  *out = loudness;
  return STATUS_OK;
}

void
loudness_free(Loudness* const loudness)
{
  if (!loudness) {
    return;
  }
  pthread_mutex_lock(&loudness->lock);
  loudness->stops = true;
  pthread_cond_signal(&loudness->woken);
  pthread_mutex_unlock(&loudness->lock);
  pthread_join(loudness->thread, NULL);
  for (uint32_t p = 0; p < LISTEN_MAX; ++p) {
    if (loudness->places[p].state) {
      ebur128_destroy(&loudness->places[p].state);
    }
  }
  pthread_cond_destroy(&loudness->woken);
  pthread_mutex_destroy(&loudness->lock);
  free(loudness);
}

void
loudness_measure(Loudness* const loudness, const uint32_t place, const PortRange* const ports)
{
  pthread_mutex_lock(&loudness->lock);
  loudness->places[place].wanted = *ports;
  loudness->places[place].values = silence;
  ++loudness->places[place].n_asked;
  pthread_mutex_unlock(&loudness->lock);
}

LoudnessValues
loudness_values(Loudness* const loudness, const uint32_t place)
{
  pthread_mutex_lock(&loudness->lock);
  const LoudnessValues values = loudness->places[place].values;
  pthread_mutex_unlock(&loudness->lock);
  return values;
}

uint64_t
loudness_lost(Loudness* const loudness)
{
  pthread_mutex_lock(&loudness->lock);
  const uint64_t n_lost = loudness->n_lost;
  pthread_mutex_unlock(&loudness->lock);
  return n_lost;
}
