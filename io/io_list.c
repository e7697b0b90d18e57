// SPDX-License-Identifier: GPL-3.0-or-later
// The list of drivers.

#include "io_driver.h"

#include <string.h>

#define IO_DRIVER_POINTER(name) &io_##name,
static const IoDriver* const drivers[] = { IO_DRIVERS(IO_DRIVER_POINTER) };

const IoDriver* const*
io_drivers(uint32_t* const n_drivers)
{
  *n_drivers = (uint32_t)ARRAY_LEN(drivers);
  return drivers;
}

const IoDriver*
io_find(const char* const name)
{
  for (size_t i = 0; i < ARRAY_LEN(drivers); ++i) {
    if (!strcmp(name, drivers[i]->name)) {
      return drivers[i];
    }
  }
  return NULL;
}
