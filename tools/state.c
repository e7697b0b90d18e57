// SPDX-License-Identifier: GPL-3.0-or-later
// Writes the state of a live run to disk.

#include "state.h"

#include "control/folder.h"
#include "control/net/peer.h"
#include "engine/base/async_call.h"
#include "engine/base/hash.h"
#include "engine/base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP_NS       (NS_PER_S / 4U)
#define STARTS_FILE   "starts"
#define CLIENTS_FILE  "subscribers"
#define ORIGIN_FORMAT "# warprack state, begun with %016" PRIx64 "\n"

static const char* const file_names[STATE_N_FILES] = { "present.rack", "good.rack" };

/// A rack that waits to be written; `text` is NULL if there is none.
typedef struct HeardRack {
  char* text;
  uint64_t due_ns; ///< Time at which it will have played for long enough
} HeardRack;

struct State {
  Folder folder;
  int lock_fd; ///< Lock file of the folder, held by this run
  StateFailed failed;
  void* context;
  uint32_t starts;
  uint64_t text_origin;
  char* texts[STATE_N_FILES]; ///< [state's thread] As on disk, without their first line
  char* subscribers;          ///< [state's thread] As on disk; NULL: none
  AsyncCall* writer;          ///< NULL: state_run() has not been called

  // Only for the state's thread.
  HeardRack promising; ///< Waits to become good.rack
  uint64_t began_ns;
  uint64_t retry_ns; ///< Write no file before this time
  bool has_lived;

  pthread_mutex_t lock; ///< Guards the members below
  pthread_cond_t changed;
  uint64_t origin;
  HeardRack candidate; ///< Waits to become present.rack
  HeardRack newest;    ///< The rack after it
  char* subscribed;    ///< Waits to be written as the file of subscribers; NULL: none
  StateCounts counts;
  bool is_closing, in_order;
  bool is_abandoned; ///< The run has ended: errors are no longer reported
};

uint64_t
state_origin(const char* const rack_text)
{
  const uint64_t hash = hash_bytes(HASH64_START, rack_text, strlen(rack_text));
  return hash ? hash : 1U;
}

// ---- files ----

/// Write a file.  After an error, report it, and write no file for STATE_RETRY_S.
static bool
write_file(State* const state, const char* const name, const char* const text,
           const uint64_t now_ns)
{
  Error error;
  const Status status = folder_replace(&state->folder, name, text, &error);
  if (!status) {
    return true;
  }
  char said[sizeof(error.text) + 64U];
  snprintf(said, sizeof(said), "%s; trying again every %u s", error.text, STATE_RETRY_S);
  state->retry_ns = now_ns + STATE_RETRY_S * NS_PER_S;
  pthread_mutex_lock(&state->lock);
  ++state->counts.failed;
  if (!state->is_abandoned) {
    state->failed(state->context, STATE_UNWRITTEN, said);
  }
  pthread_mutex_unlock(&state->lock);
  return false;
}

static bool
write_starts(State* const state, const uint32_t starts, const uint64_t now_ns)
{
  char text[16];
  snprintf(text, sizeof(text), "%u\n", starts);
  return write_file(state, STARTS_FILE, text, now_ns);
}

/// Write a rack unless the file already contains it.
static bool
write_rack(State* const state, const StateFile file, const char* const rack_text,
           const uint64_t now_ns)
{
  if (state->texts[file] && !strcmp(state->texts[file], rack_text)) {
    return true;
  }
  pthread_mutex_lock(&state->lock);
  const uint64_t origin = state->origin;
  pthread_mutex_unlock(&state->lock);
  char* text = NULL;
  char* const kept = strdup(rack_text);
  const bool done = kept && asprintf(&text, ORIGIN_FORMAT "%s", origin, rack_text) >= 0 &&
                    write_file(state, file_names[file], text, now_ns);
  free(text);
  if (!done) {
    free(kept);
    return false;
  }
  free(state->texts[file]);
  state->texts[file] = kept;
  pthread_mutex_lock(&state->lock);
  ++state->counts.saved;
  pthread_mutex_unlock(&state->lock);
  return true;
}

// ---- due writes ----

