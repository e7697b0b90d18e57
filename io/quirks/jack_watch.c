// SPDX-License-Identifier: GPL-3.0-or-later
// Decides whether a JACK client gets its periods.

#include "jack_watch.h"

#include "engine/base/time.h"

#define CHECK_NS     (50U * NS_PER_MS) // from one check to the next
#define PATIENCE_MIN 5U                // 250 ms
#define PATIENCE_MAX 1280U             // 64 s
#define LATELY_NS    (120U * NS_PER_S) // until patience is PATIENCE_MIN again
#define CALM_MIN     40U               // 2 s
#define CALM_MAX     320U              // 16 s
#define N_GOOD       100U              // good checks until `calm` is CALM_MIN again

static uint32_t
at_least(const uint32_t value, const uint32_t min)
{
  return value > min ? value : min;
}

static uint32_t
at_most(const uint32_t value, const uint32_t max)
{
  return value < max ? value : max;
}

void
jack_watch_begin(JackWatch* const watch, const uint32_t time, const uint64_t now_ns)
{
  *watch = (JackWatch){ .checked_ns = now_ns,
                        .played_ns = now_ns,
                        .time = time,
                        .left_out_ns = watch->left_out_ns,
                        .patience = at_least(watch->patience, PATIENCE_MIN),
                        .calm = at_least(watch->calm, CALM_MIN) };
}

static void
check(JackWatch* const watch, const uint64_t periods, const uint32_t time,
      const uint32_t period_frames)
{
  if (periods != watch->periods) {
    watch->periods = periods;
    watch->time = time;
    watch->played_ns = watch->checked_ns;
    watch->n_skipped = watch->n_still = watch->n_probes = 0;
    watch->calm = ++watch->n_good < N_GOOD ? watch->calm : CALM_MIN;
    watch->has_played = true;
    return;
  }
  watch->n_good = 0;
  if (time - watch->time > period_frames) {
    watch->time = time;
    watch->played_ns = watch->checked_ns;
    watch->n_still = 0;
    ++watch->n_skipped;
  } else {
    ++watch->n_still;
  }
}

JackVerdict
jack_watch_check(JackWatch* const watch, const uint64_t periods, const uint32_t time,
                 const uint32_t period_frames, const double rate_hz, const uint64_t now_ns)
{
  if (now_ns - watch->left_out_ns >= LATELY_NS) {
    watch->patience = PATIENCE_MIN;
  }
  if (now_ns - watch->checked_ns >= CHECK_NS) {
    watch->checked_ns = now_ns;
    check(watch, periods, time, period_frames);
  }
  const double checks_of_two = 2.0 * 1e9 * period_frames / rate_hz / CHECK_NS;
  if (watch->n_skipped >= watch->patience) {
    return JACK_LEFT_OUT;
  }
  return watch->n_still >= watch->calm + (uint32_t)checks_of_two ? JACK_STANDS : JACK_PLAYS;
}

void
jack_watch_lost(JackWatch* const watch, const uint64_t now_ns)
{
  watch->left_out_ns = now_ns;
  watch->patience = at_most(4U * watch->patience, PATIENCE_MAX);
}

void
jack_watch_probed(JackWatch* const watch)
{
  watch->n_still = 0;
  ++watch->n_probes;
}

void
jack_watch_doubted(JackWatch* const watch)
{
  watch->calm = at_most(2U * watch->calm, CALM_MAX);
}

void
jack_watch_replaced(JackWatch* const watch)
{
  if (!watch->has_played) {
    jack_watch_doubted(watch);
  }
}
