// SPDX-License-Identifier: GPL-3.0-or-later
/// Splits a rack document into tokens; private to the parser.  engine/rack/RACK.md has the grammar.
#ifndef WARPRACK_ENGINE_RACK_RACK_TOKEN_H
#define WARPRACK_ENGINE_RACK_RACK_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum TokenKind {
  TOKEN_END, ///< Of the document
  TOKEN_NEWLINE,
  TOKEN_WORD,
  TOKEN_STRING, ///< A text in quotes, without the quotes
  TOKEN_BAR,
  TOKEN_PLUS,
  TOKEN_OPEN,
  TOKEN_CLOSE,
  TOKEN_COLON,
  TOKEN_EQUALS,
  TOKEN_BAD ///< `text` is the error
} TokenKind;

typedef struct Token {
  TokenKind kind;
  size_t offset;    ///< Of its first character in the document
  const char* text; ///< WORD, STRING: its text; BAD: a sentence; else ""
} Token;

typedef struct Tokenizer {
  const char* document;
  const char* at;
  char* memory;    ///< The texts of all tokens, one after the other, until tokenizer_clear()
  char* memory_at; ///< Next free byte.  `memory` is always large enough, because a token takes more
                   ///< bytes in the document than its text with a zero
  TokenKind last;  ///< A newline after | or + does not end a statement
  uint32_t depth;  ///< Of parentheses; a newline inside does not end a statement
} Tokenizer;

/// Initialise a tokenizer.  Returns false if out of memory.  The document is borrowed until
/// tokenizer_clear().
bool tokenizer_init(Tokenizer* tokenizer, const char* document);

void tokenizer_clear(Tokenizer* tokenizer);

/// Read the next token.  At the end, each call returns TOKEN_END.
Token token_next(Tokenizer* tokenizer);

/// The text of a kind of token, for messages.
const char* token_kind_text(TokenKind kind);

#endif
