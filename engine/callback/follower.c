// SPDX-License-Identifier: GPL-3.0-or-later
// The window has two halves.  When the newer half is full, it replaces the older one, so that no
// block counts for more than 0.5 s.

#include "follower.h"

#include <math.h>

#define HALF_S  0.25
#define LEAST_S 0.1  // counted before the level changes
#define SILENCE 1e-9 // mean square, -90 dBFS
#define QUIET   1e-3 // of the mean square of the counted blocks, -30 dB

void
follower_begin(Follower* const follower, const double rate_hz, const float level)
{
  *follower = (Follower){ .half_frames = HALF_S * rate_hz, .level = (double)level };
}

void
follower_update(Follower* const follower, const double wet, const double dry,
                const uint32_t n_frames)
{
  FollowerSum* const now = &follower->now;
  FollowerSum* const before = &follower->before;
  const double mean = (now->dry + before->dry) / fmax(1.0, now->n_frames + before->n_frames);
  const bool is_quiet = dry < n_frames * fmax(SILENCE, QUIET * mean);
  const bool raises = wet >= follower->level * follower->level * dry;
  if (is_quiet && raises) {
    return;
  }
  now->wet += wet;
  now->dry += dry;
  now->n_frames += n_frames;
  if (now->n_frames + before->n_frames >= LEAST_S / HALF_S * follower->half_frames) {
    follower->level = sqrt(fmin(1.0, (now->wet + before->wet) / (now->dry + before->dry)));
  }
  if (now->n_frames >= follower->half_frames) {
    *before = *now;
    *now = (FollowerSum){ 0 };
  }
}
