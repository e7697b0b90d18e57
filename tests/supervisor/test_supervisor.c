// SPDX-License-Identifier: GPL-3.0-or-later
// An engine whose effects run in a worker process.  The sound is the same as in one process.  When
// the worker ends, hangs or fails, the callback continues without a silent block or a click, and
// another worker takes over with the rack and every value that was set.

#include "engine/ring/ring_private.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"
#include "tests/support/supervisor_rig.h"
#include "tests/support/test_driver.h"

#include <dirent.h>
#include <math.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TEST(a_worker_process_gives_the_samples_of_this_process)
{
  const char* const rack = "highpass 80 order=4 | (gain -3dB + delay 3ms) | limiter -1dB";
  const char* const argv[] = { good_worker(), "worker", NULL };
  EngineConfig config = rig_config(argv);
  SCOPED(driver_free) TestDriver there = driver_from(&config, rack, 400U * DRIVER_BLOCK);
  config.worker_argv = NULL;
  SCOPED(driver_free) TestDriver here = driver_from(&config, rack, 400U * DRIVER_BLOCK);
  signal_noise(there.in[0], there.n_frames, 1);
  signal_noise(here.in[0], here.n_frames, 1);
  driver_play(&there, 400);
  driver_play(&here, 400);
  ck_assert(!memcmp(there.out[0], here.out[0], here.n_frames * sizeof(float)));
  ck_assert_uint_eq(engine_latency(there.engine), engine_latency(here.engine));
  EnginePlacement placements[8];
  ck_assert_uint_eq(engine_placements(there.engine, placements, 8), 4);
  ck_assert_int_eq(placements[0].backend, ENGINE_BACKEND_CPU);
}

TEST(a_missing_backend_is_reported_with_the_driver_s_message)
{
  const char* const argv[] = { good_worker(), "worker", NULL };
  EngineConfig config = rig_config(argv);
  config.backend = ENGINE_BACKEND_CUDA;
  config.gpu_index = 63;
  Engine* engine = NULL;
  Error there;
  Error here;
  ck_assert_int_eq(engine_new(&config, &engine, &there), STATUS_NO_BACKEND);
  config.worker_argv = NULL;
  ck_assert_int_eq(engine_new(&config, &engine, &here), STATUS_NO_BACKEND);
  ck_assert_str_eq(there.text, here.text);
}

TEST(a_program_that_is_no_worker_is_refused)
{
  const struct {
    const char *program, *argument;
    Status status;
    const char* part;
  } none[] = {
    { "/no/such/program", NULL, STATUS_FILE, "/no/such/program" },
    { bad_worker(), "exit", STATUS_WORKER, "exited with 7" },
    { bad_worker(), "babble", STATUS_WORKER, "worker process" },
  };
  for (uint32_t n = 0; n < 3U; ++n) {
    const char* const argv[] = { none[n].program, none[n].argument, NULL };
    const EngineConfig config = rig_config(argv);
    Engine* engine = NULL;
    Error error;
    ck_assert_int_eq(engine_new(&config, &engine, &error), none[n].status);
    assert_says(error.text, none[n].part);
  }
}

TEST(an_invalid_rack_is_refused_as_in_this_process)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  await_level(&rig, HALF);
  const EngineReply reply = rig_edit(&rig, "g: convolver no_such_file.wav");
  ck_assert_int_eq(reply.status, STATUS_FILE);
  assert_says(reply.text, "no_such_file.wav");
  ck_assert_uint_eq(reply.refused_edge, 0);
  const EngineReply widths =
      rig_edit(&rig, "add g gain\nadd h gain\nconnect in g\nconnect g h:1\nconnect h:9 out");
  ck_assert_int_eq(widths.status, STATUS_BAD_RACK);
  ck_assert_str_eq(widths.text, "h:9 does not exist: h has 1 channel");
  ck_assert_uint_eq(widths.refused_edge, 3); // the third connection
  await_level(&rig, HALF);
  ck_assert_uint_eq(rig_status(&rig).edits_refused, 2);
}

TEST(a_worker_that_is_killed_is_replaced_without_a_silent_block)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  await_level(&rig, HALF);
  clocked_faults(rig.audio);
  for (uint64_t n = 1; n <= 2U; ++n) {
    const pid_t pid = rig_status(&rig).worker_pid;
    await_health(&rig, HALF);
    send_signal(&rig, SIGKILL);
    assert_worker_replaced(&rig, n, HALF);
    const EngineStatus status = rig_status(&rig);
    ck_assert_int_ne(status.worker_pid, pid);
    ck_assert_int_eq(status.worker, WORKER_RUNNING);
    assert_says(status.worker_note, "SIGKILL");
  }
}

