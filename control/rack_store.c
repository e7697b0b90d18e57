// SPDX-License-Identifier: GPL-3.0-or-later
// Two lists under a mutex: pending jobs and finished jobs.  Neither thread is an audio thread.

#include "rack_store.h"

#include "engine/base/async_call.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define END_MS 2000U // longest wait for the disk when the server ends

typedef struct JobList {
  RackStoreJob* first;
  RackStoreJob** last;
} JobList;

struct RackStore {
  Folder folder; // with a duplicated descriptor
  int takes[2];  // [thread] the files of the take and of its input; -1: none
  char* take;    // [thread] name of the take's file
  Error no_take; // [thread] why there is none
  AsyncCall* thread;
  pthread_mutex_t lock;
  pthread_cond_t changed; // `to_do` or `is_over`
  int fd;
  bool is_over;    // the thread must end
  uint32_t n_jobs; // in either list, or in progress
  JobList to_do;
  JobList done;
};

static void
append(JobList* const list, RackStoreJob* const job)
{
  job->next = NULL;
  *list->last = job;
  list->last = &job->next;
}

static RackStoreJob*
take_first(JobList* const list)
{
  RackStoreJob* const job = list->first;
  if (job) {
    list->first = job->next;
    list->last = list->first ? list->last : &list->first;
  }
  return job;
}

/// Wait for a job.  Returns NULL when the thread must end.
static RackStoreJob*
wait_for_job(RackStore* const store)
{
  pthread_mutex_lock(&store->lock);
  while (!store->to_do.first && !store->is_over) {
    pthread_cond_wait(&store->changed, &store->lock);
  }
  RackStoreJob* const job = take_first(&store->to_do); // finish pending jobs before the end
  pthread_mutex_unlock(&store->lock);
  return job;
}

static void
close_take(RackStore* const store, const bool is_audio)
{
  if (store->takes[is_audio] >= 0) {
    close(store->takes[is_audio]);
  }
  store->takes[is_audio] = -1;
}

static void
release(void* const context)
{
  RackStore* const store = context;
  for (RackStoreJob* job = NULL; (job = take_first(&store->to_do));) {
    rack_store_job_free(job);
  }
  for (RackStoreJob* job = NULL; (job = take_first(&store->done));) {
    rack_store_job_free(job);
  }
  pthread_cond_destroy(&store->changed);
  pthread_mutex_destroy(&store->lock);
  folder_close(&store->folder);
  close_take(store, false);
  close_take(store, true);
  free(store->take);
  close(store->fd);
  free(store);
}

/// Write the files that a state names, and then the state.
static Status
keep(const Folder* const folder, RackStoreJob* const job)
{
  PackageFile files[PACKAGE_MAX_FILES];
  uint32_t n_left = 0;
  Status status = package_read(job->text, job->n_text, files, &n_left, &job->error);
  while (!status && n_left) {
    const PackageFile* const file = &files[--n_left];
    char name[FX_STATE_NAME_BYTES];
    package_name(job->fx, file, name);
    status = folder_keep(folder, name, file->bytes, file->n_bytes, &job->error);
  }
  return status;
}

/// Remove the files of a take that has not begun, because its input cannot be recorded.  `input`:
/// NULL if its file was not made.
static void
remove_take(RackStore* const store, const char* const input)
{
  if (store->takes[false] >= 0 && store->take) {
    unlinkat(store->folder.fd, store->take, 0);
  }
  if (input) {
    unlinkat(store->folder.fd, input, 0);
  }
  close_take(store, false);
}

/// Write a part of a take.  If it does not fit on the disk, the file keeps the parts before.
static Status
write_part(RackStore* const store, RackStoreJob* const job)
{
  int* const fd = &store->takes[job->part.is_audio];
  Status status = STATUS_OK;
  if (job->part.step == STORE_FIRST && job->part.is_audio && store->takes[false] < 0) {
    job->error = store->no_take; // the take itself could not be made
    status = job->error.status;
  } else if (job->part.step == STORE_FIRST) {
    close_take(store, job->part.is_audio); // of an earlier take, whose last part never came
    status = folder_create(&store->folder, job->name, fd, &job->error);
    if (!job->part.is_audio) {
      free(store->take);
      store->take = strdup(job->name);
    }
  } else if (*fd < 0) {
    status = error_set(&job->error, STATUS_FILE,
                       "%.200s: not written, because a part before failed", job->name);
  }
  status = status ? status
                  : folder_append(*fd, job->name, job->text, job->n_text,
                                  job->part.step == STORE_LAST, &job->error);
  if (status && job->part.step == STORE_FIRST && job->part.is_audio) {
    remove_take(store, *fd >= 0 ? job->name : NULL);
  }
  if (status || job->part.step == STORE_LAST) {
    close_take(store, job->part.is_audio);
    store->no_take = job->error;
  }
  return status;
}

/// Carry out a job.
static Status
carry_out(RackStore* const store, RackStoreJob* const job)
{
  const Folder* const folder = &store->folder;
  switch (job->kind) {
  case STORE_TAKE:
    return write_part(store, job);
  case STORE_WRITE:
    return folder_write(folder, job->name, job->text, &job->error);
  case STORE_STATE:
    return keep(folder, job);
  case STORE_READ:
    break;
  }
  return folder_read_rack(folder, job->name, &job->text, &job->error);
}

static void
rack_store_run(void* const context)
{
  RackStore* const store = context;
  for (RackStoreJob* job = NULL; (job = wait_for_job(store));) {
    job->error.status = carry_out(store, job);
    pthread_mutex_lock(&store->lock);
    append(&store->done, job);
    pthread_mutex_unlock(&store->lock);
    eventfd_write(store->fd, 1);
  }
}

