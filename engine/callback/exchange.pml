/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
   A model of the callback's change from one block ring to another, for the model checker spin.
   tests/models.sh checks every interleaving.

   Proved, for a supervisor that exchanges the ring EXCHANGES times, at any time, and another
   thread that abandons and collects at any time:
     - neither the callback nor period_abandon() accesses a ring after it was freed
     - every ring is freed exactly once
     - before the next ring is offered, the ring of the lost worker is abandoned or withdrawn
     - the callback reaches the last offered ring

   | here             | C                                                            |
   |------------------|--------------------------------------------------------------|
   | offered ...      | PeriodExchange, period_state.h                               |
   | present          | Period.ring                                                  |
   | callback()       | period.c: take_offer(), then the period in that ring         |
   | offer()          | period_threads.c: period_offer_ring()                        |
   | collect()        | period_threads.c: period_collect_ring()                      |
   | abandon()        | period_threads.c: period_abandon()                           |
   | give_back()      | ring_free(), by whoever got the ring                         |
   | lose()           | the supervisor sees that the worker of its ring is gone      |
   | pulse()          | the supervisor reads now and then what was left              |

   The model has one order of all accesses.  In the code every ring is handed over by a store or an
   exchange with release, against a load or an exchange with acquire.

   Each MUTANT_ is an error that spin must find; see tests/models.sh.
*/

#ifndef EXCHANGES
#define EXCHANGES 3
#endif
#define IDLE_PERIODS 3
#define NONE 0 /* rings are numbered from 1 */
#define LAST (EXCHANGES + 1)

byte offered, left;
byte present = 1;
byte newest = 1, before;
bool mutex;

bool is_freed[LAST + 1], is_abandoned[LAST + 1];
bool audio_stops, callback_ended, other_ended;

inline lock()
{
  atomic {
    !mutex;
    mutex = true
  }
}

inline unlock()
{
  mutex = false
}

inline use(which)
{
  assert(which != NONE && !is_freed[which])
}

inline give_back(given)
{
  if
  :: given == NONE
  :: else ->
    use(given);
    is_freed[given] = true
  fi
}

/* ---- the callback ---- */

inline take_offer()
{
  if
  :: offered == NONE
#ifndef MUTANT_NOT_PUT_OFF
  :: offered != NONE && left != NONE
  :: offered != NONE && left == NONE ->
#else
  :: offered != NONE ->
#endif
#ifdef MUTANT_NOT_EXCHANGED
    ring = offered;
    offered = NONE;
#else
    atomic {
      ring = offered;
      offered = NONE
    }
#endif
    if
    :: ring == NONE /* withdrawn */
    :: else ->
#ifdef MUTANT_LEFT_LATE
      old = present;
      present = ring;
      left = old;
      use(old); /* for blocks in flight */
      old = NONE
#else
      left = present;
      present = ring
#endif
    fi;
    ring = NONE
  fi
}

/* The number of periods without an offer is limited, so that spin finds a thread that waits for more
   than the callback can do. */
proctype callback()
{
  byte ring, n_idle;
#ifdef MUTANT_LEFT_LATE
  byte old;
#endif
  do
  :: audio_stops -> break
  :: !audio_stops && (offered != NONE && left == NONE || n_idle < IDLE_PERIODS) ->
    if
    :: n_idle < IDLE_PERIODS -> n_idle++
    :: else
    fi;
    take_offer();
    use(present);
    use(present)
  od;
  callback_ended = true
}

/* ---- the control side ---- */

inline offer(new)
{
  lock();
  atomic {
    old = offered;
    offered = new
  }
  if
  :: old == NONE -> before = newest
  :: else
  fi;
  newest = (new != NONE -> new : before);
  unlock()
}

inline collect()
{
#ifndef MUTANT_COLLECTED_UNLOCKED
  lock();
#endif
  atomic {
    old = left;
    left = NONE
  }
#ifndef MUTANT_COLLECTED_UNLOCKED
  unlock()
#endif
}

inline abandon()
{
  lock();
  gone = (offered != NONE -> before : newest);
  use(gone);
  is_abandoned[gone] = true;
  gone = NONE;
  unlock()
}

inline lose()
{
#ifndef MUTANT_OFFER_LEFT_OPEN
  offer(NONE);
  give_back(old);
#endif
  abandon();
  assert(is_abandoned[mine] || is_freed[mine])
}

inline pulse()
{
  collect();
  give_back(old)
}

proctype supervisor()
{
  byte mine = 1, old, gone;
  do
  :: mine == LAST -> break
  :: mine < LAST ->
    lose();
#ifdef MUTANT_COLLECTED_WHEN_LOST_ONLY
    pulse();
#else
    if
    :: pulse()
    :: true
    fi;
#endif
    mine++;
    offer(mine);
    assert(old == NONE)
  od;
#ifndef MUTANT_COLLECTED_WHEN_LOST_ONLY
  do
  :: present == LAST -> break
  :: left != NONE -> pulse()
  od;
#endif
  present == LAST; /* otherwise it waits for ever */
  audio_stops = true;
  callback_ended;
  other_ended;
  pulse();
  assert(offered == NONE);
  give_back(present);
  for (mine : 1 .. LAST) {
    assert(is_freed[mine])
  }
}

proctype other()
{
  byte old, gone;
  abandon();
  collect();
  give_back(old);
  other_ended = true
}

init
{
  atomic {
    run callback();
    run supervisor();
    run other()
  }
}
