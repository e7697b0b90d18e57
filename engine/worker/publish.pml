/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
   A model of the exchange of plans, for the model checker spin: the builder offers a plan, the
   player takes it between two blocks and retires the old one, the builder collects and frees that;
   queries read the shown plan, and the main thread disarms, arms and finally frees the worker.
   tests/models.sh checks every interleaving.

   Proved, for PLANS edits and one disarming and arming at any time:
     - no plan is freed while the player runs it, a device works in it, or a query reads it
     - every plan is freed exactly once
     - when the builder goes on, the player's plan, and since when it is active, are the new ones
     - no thread waits for ever

   | here            | C                                                             |
   |-----------------|---------------------------------------------------------------|
   | offered ...     | Player's fields of the same names, worker.h                   |
   | take_offer()    | player.c: take_offer()                                        |
   | begin_block()   | player.c: player_begin()                                      |
   | settle()        | player.c: settle(), also as a part of player_end()            |
   | hand_over()     | worker_edit.c: hand_over(), with player_offer(),              |
   |                 | player_has_taken(), player_collect(), plan_free()             |
   | hurry           | the builder has seen no block for a while: the plan's frame   |
   |                 | does not come                                                 |
   | shown           | worker_show_plan(), and the queries under status_lock         |
   | planning_lock   | the mutex of planning, arming and disarming                   |
   | disarm()        | worker.c: leave_ring(), with worker_stop_player()             |
   | arm()           | worker.c: arm_once(), with plan_for_format()                  |
   | clear()         | player_clear()                                                |

   The model has one order of all accesses.  In player.c, what comes before `offered` is stored is
   published by it: with release, against the other side's acquire, in either direction.

   Each MUTANT_ is an error that spin must find; see tests/models.sh.
*/

#ifndef PLANS
#define PLANS 3
#endif
#define NONE 0           /* plans are numbered from 1 */
#define LAST (PLANS + 2) /* the first plan, those of the edits, that of another format */

/* The player's. */
byte offered, retired, plan, first_frame;
bool hurry;
byte begun[2]; /* plan in whose last stage a device works, oldest first */
byte n_begun;

/* The worker's. */
byte shown, n_made;
bool planning_lock, status_lock; /* true while locked */
bool has_worker, player_stops, worker_ended, builder_stops, builder_ended;
bool all_done, query_ended;

/* State of the proof. */
bool is_freed[LAST + 1];

inline lock(mutex)
{
  atomic {
    !mutex;
    mutex = true
  }
}

inline unlock(mutex)
{
  mutex = false
}

inline use(which)
{
  assert(which != NONE && !is_freed[which])
}

inline plan_free(which)
{
  if
  :: which == NONE
  :: else ->
    assert(!is_freed[which]);
    is_freed[which] = true
  fi
}

/* ---- the player ---- */

inline settle(block)
{
  if
  :: begun[block] == NONE
  :: else ->
    use(begun[block]);
    begun[block] = NONE
  fi
}

inline take_offer()
{
  taken = offered;
  if
  :: taken == NONE
  :: taken != NONE && !hurry /* before its frame */
  :: taken != NONE ->
#ifndef MUTANT_NOT_SETTLED
    settle(0);
    settle(1);
#endif
#ifdef MUTANT_OFFERED_FIRST
    offered = NONE;
#endif
    left = plan;
#ifndef MUTANT_PLAN_LAST
    plan = taken;
#endif
    use(taken); /* plan_begin() */
#ifdef MUTANT_NEW_ONE_RETIRED
    left = taken;
#endif
    retired = left;
#ifndef MUTANT_FRAME_LAST
    first_frame = taken;
#endif
    offered = NONE;
#ifdef MUTANT_FRAME_LAST
    first_frame = taken;
#endif
#ifdef MUTANT_PLAN_LAST
    plan = taken;
#endif
    left = NONE
  fi;
  taken = NONE
}

inline begin_block()
{
  take_offer();
  use(plan);
  if
  :: begun[n_begun] = plan /* a device still works in it */
  :: true                  /* its work is finished */
  fi;
  n_begun++
}

proctype player()
{
  byte taken, left;
  do
  :: player_stops -> break
  :: !player_stops -> take_offer() /* no block has come */
  :: !player_stops ->
    begin_block();
    do
    :: n_begun == 0 -> break
    :: n_begun == 1 -> begin_block()
    :: n_begun > 0 ->
      settle(0);
      begun[0] = begun[1];
      begun[1] = NONE;
      n_begun--
    od
  od;
  worker_ended = true
}

/* ---- the builder ---- */

inline show_plan(which)
{
  lock(status_lock);
  shown = which;
  unlock(status_lock)
}

inline hand_over()
{
  hurry = !has_worker;
  offered = number;
  if
  :: has_worker ->
#ifndef MUTANT_COLLECTED_AT_ONCE
    do
    :: offered == NONE -> break
    :: !hurry -> hurry = true /* sooner or later, when no block comes */
    od
#endif
  :: else -> take_offer()
  fi;
#ifndef MUTANT_COLLECTED_AT_ONCE
  assert(first_frame == number && plan == number);
#endif
#ifndef MUTANT_FREED_BEFORE_SHOWN
  show_plan(number);
#endif
  atomic {
    old = retired;
    retired = NONE
  }
  plan_free(old);
#ifdef MUTANT_FREED_BEFORE_SHOWN
  show_plan(number);
#endif
  old = NONE
}

proctype builder()
{
  byte n_edits, number, old, taken, left;
  do
  :: n_edits == PLANS || builder_stops -> break
  :: n_edits < PLANS ->
    lock(planning_lock);
    use(plan); /* the new one is made beside it */
    atomic {
      n_made++;
      number = n_made
    }
    hand_over();
    unlock(planning_lock);
    n_edits++
  od;
  builder_ended = true
}

/* ---- the queries ---- */

proctype query()
{
  do
  :: all_done -> break
  :: !all_done ->
    lock(status_lock);
    use(shown);
    use(shown);
    unlock(status_lock)
  od;
  query_ended = true
}

/* ---- the main thread ---- */

inline disarm()
{
  player_stops = true;
#ifndef MUTANT_NOT_JOINED
  worker_ended;
#endif
  has_worker = false
}

inline arm()
{
  if
  :: true /* the same format */
  :: true ->
    atomic {
      n_made++;
      number = n_made
    }
    show_plan(number);
    plan_free(plan);
    plan = number;
    first_frame = number
  fi;
  player_stops = false;
  worker_ended = false;
  run player();
  has_worker = true
}

inline clear()
{
  plan_free(offered);
  plan_free(retired);
  plan_free(plan)
}

proctype main_thread()
{
  byte number;
#ifndef MUTANT_DISARMED_UNLOCKED
  lock(planning_lock);
#endif
  disarm();
#ifndef MUTANT_DISARMED_UNLOCKED
  unlock(planning_lock); /* now the builder is alone with the plans */
  lock(planning_lock);
#endif
  arm();
#ifndef MUTANT_DISARMED_UNLOCKED
  unlock(planning_lock);
#endif
  builder_stops = true;
  builder_ended;
  lock(planning_lock);
  disarm();
  unlock(planning_lock);
  all_done = true; /* no query comes any more */
  query_ended;
  clear();
  for (number : 1 .. n_made) {
    assert(is_freed[number])
  }
}

init
{
  atomic {
    n_made = 1;
    plan = 1;
    first_frame = 1;
    shown = 1;
    has_worker = true;
    run player();
    run builder();
    run query();
    run main_thread()
  }
}
