/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
   A model of ring_wait_wake() in ring.c for the model checker spin: several threads sleep on one
   bell, and ring_wake() wakes one of them.  tests/models.sh checks every interleaving.

   Three threads wait for wakes.  After a wake each does all work that it finds, and then either
   waits again, or is busy for as long as the monitor likes.  Two wakers call ring_wake(), at any
   time; the work is what was written before.  At first one thread sleeps and two are awake; with
   -DALL_AWAKE, which is three times as many states, three are awake.  Proved:
     - no wake-up is lost: when nothing moves and a thread sleeps, a call has returned after each
       ring_wake() and has found the work that was written before it, also if all other threads are
       busy
     - a call returns only for wakes for which no other call has returned
     - `asleep` is the number of threads that sleep, and 0 when all are awake
     - if all threads sleep, a ring_wake() ends exactly one call

   | here                | ring.c                                                    |
   |---------------------|-----------------------------------------------------------|
   | sleeper()           | a thread of a group: group_threads.c, run_units()         |
   | ring_wait_wake()    | ring_wait_wake(), sleep_until()                           |
   | count_in() ...      | sleep_until(): `asleep`, and ready(), which is check()    |
   | take_wakes()        | take_wakes(); the atomic part is its compare_exchange     |
   | waker()             | the player, or a thread of the group, that rings the bell |
   | ring_wake()         | ring_wake(), bell_ring_if_asleep()                        |
   | ring_bell()         | bell_ring()                                               |
   | futex_wait()        | rt.c; the kernel compares and sleeps in one step          |
   | futex_wake_one()    | rt.c; the kernel chooses the thread                       |

   ring.pml models the other sleepers: ring_wait_take(), which has this bell for itself, and
   ring_wait_finished(), which has the other one.  MUTANT_ONE_TAKES_BLOCKS shows why both calls of
   the consumer may not wait on one ring: the futex call would wake the wrong thread.

   The model has one order of all accesses (sequential consistency).  ring.c guarantees it for
   `wakes`, `asleep` and `rung`, except that a sleeper takes itself off `asleep`: see ring.pml.
   `wakes_seen` is read before `wakes` (acquire) and published by the exchange.

   Each MUTANT_ is an error that spin must find; see tests/models.sh.
*/

#define SLEEPERS 3
#define WAKERS 2

/* The region, and the view that the sleepers share. */
byte rung, asleep, wakes;
byte wakes_seen;

/* State of the kernel: which threads sleep. */
bool sleeps[SLEEPERS];

/* The wakes whose work a thread has found after its wait. */
byte found_work;

/* Progress, for the monitor. */
bool all_return, stops;
byte n_ended;

/* If the thread sleeps, it does so at the begin of its next step. */
inline futex_wait()
{
  if
  :: rung == rung_before -> sleeps[me] = true
  :: else
  fi
}

inline futex_wake_one()
{
  atomic {
    if
#ifndef MUTANT_NONE_WOKEN
    :: sleeps[0] -> sleeps[0] = false
    :: sleeps[1] -> sleeps[1] = false
    :: sleeps[2] -> sleeps[2] = false
#endif
    :: else
    fi
  }
}

/* ---- the side that wakes ---- */

inline ring_bell()
{
#ifdef MUTANT_BELL_CHANGED_LATE
  futex_wake_one();
  rung++
#else
#ifndef MUTANT_BELL_UNCHANGED
  rung++;
#endif
  futex_wake_one()
#endif
}

inline ring_bell_if_asleep()
{
  if
  :: must_ring ->
    must_ring = false;
#ifdef MUTANT_CLEARED_BY_WAKER
    asleep = 0;
#endif
    ring_bell()
  :: else
  fi
}

inline ring_wake()
{
#ifdef MUTANT_ASLEEP_READ_FIRST
  must_ring = (asleep != 0);
  wakes++;
#else
  wakes++;
  must_ring = (asleep != 0);
#endif
  ring_bell_if_asleep()
}

proctype waker()
{
  bool must_ring;
  ring_wake()
}

/* ---- the side that sleeps ---- */

/* Afterwards is_ready is true if this thread has taken wakes. */
inline take_wakes()
{
#ifdef MUTANT_WAKES_READ_FIRST
  found = wakes;
  seen = wakes_seen;
#else
  seen = wakes_seen;
#endif
  do
  :: atomic {
#ifndef MUTANT_WAKES_READ_FIRST
      found = wakes;
#endif
      if
      :: found == seen -> break
      :: else
      fi
    }
    atomic { /* compare and exchange */
#ifdef MUTANT_NOT_COMPARED
      is_ready = true;
#else
      is_ready = (wakes_seen == seen);
#endif
      if
      :: is_ready ->
        assert(found > wakes_seen); /* no other call has returned for these wakes */
        wakes_seen = found;
        break
      :: else ->
#ifdef MUTANT_TRIED_ONCE
        break
#else
        seen = wakes_seen
#endif
      fi
    }
  od;
  seen = 0;
  found = 0
}

