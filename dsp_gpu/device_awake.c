// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Keeps the clocks of a GPU up between blocks.

  A GPU that idles lowers its clocks and powers its links down; the next block pays for the way back.
  Between two blocks of audio a GPU always idles.  A thread of lowest priority gives the device a
  very short kernel every 200 us, in a stream of its own that no block waits for.  This does not help
  a device that is the host's own processor.  A GPU that is open while the rack runs on the CPU may
  sleep.

  The cost is a driver call of a few microseconds, during which a block's submission may have to
  wait for the driver's lock.  DeviceChoice::keep_awake turns the thread off, so that both modes can
  be measured.
*/

#include "device.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#define NUDGE_NS  200000            // clocks fall after some milliseconds at the earliest
#define UNUSED_NS (2U * NS_PER_S)   // without a block: longer than any usual period
#define LOOK_NS   (10U * NS_PER_MS) // interval of checks whether an unused device is in use again

static void*
run(void* const context)
{
  Device* const device = context;
  Status status = STATUS_OK;
  while (!status && !atomic_load_explicit(&device->may_sleep, memory_order_relaxed)) {
    const uint64_t used_ns = atomic_load_explicit(&device->used_ns, memory_order_relaxed);
    const bool is_used = time_now_ns() < used_ns + UNUSED_NS;
    // A device that missed a deadline gets no more work.
    if (is_used && !atomic_load_explicit(&device->late_ns, memory_order_relaxed)) {
      status = device->api->nudge(device->gpu); // blocks report errors of the device
    }
    time_sleep(is_used ? NUDGE_NS : LOOK_NS);
  }
  return NULL;
}

void
device_backend_play(Backend* const backend, const bool plays)
{
  Device* const device = (Device*)backend;
  if (device->is_kept_awake) {
    atomic_store_explicit(&device->may_sleep, true, memory_order_relaxed);
    pthread_join(device->awake, NULL);
    device->is_kept_awake = false;
  }
  if (plays && device->keep_awake && device->info.is_gpu) {
    atomic_store_explicit(&device->may_sleep, false, memory_order_relaxed);
    Error error;
    // Without the thread blocks are slower; the measured times show it.
    device->is_kept_awake = !rt_thread_start("warprack-awake", run, device, &device->awake, &error);
  }
}
