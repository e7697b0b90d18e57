// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The documents of a remote runner: what a new worker has to be told so that nothing is lost with
   the old one.

       pending, in order ──heard──▶ heard ──▶ before
                └──refused──▶ gone    └──quarantined──▶ banned, for a while

   Values that are set meanwhile are noted in all documents that came before them, as the sound has
   them.  No threads: the remote's lock guards it.
*/
#ifndef WARPRACK_ENGINE_REMOTE_BOOK_H
#define WARPRACK_ENGINE_REMOTE_BOOK_H

#include "rack.h"
#include "remote_blame.h"
#include "ring.h"

#include <stdbool.h>
#include <stdint.h>

#define BOOK_MAX_BANNED 8U
#define BOOK_BAN_NS     UINT64_C(600000000000) // ten minutes
#define BOOK_WHY_BYTES  320U

/// An edit without a reply yet.
typedef struct BookEdit {
  struct BookEdit* next;
  uint64_t id;
  uint64_t at_frame;
  Rack* rack;
  EditLosses losses;
  Error refusal; ///< STATUS_OK: it is to be tried
} BookEdit;

typedef struct BookBan {
  Rack* rack; ///< NULL: free
  uint64_t until_ns;
  char why[BOOK_WHY_BYTES];
} BookBan;

typedef struct Book {
  Rack* heard;
  Rack* before; ///< NULL: none, or none that is good
  BookEdit* first;
  BookEdit** last; ///< Where the next one is hooked in
  BookBan banned[BOOK_MAX_BANNED];
} Book;

/// With the empty rack as what is heard.
NODISCARD Status book_init(Book* book);
void book_clear(Book* book);

/// Take up an edit; `rack` is copied.  One that is banned is in the book as refused.
NODISCARD Status book_add(Book* book, uint64_t id, const Rack* rack, uint64_t at_frame,
                          uint64_t now_ns);

/// Write values into the documents.  What no document knows is left out.
void book_note(Book* book, const ParamMessage* messages, uint32_t n);

/// The first edit is heard.
void book_first_heard(Book* book);

/// The first edit leaves.
void book_drop_first(Book* book);

/// Refuse all edits: they were made from a rack that is not heard any more.
void book_refuse_all(Book* book, const char* why);

/// Where a worker was lost with the first edit, and one behind it takes away something of what that
/// one has: refuse the first one and all up to that one.
void book_overtake(Book* book, const char* why);

/// The first edit is refused: refuse with it those right behind it that have all the nodes with
/// which it adds to what is heard.
void book_refuse_followers(Book* book, const char* why);

/// Take back what is heard: the rack before it is heard again, or the empty one; it is banned until
/// BOOK_BAN_NS from now.  False when out of memory: then nothing has changed.
bool book_quarantine(Book* book, const char* why, uint64_t now_ns);

#endif
