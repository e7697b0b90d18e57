// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Keeps the clocks of a GPU high between blocks, unless the device is armed (GpuApi::arm): its wait
  for the next block has the same effect.

  An idle GPU lowers its clocks and powers its links down, and the next block takes longer until
  they are up again.  A GPU is idle between any two blocks of audio.  Therefore a thread of lowest
  priority submits a very short kernel every 200 us, in a separate stream for which no block waits.
  The thread does not run for a device that is the host's own processor.  It pauses while a GPU is
  open but gets no blocks, because the rack runs on the CPU.

  The cost is a driver call of a few microseconds, during which a block's submission may have to
  wait for the driver's lock.  DeviceChoice::keep_awake turns the thread off, so that both modes can
  be measured.
*/

#include "device.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#define NUDGE_NS  200000            // clocks fall after some milliseconds at the earliest
#define UNUSED_NS (2U * NS_PER_S)   // without blocks for this time, a device counts as unused
#define CHECK_NS  (10U * NS_PER_MS) // interval of checks whether a device needs nudges again

static void*
run(void* const context)
{
  Device* const device = context;
  Status status = STATUS_OK;
  while (!status && !atomic_load_explicit(&device->may_sleep, memory_order_relaxed)) {
    const uint64_t used_ns = atomic_load_explicit(&device->used_ns, memory_order_relaxed);
    // A device that missed a deadline gets no more work.
    const bool needs_nudge = time_now_ns() < used_ns + UNUSED_NS &&
                             !atomic_load_explicit(&device->is_armed, memory_order_relaxed) &&
                             !atomic_load_explicit(&device->late_ns, memory_order_relaxed);
    if (needs_nudge) {
      status = device->api->nudge(device->gpu); // blocks report errors of the device
    }
    time_sleep(needs_nudge ? NUDGE_NS : CHECK_NS);
  }
  return NULL;
}

void
device_backend_play(Backend* const backend, const bool plays)
{
  Device* const device = (Device*)backend;
  const bool keeps_awake = plays && device->keep_awake && device->info.is_gpu;
  atomic_store_explicit(&device->plays, keeps_awake, memory_order_relaxed);
  atomic_store_explicit(&device->is_armed, false, memory_order_relaxed);
  if (device->is_kept_awake) {
    atomic_store_explicit(&device->may_sleep, true, memory_order_relaxed);
    pthread_join(device->awake, NULL);
    device->is_kept_awake = false;
  }
  if (keeps_awake) {
    atomic_store_explicit(&device->may_sleep, false, memory_order_relaxed);
    Error error;
    // If the thread cannot be started, blocks only take longer, as the measured times show.
    device->is_kept_awake = !rt_thread_start("warprack-awake", run, device, &device->awake, &error);
  }
}
