// SPDX-License-Identifier: GPL-3.0-or-later
#include "player_reports.h"

void
player_report_plan(Ring* const reports, const Plan* const plan, const uint64_t frame)
{
  const bool is_unasked = !plan->edit && (plan->n_aims || plan->n_heirs);
  const RingReport report = { .kind = REPORT_PLAN,
                              .flags = (is_unasked ? REPORT_UNASKED : 0U) |
                                       (plan->is_first ? REPORT_FIRST_PLAN : 0U),
                              .number = plan->edit,
                              .stamp = plan->stamp,
                              .planned = plan->planned,
                              .message = { .frame = frame } };
  if (reports) {
    ring_report(reports, &report);
  }
}

void
player_report_message(Ring* const reports, const WaitingMessage* const entry, const uint64_t frame)
{
  if (reports) {
    RingReport report = { .kind = entry->message.kind,
                          .flags = entry->is_midi ? REPORT_MIDI : 0U,
                          .number = entry->number,
                          .message = entry->message };
    report.message.frame = frame;
    ring_report(reports, &report);
  }
}

bool
player_publish_reports(Ring* const reports, const WaitingHeap* const waiting,
                       const bool has_run_midi, const uint64_t end)
{
  if (!reports) {
    return false;
  }
  const WaitingMessage* const next = waiting_next(waiting);
  const bool is_partial = has_run_midi && next && next->message.frame < end;
  if (is_partial && ring_n_unpublished(reports) < ring_shape(reports)->n_messages) {
    return true;
  }
  const RingReport events = { .kind = REPORT_EVENTS, .message = { .frame = end } };
  const bool is_reported = has_run_midi && !is_partial && ring_report(reports, &events);
  ring_publish_reports(reports);
  return has_run_midi && !is_reported;
}
