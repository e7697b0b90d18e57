// SPDX-License-Identifier: GPL-3.0-or-later
// Combines functions of the rack that tests call together.

#include "set_by_name.h"

#include "suite.h"

Rack*
rack_of(const char* const text, const Rack* const previous)
{
  Rack* rack = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_msg(!rack_parse(text, "rack", previous, &rack, &error), "%s: %s", text, error.text);
  return rack;
}

Status
set_text_by_name(const Rack* const rack, const char* const node, const char* const param,
                 const char* const text, Error* const error)
{
  RackNode* const found = rack_lookup(rack, node, error);
  uint32_t p = 0;
  const Status status = found ? rack_find_param(found->fx, param, &p, error) : STATUS_NOT_FOUND;
  return status ? status : rack_set_param(found, p, text, error);
}

Status
set_number_by_name(const Rack* const rack, const char* const node, const char* const param,
                   const double number, Error* const error)
{
  RackNode* const found = rack_lookup(rack, node, error);
  uint32_t p = 0;
  const Status status = found ? rack_find_param(found->fx, param, &p, error) : STATUS_NOT_FOUND;
  return status ? status : rack_set_param_number(found, p, number, error);
}
