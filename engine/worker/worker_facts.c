// SPDX-License-Identifier: GPL-3.0-or-later
// The worker's reports: lines for the log, and the facts of the active plan.

#include "worker_private.h"

#include <stdarg.h>
#include <stdio.h>

void
worker_log(const Worker* const worker, const char* const format, ...)
{
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (worker->config.note) {
    worker->config.note(worker->config.note_context, text);
  }
}

void
worker_publish_facts(Worker* const worker)
{
  const Plan* const plan = worker->player.plan;
  pthread_mutex_lock(&worker->status_lock);
  worker->facts = (WorkerFacts){ .serial = worker->facts.serial + 1U,
                                 .rack_latency_frames = plan->latency_frames,
                                 .n_out = plan->n_out,
                                 .n_nodes = plan->n_living,
                                 .n_units = plan->n_units,
                                 .n_ranks = plan->n_ranks,
                                 .tail_frames = plan->tail_frames,
                                 .memory_bytes = plan->n_bytes,
                                 .making_bytes = plan->making_bytes,
                                 .fallbacks = worker->fallbacks };
  pthread_mutex_unlock(&worker->status_lock);
}

WorkerFacts
worker_facts(Worker* const worker)
{
  pthread_mutex_lock(&worker->status_lock);
  const WorkerFacts facts = worker->facts;
  pthread_mutex_unlock(&worker->status_lock);
  return facts;
}
