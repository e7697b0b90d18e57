// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Numbers for URIs (urid:map): one table per process, from which nothing is removed.
*/
#ifndef WARPRACK_PLUGINS_LV2_LV2_URIDS_H
#define WARPRACK_PLUGINS_LV2_LV2_URIDS_H

#include <lv2/urid/urid.h>

#define URIDS_MAX  65536U
#define URIDS_KEPT 8192U // for URIs of plugins

/// The number of a URI, at least 1.  0 if out of memory, or for more than URIDS_MAX - 1 URIs.  A
/// plugin may call it in run(): a known URI costs no lock, a new one locks and allocates. [any]
LV2_URID urid_map(const char* uri);

/// The URI of a number, or NULL; lives as long as the process. [any]
const char* urid_unmap(LV2_URID urid);

/// As urid_map(), but also 0 if the URI is new and at most URIDS_KEPT numbers are left: for URIs
/// that come from files. [any, not rt]
LV2_URID urid_map_sparingly(const char* uri);

#endif
