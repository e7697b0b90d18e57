// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The detector and the gain stage of dynamics effects: one peak magnitude per frame in, one gain
   per frame out, for a single channel or for all channels of a linked node. kernels/sidechain.h
   does the same on a device.
*/
#ifndef WARPRACK_DSP_CPU_SIDECHAIN_H
#define WARPRACK_DSP_CPU_SIDECHAIN_H

#include "engine/contract/effect.h"

#include <math.h>
#include <string.h>

// Frames processed at a time, so that every scratch array stays in the first-level cache; also the
// tile of the kernels.
#define SIDECHAIN_CHUNK 64U

/// The side input of an effect that measures sidechain_peak(): as many channels as the unit.
extern const FxSide sidechain_input;

/// The set-up that all dynamics effects share.
typedef struct Sidechain {
  double rate_hz;
  uint32_t n_channels;  ///< Channels of one unit
  uint32_t ramp_frames; ///< Length of the ramps of all settings
} Sidechain;

/// One unit for all channels when linked, otherwise one unit for each channel; sets `shape`
/// accordingly. [builder]
Sidechain sidechain_new(const FxSetup* setup, bool is_linked, FxShape* shape);

/// Describe a kernel that includes kernels/sidechain.h: one group for each unit. [builder]
void sidechain_kernel_shape(const Sidechain* sidechain, const char* entry, uint32_t param_words,
                            uint64_t state_words, FxKernelShape* shape);

/// Write a setting into the words of a kernel. [rt]
static inline void
sidechain_pack(uint32_t* const word, const float setting)
{
  memcpy(word, &setting, sizeof(setting));
}

/// peak[i] = the largest |in[c][first + i]| over the channels, or |side[c][first + i]| if the side
/// input is connected; NaN is ignored. [rt]
void sidechain_peak(const FxUnit* io, uint32_t n_channels, uint32_t first, float* peak,
                    uint32_t n_frames);

/// out[c] = in[c] * gain, for every channel. [rt]
void sidechain_apply(const FxUnit* io, uint32_t n_channels, uint32_t first, const float* gain,
                     uint32_t n_frames);

/// Pole of a one-pole smoother that covers 1 - 1/e of a step in `ms`; 0 ms disables smoothing.
static inline double
sidechain_pole(const double ms, const double rate_hz)
{
  return ms > 0.0 ? exp(-1000.0 / (ms * rate_hz)) : 0.0;
}

#endif
