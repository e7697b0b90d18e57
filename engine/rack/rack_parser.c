// SPDX-License-Identifier: GPL-3.0-or-later
// The parser's errors, with their place, and its window of two tokens.

#include "rack_parser.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

Status
parser_fail(Parser* const parser, const size_t offset, const Status status,
            const char* const format, ...)
{
  const char* const document = parser->tokenizer.document;
  uint32_t line = 1;
  uint32_t column = 1;
  for (size_t i = 0; i < offset; ++i) {
    const bool is_inside = ((unsigned char)document[i] & 0xC0U) == 0x80U; // of a UTF-8 sequence
    column = document[i] == '\n' ? 1U : column + !is_inside;
    line += document[i] == '\n';
  }
  char what[sizeof(parser->error->text)];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof(what), format, args);
  va_end(args);
  return error_set(parser->error, status, "%s:%u:%u: %s", parser->place, line, column, what);
}

Status
parser_pass_on(Parser* const parser, const size_t offset, const Error* const cause)
{
  return parser_fail(parser, offset, cause->status, "%s", cause->text);
}

Status
parser_unexpected(Parser* const parser, const char* const wanted)
{
  const Token* const now = &parser->now;
  if (now->kind == TOKEN_BAD) {
    return parser_fail(parser, now->offset, STATUS_BAD_RACK, "%s", now->text);
  }
  if (now->kind == TOKEN_CLOSE && !parser->depth) {
    return parser_fail(parser, now->offset, STATUS_BAD_RACK,
                       "unexpected \")\"; there is no \"(\" for it");
  }
  if (now->kind == TOKEN_WORD || now->kind == TOKEN_STRING) {
    return parser_fail(parser, now->offset, STATUS_BAD_RACK, "unexpected \"%.60s\"; %s", now->text,
                       wanted);
  }
  return parser_fail(parser, now->offset, STATUS_BAD_RACK, "unexpected %s; %s",
                     token_kind_text(now->kind), wanted);
}

void
parser_advance(Parser* const parser)
{
  parser->now = parser->next;
  parser->next = token_next(&parser->tokenizer);
}

bool
parser_accept(Parser* const parser, const TokenKind kind)
{
  if (parser->now.kind != kind) {
    return false;
  }
  parser_advance(parser);
  return true;
}

Status
parser_expect(Parser* const parser, const TokenKind kind, const char* const wanted,
              Token* const token)
{
  *token = parser->now;
  return parser_accept(parser, kind) ? STATUS_OK : parser_unexpected(parser, wanted);
}

const char*
parser_foreign_mark(const char* const word)
{
  static const char apart[] = "put | between effects and a space between values";
  static const char quotes[] = "put straight quotes, \"...\", around a text";
  static const struct {
    const char *mark, *hint;
  } rows[] = {
    { ",", apart },
    { ";", apart },
    { ">", apart },
    { "&", apart },
    { "!", apart },
    { "\xE2\x86\x92", apart },  // an arrow
    { "\xE2\x80\x9C", quotes }, // quotes of word processors
    { "\xE2\x80\x9D", quotes },
    { "\xE2\x80\x9E", quotes },
    { "\xC2\xAB", quotes },
    { "'", quotes },
    { "\xC2\xA0", "put ordinary spaces in place of no-break spaces" },
  };
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    const char* const at = strstr(word, rows[r].mark);
    if (at && (*at != ',' || !isdigit((unsigned char)at[1]))) { // "1,5" is a number elsewhere
      return rows[r].hint;
    }
  }
  return NULL;
}