/// The oom_score_adj of a process; -9999 if it cannot be read.
static int
memory_score(const char* const process)
{
  char path[64];
  int score = -9999;
  snprintf(path, sizeof(path), "/proc/%s/oom_score_adj", process);
  FILE* const file = fopen(path, "re");
  if (file) {
    if (fscanf(file, "%d", &score) != 1) {
      score = -9999;
    }
    fclose(file);
  }
  return score;
}

TEST(when_memory_runs_out_the_worker_is_killed_before_its_server)
{
  FILE* const own = fopen("/proc/self/oom_score_adj", "we");
  ck_assert_ptr_nonnull(own);
  fprintf(own, "-500");
  if (fclose(own) != 0) {
    return; // this user may not lower the score
  }
  Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  await_level(&rig, HALF);
  char worker[16];
  snprintf(worker, sizeof(worker), "%d", (int)rig_status(&rig).worker_pid);
  ck_assert_int_eq(memory_score("self"), -500);
  ck_assert_int_eq(memory_score(worker), 0);
  rig_stop(&rig);
}

TEST(a_worker_that_is_stopped_is_replaced_without_a_silent_block)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  await_level(&rig, HALF);
  clocked_faults(rig.audio);
  send_signal(&rig, SIGSTOP);
  assert_worker_replaced(&rig, 1, HALF);
  const EngineStatus status = rig_status(&rig);
  assert_says(status.worker_note, "stopped from outside");
}

TEST(a_callback_that_waits_for_its_blocks_is_not_left_waiting)
{
  const int signals[] = { SIGKILL, SIGSTOP };
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  await_level(&rig, HALF);
  clocked_wait(rig.audio);
  for (uint32_t s = 0; s < 2U; ++s) {
    await_health(&rig, HALF);
    clocked_faults(rig.audio);
    send_signal(&rig, signals[s]);
    assert_worker_replaced(&rig, s + 1U, HALF);
  }
}

/// The ring that the worker uses, in the mapping of the server, which is this process: the seal
/// refuses others.
static RingHeader*
ring_of_worker(void)
{
  char line[512];
  void* ring = NULL;
  FILE* const maps = fopen("/proc/self/maps", "re");
  ck_assert(maps);
  while (!ring && fgets(line, sizeof(line), maps)) {
    if (strstr(line, "memfd:warprack-ring")) {
      ck_assert_int_eq(sscanf(line, "%p", &ring), 1);
    }
  }
  fclose(maps);
  ck_assert(ring);
  return ring;
}

TEST(a_worker_that_writes_invalid_data_to_the_ring_is_replaced)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  await_level(&rig, HALF);
  RingHeader* const ring = ring_of_worker();
  clocked_faults(rig.audio);
  while (!strcmp(rig_status(&rig).worker_note, "")) { // finish blocks that were never submitted
    atomic_fetch_add(&ring->finished, 100U);
  }
  assert_worker_replaced(&rig, 1, HALF);
  const EngineStatus status = rig_status(&rig);
  assert_says(status.worker_note, "block ring");
}

TEST(values_are_kept_whenever_they_are_set)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  await_level(&rig, HALF);
  set_gain(&rig, QUARTER_DB); // while it plays
  await_level(&rig, HALF / 2.0F);
  clocked_faults(rig.audio);
  send_signal(&rig, SIGKILL);
  assert_worker_replaced(&rig, 1, HALF / 2.0F);
  send_signal(&rig, SIGKILL);
  for (uint32_t i = 0; i < 200U; ++i) { // in all stages of the change to the next worker
    set_gain(&rig, -20.0 - (double)i);
    usleep(1000);
  }
  set_gain(&rig, 0.0);
  await_restarts(&rig, 2);
  set_gain(&rig, QUARTER_DB);
  await_level(&rig, HALF / 2.0F);
}

TEST(each_of_many_values_set_on_the_way_from_one_worker_to_the_next_arrives)
{
  enum { N_NODES = 40 };
  SCOPED(rig_stop) Rig rig;
  char rack[N_NODES * 16 + 32] = "";
  for (uint32_t n = 0; n < N_NODES; ++n) {
    strcat(rack, "gain | ");
  }
  rig_start(&rig, bad_worker(), strcat(rack, "convolver slow")); // arming takes half a second
  await_health(&rig, CLOCKED_INPUT);
  send_signal(&rig, SIGKILL);
  for (uint32_t n = 0; n < N_NODES; ++n) { // from the kill until after the restart
    const ParamMessage param = { .uid = rig.rack->nodes[n].uid, .value = -0.5 };
    ck_assert_int_eq(engine_set(rig.engine, &param, 1), STATUS_OK);
    usleep(30000);
  }
  await_restarts(&rig, 1);
  await_level(&rig, CLOCKED_INPUT * powf(10.0F, -0.5F * N_NODES / 20.0F));
}

