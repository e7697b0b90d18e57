// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Buffers and pinned memory of freed stages, for reuse: every plan needs such memory, and drivers
  stall the device and all callers while they free it.  Sizes are powers of two, so that the stages
  of an edited rack fit into the memory of earlier stages.
*/

#include "device.h"

#include <stdlib.h>

#define LEAST_BYTES ((size_t)4096)
#define MOST_SPARES 128U // enough for a few plans; more are freed

// The reserve: for two plans of one stage, of each size.
#define RESERVE_BYTES   ((size_t)256 << 10U) // largest size: 1,024 rows of 64 frames
#define RESERVE_BUFFERS 8U                   // table, live, and two of rows: see Stage
#define RESERVE_HOSTS   4U                   // slots

struct Spare {
  Spare* next;
  size_t n_bytes;
  GpuBuffer* buffer; ///< NULL if the spare is `host`
  GpuHostMemory* host;
};

static size_t
size_class(const size_t n_bytes)
{
  size_t size = LEAST_BYTES;
  while (size < n_bytes) {
    size *= 2U;
  }
  return size;
}

/// Take a spare of a size from the list.
static bool
find(Device* const device, const size_t n_bytes, const bool is_host, Spare* const found)
{
  for (Spare** at = &device->spares; *at; at = &(*at)->next) {
    Spare* const spare = *at;
    if (spare->n_bytes == n_bytes && (spare->host != NULL) == is_host) {
      *found = *spare;
      *at = spare->next;
      --device->n_spares;
      free(spare);
      return true;
    }
  }
  return false;
}

static void
give_back(const Device* const device, const Spare* const spare)
{
  device->api->buffer_free(spare->buffer);
  device->api->host_free(spare->host);
}

static void
keep(Device* const device, const Spare like)
{
  Spare* const spare = device->n_spares < MOST_SPARES ? malloc(sizeof(Spare)) : NULL;
  if (!spare) {
    give_back(device, &like);
    return;
  }
  *spare = like;
  spare->next = device->spares;
  device->spares = spare;
  ++device->n_spares;
}

void
device_spares_free(Device* const device)
{
  while (device->spares) {
    Spare* const spare = device->spares;
    device->spares = spare->next;
    give_back(device, spare);
    free(spare);
  }
  device->n_spares = 0;
}

Status
device_buffer_take(Device* const device, const size_t n_bytes, GpuBuffer** const buffer,
                   Error* const error)
{
  const size_t size = size_class(n_bytes);
  Spare spare;
  if (find(device, size, false, &spare)) {
    *buffer = spare.buffer;
    return STATUS_OK;
  }
  Status status = device->api->buffer_new(device->gpu, size, buffer, error);
  if (status == STATUS_NO_MEM && device->spares) {
    device_spares_free(device);
    status = device->api->buffer_new(device->gpu, size, buffer, error);
  }
  return status;
}

void
device_buffer_give(Device* const device, const size_t n_bytes, GpuBuffer* const buffer)
{
  if (buffer) {
    keep(device, (Spare){ .n_bytes = size_class(n_bytes), .buffer = buffer });
  }
}

Status
device_host_take(Device* const device, const size_t n_bytes, GpuHostMemory** const host,
                 Error* const error)
{
  const size_t size = size_class(n_bytes);
  Spare spare;
  if (find(device, size, true, &spare)) {
    *host = spare.host;
    return STATUS_OK;
  }
  return device->api->host_new(device->gpu, size, host, error);
}

void
device_host_give(Device* const device, const size_t n_bytes, GpuHostMemory* const host)
{
  if (host) {
    keep(device, (Spare){ .n_bytes = size_class(n_bytes), .host = host });
  }
}

static Status
reserve_size(Device* const device, const size_t n_bytes, Error* const error)
{
  GpuBuffer* buffers[RESERVE_BUFFERS] = { NULL };
  GpuHostMemory* hosts[RESERVE_HOSTS] = { NULL };
  Status status = STATUS_OK;
  for (uint32_t b = 0; !status && b < RESERVE_BUFFERS; ++b) {
    status = device_buffer_take(device, n_bytes, &buffers[b], error);
  }
  for (uint32_t h = 0; !status && h < RESERVE_HOSTS; ++h) {
    status = device_host_take(device, n_bytes, &hosts[h], error);
  }
  for (uint32_t b = 0; b < RESERVE_BUFFERS; ++b) {
    device_buffer_give(device, n_bytes, buffers[b]);
  }
  for (uint32_t h = 0; h < RESERVE_HOSTS; ++h) {
    device_host_give(device, n_bytes, hosts[h]);
  }
  return status;
}

Status
device_spares_reserve(Device* const device, Error* const error)
{
  Status status = STATUS_OK;
  for (size_t n_bytes = LEAST_BYTES; !status && n_bytes <= RESERVE_BYTES; n_bytes *= 2U) {
    status = reserve_size(device, n_bytes, error);
  }
  return status;
}
