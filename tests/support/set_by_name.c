// SPDX-License-Identifier: GPL-3.0-or-later
// Combines functions of the rack that tests call together.

#include "set_by_name.h"

#include "scoped.h"
#include "suite.h"

#include <string.h>

Rack*
rack_of(const char* const text, const Rack* const previous)
{
  Rack* rack = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_msg(!rack_parse(text, "rack", previous, &rack, &error), "%s: %s", text, error.text);
  return rack;
}

void
assert_canonical(const char* const document, const char* const canonical)
{
  SCOPED_RACK Rack* const rack = rack_of(document, NULL);
  SCOPED_MEMORY char* const text = rack_print(rack);
  ck_assert_msg(!strcmp(text, canonical), "%s gives\n%s", document, text);
  SCOPED_RACK Rack* const again = rack_of(text, NULL);
  ck_assert(rack_equal(rack, again));
}

void
assert_refused(const char* const document, const char* const message)
{
  Rack* rack = NULL;
  Error error = { STATUS_OK, "" };
  const Status status = rack_parse(document, "t", NULL, &rack, &error);
  ck_assert_msg(status && status == error.status && !rack, "\"%s\" is accepted", document);
  ck_assert_msg(!strncmp(error.text, message, strlen(message)), "\"%s\" gives\n%s", document,
                error.text);
  ck_assert_int_ne(error.text[strlen(error.text) - 1U], '.');
  ck_assert_ptr_null(strchr(error.text, '\n'));
  ck_assert_int_ne(rack_parse(document, "t", NULL, &rack, NULL), STATUS_OK);
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
