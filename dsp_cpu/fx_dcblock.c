// SPDX-License-Identifier: GPL-3.0-or-later
/*
   dcblock: removes the DC offset of a signal.

   Method: J. O. Smith III, "Introduction to Digital Filters with Audio Applications", W3K 2007,
   section "DC Blocker": a zero at DC and a pole just inside the unit circle.  Departure: the pole
   is computed so that the gain at the edge is exactly -3 dB. The filter is then the first-order
   Butterworth high-pass, s / (s + tan(pi f / rate)).
*/

#include "cascade.h"

enum { FREQUENCY };

// clang-format off
static const FxParam dcblock_params[] = {
  //              id           kind          unit     min     max  initial
  [FREQUENCY] = { "frequency", PARAM_NUMBER, UNIT_HZ, 1.0, 1000.0,     5.0, .taper = TAPER_LOG, .help = "Edge, 3 dB down" },
  FX_ENGINE_PARAMS,
};
// clang-format on

static void
dcblock_design(const double* const values, const double rate_hz, Section* const sections)
{
  sections[0] = section_first_order(1.0, 0.0, section_warp(values[FREQUENCY], rate_hz));
}

static Status
dcblock_create(const FxSetup* const setup, FxShape* const shape, void** const node,
               Error* const error)
{
  return cascade_create_one(ARRAY_LEN(dcblock_params), dcblock_design, setup, shape, node, error);
}

const FxInfo fx_dcblock_info = {
  .name = "dcblock",
  .summary = "Take out the constant part of the signal",
  CASCADE_MEMBERS(dcblock_params, dcblock_create),
};
