// SPDX-License-Identifier: GPL-3.0-or-later
// The region of the ring in its memfd: layout, creation, and checks of a region from another
// process.

#include "ring_private.h"

#include "engine/base/rt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RING_MAGIC   0x676E697270726177U // "warpring" in memory
#define RING_VERSION 8U
#define SEALS        (F_SEAL_SHRINK | F_SEAL_GROW)       // of its size
#define LAST_SEALS   (F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) // after the other side has mapped it

static uint64_t
round_up(const uint64_t n, const uint64_t multiple)
{
  return (n + multiple - 1U) / multiple * multiple;
}

static RingLayout
layout_of(const RingShape* const shape)
{
  RingLayout layout = { .row_bytes =
                            round_up(shape->block_frames * sizeof(float), RING_ROW_BYTES) };
  layout.midi_offset = RING_ROW_BYTES + (shape->n_in + shape->n_out) * layout.row_bytes;
  layout.slot_bytes =
      round_up(layout.midi_offset + shape->n_midi * sizeof(MidiEvent), RING_LINE_BYTES);
  layout.slots_offset = round_up(sizeof(RingHeader), RING_LINE_BYTES);
  layout.messages_offset = layout.slots_offset + shape->n_slots * layout.slot_bytes;
  layout.reports_offset =
      round_up(layout.messages_offset + shape->n_messages * sizeof(ParamMessage), RING_LINE_BYTES);
  layout.region_bytes = layout.reports_offset + ring_n_reports(shape) * sizeof(RingReport);
  return layout;
}

static bool
is_power_of_two(const uint32_t n)
{
  return n && !(n & (n - 1U));
}

static Status
check_shape(const RingShape* const shape, Error* const error)
{
  const struct {
    const char* name;
    uint32_t value, min, max;
    bool power_of_two;
  } fields[] = {
    { "n_in", shape->n_in, 0, 1024U, false },
    { "n_out", shape->n_out, 0, 1024U, false },
    { "block_frames", shape->block_frames, 1U, 8192U, false },
    { "n_slots", shape->n_slots, 4U, 64U, true },
    { "n_messages", shape->n_messages, 1U, 1U << 20U, true },
    { "n_midi", shape->n_midi, 0, 1024U, false },
  };
  for (size_t f = 0; f < ARRAY_LEN(fields); ++f) {
    if (fields[f].value < fields[f].min || fields[f].value > fields[f].max ||
        (fields[f].power_of_two && !is_power_of_two(fields[f].value))) {
      return error_set(error, STATUS_BAD_ARG, "block ring: %s is %u, must be %u..%u%s",
                       fields[f].name, fields[f].value, fields[f].min, fields[f].max,
                       fields[f].power_of_two ? " and a power of two" : "");
    }
  }
  return STATUS_OK;
}

static Status
map_region(Ring* const ring, Error* const error)
{
  void* const memory =
      mmap(NULL, ring->layout.region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
  if (memory == MAP_FAILED) {
    return error_set(error, STATUS_NO_MEM, "cannot map the block ring (%llu bytes): %s",
                     (unsigned long long)ring->layout.region_bytes, strerror(errno));
  }
  ring->header = memory;
  return STATUS_OK;
}

static Status
make_region(Ring* const ring, Error* const error)
{
  ring->fd = memfd_create("warprack-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (ring->fd < 0 || ftruncate(ring->fd, (off_t)ring->layout.region_bytes) != 0 ||
      fcntl(ring->fd, F_ADD_SEALS, SEALS) != 0) {
    return error_set(error, STATUS_NO_MEM, "cannot make the block ring (%llu bytes): %s",
                     (unsigned long long)ring->layout.region_bytes, strerror(errno));
  }
  const Status status = map_region(ring, error);
  if (!status) {
    memset(ring->header, 0, ring->layout.region_bytes); // already zero; makes every page present
    ring->header->magic = RING_MAGIC;
    ring->header->version = RING_VERSION;
    ring->header->shape = ring->shape;
    ring->header->layout = ring->layout;
  }
  return status;
}

static Ring*
view_new(void)
{
  Ring* const ring = aligned_alloc(RING_LINE_BYTES, sizeof(Ring));
  if (ring) {
    memset(ring, 0, sizeof(Ring));
    ring->fd = -1;
  }
  return ring;
}

Status
ring_new(const RingShape* const shape, Ring** const out, Error* const error)
{
  Status status = check_shape(shape, error);
  if (status) {
    return status;
  }
  Ring* const ring = view_new();
  if (!ring) {
    return error_set(error, STATUS_NO_MEM, "no memory for the block ring");
  }
  ring->shape = *shape;
  ring->layout = layout_of(shape);
  status = make_region(ring, error);
  if (status) {
    ring_free(ring);
    return status;
  }
  *out = ring;
  return STATUS_OK;
}

/// Read the constant part once, into private memory, so that a later change in the region cannot
/// replace a checked value.
static Status
check_header(const int fd, Ring* const ring, Error* const error)
{
  struct stat file;
  RingHeader header;
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & SEALS) != SEALS) {
    return error_set(error, STATUS_BAD_ARG, "block ring: not a sealed memory file");
  }
  if (fstat(fd, &file) != 0 || pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header)) {
    return error_set(error, STATUS_BAD_ARG, "block ring: too short for a header");
  }
  if (header.magic != RING_MAGIC || header.version != RING_VERSION) {
    return error_set(error, STATUS_BAD_ARG, "block ring: magic or version %u differs from %u",
                     header.version, RING_VERSION);
  }
  const Status status = check_shape(&header.shape, error);
  if (status) {
    return status;
  }
  ring->shape = header.shape;
  ring->layout = layout_of(&header.shape);
  if (memcmp(&ring->layout, &header.layout, sizeof(RingLayout)) != 0 ||
      (uint64_t)file.st_size != ring->layout.region_bytes) {
    return error_set(error, STATUS_BAD_ARG, "block ring: layout or size does not fit its shape");
  }
  return STATUS_OK;
}

