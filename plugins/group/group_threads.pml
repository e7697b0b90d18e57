/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
   A model of a place in group_threads.c for the model checker spin: several threads visit it after
   a ring of the bell, each unless another one or a call has it.  tests/models.sh checks every
   interleaving.

   Proved, for three threads, a worker that submits BLOCKS blocks and rings the bell after each, and
   a call that keeps the threads from the unit once, at any time:
     - the unit is in one thread at a time
     - no block is left out: when nothing moves, the unit has run all blocks
     - after group_threads_set() has taken the unit away, no thread runs it

   | here                | C                                                         |
   |---------------------|-----------------------------------------------------------|
   | is_called ...       | Place, group_threads.c                                    |
   | run_units()         | run_units(), visit_all(), of which only this place counts |
   | visit()             | visit()                                                   |
   | run_unit()          | Place.run: group_unit.c, run_oldest()                     |
   | worker()            | the player: group_calls.c, outside_submit(),              |
   |                     | outside_wake()                                            |
   | call()              | group_threads_lock(), the call, group_threads_unlock()    |
   | take_away()         | group_threads_set() with NULL, then the unit is freed     |
   | ring_wait_wake()    | engine/ring/ring.c: sleepers.pml proves that the wait     |
   |                     | ends for one thread, as here                              |

   The model has one order of all accesses.  In the code all accesses to `is_called` have this
   order; glibc's pthread_mutex_trylock() and pthread_mutex_unlock() keep it on x86-64 and arm64:
   the first reads the lock after `is_called` was written, the second writes it before `is_called`
   is read.

   Each MUTANT_ is an error that spin must find; see tests/models.sh.
*/

#ifndef BLOCKS
#define BLOCKS 3
#endif

/* The bell. */
byte wakes, wakes_seen;

/* The place. */
bool is_called, is_locked;
bool has_unit = true;

/* The ring of the unit. */
byte submitted, finished;

/* State of the proof. */
bool is_used, is_freed, stops;

inline ring_wake()
{
  wakes++
}

inline lock()
{
  atomic {
    !is_locked;
    is_locked = true
  }
}

inline unlock()
{
  is_locked = false
}

inline begin_use()
{
  atomic {
    assert(!is_used && !is_freed);
    is_used = true
  }
}

inline end_use()
{
  atomic {
    assert(!is_freed);
    is_used = false
  }
}

/* ---- the threads of the group ---- */

inline run_unit()
{
  begin_use();
  if
  :: finished == submitted -> has_more = false
  :: else ->
    finished++;
    has_more = finished != submitted
  fi;
  end_use()
}

inline visit()
{
  has_more = false;
  is_called = true;
  do
  :: !is_called -> break
  :: else ->
#ifdef MUTANT_NOT_LOCKED
    has_lock = true;
#else
    atomic {
      has_lock = !is_locked;
      is_locked = true
    }
#endif
    if
    :: !has_lock -> break
    :: else ->
#ifndef MUTANT_CALL_TAKEN_LATE
      is_called = false;
#endif
      if
      :: has_unit -> run_unit()
      :: else -> has_more = false
      fi;
#ifdef MUTANT_CALL_TAKEN_LATE
      is_called = false;
#endif
#ifdef MUTANT_VISITED_ONCE
      unlock();
      break
#else
      unlock()
#endif
    fi
  od;
  has_lock = false
}

proctype run_units()
{
  bool has_lock, has_more;
  do
  :: atomic {
      wakes != wakes_seen -> wakes_seen = wakes /* ring_wait_wake() */
    }
    do
    :: visit();
#ifdef MUTANT_MORE_LEFT
      break
#else
      if
      :: has_more
      :: else -> break
      fi
#endif
    od
  :: stops -> break
  od
}

/* ---- others ---- */

proctype worker()
{
  do
  :: submitted == BLOCKS -> break
  :: else ->
    submitted++;
    ring_wake()
  od
}

proctype call()
{
  lock();
  begin_use();
  end_use();
#ifdef MUTANT_NOT_RUNG_AFTER_CALL
  unlock()
#else
  unlock();
  ring_wake()
#endif
}

inline take_away()
{
#ifndef MUTANT_TAKEN_UNLOCKED
  lock();
#endif
  has_unit = false;
#ifndef MUTANT_TAKEN_UNLOCKED
  unlock();
#endif
  is_freed = true
}

proctype monitor()
{
  timeout;
  assert(finished == BLOCKS && !is_used && !is_locked);
  ring_wake();
  take_away(); /* while threads visit the place */
  timeout;
  assert(!is_locked);
  stops = true
}

init
{
  atomic {
    run run_units();
    run run_units();
    run run_units();
    run worker();
    run call();
    run monitor()
  }
}
