// SPDX-License-Identifier: GPL-3.0-or-later
// The formats that an engine can play.

#include "format.h"

#include "effect.h"

Status
format_check(const Format* const format, Error* const error)
{
  if (!(format->rate_hz >= FORMAT_MIN_RATE_HZ && format->rate_hz <= FORMAT_MAX_RATE_HZ) ||
      format->block_frames < 1U || format->block_frames > FX_MAX_BLOCK) {
    return error_set(error, STATUS_BAD_ARG,
                     "a rate of %g Hz with blocks of %u frames is not supported (%.0f to %.0f "
                     "Hz, 1 to %u frames)",
                     format->rate_hz, format->block_frames, FORMAT_MIN_RATE_HZ, FORMAT_MAX_RATE_HZ,
                     FX_MAX_BLOCK);
  }
  if (format->n_in < 1U || format->n_in > FX_MAX_CHANNELS || format->n_out > FX_MAX_CHANNELS) {
    return error_set(error, STATUS_BAD_ARG, "%u:%u channels: 1 to %u inputs, at most %u outputs",
                     format->n_in, format->n_out, FX_MAX_CHANNELS, FX_MAX_CHANNELS);
  }
  if (!format->n_out && !format->offline) {
    return error_set(error, STATUS_BAD_ARG, "only files leave the number of outputs to the rack");
  }
  return STATUS_OK;
}
