// SPDX-License-Identifier: GPL-3.0-or-later
// The parser's errors with their places, its window of two tokens, the words of the statements.

#include "rack_parser.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const char* const parser_statements[N_STATEMENTS] = {
  "chain",  "add",  "insert", "connect", "disconnect", "set",  "rename",
  "remove", "late", "tempo",  "scene",   "safe",       "midi",
};

Statement
parser_find_statement(const char* const word)
{
  Statement s = STATEMENT_CHAIN;
  while (s < N_STATEMENTS && strcmp(parser_statements[s], word) != 0) {
    ++s;
  }
  return s;
}

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

Status
parser_unit(Parser* const parser, const Token* const word)
{
  Decimal number;
  const char* const value = parser->value.text;
  const char* const unit = rack_unit(word->text);
  const bool has_number = number_scan(value, &number) && !*number.end;
  char spelling[64] = "";
  if (strcasecmp(unit, word->text) != 0) {
    snprintf(spelling, sizeof(spelling), ", and %s for %.20s", unit, word->text);
  }
  return parser_fail(
      parser, word->offset, STATUS_BAD_RACK,
      "\"%.20s\" stands alone; write the number and its unit without a space%s%s%.40s%s",
      word->text, spelling, has_number ? ": " : "", has_number ? value : "",
      has_number ? unit : "");
}

const char*
parser_next_statement(const Parser* const parser, const Token* const word)
{
  const Token* const next = parser->now.offset == word->offset ? &parser->next : &parser->now;
  const size_t length = strlen(word->text);
  return length && word->text[length - 1U] == ';' &&
                 parser_find_statement(next->text) < N_STATEMENTS
             ? "put each statement on a line of its own"
             : NULL;
}

const char*
parser_foreign_mark(const Parser* const parser, const Token* const word)
{
  static const char apart[] = PARSER_SEPARATORS;
  static const char quotes[] = "put straight quotes, \"...\", around a text";
  static const struct {
    const char *mark, *hint;
  } rows[] = {
    { ",", apart },
    { ";", apart },
    { ">", apart },
    { "&", apart },
    { "//", "put # before a comment" },
    { "!", apart },
    { "\xE2\x86\x92", apart },  // an arrow
    { "\xE2\x80\x9C", quotes }, // quotes of word processors
    { "\xE2\x80\x9D", quotes },
    { "\xE2\x80\x9E", quotes },
    { "\xC2\xAB", quotes },
    { "'", quotes },
    { "\xC2\xA0", "put ordinary spaces in place of no-break spaces" },
  };
  const char* const next_statement = parser_next_statement(parser, word);
  if (next_statement || !strcmp(word->text, "\\")) {
    return next_statement ? next_statement : "leave it out: a line that ends with | or + continues";
  }
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    const char* const at = strstr(word->text, rows[r].mark);
    if (at && (*at != ',' || !isdigit((unsigned char)at[1]))) { // "1,5" is a number elsewhere
      return rows[r].hint;
    }
  }
  return NULL;
}

size_t
parser_id_length(const char* const text)
{
  return strcspn(text, " \t\r\n|()\"");
}

Status
parser_refuse_uri(Parser* const parser, const size_t offset)
{
  const char* const quoted = parser->tokenizer.document + offset;
  const char* const text = quoted + (*quoted == '"');
  const size_t n = parser_id_length(text);
  const char* const colon = memchr(text, ':', n);
  const bool is_uri =
      colon && (!strncmp(colon, "://", 3) || !strncmp(text, "urn:", 4)) && colon + 1 < text + n;
  return is_uri ? parser_fail(parser, offset, STATUS_BAD_RACK,
                              "\"%.*s\" is the id of a plugin; write: lv2 \"%.*s\"", (int)n, text,
                              (int)n, text)
                : STATUS_OK;
}

bool
parser_ends_in_extension(const char* const text, const size_t n)
{
  size_t dot = n;
  while (dot && isalnum((unsigned char)text[dot - 1U])) {
    --dot;
  }
  return dot && dot < n && text[dot - 1U] == '.' && isalpha((unsigned char)text[dot]);
}

/// Length of a text without quotes: its words up to the extension of a file name, to a parameter's
/// name or to the end of the effect.
static size_t
unquoted_length(const char* const text, const FxParam* const param)
{
  static const char marks[] = "|()=\"\n";
  static const char blanks[] = " \t\r";
  size_t n = 0;
  for (size_t at = 0;;) {
    const size_t word = at + strcspn(text + at, " \t\r|()=\"\n");
    const size_t after = word + strspn(text + word, blanks);
    if (word == at || text[after] == '=' || (text[at] == '+' && word == at + 1U)) {
      return n;
    }
    n = word;
    if (!text[after] || strchr(marks, text[after]) ||
        (fx_param_is_file(param) && parser_ends_in_extension(text, n))) {
      return n;
    }
    at = after;
  }
}

Status
parser_unquoted(Parser* const parser, const Unquoted* const unquoted, const size_t offset,
                const char* const what)
{
  const Token* const first = &unquoted->first;
  const FxParam* const param = unquoted->param;
  const char* const mark = parser_foreign_mark(parser, first);
  if (mark && !isalnum((unsigned char)first->text[0])) { // quotes of another language
    return parser_fail(parser, first->offset, STATUS_BAD_RACK, "unexpected \"%.60s\"; %s",
                       first->text, mark);
  }
  const char* const document = parser->tokenizer.document + first->offset;
  const size_t length = unquoted_length(document, param);
  if (length <= strlen(first->text)) {
    return STATUS_OK;
  }
  char text[128];
  size_t n = 0;
  for (size_t at = 0; at < length && n + 1U < sizeof(text); ++at) {
    if (document[at] != '\\' || document[at + 1U] != ' ') { // as in a shell
      text[n++] = document[at];
    }
  }
  text[n] = '\0';
  char quoted[2U * sizeof(text) + 3U];
  rack_quote(text, quoted);
  return param->kind == PARAM_TEXT
             ? parser_fail(parser, offset, STATUS_BAD_RACK,
                           "put quotes around a text with %s: %s; %s: %s", what, quoted, param->id,
                           param->help)
             : parser_fail(parser, offset, STATUS_BAD_RACK, "put quotes around a text with %s: %s",
                           what, quoted);
}
