// SPDX-License-Identifier: GPL-3.0-or-later
/*
   The region in its memfd, and one side's view of it.

   The classic bounded single-producer single-consumer queue (Lamport, "Specifying Concurrent
   Program Modules", ACM TOPLAS 5(2), 1983) with counters that never wrap: 64 bits last for
   millennia of blocks.  ring.h explains how sides sleep.
*/

#include "ring.h"

#include "rt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RING_MAGIC   0x676E697270726177U // "warpring" in memory
#define RING_VERSION 1U
#define LINE_BYTES   128U // two cache lines: the prefetcher fetches pairs
#define ROW_BYTES    64U  // alignment of a channel
#define SEALS        (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

// A wait for the other side spins this long before it sleeps: a few times what a futex wake costs.
#define PRODUCER_SPIN_NS 20000U
#define PAUSES_PER_LOOK  16U // between two looks at the clock

/// Where one side sleeps and the other wakes it.
typedef struct Bell {
  _Atomic uint32_t rung;   ///< Futex word: changed by whoever wakes
  _Atomic uint32_t asleep; ///< Written by the sleeper only
} Bell;

/// Where things are: follows from the shape, and is kept in the region so that both sides agree.
typedef struct Layout {
  uint64_t row_bytes, slot_bytes;
  uint64_t slots_offset, messages_offset, region_bytes;
} Layout;

/// The beginning of the region.  What comes before the counters never changes.
typedef struct RingHeader {
  uint64_t magic;
  uint32_t version;
  RingShape shape;
  Layout layout;
  alignas(LINE_BYTES) _Atomic uint64_t submitted; // by the producer
  alignas(LINE_BYTES) _Atomic uint64_t finished;  // by the consumer
  alignas(LINE_BYTES) Bell consumer;
  _Atomic uint32_t wakes; // ring_wake() calls
  alignas(LINE_BYTES) Bell producer;
  alignas(LINE_BYTES) _Atomic uint64_t sent;     // by the sender of messages
  alignas(LINE_BYTES) _Atomic uint64_t received; // by the receiver
} RingHeader;

// Private to this side; in one process, producer, consumer and sender share it and write their own
// line only.
struct Ring {
  RingHeader* header;
  RingShape shape;
  Layout layout;
  int fd;
  alignas(LINE_BYTES) uint64_t submitted; // producer's own counter
  uint64_t finished_seen;                 // last `finished` that could be
  alignas(LINE_BYTES) uint64_t finished;  // consumer's own counter
  uint32_t wakes_seen;
  uint64_t received;
  alignas(LINE_BYTES) uint64_t sent;
  alignas(LINE_BYTES) _Atomic uint64_t faults;
};

// ---- the region ----

static uint64_t
round_up(const uint64_t n, const uint64_t multiple)
{
  return (n + multiple - 1U) / multiple * multiple;
}

