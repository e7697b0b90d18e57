// SPDX-License-Identifier: GPL-3.0-or-later
// One reply and one state under a mutex, and an eventfd that wakes the reader.  No thread is an
// audio thread.

#include "inbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct Inbox {
  pthread_mutex_t lock;
  int fd;
  int n_users; // the owner, and the builder while a reply is expected
  bool is_closed;
  bool is_full;
  EngineReply reply;
  bool has_saved;
  EngineSaved saved; // with bytes of its own
};

Inbox*
inbox_new(void)
{
  Inbox* const inbox = calloc(1, sizeof(Inbox));
  if (!inbox) {
    return NULL;
  }
  inbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (inbox->fd < 0) {
    free(inbox);
    return NULL;
  }
  pthread_mutex_init(&inbox->lock, NULL);
  inbox->n_users = 1;
  return inbox;
}

int
inbox_fd(const Inbox* const inbox)
{
  return inbox->fd;
}

static void
add_user(Inbox* const inbox, const int n)
{
  pthread_mutex_lock(&inbox->lock);
  inbox->n_users += n;
  const bool is_last = inbox->n_users == 0;
  pthread_mutex_unlock(&inbox->lock);
  if (is_last) {
    close(inbox->fd);
    pthread_mutex_destroy(&inbox->lock);
    free((void*)inbox->saved.bytes);
    free(inbox);
  }
}

void
inbox_expect(Inbox* const inbox)
{
  add_user(inbox, 1);
}

void
inbox_unexpect(Inbox* const inbox)
{
  add_user(inbox, -1);
}

void
inbox_done(void* const context, const EngineReply* const reply)
{
  Inbox* const inbox = context;
  pthread_mutex_lock(&inbox->lock);
  inbox->reply = *reply;
  inbox->is_full = true;
  pthread_mutex_unlock(&inbox->lock);
  eventfd_write(inbox->fd, 1);
  add_user(inbox, -1);
}

bool
inbox_take(Inbox* const inbox, EngineReply* const reply)
{
  eventfd_t ignored = 0;
  (void)eventfd_read(inbox->fd, &ignored); // first, so that a later reply makes it readable again
  pthread_mutex_lock(&inbox->lock);
  const bool was_full = inbox->is_full;
  *reply = inbox->reply;
  inbox->is_full = false;
  pthread_mutex_unlock(&inbox->lock);
  return was_full;
}

void
inbox_saved(void* const context, const EngineSaved* const saved)
{
  Inbox* const inbox = context;
  EngineSaved copy = *saved;
  unsigned char* const bytes = saved->error.status ? NULL : malloc(saved->n_bytes);
  if (bytes) {
    memcpy(bytes, saved->bytes, saved->n_bytes);
  } else if (!saved->error.status) {
    error_set(&copy.error, STATUS_NO_MEM, "out of memory");
  }
  copy.bytes = bytes;
  pthread_mutex_lock(&inbox->lock);
  inbox->saved = copy;
  inbox->has_saved = true;
  pthread_mutex_unlock(&inbox->lock);
  eventfd_write(inbox->fd, 1);
  add_user(inbox, -1);
}

bool
inbox_take_saved(Inbox* const inbox, EngineSaved* const saved)
{
  pthread_mutex_lock(&inbox->lock);
  const bool has_saved = inbox->has_saved;
  *saved = inbox->saved;
  inbox->saved = (EngineSaved){ 0 };
  inbox->has_saved = false;
  pthread_mutex_unlock(&inbox->lock);
  return has_saved;
}

void
inbox_close(Inbox* const inbox)
{
  pthread_mutex_lock(&inbox->lock);
  inbox->is_closed = true;
  pthread_mutex_unlock(&inbox->lock);
  eventfd_write(inbox->fd, 1);
}

bool
inbox_is_closed(Inbox* const inbox)
{
  pthread_mutex_lock(&inbox->lock);
  const bool is_closed = inbox->is_closed;
  pthread_mutex_unlock(&inbox->lock);
  return is_closed;
}

void
inbox_release(Inbox* const inbox)
{
  if (inbox) {
    add_user(inbox, -1);
  }
}