Status
rack_store_new(const Folder* const folder, RackStore** const out, Error* const error)
{
  RackStore* const store = calloc(1, sizeof(RackStore));
  if (!store) {
    return error_set(error, STATUS_NO_MEM, "control: out of memory");
  }
  store->takes[0] = store->takes[1] = -1;
  store->folder.fd = fcntl(folder->fd, F_DUPFD_CLOEXEC, 0);
  store->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  store->to_do.last = &store->to_do.first;
  store->done.last = &store->done.first;
  pthread_mutex_init(&store->lock, NULL);
  pthread_cond_init(&store->changed, NULL);
  const Status status =
      store->folder.fd < 0 || store->fd < 0
          ? error_set(error, STATUS_NO_MEM, "control: %s", strerror(errno))
          : async_call_start("warprack-files", rack_store_run, store, &store->thread, error);
  if (status != STATUS_OK) {
    release(store);
    return status;
  }
  *out = store;
  return STATUS_OK;
}

void
rack_store_free(RackStore* const store)
{
  if (!store) {
    return;
  }
  pthread_mutex_lock(&store->lock);
  store->is_over = true;
  pthread_cond_signal(&store->changed);
  pthread_mutex_unlock(&store->lock);
  if (async_call_wait(store->thread, END_MS)) {
    release(store);
  } else {
    async_call_abandon(store->thread, release);
  }
}

int
rack_store_fd(const RackStore* const store)
{
  return store->fd;
}

/// Queue a job for the thread.  On failure the job is freed.
static Status
post(RackStore* const store, RackStoreJob* const job, Error* const error)
{
  pthread_mutex_lock(&store->lock);
  const bool has_room = store->n_jobs < RACK_STORE_MAX_JOBS;
  if (has_room) {
    ++store->n_jobs;
    append(&store->to_do, job);
    pthread_cond_signal(&store->changed);
  }
  pthread_mutex_unlock(&store->lock);
  if (!has_room) {
    rack_store_job_free(job);
    return error_set(error, STATUS_LIMIT, "%u files are being read or written already",
                     RACK_STORE_MAX_JOBS);
  }
  return STATUS_OK;
}

Status
rack_store_read(RackStore* const store, const char* const name, Message* const message,
                Error* const error)
{
  RackStoreJob* const job = calloc(1, sizeof(RackStoreJob));
  if (job) {
    job->name = strdup(name);
    job->message = message;
  }
  if (!job || !job->name) {
    rack_store_job_free(job);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  return post(store, job, error);
}

Status
rack_store_write(RackStore* const store, char* const text, const Peer* const peer,
                 const Message* const message, Error* const error)
{
  RackStoreJob* const job = calloc(1, sizeof(RackStoreJob));
  if (!job) {
    free(text);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  *job = (RackStoreJob){ .kind = STORE_WRITE,
                         .name = strdup(message_text(message, 0)),
                         .text = text,
                         .peer = *peer,
                         .address = strdup(message->address),
                         .n_bytes = message->n_bytes };
  if (!text || !job->name || !job->address) {
    rack_store_job_free(job);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  return post(store, job, error);
}

Status
rack_store_keep(RackStore* const store, const FxInfo* const fx, unsigned char* const bytes,
                const size_t n_bytes, Message* const message, Error* const error)
{
  PackageFile files[PACKAGE_MAX_FILES];
  uint32_t n_files = 0;
  char name[FX_STATE_NAME_BYTES];
  const Status status = package_read(bytes, n_bytes, files, &n_files, error);
  if (status) {
    free(bytes);
    return status;
  }
  package_name(fx, &files[0], name);
  RackStoreJob* const job = calloc(1, sizeof(RackStoreJob));
  if (!job) {
    free(bytes);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  *job = (RackStoreJob){ .kind = STORE_STATE,
                         .name = strdup(name),
                         .text = (char*)bytes,
                         .n_text = n_bytes,
                         .fx = fx,
                         .message = message };
  if (!job->name) {
    rack_store_job_free(job);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  return post(store, job, error);
}

Status
rack_store_take_part(RackStore* const store, const RackStorePart* const part,
                     const char* const name, char* const text, const size_t n_text,
                     const Peer* const peer, const Message* const message, Error* const error)
{
  RackStoreJob* const job = calloc(1, sizeof(RackStoreJob));
  if (!job) {
    free(text);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  *job = (RackStoreJob){ .kind = STORE_TAKE,
                         .part = *part,
                         .name = strdup(name),
                         .text = text,
                         .n_text = n_text,
                         .address = message ? strdup(message->address) : NULL,
                         .n_bytes = message ? message->n_bytes : 0U };
  if (message) {
    job->peer = *peer;
  }
  if (!text || !job->name || (message && !job->address)) {
    rack_store_job_free(job);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  return post(store, job, error);
}

RackStoreJob*
rack_store_take(RackStore* const store)
{
  eventfd_t ignored = 0;
  (void)eventfd_read(store->fd, &ignored); // first, so that a later job makes it readable again
  pthread_mutex_lock(&store->lock);
  RackStoreJob* const job = take_first(&store->done);
  store->n_jobs -= job != NULL;
  pthread_mutex_unlock(&store->lock);
  return job;
}

void
rack_store_job_free(RackStoreJob* const job)
{
  if (job) {
    free(job->name);
    free(job->text);
    free(job->address);
    free(job);
  }
}