static Layout
layout_of(const RingShape* const shape)
{
  Layout layout = { .row_bytes = round_up(shape->block_frames * sizeof(float), ROW_BYTES) };
  layout.slot_bytes =
      round_up(ROW_BYTES + (shape->n_in + shape->n_out) * layout.row_bytes, LINE_BYTES);
  layout.slots_offset = round_up(sizeof(RingHeader), LINE_BYTES);
  layout.messages_offset = layout.slots_offset + shape->n_slots * layout.slot_bytes;
  layout.region_bytes = layout.messages_offset + shape->n_messages * sizeof(ParamMessage);
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
  void* const memory = mmap(NULL, ring->layout.region_bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_POPULATE, ring->fd, 0);
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
    memset(ring->header, 0, ring->layout.region_bytes); // zero already; every page is ours now
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
  Ring* const ring = aligned_alloc(LINE_BYTES, sizeof(Ring));
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

/// Read what never changes, once, into private memory: what is checked is what is used.
static Status
check_header(const int fd, Ring* const ring, Error* const error)
{
  struct stat file;
  RingHeader header;
  if (fcntl(fd, F_GET_SEALS) < 0 || (fcntl(fd, F_GET_SEALS) & SEALS) != SEALS) {
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
  if (memcmp(&ring->layout, &header.layout, sizeof(Layout)) != 0 ||
      (uint64_t)file.st_size != ring->layout.region_bytes) {
    return error_set(error, STATUS_BAD_ARG, "block ring: layout or size does not fit its shape");
  }
  return STATUS_OK;
}

/// Take over the counters where they stand.
static Status
adopt_counters(Ring* const ring, Error* const error)
{
  RingHeader* const header = ring->header;
  ring->submitted = atomic_load(&header->submitted);
  ring->finished = ring->finished_seen = atomic_load(&header->finished);
  ring->sent = atomic_load(&header->sent);
  ring->received = atomic_load(&header->received);
  ring->wakes_seen = atomic_load(&header->wakes);
  if (ring->submitted - ring->finished > ring->shape.n_slots ||
      ring->sent - ring->received > ring->shape.n_messages) {
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
  if (!status) {
    status = map_region(ring, error);
  }
  if (!status) {
    status = adopt_counters(ring, error);
  }
  if (status) {
    ring_free(ring);
    return status;
  }
  *out = ring;
  return STATUS_OK;
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

static char*
slot_at(const Ring* const ring, const uint64_t sequence)
{
  const uint64_t index = sequence & (ring->shape.n_slots - 1U);
  return (char*)ring->header + ring->layout.slots_offset + index * ring->layout.slot_bytes;
}

SlotHeader*
ring_slot(const Ring* const ring, const uint64_t sequence)
{
  return (SlotHeader*)slot_at(ring, sequence);
}

float*
ring_input(const Ring* const ring, const uint64_t sequence, const uint32_t channel)
{
  return (float*)(slot_at(ring, sequence) + ROW_BYTES + channel * ring->layout.row_bytes);
}

float*
ring_output(const Ring* const ring, const uint64_t sequence, const uint32_t channel)
{
  return ring_input(ring, sequence, ring->shape.n_in + channel);
}

// ---- sleeping and waking ----

static void
bell_ring(Bell* const bell)
{
  atomic_fetch_add(&bell->rung, 1U);
  rt_futex_wake(&bell->rung);
}

/// To be called after the counter was published with sequential consistency.
static void
bell_ring_if_asleep(Bell* const bell)
{
  if (atomic_load(&bell->asleep)) {
    bell_ring(bell);
  }
}

static void
count_fault(Ring* const ring)
{
  atomic_fetch_add_explicit(&ring->faults, 1U, memory_order_relaxed);
}

/// Nanoseconds left until `timeout_ns` after `began`; 0 when over, UINT64_MAX without an end.
static uint64_t
time_left(const uint64_t began, const uint64_t timeout_ns)
{
  if (timeout_ns == UINT64_MAX) {
    return UINT64_MAX;
  }
  const uint64_t passed = rt_now_ns() - began;
  return passed < timeout_ns ? timeout_ns - passed : 0;
}

/// Spin until ready(ring, sequence), for at most `spin_ns`.
static bool
spin_until(Ring* const ring, bool (*const ready)(Ring*, uint64_t), const uint64_t sequence,
           const uint64_t spin_ns)
{
  const uint64_t began = rt_now_ns();
  do {
    for (uint32_t i = 0; i < PAUSES_PER_LOOK; ++i) {
      if (ready(ring, sequence)) {
        return true;
      }
      rt_pause();
    }
  } while (time_left(began, spin_ns));
  return false;
}

/// Sleep on `bell` until ready(ring, sequence) or the end of the time.
static bool
sleep_until(Ring* const ring, Bell* const bell, bool (*const ready)(Ring*, uint64_t),
            const uint64_t sequence, const uint64_t timeout_ns)
{
  const uint64_t began = rt_now_ns();
  bool is_ready = false;
  uint64_t left = timeout_ns;
  while (!is_ready && left) {
    const uint32_t rung = atomic_load(&bell->rung);
    atomic_store(&bell->asleep, 1U);
    is_ready = ready(ring, sequence);
    if (!is_ready) {
      rt_futex_wait(&bell->rung, rung, left);
    }
    atomic_store_explicit(&bell->asleep, 0, memory_order_relaxed);
    is_ready = is_ready || ready(ring, sequence);
    left = time_left(began, timeout_ns);
  }
  return is_ready;
}

// ---- producer ----

/// The consumer's counter if it can be, else the last one that could.
static uint64_t
finished_checked(Ring* const ring)
{
  const uint64_t finished = atomic_load(&ring->header->finished);
  if (finished < ring->finished_seen || finished > ring->submitted) {
    count_fault(ring);
  } else {
    ring->finished_seen = finished;
  }
  return ring->finished_seen;
}

bool
ring_can_submit(Ring* const ring)
{
  return ring->submitted - finished_checked(ring) < ring->shape.n_slots;
}

uint64_t
ring_next(const Ring* const ring)
{
  return ring->submitted;
}

void
ring_submit(Ring* const ring)
{
  ++ring->submitted;
  atomic_store(&ring->header->submitted, ring->submitted);
  bell_ring_if_asleep(&ring->header->consumer);
}

bool
ring_is_finished(Ring* const ring, const uint64_t sequence)
{
  return sequence < ring->finished_seen || sequence < finished_checked(ring);
}

bool
ring_wait_finished(Ring* const ring, const uint64_t sequence, const uint64_t timeout_ns)
{
  const uint64_t began = rt_now_ns();
  const uint64_t spin_ns = timeout_ns < PRODUCER_SPIN_NS ? timeout_ns : PRODUCER_SPIN_NS;
  return spin_until(ring, ring_is_finished, sequence, spin_ns) ||
         sleep_until(ring, &ring->header->producer, ring_is_finished, sequence,
                     time_left(began, timeout_ns));
}

uint64_t
ring_faults(const Ring* const ring)
{
  return atomic_load_explicit(&ring->faults, memory_order_relaxed);
}

// ---- consumer ----

bool
ring_take(Ring* const ring, uint64_t* const sequence)
{
  const uint64_t in_flight = atomic_load(&ring->header->submitted) - ring->finished;
  if (in_flight > ring->shape.n_slots) {
    count_fault(ring);
    return false;
  }
  *sequence = ring->finished;
  return in_flight > 0;
}

/// A block or a wake is there.
static bool
consumer_is_called(Ring* const ring, const uint64_t unused)
{
  (void)unused;
  uint64_t sequence = 0;
  return ring_take(ring, &sequence) || atomic_load(&ring->header->wakes) != ring->wakes_seen;
}

bool
ring_wait_take(Ring* const ring, const uint64_t spin_ns, const uint64_t timeout_ns,
               uint64_t* const sequence)
{
  const uint64_t began = rt_now_ns();
  if (!spin_until(ring, consumer_is_called, 0, spin_ns < timeout_ns ? spin_ns : timeout_ns)) {
    sleep_until(ring, &ring->header->consumer, consumer_is_called, 0, time_left(began, timeout_ns));
  }
  const uint32_t wakes = atomic_load(&ring->header->wakes);
  const bool woken = wakes != ring->wakes_seen;
  ring->wakes_seen = wakes;
  return !woken && ring_take(ring, sequence);
}

void
ring_finish(Ring* const ring)
{
  ++ring->finished;
  atomic_store(&ring->header->finished, ring->finished);
  bell_ring_if_asleep(&ring->header->producer);
}

void
ring_wake(Ring* const ring)
{
  atomic_fetch_add(&ring->header->wakes, 1U);
  bell_ring_if_asleep(&ring->header->consumer);
}

// ---- parameter messages ----

static ParamMessage*
message_at(const Ring* const ring, const uint64_t index)
{
  ParamMessage* const messages =
      (ParamMessage*)((char*)ring->header + ring->layout.messages_offset);
  return &messages[index & (ring->shape.n_messages - 1U)];
}

bool
ring_send(Ring* const ring, const ParamMessage* const messages, const uint32_t n)
{
  const uint64_t received = atomic_load_explicit(&ring->header->received, memory_order_acquire);
  const uint64_t waiting = ring->sent - received;
  if (waiting > ring->shape.n_messages) {
    count_fault(ring);
    return false;
  }
  if (n > ring->shape.n_messages - waiting) {
    return false;
  }
  for (uint32_t i = 0; i < n; ++i) {
    *message_at(ring, ring->sent + i) = messages[i];
  }
  ring->sent += n;
  atomic_store_explicit(&ring->header->sent, ring->sent, memory_order_release);
  return true;
}

bool
ring_receive(Ring* const ring, ParamMessage* const message)
{
  const uint64_t sent = atomic_load_explicit(&ring->header->sent, memory_order_acquire);
  const uint64_t waiting = sent - ring->received;
  if (waiting == 0 || waiting > ring->shape.n_messages) {
    if (waiting) {
      count_fault(ring);
    }
    return false;
  }
  *message = *message_at(ring, ring->received);
  atomic_store_explicit(&ring->header->received, ++ring->received, memory_order_release);
  return true;
}
