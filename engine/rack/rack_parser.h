// SPDX-License-Identifier: GPL-3.0-or-later
/// Shared by the two halves of the parser: rack_parse.c (documents and statements) and
/// rack_parse_chain.c (chains, nodes and values).
#ifndef WARPRACK_ENGINE_RACK_RACK_PARSER_H
#define WARPRACK_ENGINE_RACK_RACK_PARSER_H

#include "rack_private.h"
#include "rack_token.h"

/// A `connect` of the document, to locate the error of a cycle.
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
  bool is_document;     ///< Not an edit of an existing rack
  bool has_begun;       ///< The connection of the empty rack has been replaced
  bool* given;          ///< Parameters of the current node that have a value, backend last
  Made* made;
  uint32_t n_made;
  uint32_t depth; ///< Number of parentheses around `now`
  Error* error;
} Parser;

/// Fail with "place:line:column: what", columns in characters.
Status parser_fail(Parser* parser, size_t offset, Status status, const char* format, ...)
    PRINTF_LIKE(4, 5);

/// Fail with an error of the model.
Status parser_pass_on(Parser* parser, size_t offset, const Error* cause);

/// Fail because `now` is not the expected token.
Status parser_unexpected(Parser* parser, const char* wanted);

void parser_advance(Parser* parser);

/// Advance if `now` is of that kind; returns true then.
bool parser_accept(Parser* parser, TokenKind kind);

/// Advance if `now` is of that kind, and store it in `token`; else fail.
NODISCARD Status parser_expect(Parser* parser, TokenKind kind, const char* wanted, Token* token);

/// [ "in" [channels] "|" ] series [ "|" "out" [channels] ]
NODISCARD Status rack_parse_chain(Parser* parser);

/// The replacement for a character that separates or quotes in other languages, if `word` contains
/// one; else NULL.
const char* parser_foreign_mark(const char* word);

/// effect; `name` is the node's name, or NULL without one.  The node is valid until the next one
/// is added.
NODISCARD Status rack_parse_effect(Parser* parser, const Token* name, RackNode** node);

/// { value } { key "=" value }
NODISCARD Status rack_parse_values(Parser* parser, RackNode* node);

NODISCARD Status rack_parse_value(Parser* parser, RackNode* node, uint32_t param);

#endif
