// SPDX-License-Identifier: GPL-3.0-or-later
/**
   When a worker is lost: who is to blame, and how long to wait before the next one.  Plain
   arithmetic on times that are given; no threads.
*/
#ifndef WARPRACK_ENGINE_REMOTE_BLAME_H
#define WARPRACK_ENGINE_REMOTE_BLAME_H

#include <stdbool.h>
#include <stdint.h>

#define BLAME_FIRST_REST_NS   UINT64_C(1000000000)
#define BLAME_LONGEST_REST_NS UINT64_C(60000000000)
#define BLAME_OUTSIDE_REST_NS UINT64_C(1000000000) // the longest after a kill from outside
#define BLAME_CRASHES         2U
#define BLAME_LOSSES          3U // of workers with the same edit, whoever ended them
#define BLAME_TRIAL_NS        UINT64_C(10000000000) // heard for longer, a rack is not to blame

/// How a worker was lost.
typedef struct Loss {
  bool from_outside; ///< By somebody's signal
  bool was_healthy;  ///< It had played
  bool had_edit;     ///< An edit was on its way
  bool had_rack;     ///< It had been given the rack
} Loss;

typedef enum Verdict { VERDICT_NONE, VERDICT_EDIT, VERDICT_RACK } Verdict;

/// What an edit has cost so far.
typedef struct EditLosses {
  uint32_t n_losses;  ///< Workers that were lost while they planned it
  uint32_t n_crashes; ///< Of these, by their own doing
} EditLosses;

typedef struct Blame {
  uint64_t rest_ns;   ///< Before the next start, when this one fails as well
  uint64_t heard_ns;  ///< When the rack was first heard of the present worker; 0: not yet
  uint32_t n_crashes; ///< Of workers that had the present rack, in a row
} Blame;

/// Another rack is heard, which has crashed so many workers as an edit.
void blame_new_rack(Blame* blame, uint32_t n_crashes, uint64_t now_ns);

/// A worker has begun to be heard.
void blame_heard(Blame* blame, uint64_t now_ns);

/// A worker is lost.  `edit` counts those of the edit on its way.  Returns whether that was once
/// too often for the edit or for the rack.
Verdict blame_loss(Blame* blame, const Loss* loss, EditLosses* edit, uint64_t now_ns);

/// For how long to wait before the next start. `cured`: what was to blame has been taken away.
uint64_t blame_rest(Blame* blame, const Loss* loss, bool cured);

#endif
