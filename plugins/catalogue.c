// SPDX-License-Identifier: GPL-3.0-or-later

#include "catalogue.h"

Status
fx_find_plugin(const char* const format, const char* const reference, const FxInfo** const fx,
               Error* const error)
{
  (void)fx;
  return error_set(error, STATUS_NOT_FOUND, "no plugin %s \"%s\"", format, reference);
}