/// Take the candidate if it has played for long enough, or in any case.  The caller frees the text.
static HeardRack
take_candidate(State* const state, const bool in_any_case, const uint64_t now_ns)
{
  HeardRack taken = { NULL, 0 };
  pthread_mutex_lock(&state->lock);
  const HeardRack* const candidate = &state->candidate;
  if (candidate->text && (in_any_case || now_ns >= candidate->due_ns)) {
    taken = *candidate;
    state->candidate = state->newest;
    state->newest.text = NULL;
  }
  pthread_mutex_unlock(&state->lock);
  return taken;
}

/// Make a rack whose write has failed the candidate again, unless a newer one waits.
static void
give_back(State* const state, const HeardRack* const taken)
{
  pthread_mutex_lock(&state->lock);
  if (state->candidate.text) {
    free(taken->text);
  } else {
    state->candidate = *taken;
  }
  pthread_mutex_unlock(&state->lock);
}

static void
keep_present(State* const state, const bool in_any_case, const uint64_t now_ns)
{
  const HeardRack taken = take_candidate(state, in_any_case, now_ns);
  if (!taken.text) {
    return;
  }
  if (!write_rack(state, STATE_PRESENT, taken.text, now_ns)) {
    give_back(state, &taken);
  } else if (state->promising.text) {
    free(taken.text);
  } else {
    state->promising = (HeardRack){ taken.text, taken.due_ns + STATE_GOOD_S * NS_PER_S };
  }
}

static void
keep_good(State* const state, const uint64_t now_ns)
{
  HeardRack* const promising = &state->promising;
  if (promising->text && now_ns >= promising->due_ns &&
      write_rack(state, STATE_GOOD, promising->text, now_ns)) {
    free(promising->text);
    promising->text = NULL;
    if (strcmp(state->texts[STATE_GOOD], state->texts[STATE_PRESENT]) != 0) {
      *promising =
          (HeardRack){ strdup(state->texts[STATE_PRESENT]), now_ns + STATE_GOOD_S * NS_PER_S };
    }
  }
}

/// Queue a text of subscribers for the disk.  It replaces an older text.
static void
offer_subscribers(State* const state, char* const subscribers, const bool is_newer)
{
  pthread_mutex_lock(&state->lock);
  char* dropped = subscribers;
  if (is_newer || !state->subscribed) {
    dropped = state->subscribed;
    state->subscribed = subscribers;
  }
  pthread_mutex_unlock(&state->lock);
  free(dropped);
}

static void
keep_subscribers(State* const state, const uint64_t now_ns)
{
  pthread_mutex_lock(&state->lock);
  char* const taken = state->subscribed;
  state->subscribed = NULL;
  pthread_mutex_unlock(&state->lock);
  if (!taken || (state->subscribers && !strcmp(state->subscribers, taken))) {
    free(taken);
  } else if (write_file(state, CLIENTS_FILE, taken, now_ns)) {
    free(state->subscribers);
    state->subscribers = taken;
  } else {
    offer_subscribers(state, taken, false);
  }
}

void
state_step(State* const state, const uint64_t now_ns)
{
  state->began_ns = state->began_ns ? state->began_ns : now_ns;
  if (now_ns < state->retry_ns) {
    return;
  }
  if (!state->has_lived && now_ns - state->began_ns >= STATE_LIVED_S * NS_PER_S) {
    state->has_lived = write_starts(state, 0, now_ns);
    if (!state->has_lived) {
      return;
    }
  }
  keep_present(state, false, now_ns);
  if (now_ns >= state->retry_ns) {
    keep_good(state, now_ns);
  }
  if (now_ns >= state->retry_ns) {
    keep_subscribers(state, now_ns);
  }
}

static void
step_in_order(State* const state, const uint64_t now_ns)
{
  keep_present(state, true, now_ns); // the candidate
  keep_present(state, true, now_ns); // the newest
  keep_subscribers(state, now_ns);
  if (!state->has_lived) {
    write_starts(state, 0, now_ns);
  }
}

// ---- the thread ----

static void
wait_a_step(State* const state)
{
  const uint64_t until_ns = time_now_ns() + STEP_NS;
  pthread_mutex_lock(&state->lock);
  if (!state->is_closing) {
    time_cond_wait(&state->changed, &state->lock, until_ns);
  }
  pthread_mutex_unlock(&state->lock);
}

