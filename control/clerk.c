// SPDX-License-Identifier: GPL-3.0-or-later
// Two lists under a mutex: what is to be done, and what is done.  Neither thread is an audio
// thread.

#include "clerk.h"

#include "../engine/rt.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define END_S 2 // longest wait for a disk when the server ends

typedef struct JobList {
  ClerkJob* first;
  ClerkJob** last;
} JobList;

struct Clerk {
  Folder folder; // our own descriptor
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed; // there is something to do, or an end is wanted, or reached
  int fd;
  bool is_over; // an end is wanted
  bool has_ended;
  uint32_t n_jobs; // in either list, or being done
  JobList to_do;
  JobList done;
};

static void
append(JobList* const list, ClerkJob* const job)
{
  job->next = NULL;
  *list->last = job;
  list->last = &job->next;
}

static ClerkJob*
take_first(JobList* const list)
{
  ClerkJob* const job = list->first;
  if (job) {
    list->first = job->next;
    list->last = list->first ? list->last : &list->first;
  }
  return job;
}

/// Wait for something to do; NULL: it is over.
static ClerkJob*
wait_for_job(Clerk* const clerk)
{
  pthread_mutex_lock(&clerk->lock);
  while (!clerk->to_do.first && !clerk->is_over) {
    pthread_cond_wait(&clerk->changed, &clerk->lock);
  }
  ClerkJob* const job = take_first(&clerk->to_do); // what has been asked for is written first
  pthread_mutex_unlock(&clerk->lock);
  return job;
}

static void*
clerk_run(void* const context)
{
  Clerk* const clerk = context;
  for (ClerkJob* job = NULL; (job = wait_for_job(clerk));) {
    job->error.status = job->is_write
                            ? folder_write(&clerk->folder, job->name, job->text, &job->error)
                            : folder_read_rack(&clerk->folder, job->name, &job->text, &job->error);
    pthread_mutex_lock(&clerk->lock);
    append(&clerk->done, job);
    pthread_mutex_unlock(&clerk->lock);
    eventfd_write(clerk->fd, 1);
  }
  pthread_mutex_lock(&clerk->lock);
  clerk->has_ended = true;
  pthread_cond_signal(&clerk->changed);
  pthread_mutex_unlock(&clerk->lock);
  return NULL;
}

static void
release(Clerk* const clerk)
{
  for (ClerkJob* job = NULL; (job = take_first(&clerk->to_do));) {
    clerk_job_free(job);
  }
  for (ClerkJob* job = NULL; (job = take_first(&clerk->done));) {
    clerk_job_free(job);
  }
  pthread_cond_destroy(&clerk->changed);
  pthread_mutex_destroy(&clerk->lock);
  folder_close(&clerk->folder);
  close(clerk->fd);
  free(clerk);
}

Status
clerk_new(const Folder* const folder, Clerk** const out, Error* const error)
{
  Clerk* const clerk = calloc(1, sizeof(Clerk));
  if (!clerk) {
    return error_set(error, STATUS_NO_MEM, "control: out of memory");
  }
  clerk->folder.fd = fcntl(folder->fd, F_DUPFD_CLOEXEC, 0);
  clerk->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  clerk->to_do.last = &clerk->to_do.first;
  clerk->done.last = &clerk->done.first;
  pthread_mutex_init(&clerk->lock, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&clerk->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  const Status status =
      clerk->folder.fd < 0 || clerk->fd < 0
          ? error_set(error, STATUS_NO_MEM, "control: %s", strerror(errno))
          : rt_thread_start("warprack-files", clerk_run, clerk, &clerk->thread, error);
  if (status != STATUS_OK) {
    release(clerk);
    return status;
  }
  *out = clerk;
  return STATUS_OK;
}

/// Ask the thread to end; false when it does not in time.
static bool
end_thread(Clerk* const clerk)
{
  struct timespec limit;
  clock_gettime(CLOCK_MONOTONIC, &limit);
  limit.tv_sec += END_S;
  pthread_mutex_lock(&clerk->lock);
  clerk->is_over = true;
  pthread_cond_signal(&clerk->changed);
  while (!clerk->has_ended &&
         pthread_cond_timedwait(&clerk->changed, &clerk->lock, &limit) != ETIMEDOUT) {
  }
  const bool has_ended = clerk->has_ended;
  pthread_mutex_unlock(&clerk->lock);
  return has_ended;
}

void
clerk_free(Clerk* const clerk)
{
  if (!clerk) {
    return;
  }
  const pthread_t thread = clerk->thread;
  if (end_thread(clerk)) {
    pthread_join(thread, NULL);
    release(clerk);
  } else {
    pthread_detach(thread);
  }
}

int
clerk_fd(const Clerk* const clerk)
{
  return clerk->fd;
}

/// Give a job to the thread; it is freed when it cannot be taken on.
static Status
post(Clerk* const clerk, ClerkJob* const job, Error* const error)
{
  pthread_mutex_lock(&clerk->lock);
  const bool has_room = clerk->n_jobs < CLERK_MAX_JOBS;
  if (has_room) {
    ++clerk->n_jobs;
    append(&clerk->to_do, job);
    pthread_cond_signal(&clerk->changed);
  }
  pthread_mutex_unlock(&clerk->lock);
  if (!has_room) {
    clerk_job_free(job);
    return error_set(error, STATUS_LIMIT, "%u files are being read or written already",
                     CLERK_MAX_JOBS);
  }
  return STATUS_OK;
}

Status
clerk_read(Clerk* const clerk, const char* const name, Message* const message, Error* const error)
{
  ClerkJob* const job = calloc(1, sizeof(ClerkJob));
  if (job) {
    job->name = strdup(name);
    job->message = message;
  }
  if (!job || !job->name) {
    clerk_job_free(job);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  return post(clerk, job, error);
}

Status
clerk_write(Clerk* const clerk, char* const text, const Peer* const peer,
            const Message* const message, Error* const error)
{
  ClerkJob* const job = calloc(1, sizeof(ClerkJob));
  if (!job) {
    free(text);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  *job = (ClerkJob){ .is_write = true,
                     .name = strdup(message_text(message, 0)),
                     .text = text,
                     .peer = *peer,
                     .address = strdup(message->address),
                     .n_bytes = message->n_bytes };
  if (!text || !job->name || !job->address) {
    clerk_job_free(job);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  return post(clerk, job, error);
}

ClerkJob*
clerk_take(Clerk* const clerk)
{
  eventfd_t ignored = 0;
  (void)eventfd_read(clerk->fd, &ignored); // before looking: a later job makes it readable again
  pthread_mutex_lock(&clerk->lock);
  ClerkJob* const job = take_first(&clerk->done);
  clerk->n_jobs -= job != NULL;
  pthread_mutex_unlock(&clerk->lock);
  return job;
}

void
clerk_job_free(ClerkJob* const job)
{
  if (job) {
    free(job->name);
    free(job->text);
    free(job->address);
    free(job);
  }
}
