// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Measures what plugins really do, each in a child of this process, and writes the reports into a
   catalogue (plugins/report.h).

   A child that crashes, or that does not get on for PROBE_LIMIT_MS, costs its plugin only: the
   report says why, and the plugin is not tried again before its binary changes.
*/
#ifndef WARPRACK_PLUGINS_PROBE_PROBE_H
#define WARPRACK_PLUGINS_PROBE_PROBE_H

#include "plugins/catalogue.h"

#define PROBE_LIMIT_MS 8000U // for one step of the measurements

typedef struct ProbeRequest {
  const Catalogue* catalogue;
  const uint32_t* entries; ///< [n_entries] places of the plugins that are probed, without a fault
  uint32_t n_entries;
  uint32_t n_children; ///< At a time; 0: as many as cores
  uint32_t limit_ms;   ///< 0: PROBE_LIMIT_MS
  bool is_idle;        ///< Use only processor time that nothing else wants
} ProbeRequest;

/**
   Probe plugins, and return the text of the catalogue with their reports, which the caller frees.

   Forks: the process must have one thread, no other children and no audio.  After SIGINT, SIGTERM
   or SIGHUP the children are killed and the signal is raised again.  STATUS_NO_MEM.
   [main]
*/
NODISCARD Status probe_run(const ProbeRequest* request, char** text, size_t* n_bytes, Error* error);

#endif
