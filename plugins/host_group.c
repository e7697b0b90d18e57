// SPDX-License-Identifier: GPL-3.0-or-later
// Groups: their names, the block of delay, and how blocks without an answer are counted.

#include "host_group.h"

#include "engine/base/time.h"

#include <math.h>
#include <string.h>

static const HostRemote* remote; // NULL: instances are in this process
static struct {
  bool locks_memory;
  int priority;
} realtime;

static _Atomic uint64_t deadline_ns; // 0: none
static _Atomic uint64_t n_missed;
static _Atomic bool player_waits;
static _Thread_local bool thread_waits;

void
host_set_remote(const HostRemote* const calls)
{
  remote = calls;
}

const HostRemote*
host_remote(void)
{
  return remote;
}

uint64_t
host_deadline(void)
{
  return atomic_load(&deadline_ns);
}

bool
host_is_late(void)
{
  const uint64_t until_ns = host_deadline();
  return until_ns && time_now_ns() >= until_ns;
}

bool
host_locks_memory(void)
{
  return realtime.locks_memory;
}

int
host_priority(void)
{
  return realtime.priority;
}

// ---- the contract of effects ----

void
fx_set_realtime(const bool locks_memory, const int priority)
{
  realtime.locks_memory = locks_memory;
  realtime.priority = priority;
}

void
fx_set_deadline(const uint64_t until_ns)
{
  atomic_store(&deadline_ns, until_ns);
}

bool
fx_take_loss(FxLoss* const loss)
{
  return remote && remote->take_loss(loss);
}

uint64_t
fx_take_missed(void)
{
  return atomic_exchange_explicit(&n_missed, 0U, memory_order_relaxed);
}

void
fx_wait(const FxWait wait, const bool waits)
{
  if (wait == FX_WAIT_THREAD) {
    thread_waits = waits;
  } else {
    atomic_store_explicit(&player_waits, waits, memory_order_relaxed);
  }
}

bool
host_waits(void)
{
  return thread_waits || atomic_load_explicit(&player_waits, memory_order_relaxed);
}

void
host_count_missed(void)
{
  atomic_fetch_add_explicit(&n_missed, 1U, memory_order_relaxed);
}

// ---- names ----

static bool
is_name(const char* const name)
{
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  const size_t n = strlen(name);
  return n && n < GROUP_NAME_BYTES && strspn(name, allowed) == n;
}

Status
host_find_group(const FxSetup* const setup, const char** const name, Error* const error)
{
  const Plugin* const plugin = plugin_of(setup->fx);
  const int param = plugin_group_param(setup->fx);
  const char* const text = param >= 0 ? setup->texts[param] : NULL;
  *name = text && *text ? text : NULL;
  if (*name && !is_name(*name)) {
    return error_set(error, STATUS_BAD_RACK,
                     "%s: group \"%.64s\": a name of 1 to %u letters, digits, _ and -",
                     plugin->fx.name, *name, GROUP_NAME_BYTES - 1U);
  }
  return STATUS_OK;
}

// ---- the delay ----

static size_t
line_frames(const uint32_t n_frames)
{
  return 2U * (size_t)n_frames; // the delay, and a block that is put
}

size_t
host_delay_samples(const uint32_t n_frames, const uint32_t n_out)
{
  return n_out * (line_frames(n_frames) + 1U);
}

HostDelay
host_delay_at(const uint32_t n_frames, const uint32_t n_out, float* const samples)
{
  memset(samples, 0, host_delay_samples(n_frames, n_out) * sizeof(float));
  return (HostDelay){ .n_frames = n_frames,
                      .n_out = n_out,
                      .next = n_frames,
                      .end = n_frames, // before the first block there was silence
                      .lines = samples,
                      .held = samples + n_out * line_frames(n_frames) };
}

static float*
line_of(const HostDelay* const delay, const uint32_t output)
{
  return delay->lines + output * line_frames(delay->n_frames);
}

void
host_delay_put(HostDelay* const delay, const uint64_t frame, const float* const* const rows,
               const uint32_t n_frames)
{
  const size_t circle = line_frames(delay->n_frames);
  const size_t at = (size_t)(frame % circle);
  const size_t n_first = n_frames < circle - at ? n_frames : circle - at;
  for (uint32_t o = 0; o < delay->n_out; ++o) {
    float* const line = line_of(delay, o);
    memcpy(line + at, rows[o], n_first * sizeof(float));
    memcpy(line, rows[o] + n_first, (n_frames - n_first) * sizeof(float));
  }
  delay->begin = frame == delay->end ? delay->begin : frame;
  delay->end = frame + n_frames;
}

bool
host_delay_knows(const HostDelay* const delay, const uint32_t n_frames)
{
  const uint64_t from = delay->next - delay->n_frames;
  return from >= delay->begin && from + n_frames <= delay->end;
}

static void
copy_out(HostDelay* const delay, float* const* const rows, const uint32_t n_frames)
{
  const size_t circle = line_frames(delay->n_frames);
  const size_t at = (size_t)((delay->next - delay->n_frames) % circle);
  const size_t n_first = n_frames < circle - at ? n_frames : circle - at;
  for (uint32_t o = 0; o < delay->n_out; ++o) {
    const float* const line = line_of(delay, o);
    memcpy(rows[o], line + at, n_first * sizeof(float));
    memcpy(rows[o] + n_first, line, (n_frames - n_first) * sizeof(float));
    const float last = rows[o][n_frames - 1U];
    delay->held[o] = isfinite(last) ? last : 0.0F;
  }
}

bool
host_delay_get(HostDelay* const delay, const bool is_dry, float* const* const rows,
               const uint32_t n_frames)
{
  const bool is_known = host_delay_knows(delay, n_frames);
  const bool was_gap = delay->is_gap;
  delay->is_gap = !is_known || (was_gap && !is_dry);
  delay->begins = delay->is_gap && !was_gap;
  if (!delay->is_gap) {
    copy_out(delay, rows, n_frames);
  }
  delay->next += n_frames;
  return !delay->is_gap;
}
