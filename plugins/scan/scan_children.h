// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Runs jobs in child processes, because they run code of plugins, which may crash, hang, or do
   anything else.

   A child answers in memory that it shares with its parent, because a plugin may close every
   descriptor or write to it.  What the child prints goes into a file in memory; its first line
   becomes part of the fault.

   While jobs run, this process is a subreaper: a process that a child leaves behind becomes a child
   of this process, whatever session it has made, and is killed when the child has ended.
*/
#ifndef WARPRACK_PLUGINS_SCAN_SCAN_CHILDREN_H
#define WARPRACK_PLUGINS_SCAN_SCAN_CHILDREN_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORT_FAULT_BYTES 256U

/// What a child answers.  It may also be the work of a plugin that writes anywhere.
typedef struct Report {
  uint32_t place; ///< Of what the job does next; the job chooses the meaning
  bool is_complete;
  bool is_transient; ///< The fault may be gone at the next attempt, such as a lack of memory
  char fault[REPORT_FAULT_BYTES]; ///< "": none
  size_t n_bytes;
  char text[]; ///< [ChildJobs::max_bytes]
} Report;

typedef struct ChildJobs {
  uint32_t n_jobs;
  uint32_t n_children; ///< At a time; 0: as many as cores
  uint32_t limit_ms;   ///< Time for a job, without the time in which it had no processor; begins
                       ///< again when its report has grown
  size_t max_bytes;    ///< Of a report's text
  uint64_t max_cpu_s;  ///< Processor time for a job, also of processes that outlive the run
  uint64_t max_file_bytes; ///< Of a file that a job writes, and of what it prints
  bool may_fork;           ///< A job may start processes; else only threads (SCAN_HAS_FILTER)
  /// Do a job. [child]
  void (*work)(void* context, uint32_t job, Report* report);
  /// A job has ended.  `fault` is "" if the report is complete and has none; else the reason.
  /// `report->n_bytes` is at most `max_bytes`. [main]
  void (*ended)(void* context, uint32_t job, const Report* report, const char* fault);
  void* context;
} ChildJobs;

/// Append text to a report; false if there is no room. [child]
NODISCARD bool report_add(Report* report, size_t max_bytes, const char* text, size_t n_bytes);

/**
   Run all jobs, several at a time; fewer while no further process can be started.  After SIGINT,
   SIGTERM or SIGHUP all children are killed, and the signal is raised again; an ignored one stays
   ignored.

   The process must have one thread and no other children.  This call resets an ignored SIGCHLD.
   STATUS_NO_MEM. [main]
*/
NODISCARD Status children_run(const ChildJobs* jobs, Error* error);

#endif
