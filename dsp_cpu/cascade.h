// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The common part of all effects that are cascades of second-order sections.  An effect file adds
   its parameter table and a function that designs the sections.

   A change of a parameter designs the next filter in the node.  Each unit then runs the old and the
   next filter side by side: the next one settles for up to the length of a ramp, then the output
   cross-fades to it over that length.  Changes during the cross-fade wait until it ends; then the
   latest change takes effect.

   Why the coefficients do not ramp: a filter that is swept from 80 Hz to 8 kHz in 20 ms turns the
   ringing of its resonance into a chirp, while a cross-fade of two fixed filters stays between
   their outputs.  The next filter takes over the state of the old one as far as their resonances
   overlap (cascade.c, fade_begin), so a small change is seamless at any Q and frequency.
*/
#ifndef WARPRACK_DSP_CPU_CASCADE_H
#define WARPRACK_DSP_CPU_CASCADE_H

#include "cascade_kernel.h"
#include "section.h"

#include "engine/contract/effect.h"

#include <stdlib.h>

#define CASCADE_MAX_PARAMS 8U

/**
   Design the sections for parameter values in the effect's order. [rt]

   @param values [n_params] as in FxSetup::values.
   @param[out] sections [n_sections], stable.
*/
typedef void (*CascadeDesign)(const double* values, double rate_hz, Section* sections);

/// The description of a cascade effect.
typedef struct CascadePlan {
  uint32_t n_params;   ///< At most CASCADE_MAX_PARAMS
  uint32_t n_sections; ///< 1..CASCADE_MAX_SECTIONS; fixed for the node's life
  CascadeDesign design;
} CascadePlan;

/// The last step of FxInfo::create: make the node from a plan.
NODISCARD Status // [builder]
cascade_create(const CascadePlan* plan, const FxSetup* setup, FxShape* shape, void** node,
               Error* error);

/// cascade_create() for a filter of one section.
NODISCARD Status // [builder]
cascade_create_one(uint32_t n_params, CascadeDesign design, const FxSetup* setup, FxShape* shape,
                   void** node, Error* error);

// The functions of every cascade's FxInfo.

void cascade_unit_init(const void* node, void* state, uint32_t channel);
void cascade_set(void* node, uint32_t param, double value, uint32_t ramp_frames);
void cascade_run(const FxUnit* units, uint32_t n_units, uint32_t n_frames);

extern const FxLinear cascade_linear;
extern const FxKernel cascade_kernel;

/// Frames until an impulse has fallen below -120 dB: the decay times of all poles, added up.
uint64_t cascade_tail(const void* node);

/// The members of a cascade's FxInfo that follow its name and summary: those of its parameter table
/// and its `create`, and those that all cascades share.
// clang-format off
#define CASCADE_MEMBERS(table, create_node)                                                        \
  .params = (table),                                                                               \
  .n_params = ARRAY_LEN(table),                                                                    \
  .tolerance = 1e-6,                                                                               \
  .tolerance_reason = "sections run in double, on a GPU in pairs of floats; the result is "        \
                      "rounded to float once, twice during a fade",                                \
  .create = (create_node),                                                                         \
  .destroy = free,                                                                                 \
  .unit_init = cascade_unit_init,                                                                  \
  .set = cascade_set,                                                                              \
  .run = cascade_run,                                                                              \
  .tail = cascade_tail,                                                                            \
  .linear = &cascade_linear,                                                                       \
  .kernel = &cascade_kernel
// clang-format on

#endif