TEST(an_edit_during_the_outage_becomes_active_after_it)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  await_level(&rig, HALF);
  send_signal(&rig, SIGKILL);
  const EngineReply reply = rig_edit(&rig, HALVED " | gain " HALF_DB);
  ck_assert_msg(!reply.status, "%s", reply.text);
  await_level(&rig, HALF / 2.0F);
  ck_assert_uint_eq(rig_status(&rig).n_nodes, 2);
}

TEST(a_new_format_during_the_outage_is_that_of_the_next_worker)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  await_level(&rig, HALF);
  for (uint32_t round = 0; round < 3U; ++round) {
    send_signal(&rig, SIGKILL);
    for (uint32_t a = 0; a < round; ++a) { // then the last call comes after the detection
      rig_arm(&rig);
    }
    rig_arm(&rig);
    await_restarts(&rig, round + 1U);
    await_health(&rig, HALF);
  }
  ck_assert(rig_status(&rig).armed);
}

// A fade of the gain by 40 dB in 10 s.
#define FADE_FRAMES   480000U
#define FADE_FROM_DB  (-6.020599913279624)
#define FADE_TO_DB    (-46.0)
#define FADE_EXACT_DB 0.02 // of the curve, beside the blocks between two readings

static double
fade_db(const Rig* const rig, const double frame)
{
  const FxParam* const gain = &rig->rack->nodes[0].fx->params[0];
  return fx_fade_value(gain, FADE_FROM_DB, FADE_TO_DB, CURVE_LINEAR, frame / FADE_FRAMES);
}

/// True if the level is that of the fade which began at a frame, in some block between two readings
/// of the time.
static bool
is_on_curve(const Rig* const rig, const uint64_t start)
{
  const double before = (double)(engine_frame_now(rig->engine) - start) - 4.0 * CLOCKED_BLOCK;
  const double db = 20.0 * log10((double)clocked_level(rig->audio) / (double)CLOCKED_INPUT);
  const double after = (double)(engine_frame_now(rig->engine) - start);
  return db < fade_db(rig, before) + FADE_EXACT_DB && db > fade_db(rig, after) - FADE_EXACT_DB;
}

TEST(a_fade_goes_on_in_the_next_worker)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  await_health(&rig, HALF);
  const uint64_t start = engine_frame_now(rig.engine);
  const ParamMessage fade = { .uid = rig.rack->nodes[0].uid,
                              .value = FADE_TO_DB,
                              .fade_frames = FADE_FRAMES };
  ck_assert_int_eq(engine_set(rig.engine, &fade, 1), STATUS_OK);
  AWAIT(engine_frame_now(rig.engine) > start + FADE_FRAMES / 10U);
  AWAIT(is_on_curve(&rig, start)); // unless a block is late
  send_signal(&rig, SIGKILL);
  await_restarts(&rig, 1);
  AWAIT(is_on_curve(&rig, start)); // the dry signal fades out
  // A level that does not move is on the curve for 20 ms only.
  uint32_t n_on_curve = 0;
  AWAIT((n_on_curve += is_on_curve(&rig, start)) >= 200U);
}

static uint32_t
count_entries(const char* const name)
{
  uint32_t n = 0;
  DIR* const folder = opendir(name);
  while (readdir(folder)) {
    ++n;
  }
  closedir(folder);
  return n;
}

TEST(workers_that_come_and_go_leave_nothing_behind)
{
  SCOPED(rig_stop) Rig rig;
  rig_start(&rig, good_worker(), HALVED);
  uint32_t n_fds = 0;
  uint32_t n_threads = 0;
  for (uint64_t n = 0; n < 4U; ++n) {
    await_health(&rig, HALF);
    if (n == 1U) {
      n_fds = count_entries("/proc/self/fd");
      n_threads = count_entries("/proc/self/task");
    }
    const pid_t pid = rig_status(&rig).worker_pid;
    if (n < 3U) {
      send_signal(&rig, SIGKILL);
      await_dry(&rig);
      await_restarts(&rig, n + 1U);
      ck_assert_int_eq(kill(pid, 0), -1); // the process is reaped
    }
  }
  ck_assert_uint_eq(count_entries("/proc/self/fd"), n_fds);
  ck_assert_uint_eq(count_entries("/proc/self/task"), n_threads);
}

SUITE_MAIN("supervisor")
