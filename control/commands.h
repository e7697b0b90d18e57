// SPDX-License-Identifier: GPL-3.0-or-later
/// The table of all addresses that the server understands.
#ifndef WARPRACK_CONTROL_COMMANDS_H
#define WARPRACK_CONTROL_COMMANDS_H

#include "command.h"

#include <stdint.h>

extern const CommandInfo command_table[];
extern const uint32_t n_commands;

/// Find the row for a message by its address and argument types.  With STATUS_NOT_FOUND, `error`
/// suggests the nearest address; with STATUS_BAD_ARG, it has the arguments that the address takes.
/// [any]
NODISCARD Status command_find(const Message* message, const CommandInfo** info, Error* error);

/// The letter of argument `place` of an address, if it is the same in each form of the command; 0:
/// it is not known, or there is none. [any]
char command_letter(const char* address, uint32_t place);

#endif
