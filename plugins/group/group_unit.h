// SPDX-License-Identifier: GPL-3.0-or-later
/// An instance in the process of its group.
#ifndef WARPRACK_PLUGINS_GROUP_GROUP_UNIT_H
#define WARPRACK_PLUGINS_GROUP_GROUP_UNIT_H

#include "group_message.h"

#include "plugins/host.h"

typedef struct GroupUnit GroupUnit;

/**
   Make an instance, whose blocks the threads of the process run.

   @param data Of the call: description, files and state, [n_bytes] and a zero; kept by the unit.
   @param ring_fd Its ring.
   @return STATUS_BAD_ARG for data or a ring that do not fit, STATUS_NO_MEM, the errors of the
   format.
   [thread of plugins]
*/
NODISCARD Status group_unit_new(const GroupCall* call, char* data, size_t n_bytes, int ring_fd,
                                GroupUnit** out, Error* error);

/// Stop running its blocks, and free the instance. [thread of plugins]
void group_unit_free(GroupUnit* unit);

/// Renew the instance, with the files and the state of the call; without a state, with the one that
/// it had. [thread of plugins]
NODISCARD Status group_unit_renew(GroupUnit* unit, const GroupCall* call, const char* data,
                                  size_t n_bytes, Error* error);

/// Run silence. [thread of plugins]
NODISCARD Status group_unit_silence(GroupUnit* unit, uint32_t n_frames, Error* error);

NODISCARD Status group_unit_set_text(GroupUnit* unit, uint32_t port, const char* text,
                                     Error* error);
NODISCARD Status group_unit_get(GroupUnit* unit, uint32_t port, double* value, Error* error);

/// Save the state: as it is, or as a package with the files that the plugin has made.
NODISCARD Status group_unit_save(GroupUnit* unit, TextBuffer* part, bool* is_package, Error* error);

/// Fill in what each reply reports. [thread of plugins]
void group_unit_report(const GroupUnit* unit, GroupReply* reply);

#endif
