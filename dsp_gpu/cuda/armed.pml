/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
   A model of cuda_record.c for the model checker spin: blocks that are submitted to a device that
   is armed, or not; edits; a device whose wait of 50 ms ends. tests/models.sh checks every
   interleaving.

   There are two plans with two recordings each; the player begins with the first plan.  The builder
   rehearses the recordings of the second plan, offers it, and frees those of the first.  The device
   runs a queue of chains.  Proved:
     - each block runs once, and in order, with the recording's own input
     - the player takes a block as done only after it has run, and in the end has all blocks
     - the device runs no chain, and no thread writes a word, of a recording that was freed

   | here          | cuda_record.c                                                            |
   |---------------|--------------------------------------------------------------------------|
   | device()      | a lane: warprack_await, the kernels of a chain, warprack_done and _ended |
   | begin         | begin()                                                                  |
   | submit, poll  | cuda_submit(), cuda_poll()                                               |
   | rest          | cuda_arm(), by stage_gpu_rest()                                          |
   | leave         | cuda_disarm(), by stage_gpu_leave(): take_offer() in player.c            |
   | rehearse      | cuda_rehearse(), by try_out() in stage_setup.c                           |
   | free          | wait_for_end() in cuda_recording_free()                                  |

   The model has one order of all accesses (sequential consistency).  The host's stores to `go` and
   `done` are releases, the device reads and writes these words with fences at system scope, and a
   launch orders what is before it.

   Each MUTANT_ is an error that spin must find; see tests/models.sh.
*/

#define BLOCKS 3
#define RECORDINGS 4 /* the plan p has 2 * p and 2 * p + 1 */
#define NONE 255
#define WAIT 0
#define GO 1
#define CANCEL 2
#define DONE 1
#define VOID 2

byte go[RECORDINGS], done[RECORDINGS];
byte input[RECORDINGS] = NONE; /* the block that the host has written, NONE while it writes */
bool is_ahead[RECORDINGS], is_freed[RECORDINGS];
byte armed = NONE;    /* GpuDevice::armed */
bool offered, is_retired;
byte n_run;           /* blocks that have run */
byte n_launched, n_ended; /* chains */
bool player_done, builder_done;

/* A chain: its recording, whether it was launched ahead, and whether a block belongs to it. */
chan lane = [8] of { byte, bool, bool };

inline launch(r, ahead, has_block)
{
  atomic {
    n_launched++;
    lane ! r, ahead, has_block
  }
}

inline cancel(r)
{
  if
  :: r != NONE ->
    assert(!is_freed[r]);
    go[r] = CANCEL
  :: else
  fi
}

inline begin(r, has_block)
{
  is_ahead[r] = false;
  done[r] = 0;
  launch(r, false, has_block)
}

active proctype device()
{
  byte r;
  bool ahead, has_block, is_void;
end:
  do
  :: lane ? r, ahead, has_block ->
    is_void = false;
    assert(!is_freed[r]);
    if
    :: ahead ->
      if
      :: go[r] == GO
      :: go[r] == CANCEL -> is_void = true
      :: go[r] == WAIT -> is_void = true /* its 50 ms have passed */
      :: go[r] == WAIT -> /* it waits */
        if
        :: go[r] == GO
        :: go[r] == CANCEL -> is_void = true
        :: player_done || builder_done -> is_void = true
        fi
      fi
    :: else
    fi;
    if
    :: !is_void && has_block ->
      assert(input[r] == n_run); /* in order, once, not while the host writes */
      n_run++
    :: else /* a run without a block, or a rehearsal, changes nothing */
    fi;
    assert(!is_freed[r]);
    if
    :: is_void ->
#ifdef MUTANT_VOID_IS_DONE
      done[r] = DONE
#else
      done[r] = VOID
#endif
    :: else -> done[r] = DONE
    fi;
    n_ended++
  od
}

active proctype player()
{
  byte block, slot, plan, r, was;
  done[0] = DONE; /* rehearsed */
  done[1] = DONE;
  do
  :: block < BLOCKS ->
    if
    :: offered && plan == 0 -> /* leave */
#ifndef MUTANT_NO_LEAVE
      if
      :: armed == slot ->
        was = armed;
        armed = NONE;
        cancel(was)
      :: else
      fi;
#endif
      plan = 1;
      slot = 0;
      is_retired = true
    :: else
    fi;
    r = 2 * plan + slot;
    input[r] = NONE;
#ifndef MUTANT_LATE_INPUT
    input[r] = block;
#endif
    /* submit */
    was = armed;
    armed = NONE;
    if
    :: was == r ->
      is_ahead[r] = true;
      go[r] = GO
    :: else ->
      cancel(was);
      begin(r, true)
    fi;
#ifdef MUTANT_LATE_INPUT
    input[r] = block;
#endif
    /* poll */
    do
    :: done[r] == DONE -> break
#ifndef MUTANT_NO_RELAUNCH
    :: done[r] == VOID && is_ahead[r] -> begin(r, true)
#endif
    od;
    assert(n_run == block + 1);
    block++;
    slot = 1 - slot;
    /* rest, or not: then the next block is launched */
    if
    :: true ->
      r = 2 * plan + slot;
      if
      :: done[r] != 0 && armed == NONE ->
#ifndef MUTANT_KEEP_GO
        go[r] = WAIT;
#endif
        done[r] = 0;
        launch(r, true, true);
        armed = r
      :: else
      fi
    :: true
    fi
  :: block == BLOCKS -> break
  od;
  assert(n_run == BLOCKS);
  player_done = true
}

active proctype builder()
{
  byte r, was, n;
  r = 2;
  do
  :: r < RECORDINGS ->
    was = armed;
    cancel(was);
    begin(r, false);
    done[r] != 0;
    r++
  :: else -> break
  od;
  offered = true;
  builder_done = true;
  is_retired || player_done;
  if
  :: is_retired ->
    r = 0;
    do
    :: r < 2 -> /* free */
      if
      :: armed == r ->
        armed = NONE;
        cancel(r)
      :: else
      fi;
#ifndef MUTANT_FREE_AT_ONCE
      if
      :: done[r] == 0 ->
        n = n_launched;
        n_ended >= n
      :: else
      fi;
#endif
      is_freed[r] = true;
      r++
    :: else -> break
    od
  :: else
  fi
}
