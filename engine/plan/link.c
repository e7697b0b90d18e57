// SPDX-License-Identifier: GPL-3.0-or-later
// Links, which outlive a plan.

#include "node.h"

#include "engine/base/rt.h"

#include <stdlib.h>
#include <string.h>

uint32_t
link_line_mask(const uint32_t delay_frames, const uint32_t block_frames)
{
  const uint64_t least = (uint64_t)delay_frames + block_frames;
  uint64_t n_frames = 1;
  while (n_frames < least) {
    n_frames *= 2U;
  }
  return (uint32_t)(n_frames - 1U);
}

Status
link_new(const Link* const like, const float gain, const uint32_t delay_frames,
         const uint32_t block_frames, Link** const out, Error* const error)
{
  Link* const link = malloc(sizeof(Link));
  if (!link) {
    return error_set(error, STATUS_NO_MEM, "a connection: out of memory");
  }
  *link = *like;
  link->refs = 1;
  link->gain = gain;
  link->is_loaded = !delay_frames;
  link->mix = (MixLink){
    .gain = ramp_at(gain),
    .next = ramp_at(gain),
    .delay_frames = delay_frames,
    .line_mask = link_line_mask(delay_frames, block_frames),
  };
  *out = link;
  return STATUS_OK;
}

void
link_mute(Link* const link)
{
  link->gain = 0.0F;
  link->mix.gain = link->mix.next = ramp_at(0.0F);
}

static size_t
line_bytes(const Link* const link)
{
  return link->n_to * ((size_t)link->mix.line_mask + 1U) * sizeof(float);
}

size_t
link_memory(const Link* const link)
{
  return sizeof(Link) + (link->mix.delay_frames ? line_bytes(link) : 0U);
}

Status
link_load(Link* const link, Error* const error)
{
  MixLink* const mix = &link->mix;
  Status status = STATUS_OK;
  if (link->is_loaded) {
    return STATUS_OK;
  }
  if (link->backend->lines_new) {
    status = link->backend->lines_new(link->backend, link->n_to, mix->line_mask + 1U, &mix->device,
                                      error);
  } else {
    mix->lines = rt_memory(line_bytes(link));
    status =
        mix->lines ? STATUS_OK : error_set(error, STATUS_NO_MEM, "a connection: out of memory");
  }
  link->is_loaded = !status;
  return status;
}

void
link_unref(Link* const link)
{
  if (link && --link->refs == 0U) {
    if (link->mix.device) {
      link->backend->memory_free(link->mix.device);
    }
    free(link->mix.lines);
    free(link);
  }
}

void
link_reset(Link* const link)
{
  if (link->mix.device) {
    link->backend->memory_reset(link->mix.device);
  }
  if (link->mix.lines) {
    memset(link->mix.lines, 0, line_bytes(link));
  }
}