static bool
is_closing(State* const state)
{
  pthread_mutex_lock(&state->lock);
  const bool closing = state->is_closing;
  pthread_mutex_unlock(&state->lock);
  return closing;
}

static void
state_main(void* const context)
{
  State* const state = context;
  while (!is_closing(state)) {
    state_step(state, time_now_ns());
    wait_a_step(state);
  }
  if (state->in_order) {
    step_in_order(state, time_now_ns());
  }
}

// ---- open and close ----

static void
state_free(void* const context)
{
  State* const state = context;
  for (uint32_t f = 0; f < STATE_N_FILES; ++f) {
    free(state->texts[f]);
  }
  free(state->promising.text);
  free(state->candidate.text);
  free(state->newest.text);
  free(state->subscribers);
  free(state->subscribed);
  pthread_cond_destroy(&state->changed);
  pthread_mutex_destroy(&state->lock);
  if (state->lock_fd >= 0) {
    close(state->lock_fd);
  }
  folder_close(&state->folder);
  free(state);
}

static State*
state_alloc(const StateFailed failed, void* const context)
{
  State* const state = calloc(1, sizeof(State));
  if (!state) {
    return NULL;
  }
  state->folder.fd = -1;
  state->lock_fd = -1;
  state->failed = failed;
  state->context = context;
  pthread_mutex_init(&state->lock, NULL);
  time_cond_init(&state->changed);
  return state;
}

