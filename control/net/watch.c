// SPDX-License-Identifier: GPL-3.0-or-later
// A ring of entries.

#include "watch.h"

#include <string.h>

static const char* const verdict_words[] = {
  [WATCH_DONE] = "done",           [WATCH_FAILED] = "failed",   [WATCH_REFUSED] = "refused",
  [WATCH_FORBIDDEN] = "forbidden", [WATCH_IGNORED] = "ignored",
};

/// Copy a text, cut to the room, with `?` in place of other characters than those of OSC strings.
static void
copy(char* const to, const size_t n_room, const char* const text, const size_t n_bytes)
{
  size_t n = 0;
  for (; n + 1U < n_room && n < n_bytes && text[n]; ++n) {
    to[n] = (char)(text[n] < ' ' || text[n] > '~' ? '?' : text[n]);
  }
  to[n] = '\0';
}

static bool
is_repeated(const WatchEntry* const a, const WatchEntry* const b)
{
  const bool is_same_sender = a->peer.n_bytes == b->peer.n_bytes &&
                              memcmp(&a->peer.address, &b->peer.address, a->peer.n_bytes) == 0;
  const bool has_same_words = a->verdict == WATCH_FORBIDDEN ||
                              (a->n_messages == b->n_messages && !strcmp(a->address, b->address) &&
                               !strcmp(a->reason, b->reason));
  return a->verdict == b->verdict && is_same_sender && has_same_words;
}

/// The entry that is `age` entries older than the next one.
static uint32_t
place_before(const Watch* const watch, const uint32_t age)
{
  return (watch->next + WATCH_ENTRIES + 1U - age) % (WATCH_ENTRIES + 1U);
}

void
watch_note(Watch* const watch, const uint64_t now_ns, const Peer* const peer,
           const WatchNote* const note)
{
  WatchEntry* const newest = &watch->entries[place_before(watch, 1U)];
  WatchEntry* const entry = &watch->entries[watch->next];
  entry->peer = *peer;
  entry->at_ns = now_ns;
  entry->verdict = note->verdict;
  entry->n_messages = note->n_messages;
  entry->n_times = 1U;
  copy(entry->address, sizeof(entry->address), note->address, note->n_address_bytes);
  copy(entry->reason, sizeof(entry->reason), note->reason ? note->reason : "", SIZE_MAX);
  if (watch->n && is_repeated(newest, entry)) {
    ++newest->n_times;
    newest->at_ns = now_ns;
    return;
  }
  watch->next = (watch->next + 1U) % (WATCH_ENTRIES + 1U);
  watch->n += watch->n < WATCH_ENTRIES;
}

void
watch_print(const Watch* const watch, const uint64_t now_ns, TextBuffer* const text)
{
  for (uint32_t age = 1; age <= watch->n; ++age) {
    const WatchEntry* const entry = &watch->entries[place_before(watch, age)];
    char sender[PEER_TEXT_BYTES];
    peer_print(&entry->peer, sender);
    text_buffer_print(text, "%.3f\t%s\t%s\t%u\t%u\t%s\t%s\n",
                      (double)(now_ns - entry->at_ns) * 1e-9, sender, verdict_words[entry->verdict],
                      entry->n_times, entry->n_messages, entry->address, entry->reason);
  }
}
