// SPDX-License-Identifier: GPL-3.0-or-later
/// What the two halves of the parser share: rack_parse.c (documents and statements) and
/// rack_parse_chain.c (chains, nodes and values).
#ifndef WARPRACK_ENGINE_RACK_RACK_PARSER_H
#define WARPRACK_ENGINE_RACK_RACK_PARSER_H

#include "rack_private.h"
#include "rack_token.h"

/// A `connect` of the document, to say where a circle was closed.
typedef struct Made {
  RackUid from, to;
  size_t offset;
} Made;

typedef struct Parser {
  Tokenizer tokenizer;
  Token now, next;
  const char* place;
  Rack* rack;
  const Rack* previous; ///< May be NULL
  bool is_document;     ///< Not an edit of a rack that is there
  bool has_begun;       ///< The connection of the empty rack has given way
  bool* given;          ///< Parameters that the present node has been given, backend last
  Made* made;
  uint32_t n_made;
  uint32_t depth; ///< Of parentheses around `now`
  Error* error;
} Parser;

/// Fail with "place:line:column: what", columns in characters.
Status parser_fail(Parser* parser, size_t offset, Status status, const char* format, ...)
    PRINTF_LIKE(4, 5);

/// Fail with what a function of the model said.
Status parser_pass_on(Parser* parser, size_t offset, const Error* cause);

/// Fail because `now` is not what was wanted.
Status parser_unexpected(Parser* parser, const char* wanted);

void parser_advance(Parser* parser);

/// Go on when `now` is of that kind.
bool parser_accept(Parser* parser, TokenKind kind);

/// Go on when `now` is of that kind, and keep it in `token`; else fail.
NODISCARD Status parser_expect(Parser* parser, TokenKind kind, const char* wanted, Token* token);

/// [ "in" [channels] "|" ] series [ "|" "out" [channels] ]
NODISCARD Status rack_parse_chain(Parser* parser);

/// What to write instead of a mark that separates or quotes elsewhere, when `word` has one; else
/// NULL.
const char* parser_foreign_mark(const char* word);

/// effect, for a node whose name, when it has one, has been read.  The node is valid until the next
/// one is added.
NODISCARD Status rack_parse_effect(Parser* parser, const Token* name, RackNode** node);

/// { value } { key "=" value }
NODISCARD Status rack_parse_values(Parser* parser, RackNode* node);

NODISCARD Status rack_parse_value(Parser* parser, RackNode* node, uint32_t param);

#endif
