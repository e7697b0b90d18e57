// SPDX-License-Identifier: GPL-3.0-or-later
// Reports: a queue from the player to the control thread, beside that of the messages.

#include "ring_private.h"

#include "engine/base/faults_worker.h"

static RingReport*
report_at(const Ring* const ring, const uint64_t index)
{
  RingReport* const reports = (RingReport*)((char*)ring->header + ring->layout.reports_offset);
  return &reports[index & (ring_n_reports(&ring->shape) - 1U)];
}

bool
ring_report(Ring* const ring, const RingReport* const report)
{
  worker_faults_step();
  RingHeader* const header = ring->header;
  const uint64_t taken = atomic_load_explicit(&header->reports_taken, memory_order_acquire);
  if (ring->reported - taken >= ring_n_reports(&ring->shape)) {
    atomic_store_explicit(&header->reports_lost, ++ring->reports_lost, memory_order_relaxed);
    return false;
  }
  *report_at(ring, ring->reported++) = *report;
  return true;
}

void
ring_publish_reports(Ring* const ring)
{
  if (ring->published != ring->reported) {
    worker_faults_step();
    ring->published = ring->reported;
    atomic_store_explicit(&ring->header->reported, ring->reported, memory_order_release);
    worker_faults_step();
  }
}

uint32_t
ring_n_unpublished(const Ring* const ring)
{
  return (uint32_t)(ring->reported - ring->published);
}

bool
ring_take_report(Ring* const ring, RingReport* const report)
{
  RingHeader* const header = ring->header;
  const uint64_t reported = atomic_load_explicit(&header->reported, memory_order_acquire);
  const uint64_t waiting = reported - ring->reports_taken;
  if (waiting == 0 || waiting > ring_n_reports(&ring->shape)) {
    if (waiting) {
      ring_count_fault(ring);
    }
    return false;
  }
  *report = *report_at(ring, ring->reports_taken);
  atomic_store_explicit(&header->reports_taken, ++ring->reports_taken, memory_order_release);
  return true;
}

uint64_t
ring_reports_lost(Ring* const ring)
{
  const uint64_t lost = atomic_load_explicit(&ring->header->reports_lost, memory_order_relaxed);
  const uint64_t n_new = lost - ring->reports_lost_seen;
  ring->reports_lost_seen = lost;
  return n_new;
}
