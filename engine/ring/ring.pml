/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
   A model of ring.c for the model checker spin: blocks through the ring, and the sleeping and
   waking of both sides. tests/models.sh checks every interleaving.

   Without MAD the model has a callback that either waits or does not wait for its block in each of
   PERIODS periods, a worker that never stops, and two calls of ring_wake() at any time.  Proved:
     - the worker finds in a slot the block that it takes, and no thread writes to the slot
       meanwhile
     - a block that the callback takes as finished has its own output
     - no wake-up is lost: no thread sleeps while there is work for it.  All sleeps are unlimited
       here, so the proof does not depend on the naps and time limits of ring.c

   With -DMAD the worker is faulty: mad() writes any value to `finished`, twice, at any time.  There
   are no wake-ups: the callback never waits, and the worker polls.  Proved:
     - the callback's copy of `finished` stays between its previous value and the number of
       submitted blocks
     - a block that the callback takes as finished still has its own output

   | here                | ring.c                                                    |
   |---------------------|-----------------------------------------------------------|
   | producer()          | a callback of depth 1: period.c, submit_block() and       |
   |                     | take_due_block()                                          |
   | read_finished()     | finished_checked()                                        |
   | submit              | ring_submit()                                             |
   | wait, sleep         | ring_wait_finished(), sleep_until()                       |
   | result              | ring_result()                                             |
   | consumer()          | the worker's thread: ring_wait_take(), ring_finish()      |
   | read_call()         | consumer_is_called()                                      |
   | give back           | give_back()                                               |
   | waker()             | ring_wake()                                               |
   | ring_bell()         | bell_ring()                                               |
   | futex_wait/wake()   | rt.c; the kernel compares and sleeps in one step          |

   The model has one order of all accesses (sequential consistency).  ring.c guarantees this order
   for the words of which each side writes one and then reads the other: `submitted` and `finished`
   against `asleep`, and `rung`.  They publish all other words (release, acquire), except that a
   sleeper takes itself off `asleep`: if the other side sees this late, it makes an unnecessary
   futex call.  In the model `asleep` is a flag, because each side has one sleeper: sleepers.pml
   models ring_wait_wake(), with which several threads sleep on one bell.

   Each MUTANT_ is an error that spin must find; see tests/models.sh.
*/

#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef PERIODS
#define PERIODS 3
#endif
#define AT(sequence) ((sequence) % SLOTS)
#define NONE 255 /* no block, and the content of a row while it is written */

/* The region. */
byte submitted, finished, wakes;
byte consumer_rung, producer_rung;
bool consumer_asleep, producer_asleep;
byte input[SLOTS] = NONE, output[SLOTS] = NONE, result[SLOTS];

/* State of the kernel: which sides sleep. */
bool consumer_sleeps, producer_sleeps;

/* Progress, for the monitor. */
bool producer_done, waker_done, stops;
byte wakes_seen;

inline futex_wait(word, expected, sleeper)
{
  atomic {
    if
    :: word == expected -> sleeper = true
    :: else
    fi
  }
  !sleeper
}

inline futex_wake(sleeper)
{
  sleeper = false
}

inline ring_bell(word, sleeper)
{
#ifndef MUTANT_BELL_UNCHANGED
  word++;
#endif
  futex_wake(sleeper)
}

/* ---- the callback ---- */

inline read_finished()
{
  read = finished;
  if
#ifdef MUTANT_NO_RANGE_CHECK
  :: true -> seen = read
#else
  :: read < seen || read > next /* invalid, counted as a fault */
  :: else -> seen = read
#endif
  fi;
#ifdef MAD
  assert(seen <= next && seen >= seen_before);
  seen_before = seen;
#endif
  read = 0
}

inline submit()
{
#ifdef MUTANT_PUBLISH_BEFORE_WRITING
  submitted = next + 1;
#endif
  input[AT(next)] = NONE;
  input[AT(next)] = next;
  next++;
#ifdef MUTANT_WAKE_BEFORE_PUBLISHING
  must_wake = consumer_asleep;
#endif
  submitted = next;
#ifndef MAD
#ifndef MUTANT_WAKE_BEFORE_PUBLISHING
  must_wake = consumer_asleep;
#endif
  if
  :: must_wake -> ring_bell(consumer_rung, consumer_sleeps)
  :: else
  fi;
  must_wake = false
#endif
}

