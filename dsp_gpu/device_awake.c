// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Keeps a GPU's clocks up while blocks come and go.

  A GPU that idles for a while lowers its clocks and takes its links down; the next block then pays
  for the way back.  Between two blocks of audio there is always such a while.  A thread of no
  priority gives the device a moment of work every 200 us, in a stream of its own, which nothing of
  a block waits for.  It is no help to the clocks of a device that is the host's own processor.  A
  GPU that is open while the rack runs on the CPU is left to sleep.

  What it costs is a call of the driver of a few microseconds, in which a block's submission may
  have to wait for the driver's lock.  Hence DeviceChoice::keep_awake: both ways can be measured.
*/

#include "device.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#define NUDGE_NS  200000          // clocks are seen to fall after some milliseconds at the earliest
#define UNUSED_NS (2U * NS_PER_S) // without a block: longer than any usual period
#define LOOK_NS   (10U * NS_PER_MS) // between looks whether an unused device is used again

static void*
run(void* const context)
{
  Device* const device = context;
  Status status = STATUS_OK;
  while (!status && !atomic_load_explicit(&device->may_sleep, memory_order_relaxed)) {
    const uint64_t used_ns = atomic_load_explicit(&device->used_ns, memory_order_relaxed);
    const bool is_used = time_now_ns() < used_ns + UNUSED_NS;
    // One that does not come back is left alone.
    if (is_used && !atomic_load_explicit(&device->late_ns, memory_order_relaxed)) {
      status = device->api->nudge(device->gpu); // the blocks will tell of errors
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
    // Without a thread the blocks are slower, as their times tell.
    device->is_kept_awake = !rt_thread_start("warprack-awake", run, device, &device->awake, &error);
  }
}