inline count_in()
{
#ifdef MUTANT_ASLEEP_IS_FLAG
  asleep = 1
#else
  asleep++
#endif
}

inline count_out()
{
#ifdef MUTANT_STAYS_COUNTED
  skip
#else
#ifdef MUTANT_ASLEEP_IS_FLAG
  asleep = 0
#else
#ifdef MUTANT_CLEARED_BY_WAKER
  asleep = (asleep -> asleep - 1 : 0)
#else
  asleep--
#endif
#endif
#endif
}

#ifdef MUTANT_ONE_TAKES_BLOCKS
bool submitted;

inline check()
{
  if
  :: me == 0 -> is_ready = submitted /* ring_wait_take() */
  :: else -> take_wakes()
  fi
}

proctype producer()
{
  bool must_ring;
  submitted = true;
  must_ring = (asleep != 0);
  ring_bell_if_asleep()
}
#else
inline check()
{
  take_wakes()
}
#endif

inline ring_wait_wake()
{
  do
  :: is_ready ->
    is_ready = false;
    break
  :: atomic {
      !is_ready;
#ifndef MUTANT_BELL_READ_LATE
      rung_before = rung
#endif
    }
#ifndef MUTANT_COUNTED_LATE
    count_in();
#endif
#ifndef MUTANT_CHECKED_ONCE
    check();
#endif
#ifdef MUTANT_COUNTED_LATE
    count_in();
#endif
#ifdef MUTANT_BELL_READ_LATE
    rung_before = rung;
#endif
    atomic {
      if
      :: is_ready
      :: else -> futex_wait()
      fi;
      rung_before = 0
    }
asleep_there:
    atomic {
      !sleeps[me];
      count_out()
    }
#ifdef MUTANT_RESULT_DROPPED
    is_ready = false;
#endif
    if
    :: is_ready
    :: else -> check()
    fi
  od
}

proctype sleeper(byte me)
{
  byte rung_before, seen, found;
  bool is_ready;
#ifndef ALL_AWAKE
  if
  :: me == 2 -> goto asleep_there
  :: else
  fi;
#endif
  do
  :: ring_wait_wake();
#ifdef MUTANT_ONE_TAKES_BLOCKS
    if
    :: me == 0 -> submitted = false
    :: else
    fi;
#endif
    atomic {
      found_work = wakes;
      if
      :: stops -> break
      :: !stops
      :: !stops -> all_return /* busy until then */
      fi
    }
  od;
  n_ended++
}

/* ---- the monitor ---- */

#define N_ASLEEP (sleeps[0] + sleeps[1] + sleeps[2])
#ifdef MUTANT_ONE_TAKES_BLOCKS
#define N_ASLEEP_FOR_WAKES (sleeps[1] + sleeps[2])
#else
#define N_ASLEEP_FOR_WAKES N_ASLEEP
#endif

/* These mutants must be found because they lose a wake-up, not because they do not count. */
#if defined(MUTANT_ASLEEP_IS_FLAG) || defined(MUTANT_CLEARED_BY_WAKER)
#define NO_COUNT
#endif

/* No thread can continue: those that do not sleep are busy, or have ended. */
inline check_rest()
{
#ifndef NO_COUNT
  assert(asleep == N_ASLEEP);
#endif
#ifdef MUTANT_ONE_TAKES_BLOCKS
  assert(!sleeps[0] || !submitted);
#endif
  assert(!N_ASLEEP_FOR_WAKES || wakes_seen == wakes && found_work == wakes)
}

proctype monitor()
{
  byte seen_ended;
  bool must_ring;
  timeout;
  assert(wakes == WAKERS);
  check_rest();
  all_return = true;
  timeout;
  assert(N_ASLEEP == SLEEPERS);
  check_rest();
  stops = true;
  do
  :: n_ended == SLEEPERS -> break
  :: else ->
    seen_ended = n_ended;
    ring_wake();
    timeout;
    assert(n_ended == seen_ended + 1);
    check_rest()
  od;
  assert(asleep == 0)
}

init
{
  atomic {
#ifndef ALL_AWAKE
    sleeps[2] = true;
    asleep = 1;
#endif
    run sleeper(0);
    run sleeper(1);
    run sleeper(2);
    run waker();
    run waker();
#ifdef MUTANT_ONE_TAKES_BLOCKS
    run producer();
#endif
    run monitor()
  }
}
