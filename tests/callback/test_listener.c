// SPDX-License-Identifier: GPL-3.0-or-later
// A listener passes each sample of its ports once, in order; blocks without room are counted.

#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "tests/support/period_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <string.h>

static float heard[RECORDED];

static uint32_t
take(const PeriodRig* const rig, const PortRange* const ports, const uint32_t max_frames,
     uint64_t* const n_lost)
{
  return period_listen(rig->period, 1U, ports, heard, max_frames, n_lost);
}

TEST(a_listener_gets_the_samples_of_the_ports_that_it_names)
{
  static const PortRange outs = { .is_output = true, .first = 1U, .n = 2U };
  static const PortRange in = { .n = 1U };
  static const PortRange none = { .n = 0U };
  SCOPED(period_rig_free) PeriodRig rig;
  uint64_t n_lost = 0;
  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 1, CHANNELS);
  ck_assert_uint_eq(take(&rig, &none, 1000U, &n_lost), 0);
  period_rig_run_served(&rig);
  ck_assert_uint_eq(take(&rig, &outs, 1000U, &n_lost), 0); // from the next block on
  const uint64_t first = rig.frame;
  for (uint32_t k = 0; k < 20U; ++k) {
    period_rig_run_served(&rig);
  }
  ck_assert_uint_eq(take(&rig, &outs, 33U, &n_lost), 33);
  ck_assert_uint_eq(take(&rig, &outs, 1000U, &n_lost), 20U * BLOCK - 33U);
  for (uint32_t i = 0; i < 20U * BLOCK - 33U; ++i) {
    for (uint32_t c = 0; c < 2U; ++c) {
      const float* const played = rig.played + (c + 1U) * (size_t)RECORDED;
      ck_assert(heard[2U * i + c] == played[first + 33U + i]);
    }
  }
  period_rig_run_served(&rig);
  ck_assert_uint_eq(take(&rig, &in, 1000U, &n_lost), 0);
  period_rig_run_served(&rig);
  ck_assert_uint_eq(take(&rig, &in, 1000U, &n_lost), BLOCK);
  ck_assert(memcmp(heard, rig.in[0], BLOCK * sizeof(float)) == 0);
  const uint64_t odd = rig.frame;
  period_rig_run_frames(&rig, BLOCK + 3U, false); // an odd period is heard, too
  period_rig_run_served(&rig);
  ck_assert_uint_eq(take(&rig, &in, 1000U, &n_lost), 2U * BLOCK + 3U);
  for (uint32_t i = 0; i < 2U * BLOCK + 3U; ++i) {
    ck_assert(heard[i] == dry_at(0, odd + i));
  }
  ck_assert_uint_eq(take(&rig, &outs, 1000U, &n_lost), 0);
  period_rig_run_frames(&rig, BLOCK + 3U, false); // its outputs are silent
  ck_assert_uint_eq(take(&rig, &outs, 1000U, &n_lost), BLOCK + 3U);
  for (uint32_t i = 0; i < 2U * (BLOCK + 3U); ++i) {
    ck_assert(heard[i] == 0.0F);
  }
  ck_assert_uint_eq(take(&rig, &in, 1000U, &n_lost), 0);
  period_rig_run_served(&rig);
  ck_assert_uint_eq(take(&rig, &in, 1000U, &n_lost), BLOCK);
  ck_assert_uint_eq(n_lost, 0);
  ck_assert_uint_eq(take(&rig, &none, 1000U, &n_lost), 0);
  period_rig_run_served(&rig);
  ck_assert_uint_eq(take(&rig, &none, 1000U, &n_lost), 0);
}

TEST(a_reader_that_is_late_loses_whole_blocks_and_knows_it)
{
  static const PortRange in = { .n = 1U };
  SCOPED(period_rig_free) PeriodRig rig;
  uint64_t n_lost = 0;
  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 1, 1);
  ck_assert_uint_eq(take(&rig, &in, 1U, &n_lost), 0);
  const uint32_t n_frames = (uint32_t)RATE; // twice the room
  for (uint32_t n = 0; n < n_frames; n += BLOCK) {
    period_rig_run(&rig);
  }
  const uint32_t n_heard = take(&rig, &in, RECORDED, &n_lost);
  ck_assert_uint_ge(n_heard, (uint32_t)(0.5 * RATE));
  ck_assert_uint_gt(n_lost, 0);
  ck_assert_uint_eq(n_heard + n_lost, n_frames);
  ck_assert_uint_eq(n_lost % BLOCK, 0);
  for (uint32_t i = 0; i < n_heard; ++i) {
    ck_assert(heard[i] == dry_at(0, i));
  }
}

typedef struct Ear {
  const PeriodRig* rig;
  _Atomic bool stop;
  _Atomic uint32_t n;
  uint64_t n_lost;
} Ear;

static const PortRange only_in = { .n = 1U };

static void*
listen(void* const context)
{
  Ear* const ear = context;
  for (bool is_last = false; !is_last;) {
    is_last = atomic_load(&ear->stop); // then once more
    const uint32_t n = atomic_load(&ear->n);
    atomic_fetch_add(&ear->n, period_listen(ear->rig->period, 0U, &only_in, heard + n, RECORDED - n,
                                            &ear->n_lost));
  }
  return NULL;
}

TEST(a_listener_gets_each_sample_once_while_audio_runs)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 1, 1);
  Ear ear = { .rig = &rig };
  ck_assert_uint_eq(period_listen(rig.period, 0U, &only_in, heard, 1U, &ear.n_lost), 0);
  pthread_t thread;
  ck_assert(rt_thread_start("test-ear", listen, &ear, &thread, NULL) == STATUS_OK);
  const uint64_t limit_ns = time_now_ns() + suite_limit_ns();
  while (atomic_load(&ear.n) < RECORDED / 4U) {
    ck_assert(time_now_ns() < limit_ns);
    if (rig.frame < atomic_load(&ear.n) + 20000U) { // not faster than the reader
      period_rig_run(&rig);
    }
  }
  atomic_store(&ear.stop, true);
  pthread_join(thread, NULL);
  ck_assert_uint_eq(ear.n_lost, 0);
  const uint64_t first = rig.frame - atomic_load(&ear.n);
  for (uint32_t i = 0; i < atomic_load(&ear.n); ++i) {
    if (heard[i] != dry_at(0, (int64_t)(first + i))) {
      ck_abort_msg("frame %u of %u is another one", i, atomic_load(&ear.n));
    }
  }
}

SUITE_MAIN("listener")
