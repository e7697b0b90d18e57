// SPDX-License-Identifier: GPL-3.0-or-later
// The door between the threads of a driver and the engine: whatever threads and periods a library
// uses, at most one period is inside, none while the format changes, and the door never stays
// occupied.

#include "engine/base/time.h"
#include "io/io_driver.h"
#include "io/reconnect.h"
#include "tests/support/fake_events.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

TEST(a_period_before_the_format_is_silent_and_one_of_another_length_is_passed_on)
{
  FakeEvents fake = { 0 };
  Io io = { .events = fake_events(&fake, 1, 1), .n_in = 1, .n_out = 1 };
  const float in[64] = { 1.0F, 1.0F };
  float out[64];
  const float* const ins[] = { in };
  float* const outs[] = { out };
  out[0] = 7.0F;
  io_process(&io, NULL, ins, outs, 64, false, NULL); // not armed yet
  ck_assert(out[0] == 0.0F);
  ck_assert_int_eq(io_arm(&io, NULL, 48000.0, 64, NULL), STATUS_OK);
  io_process(&io, NULL, ins, outs, 64, false, NULL);
  ck_assert(out[0] == 1.0F);
  out[0] = 7.0F;
  io_process(&io, NULL, ins, outs, 0, false, NULL); // an empty period
  ck_assert(out[0] == 7.0F);
  ck_assert_uint_eq(fake.periods, 1);
  io_process(&io, NULL, ins, outs, 63, false, NULL);
  ck_assert_uint_eq(fake.last_frames, 63);
}

static atomic_bool keep_going;

static void*
process_for_ever(void* const context)
{
  float sample[64] = { 0.0F };
  const float* const ins[] = { sample };
  float out[64];
  float* const outs[] = { out };
  while (keep_going) {
    io_process(context, NULL, ins, outs, 64, false, NULL);
  }
  return NULL;
}

TEST(the_format_never_changes_inside_a_period)
{
  FakeEvents fake = { 0 };
  Io io = { .events = fake_events(&fake, 1, 1), .n_in = 1, .n_out = 1 };
  pthread_t thread;
  keep_going = true;
  ck_assert_int_eq(pthread_create(&thread, NULL, process_for_ever, &io), 0);
  for (unsigned n = 0; n < 200U || (!fake.periods && n < 100000U); ++n) {
    ck_assert_int_eq(io_arm(&io, NULL, 48000.0, 64, NULL), STATUS_OK);
    usleep(10);
  }
  keep_going = false;
  pthread_join(thread, NULL);
  ck_assert(!fake.overlapped);
  ck_assert_uint_gt(fake.periods, 0);
}

// ---- a period that stays inside until it is released ----

static atomic_bool is_inside, let_go;

static void
linger(void* const context, const float* const* const in, float* const* const out,
       const uint32_t n_frames, const bool wait, MidiPeriod* const midi)
{
  (void)context;
  (void)in;
  (void)wait;
  (void)midi;
  is_inside = true;
  while (!let_go) {
  }
  out[0][0] = (float)n_frames;
}

static void
ignore_poll(Io* const io)
{
  (void)io;
}

static void
ignore_status(const Io* const io, IoStatus* const status)
{
  (void)io;
  *status = (IoStatus){ 0 };
}

static const IoDriver driver = { .poll = ignore_poll, .status = ignore_status };

static Io
lingering_io(FakeEvents* const fake)
{
  Io io = { .driver = &driver, .events = fake_events(fake, 0, 1), .n_out = 1 };
  io.events.process = linger;
  is_inside = let_go = false;
  ck_assert_int_eq(io_arm(&io, NULL, 48000.0, 64, NULL), STATUS_OK);
  return io;
}

static void*
process_once(void* const context)
{
  float out[64];
  float* const outs[] = { out };
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL); // as the thread of libjack does
  io_process(context, NULL, NULL, outs, 64, false, NULL);
  return out[0] == 64.0F ? context : NULL;
}

static pthread_t
send_inside(Io* const io)
{
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, process_once, io), 0);
  AWAIT(is_inside);
  return thread;
}

