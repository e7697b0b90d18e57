/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
   A model of the door between the threads of an audio driver and the engine, for the model checker
   spin.  tests/models.sh checks every interleaving.

   Proved, for a main thread that arms the engine ARMED times and then stops, for two sessions whose
   audio threads start periods at any time, before and after they are admitted, and for a library
   that reports another block length at any time:
     - at most one period is inside
     - while a period is inside, the engine has a period to run, and no other session is admitted
     - the format changes only while no period is inside
     - the door does not stay occupied: the main thread never waits for ever
     - a period is silenced as an overlap only while another one is inside

   | here             | C                                                            |
   |------------------|--------------------------------------------------------------|
   | shut ...         | PeriodDoor, period_door.h                                    |
   | may_enter()      | period_door.c: may_enter()                                   |
   | session()        | period_door.c: period_door_pass(), for each period           |
   | arm_engine()     | engine.c: withdraw_period(), publish(), also called alone    |
   | arm_driver()     | io.c: io_arm(), which arms the engine                        |
   | library()        | jack_session.c: on_buffer_size()                             |

   All accesses are sequentially consistent, in the code too.

   Each MUTANT_ is an error that spin must find; see tests/models.sh.
*/

#ifndef ARMED
#define ARMED 2
#endif
#define PERIODS 2 /* of each session */
#define ENGINE 1
#ifdef MUTANT_ONE_BIT
#define DRIVER 1
#else
#define DRIVER 2
#endif

byte shut = ENGINE | DRIVER;
byte caller; /* sessions are numbered from 1 */
bool inside;

byte n_running;  /* periods that run */
byte n_holders;  /* sessions between their exchange and their release */
bool has_period; /* the engine has a period to run */
bool format_changes;

inline door_shut(side)
{
  shut = shut | side
}

inline door_open(side)
{
  shut = shut & (3 ^ side)
}

/* ---- audio threads ---- */

inline may_enter()
{
  is_shut = (shut != 0);
  may = !is_shut && caller == me
}

inline run_period()
{
  atomic {
    assert(n_running == 0);
    n_running++
  }
  assert(has_period && !format_changes && caller == me); /* at the beginning, ... */
  assert(has_period && !format_changes && caller == me); /* ... and at the end */
  n_running--
}

inline release()
{
  atomic {
    inside = false;
    n_holders--
  }
}

proctype session(byte me)
{
  bool may, is_shut, was_inside;
  byte n;
  do
  :: n == PERIODS -> break
  :: n < PERIODS ->
    n++;
    may_enter();
    if
    :: !may
    :: else ->
#ifdef MUTANT_NOT_EXCHANGED
      was_inside = inside;
      atomic {
        inside = true;
        n_holders = n_holders + (was_inside -> 0 : 1)
      }
#else
      atomic {
        was_inside = inside;
        inside = true;
        assert(was_inside == (n_holders > 0));
        n_holders = n_holders + (was_inside -> 0 : 1)
      }
#endif
      if
      :: was_inside
      :: else ->
#ifndef MUTANT_NOT_CHECKED_AGAIN
        may_enter();
#endif
        if
        :: may ->
          run_period();
          release()
        :: else ->
#ifndef MUTANT_KEPT_OCCUPIED
          release()
#endif
        fi
      fi
    fi;
    was_inside = false;
    may = false;
    is_shut = false
  od
}

/* ---- the library's notification thread ---- */

proctype library()
{
  door_shut(DRIVER)
}

/* ---- the main thread ---- */

inline leave()
{
#ifdef MUTANT_NOT_WAITED
  skip
#else
  !inside
#endif
}

inline arm_engine()
{
#ifdef MUTANT_SHUT_LATE
  leave();
  door_shut(ENGINE);
#else
  door_shut(ENGINE);
  leave();
#endif
  has_period = false;
  if
  :: stops
  :: else ->
    has_period = true;
    door_open(ENGINE)
  fi
}

inline admit_any()
{
  if
  :: caller = 1
  :: caller = 2
  fi
}

inline arm_driver()
{
  door_shut(DRIVER);
  leave();
  format_changes = true;
  arm_engine();
  format_changes = false;
#ifdef MUTANT_ADMITTED_WHILE_OPEN
  door_open(DRIVER);
  admit_any()
#else
  admit_any();
  door_open(DRIVER)
#endif
}

proctype main_thread()
{
  bool stops;
  byte n;
  do
  :: n == ARMED -> break
  :: n < ARMED ->
    n++;
    if
    :: arm_driver()
    :: arm_engine()
    fi
  od;
  stops = true;
  door_shut(DRIVER);
  leave();
  arm_engine();
  assert(n_running == 0)
}

init
{
  atomic {
    run session(1);
    run session(2);
    run library();
    run main_thread()
  }
}
