// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What warprack offers to a CLAP plugin: the host and its extensions.

   A call from a thread on which the specification does not allow it is refused and counted.
   Reports and lines of the plugin's log are written to stderr, by the main thread only; each kind
   of report once per plugin.
*/
#ifndef WARPRACK_PLUGINS_CLAP_CLAP_EXTENSIONS_H
#define WARPRACK_PLUGINS_CLAP_CLAP_EXTENSIONS_H

#include <clap/plugin.h>

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CLAP_MAX_TIMERS    32U
#define CLAP_MAX_FDS       32U
#define CLAP_MAX_LOG_LINES 20U  // of a plugin
#define CLAP_LINE_BYTES    256U // longer lines are cut

// clang-format off

/// What is reported about a plugin: word in enumerations, sentence.
#define CLAP_REPORTS(ROW)                                                                          \
  ROW(WRONG_THREAD, "called the host from a wrong thread, which was refused")                      \
  ROW(RESTART,      "asked to be activated again: while it plays, a new instance replaces it")     \
  ROW(CHANGED,      "changed its ports or parameters, which needs warprack scan")                  \
  ROW(FAILED,       "failed to process a block, and is renewed")                                   \
  ROW(LOG,          "wrote more to its log than is shown")

// clang-format on

#define CLAP_REPORT_NAME(word, sentence) CLAP_REPORT_##word,
typedef enum ClapReport { CLAP_REPORTS(CLAP_REPORT_NAME) CLAP_N_REPORTS } ClapReport;

typedef struct ClapTimer {
  uint64_t period_ns; ///< 0: not in use
  uint64_t due_ns;
} ClapTimer;

/// A line of the log from a thread that is not the main thread, for the main thread.
typedef struct ClapLine {
  atomic_int state; ///< 0 empty, 1 being written, 2 complete
  char text[CLAP_LINE_BYTES];
} ClapLine;

/// A host for one instance of a plugin.
typedef struct ClapHost {
  clap_host_t clap;
  const clap_plugin_t* plugin; ///< NULL until the plugin is created
  const char* id;              ///< Of the plugin
  atomic_bool wants_callback;
  ClapTimer timers[CLAP_MAX_TIMERS]; ///< The index is the id
  struct pollfd fds[CLAP_MAX_FDS];   ///< -1: not in use
  ClapLine line;
  uint32_t n_lines;
  _Atomic uint32_t n_reports[CLAP_N_REPORTS];
  bool is_reported[CLAP_N_REPORTS];
} ClapHost;

/// @param id Must live as long as the host. [main thread of plugins]
void clap_host_init(ClapHost* host, const char* id);

/// Count a report. [any]
void clap_host_report(ClapHost* host, ClapReport report);

/// Run what the plugin has to do on its main thread: timers, descriptors, callbacks. [main thread
/// of plugins]
void clap_host_idle(ClapHost* host);

/// Write new reports, and the last line of another thread. [main thread of plugins]
void clap_host_print(ClapHost* host);

#endif
