// SPDX-License-Identifier: GPL-3.0-or-later
// Documents that are heard, were heard, wait, or are banned.

#include "remote_book.h"

#include "rack_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Status
book_init(Book* const book)
{
  *book = (Book){ .heard = rack_new() };
  book->last = &book->first;
  return book->heard ? STATUS_OK : STATUS_NO_MEM;
}

void
book_clear(Book* const book)
{
  while (book->first) {
    book_drop_first(book);
  }
  for (uint32_t b = 0; b < BOOK_MAX_BANNED; ++b) {
    rack_free(book->banned[b].rack);
  }
  rack_free(book->heard);
  rack_free(book->before);
  *book = (Book){ 0 };
}

/// The ban of a rack, or NULL.
static const BookBan*
find_ban(const Book* const book, const Rack* const rack, const uint64_t now_ns)
{
  for (uint32_t b = 0; b < BOOK_MAX_BANNED; ++b) {
    const BookBan* const ban = &book->banned[b];
    if (ban->rack && now_ns < ban->until_ns && rack_equal(ban->rack, rack)) {
      return ban;
    }
  }
  return NULL;
}

Status
book_add(Book* const book, const uint64_t id, const Rack* const rack, const uint64_t at_frame,
         const uint64_t now_ns)
{
  BookEdit* const edit = calloc(1, sizeof(BookEdit));
  Rack* const copy = rack_copy(rack);
  if (!edit || !copy) {
    free(edit);
    rack_free(copy);
    return STATUS_NO_MEM;
  }
  *edit = (BookEdit){ .id = id, .at_frame = at_frame, .rack = copy };
  const BookBan* const ban = find_ban(book, rack, now_ns);
  if (ban) {
    error_set(&edit->refusal, STATUS_WORKER, "%s", ban->why);
  }
  *book->last = edit;
  book->last = &edit->next;
  return STATUS_OK;
}

void
book_note(Book* const book, const ParamMessage* const messages, const uint32_t n)
{
  for (uint32_t m = 0; m < n; ++m) {
    const ParamMessage* const message = &messages[m];
    rack_set_value(book->heard, message->uid, message->param, message->value);
    for (const BookEdit* edit = book->first; edit; edit = edit->next) {
      rack_set_value(edit->rack, message->uid, message->param, message->value);
    }
  }
}

static BookEdit*
take_first(Book* const book)
{
  BookEdit* const edit = book->first;
  book->first = edit->next;
  book->last = book->first ? book->last : &book->first;
  return edit;
}

void
book_first_heard(Book* const book)
{
  BookEdit* const edit = take_first(book);
  rack_free(book->before);
  book->before = book->heard;
  book->heard = edit->rack;
  free(edit);
}

void
book_drop_first(Book* const book)
{
  BookEdit* const edit = take_first(book);
  rack_free(edit->rack);
  free(edit);
}

/// The edit behind the first one that does not have all of its nodes, or NULL.
static const BookEdit*
find_smaller(const Book* const book)
{
  const BookEdit* edit = book->first->next;
  while (edit && rack_has_nodes(edit->rack, book->first->rack)) {
    edit = edit->next;
  }
  return edit;
}

/// Refuse the first edits, up to `end`.
static void
refuse_until(const Book* const book, const BookEdit* const end, const char* const why)
{
  for (BookEdit* edit = book->first; edit != end; edit = edit->next) {
    if (!edit->refusal.status) {
      error_set(&edit->refusal, STATUS_WORKER, "%s", why);
    }
  }
}

void
book_refuse_all(Book* const book, const char* const why)
{
  refuse_until(book, NULL, why);
}

void
book_overtake(Book* const book, const char* const why)
{
  const BookEdit* const smaller =
      book->first && book->first->losses.n_losses ? find_smaller(book) : NULL;
  if (smaller) {
    refuse_until(book, smaller, why);
  }
}

void
book_refuse_followers(Book* const book, const char* const why)
{
  if (!rack_has_nodes(book->heard, book->first->rack)) {
    refuse_until(book, find_smaller(book), why);
  }
}

/// A free place, or the one whose time ends first.
static BookBan*
place_for_ban(Book* const book)
{
  BookBan* place = &book->banned[0];
  for (uint32_t b = 1; b < BOOK_MAX_BANNED; ++b) {
    place = book->banned[b].until_ns < place->until_ns ? &book->banned[b] : place;
  }
  return place;
}

bool
book_quarantine(Book* const book, const char* const why, const uint64_t now_ns)
{
  Rack* const good = book->before ? book->before : rack_new();
  if (!good) {
    return false;
  }
  good->next_uid = book->heard->next_uid > good->next_uid ? book->heard->next_uid : good->next_uid;
  BookBan* const ban = place_for_ban(book);
  rack_free(ban->rack);
  *ban = (BookBan){ .rack = book->heard, .until_ns = now_ns + BOOK_BAN_NS };
  snprintf(ban->why, sizeof(ban->why), "%s", why);
  book->heard = good;
  book->before = NULL;
  return true;
}
