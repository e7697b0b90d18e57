// SPDX-License-Identifier: GPL-3.0-or-later
// Splits a rack document into tokens.

#include "rack_token.h"

#include <stdlib.h>
#include <string.h>

static const char byte_order_mark[] = "\xEF\xBB\xBF"; // some editors begin files with it

bool
tokenizer_init(Tokenizer* const tokenizer, const char* const document)
{
  const size_t n_mark = sizeof(byte_order_mark) - 1U;
  const bool has_mark = !strncmp(document, byte_order_mark, n_mark);
  char* const memory = malloc(strlen(document) + 1U);
  *tokenizer = (Tokenizer){ .document = document,
                            .at = document + (has_mark ? n_mark : 0U),
                            .memory = memory,
                            .memory_at = memory,
                            .last = TOKEN_NEWLINE };
  return memory;
}

void
tokenizer_clear(Tokenizer* const tokenizer)
{
  free(tokenizer->memory);
}

static bool
is_space(const char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

static bool
is_control(const char c)
{
  return ((unsigned char)c < ' ' && !is_space(c) && c != '\n') || c == 0x7F;
}

/// True for a "+" that is neither the sign of a number nor part of a name.
static bool
is_plus(const char* const at)
{
  return at[0] == '+' &&
         (is_space(at[1]) || strchr("(\n", at[1])); // strchr() finds the final zero too
}

static bool
ends_word(const char* const at)
{
  switch (*at) {
  case '\0':
  case '\n':
  case '|':
  case '(':
  case ')':
  case '=':
  case '"':
    return true;
  case ':': // "name:" ends a name; "node:3" is one word
    return at[1] < '0' || at[1] > '9';
  case '+':
    return is_plus(at);
  default:
    return is_space(*at) || is_control(*at);
  }
}

/// Skip spaces, comments, and newlines that do not end a statement.
static void
skip_blanks(Tokenizer* const tokenizer)
{
  const bool goes_on =
      tokenizer->depth || tokenizer->last == TOKEN_BAR || tokenizer->last == TOKEN_PLUS;
  while (is_space(*tokenizer->at) || *tokenizer->at == '#' || (goes_on && *tokenizer->at == '\n')) {
    tokenizer->at += *tokenizer->at == '#' ? strcspn(tokenizer->at, "\n") : 1U;
  }
}

static Token
word(Tokenizer* const tokenizer, Token token)
{
  char* to = tokenizer->memory_at;
  while (!ends_word(tokenizer->at)) {
    *to++ = *tokenizer->at++;
  }
  *to++ = '\0';
  token.kind = TOKEN_WORD;
  token.text = tokenizer->memory_at;
  tokenizer->memory_at = to;
  return token;
}

static Token
bad(Tokenizer* const tokenizer, Token token, const char* const at, const char* const what)
{
  token.kind = TOKEN_BAD;
  token.offset = (size_t)(at - tokenizer->document);
  token.text = what;
  return token;
}

static Token
string(Tokenizer* const tokenizer, Token token)
{
  const char* const start = tokenizer->at++;
  char* to = tokenizer->memory_at;
  for (; *tokenizer->at != '"'; ++tokenizer->at) {
    const char* const at = tokenizer->at;
    if (*at == '\0' || *at == '\n') {
      return bad(tokenizer, token, start,
                 "the text is not closed; end it with \" on the same line");
    }
    if (is_control(*at) || *at == '\r') {
      return bad(tokenizer, token, at, "a control character; remove it");
    }
    if (*at == '\\' && at[1] != '"' && at[1] != '\\') {
      return bad(tokenizer, token, at,
                 "unknown escape; inside quotes write \\\\ for \\ and \\\" for \"");
    }
    tokenizer->at += *at == '\\';
    *to++ = *tokenizer->at;
  }
  tokenizer->at++;
  *to++ = '\0';
  token.kind = TOKEN_STRING;
  token.text = tokenizer->memory_at;
  tokenizer->memory_at = to;
  return token;
}

static Token
scan(Tokenizer* const tokenizer)
{
  static const struct {
    char character;
    TokenKind kind;
  } marks[] = { { '\n', TOKEN_NEWLINE }, { '|', TOKEN_BAR },   { '(', TOKEN_OPEN },
                { ')', TOKEN_CLOSE },    { ':', TOKEN_COLON }, { '=', TOKEN_EQUALS },
                { '+', TOKEN_PLUS } };
  const char* const at = tokenizer->at;
  Token token = { .kind = TOKEN_END, .offset = (size_t)(at - tokenizer->document), .text = "" };
  if (!*at) {
    return token;
  }
  if (*at == '"') {
    return string(tokenizer, token);
  }
  if (is_control(*at)) {
    return bad(tokenizer, token, at, "a control character; remove it");
  }
  if (!strncmp(at, "=>", 2)) {
    return bad(tokenizer, token, at, "unexpected \"=>\"; put | between effects");
  }
  if (!ends_word(at)) {
    return word(tokenizer, token);
  }
  tokenizer->at++;
  for (uint32_t m = 0; m < sizeof(marks) / sizeof(marks[0]); ++m) {
    if (marks[m].character == *at) {
      token.kind = marks[m].kind;
    }
  }
  return token;
}

Token
token_next(Tokenizer* const tokenizer)
{
  skip_blanks(tokenizer);
  const Token token = scan(tokenizer);
  tokenizer->depth += token.kind == TOKEN_OPEN;
  tokenizer->depth -= token.kind == TOKEN_CLOSE && tokenizer->depth;
  tokenizer->last = token.kind;
  return token;
}

const char*
token_kind_text(const TokenKind kind)
{
  static const char* const texts[] = {
    [TOKEN_END] = "end",      [TOKEN_NEWLINE] = "end of the line",
    [TOKEN_WORD] = "a word",  [TOKEN_STRING] = "a text in quotes",
    [TOKEN_BAR] = "\"|\"",    [TOKEN_PLUS] = "\"+\"",
    [TOKEN_OPEN] = "\"(\"",   [TOKEN_CLOSE] = "\")\"",
    [TOKEN_COLON] = "\":\"",  [TOKEN_EQUALS] = "\"=\"",
    [TOKEN_BAD] = "bad text",
  };
  return texts[kind];
}