static Status
open_folder(State* const state, const char* const path, Error* const error)
{
  if (mkdir(path, 0777) && errno != EEXIST) {
    return error_set(error, STATUS_FILE, "state folder %s: %s", path, strerror(errno));
  }
  const Status status = folder_open(&state->folder, path, error);
  if (status) {
    return status;
  }
  state->lock_fd = openat(state->folder.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (state->lock_fd < 0 || flock(state->lock_fd, LOCK_EX | LOCK_NB)) {
    return errno == EWOULDBLOCK
               ? error_set(error, STATUS_EXISTS, "state folder %s: another warprack uses it", path)
               : error_set(error, STATUS_FILE, "state folder %s: %s", path, strerror(errno));
  }
  folder_remove_leftovers(&state->folder, 0); // of runs that were killed during a write
  return STATUS_OK;
}

/// Report a file that exists but cannot be used.
static void
report_unread(const State* const state, const char* const why)
{
  char said[512];
  snprintf(said, sizeof(said), "state folder: %.400s; the file is not used", why);
  state->failed(state->context, STATE_UNREAD, said);
}

/// Read a file; the caller frees the text.  NULL if there is none.  A damaged file is reported, and
/// gives NULL too.
static char*
read_file(const State* const state, const char* const name)
{
  char* text = NULL;
  Error why;
  struct stat info;
  if (folder_read(&state->folder, name, &text, &why) &&
      !fstatat(state->folder.fd, name, &info, AT_SYMLINK_NOFOLLOW)) {
    if (S_ISLNK(info.st_mode)) {
      error_set(&why, why.status, "%s: a link that leads to no usable file of this folder", name);
    }
    report_unread(state, why.text);
  }
  return text;
}

/// Read the number of successive starts that crashed early.
static uint32_t
read_starts(const State* const state)
{
  char* const text = read_file(state, STARTS_FILE);
  char* end = text;
  const unsigned long n = text ? strtoul(text, &end, 10) : 0UL;
  const bool is_number = text && end != text && (!*end || !strcmp(end, "\n")) && n <= UINT32_MAX;
  if (text && !is_number) {
    report_unread(state, STARTS_FILE ": not a number of starts");
  }
  free(text);
  return is_number ? (uint32_t)n : 0U;
}

/// True for a line of the file of subscribers.
static bool
is_client(const char* const line)
{
  Peer peer;
  char text[PEER_TEXT_BYTES];
  if (!peer_read(line, &peer) || !peer_is_loopback(&peer)) {
    return false;
  }
  peer_print(&peer, text);
  return strcspn(line, "\n") == strlen(text) && !strncmp(line, text, strlen(text));
}

/// Read the subscribers, NULL for none; the caller frees the text.  A line that is no address is
/// reported; the other lines remain valid.
static char*
read_subscribers(const State* const state)
{
  char* const text = read_file(state, CLIENTS_FILE);
  const char* line = text;
  while (line && *line && is_client(line)) {
    line += strcspn(line, "\n");
    line += *line == '\n';
  }
  if (line && *line) {
    state->failed(state->context, STATE_UNREAD,
                  "state folder: " CLIENTS_FILE
                  ": a line is not the address of a client, and is not used");
  }
  return text;
}

/// Read the files; a missing or damaged one is ignored.
static void
read_files(State* const state)
{
  state->starts = read_starts(state);
  state->subscribers = read_subscribers(state);
  for (uint32_t f = 0; f < STATE_N_FILES; ++f) {
    char* const text = read_file(state, file_names[f]);
    uint64_t origin = 0;
    if (!text) {
      continue;
    }
    const char* const end = strchr(text, '\n');
    if (end && sscanf(text, ORIGIN_FORMAT, &origin) == 1) {
      memmove(text, end + 1, strlen(end));
    } else if (f == STATE_PRESENT) {
      state->failed(state->context, STATE_UNREAD,
                    "state folder: present.rack: the first line is damaged; the file is used only "
                    "if the RACK of the command line fails");
    }
    state->texts[f] = text;
    state->text_origin = f == STATE_PRESENT ? origin : state->text_origin;
  }
}

Status
state_open(const char* const path, const StateFailed failed, void* const context, State** const out,
           Error* const error)
{
  State* const state = state_alloc(failed, context);
  if (!state) {
    return error_set(error, STATUS_NO_MEM, "state folder %s: out of memory", path);
  }
  const Status status = open_folder(state, path, error);
  if (status) {
    state_free(state);
    return status;
  }
  read_files(state);
  state->starts = state->starts < UINT32_MAX ? state->starts + 1U : state->starts;
  write_starts(state, state->starts, 0);
  state->retry_ns = 0;
  *out = state;
  return STATUS_OK;
}

uint32_t
state_starts(const State* const state)
{
  return state->starts;
}

const char*
state_text(const State* const state, const StateFile file)
{
  return state->texts[file];
}

const char*
state_subscribers(const State* const state)
{
  return state->subscribers;
}

uint64_t
state_text_origin(const State* const state)
{
  return state->text_origin;
}

void
state_set_origin(State* const state, const uint64_t origin)
{
  pthread_mutex_lock(&state->lock);
  state->origin = origin;
  pthread_mutex_unlock(&state->lock);
}

Status
state_run(State* const state, Error* const error)
{
  return async_call_start("warprack-state", state_main, state, &state->writer, error);
}

void
state_offer(State* const state, char* const rack_text, const uint64_t now_ns)
{
  if (!rack_text) {
    return;
  }
  pthread_mutex_lock(&state->lock);
  HeardRack* const to = state->candidate.text ? &state->newest : &state->candidate;
  free(to->text);
  *to = (HeardRack){ rack_text, now_ns + STATE_PRESENT_S * NS_PER_S };
  pthread_mutex_unlock(&state->lock);
}

void
state_offer_subscribers(State* const state, char* const subscribers)
{
  offer_subscribers(state, subscribers, true);
}

void
state_shake(State* const state, const uint64_t now_ns)
{
  pthread_mutex_lock(&state->lock);
  state->candidate.due_ns = now_ns + STATE_SHAKEN_S * NS_PER_S;
  state->newest.due_ns = now_ns + STATE_SHAKEN_S * NS_PER_S;
  pthread_mutex_unlock(&state->lock);
}

StateCounts
state_counts(State* const state)
{
  pthread_mutex_lock(&state->lock);
  const StateCounts counts = state->counts;
  pthread_mutex_unlock(&state->lock);
  return counts;
}

bool
state_close(State* const state, const bool in_order, const uint32_t timeout_ms)
{
  if (!state) {
    return true;
  }
  pthread_mutex_lock(&state->lock);
  state->is_closing = true;
  state->in_order = in_order;
  pthread_cond_signal(&state->changed);
  pthread_mutex_unlock(&state->lock);
  if (state->writer && !async_call_wait(state->writer, timeout_ms)) { // the disk hangs
    pthread_mutex_lock(&state->lock);
    state->is_abandoned = true;
    pthread_mutex_unlock(&state->lock);
    async_call_abandon(state->writer, state_free);
    return false;
  }
  if (!state->writer && in_order) {
    step_in_order(state, time_now_ns());
  }
  state_free(state);
  return true;
}