/// Start from the current counters.
static Status
adopt_counters(Ring* const ring, Error* const error)
{
  RingHeader* const header = ring->header;
  ring->submitted = atomic_load(&header->submitted);
  ring->finished = ring->finished_seen = atomic_load(&header->finished);
  ring->sent = atomic_load(&header->sent);
  ring->received = atomic_load(&header->received);
  ring->wakes_seen = atomic_load(&header->wakes);
  ring->reported = ring->published = atomic_load(&header->reported);
  ring->reports_taken = atomic_load(&header->reports_taken);
  if (ring->submitted - ring->finished > ring->shape.n_slots ||
      ring->sent - ring->received > ring->shape.n_messages ||
      ring->reported - ring->reports_taken > ring_n_reports(&ring->shape)) {
    return error_set(error, STATUS_BAD_ARG, "block ring: counters out of range");
  }
  return STATUS_OK;
}

Status
ring_attach(const int fd, Ring** const out, Error* const error)
{
  Ring* const ring = view_new();
  if (!ring) {
    return error_set(error, STATUS_NO_MEM, "no memory for the block ring");
  }
  Status status = check_header(fd, ring, error);
  if (!status && (ring->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0) {
    status = error_set(error, STATUS_LIMIT, "block ring: %s", strerror(errno));
  }
  status = status ? status : map_region(ring, error);
  status = status ? status : adopt_counters(ring, error);
  if (!status) {
    rt_touch_shared(ring->header, ring->layout.region_bytes);
  }
  if (status) {
    ring_free(ring);
    return status;
  }
  *out = ring;
  return STATUS_OK;
}

bool
ring_seal(const Ring* const ring)
{
  const bool is_done = !fcntl(ring->fd, F_ADD_SEALS, LAST_SEALS) || errno == EINVAL;
  const int seals = fcntl(ring->fd, F_GET_SEALS);
  rt_touch_shared(ring->header, ring->layout.region_bytes);
  return is_done || (seals >= 0 && (seals & F_SEAL_FUTURE_WRITE));
}

void
ring_free(Ring* const ring)
{
  if (!ring) {
    return;
  }
  if (ring->header) {
    munmap(ring->header, ring->layout.region_bytes);
  }
  if (ring->fd >= 0) {
    close(ring->fd);
  }
  free(ring);
}

int
ring_fd(const Ring* const ring)
{
  return ring->fd;
}

const RingShape*
ring_shape(const Ring* const ring)
{
  return &ring->shape;
}

void*
ring_memory(const Ring* const ring, size_t* const n_bytes)
{
  *n_bytes = ring->layout.region_bytes;
  return ring->header;
}

RingSlot*
ring_slot_at(const Ring* const ring, const uint64_t sequence)
{
  const uint64_t index = sequence & (ring->shape.n_slots - 1U);
  return (RingSlot*)((char*)ring->header + ring->layout.slots_offset +
                     index * ring->layout.slot_bytes);
}

SlotHeader*
ring_slot(const Ring* const ring, const uint64_t sequence)
{
  return &ring_slot_at(ring, sequence)->header;
}

float*
ring_input(const Ring* const ring, const uint64_t sequence, const uint32_t channel)
{
  char* const slot = (char*)ring_slot_at(ring, sequence);
  return (float*)(slot + RING_ROW_BYTES + channel * ring->layout.row_bytes);
}

float*
ring_output(const Ring* const ring, const uint64_t sequence, const uint32_t channel)
{
  return ring_input(ring, sequence, ring->shape.n_in + channel);
}

MidiEvent*
ring_midi(const Ring* const ring, const uint64_t sequence)
{
  return (MidiEvent*)((char*)ring_slot_at(ring, sequence) + ring->layout.midi_offset);
}
