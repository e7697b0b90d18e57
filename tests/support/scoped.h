// SPDX-License-Identifier: GPL-3.0-or-later
/// Variables that are freed, and mutexes that are unlocked, at the end of their block, in the
/// reverse order of their declarations.
#ifndef WARPRACK_TESTS_SCOPED_H
#define WARPRACK_TESTS_SCOPED_H

#include "engine/rack/rack.h"
#include "engine/ring/ring.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/// `SCOPED(driver_free) TestDriver driver = ...` calls driver_free(&driver) at the end of the
/// block.
#define SCOPED(function) __attribute__((cleanup(function)))

/// For pointers, which may be NULL, and for a file descriptor.
#define SCOPED_MEMORY SCOPED(scoped_free)
#define SCOPED_RACK   SCOPED(scoped_rack_free)
#define SCOPED_RING   SCOPED(scoped_ring_free)
#define SCOPED_FD     SCOPED(scoped_close)

/// `SCOPED_LOCK(&lock);` holds a mutex until the end of the block.
#define SCOPED_LOCK(mutex)                                                                         \
  SCOPED(scoped_unlock)                                                                            \
  __attribute__((unused)) pthread_mutex_t* const scoped_lock_ = scoped_lock(mutex)

static inline void
scoped_free(const void* const pointer)
{
  free(*(void* const*)pointer);
}

static inline void
scoped_rack_free(Rack* const* const rack)
{
  rack_free(*rack);
}

static inline void
scoped_ring_free(Ring* const* const ring)
{
  ring_free(*ring);
}

static inline void
scoped_close(const int* const fd)
{
  close(*fd);
}

static inline pthread_mutex_t*
scoped_lock(pthread_mutex_t* const mutex)
{
  pthread_mutex_lock(mutex);
  return mutex;
}

static inline void
scoped_unlock(pthread_mutex_t* const* const mutex)
{
  pthread_mutex_unlock(*mutex);
}

#endif