inline wait_for(wanted)
{
  read_finished();
  do
  :: seen > wanted -> break
  :: else ->
    rung = producer_rung;
    producer_asleep = true;
#ifndef MUTANT_PRODUCER_CHECKS_ONCE
    read_finished();
#endif
    if
    :: seen > wanted
    :: else -> futex_wait(producer_rung, rung, producer_sleeps)
    fi;
    producer_asleep = false;
    read_finished()
  od;
  rung = 0
}

proctype producer()
{
  byte period, next, seen, read, rung;
  byte due = NONE, before = NONE;
  bool must_wake, is_own;
#ifdef MAD
  byte seen_before;
#endif
  do
  :: period == PERIODS -> break
  :: else ->
    before = due;
    read_finished();
    if
#ifdef MUTANT_ONE_BLOCK_TOO_MANY
    :: next - seen <= SLOTS ->
#else
    :: next - seen < SLOTS ->
#endif
      submit();
      due = next - 1
    :: else -> due = NONE /* dropped */
    fi;
    if
    :: before == NONE
    :: else ->
      if
#ifndef MAD
      :: wait_for(before)
#endif
      :: read_finished() /* late if it is not finished */
      fi;
      if
      :: seen <= before
      :: else ->
        is_own = result[AT(before)] == before + 1;
#ifndef MAD
        assert(is_own);
#endif
#ifdef MUTANT_NO_RESULT_CHECK
        is_own = true;
#endif
        assert(!is_own || output[AT(before)] == before);
        is_own = false
      fi
    fi;
    period++
  od;
  producer_done = true
}

/* ---- the worker ---- */

inline read_call()
{
  called = submitted != taken;
  if
  :: called
  :: else -> called = wakes != wakes_seen
  fi
}

inline give_back()
{
#ifdef MUTANT_FINISHED_BEFORE_OUTPUT
  finished = taken + 1;
#endif
  output[AT(taken)] = NONE;
  output[AT(taken)] = row;
#ifndef MAD
  assert(input[AT(taken)] == taken); /* unchanged since the submission */
#endif
  taken++;
  result[AT(taken - 1)] = taken;
#ifdef MUTANT_ASLEEP_READ_FIRST
  must_wake = producer_asleep;
#endif
  finished = taken;
#ifndef MAD
  if
#ifdef MUTANT_ASLEEP_READ_FIRST
  :: must_wake -> ring_bell(producer_rung, producer_sleeps)
#else
  :: producer_asleep -> ring_bell(producer_rung, producer_sleeps)
#endif
  :: else
  fi
#endif
}

proctype consumer()
{
  byte taken, rung, row;
  bool called, woken;
#ifdef MUTANT_ASLEEP_READ_FIRST
  bool must_wake;
#endif
  do
  :: stops -> break
  :: !stops ->
#ifdef MAD
    submitted != taken || stops;
#else
    read_call();
    do
    :: called -> break
    :: else ->
#ifndef MUTANT_BELL_READ_LATE
      rung = consumer_rung;
#endif
      consumer_asleep = true;
#ifndef MUTANT_CONSUMER_CHECKS_ONCE
      read_call();
#endif
#ifdef MUTANT_BELL_READ_LATE
      rung = consumer_rung;
#endif
      if
      :: called
      :: else -> futex_wait(consumer_rung, rung, consumer_sleeps)
      fi;
      consumer_asleep = false;
      if
      :: called
      :: else -> read_call()
      fi
    od;
    rung = 0;
#endif
    atomic {
      woken = wakes != wakes_seen;
      wakes_seen = wakes
    }
    if
    :: woken || submitted == taken
    :: else ->
      row = input[AT(taken)];
#ifndef MAD
      assert(row == taken);
#endif
      give_back();
      row = 0
    fi
  od
}

/* ---- others ---- */

inline ring_wake()
{
  wakes++;
  if
  :: consumer_asleep -> ring_bell(consumer_rung, consumer_sleeps)
  :: else
  fi
}

proctype waker()
{
  ring_wake();
  ring_wake();
  waker_done = true
}

#ifdef MAD
proctype mad()
{
  byte n, value;
  do
  :: n == 2 -> break
  :: else ->
    select(value : 0 .. PERIODS + 1);
    finished = value;
    n++
  od
}
#endif

/* When no thread can continue, all work must be done.  Then the monitor stops the worker's thread,
   which must see `stops`. */
proctype monitor()
{
  timeout;
  assert(producer_done);
#ifndef MAD
  assert(waker_done && wakes_seen == wakes && finished == submitted);
#endif
  stops = true;
  ring_wake()
}

init
{
  atomic {
    run producer();
    run consumer();
#ifdef MAD
    run mad();
#else
    run waker();
#endif
    run monitor()
  }
}
