// SPDX-License-Identifier: GPL-3.0-or-later
// The documents for a new worker: the active rack has every value that was set, at most one edit is
// pending, and a rack in quarantine is refused until its time is over.

#include "engine/supervisor/rack_history.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static RackHistory history;

static void
begin(void)
{
  ck_assert_int_eq(rack_history_init(&history), STATUS_OK);
}

static void
end(void)
{
  rack_history_clear(&history);
}

/// Add a pending edit, whose new uids follow those of earlier edits.  Returns its first node's uid.
static RackUid
add(const uint64_t id, const char* const text)
{
  static RackUid next_uid = RACK_UID_FIRST;
  SCOPED_RACK Rack* const rack = rack_of(text, history.active);
  rack->next_uid = next_uid = rack->next_uid > next_uid ? rack->next_uid : next_uid;
  ck_assert_int_eq(rack_history_add(&history, id, rack, 0, 1), STATUS_OK);
  const RackUid uid = rack->n_nodes ? rack->nodes[0].uid : RACK_UID_NONE;
  return uid;
}

static void
assert_is(const Rack* const rack, const char* const text)
{
  SCOPED_RACK Rack* const expected = rack_of(text, NULL);
  SCOPED_MEMORY char* const is = rack_print(rack);
  ck_assert_msg(rack_equal(rack, expected), "%s, not %s", is, text);
}

static void
note(const RackUid uid, const uint32_t param, const double value)
{
  rack_history_note(&history, &(ParamMessage){ .uid = uid, .param = param, .value = value }, 1);
}

TEST(one_edit_is_pending_at_a_time)
{
  begin();
  assert_is(history.active, "");
  add(1, "g: gain -3dB");
  ck_assert_uint_eq(history.pending->id, 1);
  SCOPED_RACK Rack* const other = rack_of("g: gain -6dB", NULL);
  ck_assert_int_eq(rack_history_add(&history, 2, other, 0, 1), STATUS_LIMIT);
  ck_assert_uint_eq(history.pending->id, 1);
  rack_history_activate_pending(&history);
  assert_is(history.active, "g: gain -3dB");
  assert_is(history.before, "");
  add(2, "g: gain -6dB");
  rack_history_drop_pending(&history); // as after a refusal
  ck_assert(!history.pending);
  add(3, "g: gain -9dB");
  ck_assert_uint_eq(history.pending->id, 3);
  rack_history_activate_pending(&history);
  assert_is(history.active, "g: gain -9dB");
  assert_is(history.before, "g: gain -3dB");
  end();
}

TEST(values_are_stored_in_the_playing_rack_and_in_the_pending_edit)
{
  begin();
  const RackUid uid = add(1, "g: gain -3dB");
  rack_history_activate_pending(&history);
  add(2, "g: gain -3dB | invert");
  note(uid, 0, -12.0);
  assert_is(history.active, "g: gain -12dB");
  assert_is(history.pending->rack, "g: gain -12dB | invert");
  note(uid, 0, 0.0); // the default of the parameter
  assert_is(history.active, "g: gain");
  end();
}

TEST(values_that_follow_the_tempo_follow_it_in_all_racks)
{
  begin();
  const RackUid uid = add(1, "d: delay");
  rack_history_activate_pending(&history);
  add(2, "d: delay | gain");
  const int bpm = fx_param_find(history.active->nodes[0].fx, "bpm");
  ParamMessage message = { .uid = uid, .param = (uint32_t)bpm, .value = 90.0, .tempo_bpm = 90.0 };
  rack_history_note(&history, &message, 1);
  assert_is(history.active, "chain d: delay bpm=tempo\ntempo 90");
  assert_is(history.pending->rack, "chain d: delay bpm=tempo | gain\ntempo 90");
  note(uid, (uint32_t)bpm, 90.0); // a hand
  assert_is(history.active, "chain d: delay bpm=90\ntempo 90");
  message.tempo_bpm = message.value = 80.0;
  rack_history_note(&history, &message, 1);
  assert_is(history.active, "chain d: delay bpm=tempo\ntempo 80");
  message.tempo_bpm = 1e9; // invalid
  rack_history_note(&history, &message, 1);
  assert_is(history.active, "chain d: delay bpm=tempo\ntempo 80");
  end();
}