/// Process a period on this thread.  Returns its output.
static float
process_as(Io* const io, const void* const caller)
{
  float out[64];
  float* const outs[] = { out };
  out[0] = 7.0F;
  out[63] = 0.0F;
  io_process(io, caller, NULL, outs, 64, false, NULL);
  ck_assert(out[63] == 0.0F);
  return out[0];
}

static float
process_here(Io* const io)
{
  return process_as(io, NULL);
}

TEST(a_second_thread_gets_silence_and_is_counted_and_reported)
{
  FakeEvents fake = { 0 };
  Io io = lingering_io(&fake);
  const pthread_t thread = send_inside(&io);
  for (unsigned n = 0; n < 3U; ++n) {
    ck_assert(process_here(&io) == 0.0F);
  }
  ck_assert(atomic_load(&fake.door.inside)); // the first period is still inside
  ck_assert_uint_eq(driver_status(&io).overlaps, 3);
  const uint64_t began_ns = time_now_ns();
  io_poll(&io);
  assert_says(fake.note, "3 periods were silenced");
  ck_assert(process_here(&io) == 0.0F);
  io_poll(&io);
  // At most one line per second, and the machine may stall for one.
  ck_assert(fake.notes == 1U || time_now_ns() - began_ns >= NS_PER_S);
  let_go = true;
  void* result = NULL;
  pthread_join(thread, &result);
  ck_assert_ptr_nonnull(result);
  ck_assert(process_here(&io) == 64.0F); // from a new thread
  ck_assert_uint_eq(driver_status(&io).overlaps, 4);
}

TEST(a_thread_that_is_cancelled_inside_leaves_the_door_free)
{
  FakeEvents fake = { 0 };
  Io io = lingering_io(&fake);
  const pthread_t thread = send_inside(&io);
  pthread_cancel(thread);
  usleep(20000); // without the door, it would end in this time
  let_go = true;
  void* result = NULL;
  pthread_join(thread, &result);
  ck_assert_ptr_ne(result, &io); // it ended when it left the door
  ck_assert(process_here(&io) == 64.0F);
  ck_assert_int_eq(io_shut(&io, NULL), STATUS_OK);
}

TEST(a_session_that_was_left_is_silent_beside_its_successor)
{
  const IoSession left = { .lost = true };
  const IoSession next = { .lost = false };
  FakeEvents fake = { 0 };
  Io io = lingering_io(&fake);
  let_go = true;
  ck_assert_int_eq(io_arm(&io, &left, 48000.0, 64, NULL), STATUS_OK);
  ck_assert(process_as(&io, &left) == 64.0F && process_as(&io, &next) == 0.0F);
  ck_assert_int_eq(io_arm(&io, &next, 48000.0, 64, NULL), STATUS_OK);
  ck_assert(process_as(&io, &left) == 0.0F && process_as(&io, &next) == 64.0F);
  ck_assert_int_eq(io_arm(&io, NULL, 48000.0, 64, NULL), STATUS_OK);
  is_inside = let_go = false;
  const pthread_t thread = send_inside(&io);
  ck_assert(process_as(&io, &left) == 0.0F);
  let_go = true;
  pthread_join(thread, NULL);
  ck_assert_uint_eq(driver_status(&io).overlaps, 0); // it did not overlap the other period
}

typedef struct Loser {
  IoSession* session;
  const char* reason;
} Loser;

static void*
lose(void* const context)
{
  const Loser* const loser = context;
  io_session_lose(loser->session, loser->reason);
  return NULL;
}

TEST(the_first_reason_for_which_a_session_is_lost_stays)
{
  static const char server[] = "the server has ended, says its library on a thread of its own";
  static const char watch[] = "this client gets no periods, and no server answers";
  IoSession session = { .lost = false };
  io_session_lose(&session, server);
  io_session_lose(&session, watch);
  ck_assert_str_eq(session.reason, server);
  for (uint32_t n = 0; n < 1000; ++n) {
    IoSession contended = { .lost = false };
    Loser other = { &contended, server };
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, lose, &other), 0);
    io_session_lose(&contended, watch);
    while (!atomic_load(&contended.lost)) {
    }
    const bool is_server = !strcmp(contended.reason, server);
    ck_assert(is_server || !strcmp(contended.reason, watch));
    pthread_join(thread, NULL);
    ck_assert_str_eq(contended.reason, is_server ? server : watch);
  }
}

SUITE_MAIN("io_door")