TEST(invalid_values_are_left_out)
{
  begin();
  const RackUid uid = add(1, "f: highpass 100 order=4");
  rack_history_activate_pending(&history);
  note(uid + 1U, 0, 200.0); // no such node
  note(uid, 99, 200.0);     // no such parameter
  note(uid, 0, -1.0);       // out of range
  for (uint32_t p = 0; p < history.active->nodes[0].fx->n_params; ++p) {
    if (history.active->nodes[0].fx->params[p].structural) {
      note(uid, p, history.active->nodes[0].fx->params[p].max);
    }
  }
  assert_is(history.active, "f: highpass 100 order=4");
  note(uid, 0, 200.0);
  assert_is(history.active, "f: highpass 200 order=4");
  end();
}

TEST(a_rack_that_crashed_is_reverted_and_banned_for_a_time)
{
  begin();
  add(1, "g: gain -3dB");
  rack_history_activate_pending(&history);
  add(2, "g: gain -6dB");
  rack_history_activate_pending(&history);
  ck_assert(rack_history_quarantine(&history, "it crashed", 1000));
  assert_is(history.active, "g: gain -3dB");
  ck_assert(!history.before);
  add(3, "g: gain -6dB");
  ck_assert_int_eq(history.pending->refusal.status, STATUS_WORKER);
  ck_assert_str_eq(history.pending->refusal.text, "it crashed");
  rack_history_drop_pending(&history);
  add(4, "g: gain -7dB"); // another rack
  ck_assert_int_eq(history.pending->refusal.status, STATUS_OK);
  rack_history_drop_pending(&history);

  Rack* const again = rack_of("g: gain -6dB", NULL);
  ck_assert_int_eq(rack_history_add(&history, 5, again, 0, 1000 + RACK_HISTORY_BAN_NS - 1U),
                   STATUS_OK);
  ck_assert_int_eq(history.pending->refusal.status, STATUS_WORKER);
  rack_history_drop_pending(&history);
  ck_assert_int_eq(rack_history_add(&history, 6, again, 0, 1000 + RACK_HISTORY_BAN_NS), STATUS_OK);
  ck_assert_int_eq(history.pending->refusal.status, STATUS_OK);
  rack_free(again);
  end();
}

TEST(when_the_previous_rack_crashes_too_the_empty_rack_is_used)
{
  begin();
  add(1, "g: gain -3dB");
  rack_history_activate_pending(&history);
  const RackUid uid = add(2, "h: gain -6dB");
  rack_history_activate_pending(&history);
  ck_assert(rack_history_quarantine(&history, "it crashed", 1000));
  ck_assert(rack_history_quarantine(&history, "this one, too", 2000));
  assert_is(history.active, "");
  ck_assert_uint_gt(history.active->next_uid, uid); // no uid is used twice
  add(3, "g: gain -3dB");
  ck_assert_str_eq(history.pending->refusal.text, "this one, too");
  end();
}

TEST(the_oldest_ban_is_dropped_for_a_new_one)
{
  begin();
  char text[32];
  for (uint32_t b = 0; b < RACK_HISTORY_MAX_BANNED + 1U; ++b) {
    snprintf(text, sizeof(text), "g: gain -%udB", b + 1U);
    add(b + 1U, text);
    rack_history_activate_pending(&history);
    ck_assert(rack_history_quarantine(&history, text, b));
  }
  add(100, "g: gain -1dB");
  ck_assert_int_eq(history.pending->refusal.status, STATUS_OK);
  rack_history_drop_pending(&history);
  add(101, "g: gain -2dB");
  ck_assert_int_eq(history.pending->refusal.status, STATUS_WORKER);
  end();
}

TEST(a_pending_edit_keeps_its_first_refusal)
{
  begin();
  rack_history_refuse(&history, "nothing is pending");
  add(1, "g: gain -3dB");
  rack_history_refuse(&history, "no longer");
  rack_history_refuse(&history, "once more");
  ck_assert_int_eq(history.pending->refusal.status, STATUS_WORKER);
  ck_assert_str_eq(history.pending->refusal.text, "no longer");
  end();
}

SUITE_MAIN("rack_history")
