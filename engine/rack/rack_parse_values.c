// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the values of a node, and refuses words that are not values with what they may mean.

#include "rack_parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- words that are not values ----

/// Refuse the name of a parameter, or a word that may mean one, in place of a value.  A colon may
/// follow the name, as in other languages.
static Status
refuse_param(Parser* const parser, const Token* const word, const char* const name)
{
  const Token* const next = parser->now.offset == word->offset ? &parser->next : &parser->now;
  const bool has_value = next->kind == TOKEN_WORD || next->kind == TOKEN_STRING;
  const char* const colon = strchr(word->text, ':');
  const char* const value = colon ? colon + 1 : has_value ? next->text : "VALUE";
  int n_value = (int)strnlen(value, 40);
  while (n_value > 1 && strchr(",;", value[n_value - 1])) {
    --n_value; // a separator of other languages
  }
  const size_t n_word = strcspn(word->text, ":");
  if (n_word != strlen(name) || strncmp(word->text, name, n_word) != 0) {
    return parser_fail(parser, word->offset, STATUS_BAD_RACK,
                       "\"%.*s\" is not a value; for the parameter %s write %s=%.*s",
                       n_word < 60U ? (int)n_word : 60, word->text, name, name, n_value, value);
  }
  return parser_fail(parser, word->offset, STATUS_BAD_RACK,
                     fx_find(name) ? "\"%s\" is a parameter and an effect; write %s=%.*s for the "
                                     "parameter, or | before the effect"
                                   : "\"%s\" is a parameter; write %s=%.*s",
                     name, name, n_value, value);
}

/// Find the parameter that has `word` among its choices; NULL if there is none.
static const FxParam*
param_with_choice(const FxInfo* const fx, const char* const word)
{
  for (uint32_t p = 0; p < fx->n_params; ++p) {
    for (uint32_t c = 0; fx->params[p].choices && fx->params[p].choices[c]; ++c) {
      if (!strcmp(fx->params[p].choices[c], word)) {
        return &fx->params[p];
      }
    }
  }
  return NULL;
}

/// Find the parameter that takes the file that `word` names; NULL if there is none.
static const FxParam*
param_for_file(const FxInfo* const fx, const char* const word)
{
  uint32_t p = 0;
  while (p < fx->n_params && !fx_param_is_file(&fx->params[p])) {
    ++p;
  }
  return p < fx->n_params && parser_ends_in_extension(word, strlen(word)) ? &fx->params[p] : NULL;
}

/// Refuse the name of a file in place of another value.
static Status
refuse_file(Parser* const parser, const Token* const word, const FxParam* const param)
{
  return parser_fail(parser, word->offset, STATUS_BAD_RACK, "\"%.60s\" is a file; write %s=%.60s",
                     word->text, param->id, word->text);
}

/// Refuse the word `now`, which is not a value of `node`: a statement, a conjunction, a parameter
/// by another name, or any word.
static Status
refuse_word(Parser* const parser, const RackNode* const node, const Token* const word,
            const Error* const cause)
{
  static const char* const conjunctions[] = { "and", "then", "to", "into", "with", "-" };
  if (parser_find_statement(word->text) < N_STATEMENTS) {
    return parser_fail(parser, word->offset, STATUS_BAD_RACK,
                       "unexpected \"%s\"; put each statement on a line of its own", word->text);
  }
  for (uint32_t c = 0; c < ARRAY_LEN(conjunctions) && rack_is_effect(parser->next.text); ++c) {
    if (!strcmp(conjunctions[c], word->text)) {
      return parser_fail(parser, word->offset, STATUS_BAD_RACK,
                         "unexpected \"%s\"; " PARSER_SEPARATORS, word->text);
    }
  }
  char name[RACK_NAME_BYTES];
  snprintf(name, sizeof(name), "%.*s", (int)strcspn(word->text, ":"), word->text);
  const bool is_number = number_scan(word->text, &(Decimal){ 0 });
  const char* const near = is_number ? NULL : rack_near_param(node->fx, name);
  return near ? refuse_param(parser, word, near) : parser_pass_on(parser, word->offset, cause);
}

/// Refuse a word that is not a value of `node`.  `cause`: the error of the rack's functions.
/// `unquoted`: the text or file name directly before the word, or NULL.
static Status
refuse_value(Parser* const parser, const RackNode* const node, const Token* const word,
             const Unquoted* const unquoted, const Error* const cause)
{
  char name[RACK_NAME_BYTES];
  snprintf(name, sizeof(name), "%.*s", (int)strcspn(word->text, ":"), word->text);
  Decimal number;
  const char* const mark = parser_foreign_mark(parser, word);
  const FxParam* const choice = param_with_choice(node->fx, word->text);
  if (word->kind == TOKEN_STRING && parser_refuse_uri(parser, word->offset)) {
    return STATUS_BAD_RACK;
  }
  if (word->kind == TOKEN_STRING || cause->status == STATUS_NO_MEM) {
    return parser_pass_on(parser, word->offset, cause);
  }
  if (mark) {
    return parser_fail(parser, word->offset, STATUS_BAD_RACK, "unexpected \"%.60s\"; %s",
                       word->text, mark);
  }
  const Token* const after = parser->now.offset == word->offset ? &parser->next : &parser->now;
  if (number_scan(word->text, &number) && !*number.end && after->kind == TOKEN_WORD &&
      rack_unit(after->text)) { // "mix=30 %" is out of range only without its unit
    parser->value = *word;
    return parser_unit(parser, after);
  }
  if (rack_unit(word->text)) {
    return parser_unit(parser, word);
  }
  if (fx_param_find(node->fx, name) >= 0) {
    return refuse_param(parser, word, name);
  }
  if (rack_is_effect(word->text)) {
    return parser_fail(parser, word->offset, STATUS_BAD_RACK,
                       "\"%s\" is an effect; put | before it", word->text);
  }
  if (!strcmp(name, "out")) {
    return parser_fail(parser, word->offset, STATUS_BAD_RACK,
                       "\"%.20s\" is an end of the rack; put | before it", word->text);
  }
  if (choice) {
    return parser_fail(parser, word->offset, STATUS_BAD_RACK,
                       "\"%s\" is a value of %s; write %s=%s", word->text, choice->id, choice->id,
                       word->text);
  }
  const FxParam* const file = param_for_file(node->fx, word->text);
  if (file && unquoted && !unquoted->param) {
    return refuse_file(parser, word, file);
  }
  const Status status = unquoted && unquoted->param
                            ? parser_unquoted(parser, unquoted, word->offset, "spaces")
                            : STATUS_OK;
  const bool has_key = parser->now.offset != word->offset;
  return status    ? status
         : has_key ? parser_pass_on(parser, word->offset, cause)
                   : refuse_word(parser, node, word, cause);
}

// ---- nodes ----

static bool
takes_text(const RackNode* const node, const uint32_t param)
{
  const FxInfo* const fx = node->fx;
  return param < fx->n_params && fx_param_is_text(&fx->params[param]);
}

/// Refuse a text without quotes that goes on after a colon, as in "C:\hall.wav".
static Status
refuse_colon(Parser* const parser, const RackNode* const node, const uint32_t param)
{
  const Token* const colon = &parser->next;
  const bool goes_on = parser->now.kind == TOKEN_WORD && colon->kind == TOKEN_COLON &&
                       !strchr(" \t\r\n", parser->tokenizer.document[colon->offset + 1U]);
  if (!goes_on || !takes_text(node, param)) {
    return STATUS_OK;
  }
  const Unquoted unquoted = { &node->fx->params[param], parser->now };
  return parser_unquoted(parser, &unquoted, parser->now.offset, "a colon");
}

Status
rack_parse_value(Parser* const parser, RackNode* const node, const uint32_t param)
{
  const Token value = parser->now;
  if (refuse_colon(parser, node, param)) {
    return STATUS_BAD_RACK;
  }
  parser->value = value;
  if (!parser_accept(parser, TOKEN_WORD) && !parser_accept(parser, TOKEN_STRING)) {
    return parser_unexpected(parser, "a value comes here");
  }
  Error cause;
  return rack_set_param(node, param, value.text, &cause)
             ? refuse_value(parser, node, &value, NULL, &cause)
             : STATUS_OK;
}

static Status
refuse_key(Parser* const parser, const Token* const key, const Error* const cause)
{
  return fx_find(key->text)
             ? parser_fail(parser, key->offset, STATUS_BAD_RACK,
                           "%s; for the effect \"%s\" put | before it and no = behind it",
                           cause->text, key->text)
             : parser_pass_on(parser, key->offset, cause);
}

/// Find a parameter as rack_find_param() does, but begin at *param, because canonical text has the
/// order of the table: a plugin may have a thousand parameters.
static Status
find_next_param(const FxInfo* const fx, const char* const id, uint32_t* const param,
                Error* const error)
{
  for (uint32_t p = *param; p < fx->n_params; ++p) {
    if (!strcmp(fx->params[p].id, id)) {
      *param = p;
      return STATUS_OK;
    }
  }
  return rack_find_param(fx, id, param, error);
}

/// Read a value that the plugin does not take, and leave it out.
static Status
skip_value(Parser* const parser)
{
  return parser_accept(parser, TOKEN_WORD) || parser_accept(parser, TOKEN_STRING)
             ? STATUS_OK
             : parser_unexpected(parser, "a value comes here");
}

/// KEY "=" value, of a parameter that the plugin does not have.
static Status
skip_pair(Parser* const parser)
{
  parser_advance(parser); // the key
  parser_advance(parser); // "="
  return skip_value(parser);
}

/// As rack_parse_value(), for a document that may have values of another version of a plugin.
static Status
parse_copied_value(Parser* const parser, RackNode* const node, const uint32_t param)
{
  const Token value = parser->now;
  const Status status = skip_value(parser);
  if (!status && rack_set_param(node, param, value.text, NULL)) {
    // The initial value stays.
  }
  return status;
}

/// `param`: the parameter after the last one; receives the index of this one.
static Status
parse_keyed_value(Parser* const parser, RackNode* const node, uint32_t* const param)
{
  const Token key = parser->now;
  const bool is_copied = parser->is_copy && node->fx->origin;
  Error cause;
  if (find_next_param(node->fx, key.text, param, &cause)) {
    return is_copied ? skip_pair(parser) : refuse_key(parser, &key, &cause);
  }
  // Values of a missing plugin may have been set by name, without knowing the places of the others.
  const bool may_replace = node->fx->origin && parser->given[*param] == GIVEN_BY_PLACE;
  if (parser->given[*param] && !may_replace) {
    return parser_fail(parser, key.offset, STATUS_BAD_RACK, "%s is given twice; remove one",
                       key.text);
  }
  parser->given[*param] = GIVEN_BY_NAME;
  parser_advance(parser); // the key
  parser_advance(parser); // "="
  return is_copied ? parse_copied_value(parser, node, *param)
                   : rack_parse_value(parser, node, *param);
}

/// Parse the n-th value without a key.  `unquoted`: as in refuse_value().
static Status
parse_positional_value(Parser* const parser, RackNode* const node, const uint32_t n,
                       const bool has_keys, const Unquoted* const unquoted)
{
  const FxInfo* const fx = node->fx;
  const uint32_t n_places = fx_own_params(fx);
  const Token word = parser->now;
  Error cause;
  if (unquoted->param && takes_text(node, n)) { // "1 0; 0 1"
    return parser_unquoted(parser, unquoted, word.offset, "spaces");
  }
  const bool takes_rows = n < n_places && fx->params[n].kind == PARAM_TEXT;
  const FxParam* const file = takes_rows ? param_for_file(fx, word.text) : NULL;
  if (file && word.kind == TOKEN_WORD) {
    return refuse_file(parser, &word, file);
  }
  if (has_keys) {
    error_set(&cause, STATUS_BAD_RACK,
              "unexpected \"%.60s\"; after the first key=value write all values so", word.text);
  } else if (n == n_places) {
    error_set(&cause, STATUS_BAD_RACK, "%s takes at most %u value%s; \"%.60s\" is one too many",
              fx->name, n, n == 1U ? "" : "s", word.text);
  } else if (!rack_set_param(node, n, word.text, &cause)) {
    parser->given[n] = GIVEN_BY_PLACE;
    parser->value = word;
    parser_advance(parser);
    return STATUS_OK;
  }
  Decimal number;
  const bool is_value = n < n_places && number_scan(word.text, &number) && !*number.end &&
                        !(unquoted->param && unquoted->param->kind == PARAM_TEXT);
  return refuse_value(parser, node, &word, is_value ? NULL : unquoted, &cause);
}

/// Refuse a word before a colon: a parameter, a number, a part of a text, or the name of a node.
static Status
refuse_word_with_colon(Parser* const parser, const RackNode* const node, const uint32_t n)
{
  const Token word = parser->now;
  Decimal number;
  const char* const after = parser->tokenizer.document + parser->next.offset + 1U;
  const bool has_number = number_scan(after + strspn(after, " \t"), &number);
  const char* const near = has_number ? rack_near_param(node->fx, word.text) : NULL;
  if (near || fx_param_find(node->fx, word.text) >= 0) {
    return refuse_param(parser, &word, near ? near : word.text);
  }
  if (number_scan(word.text, &number)) {
    return parser_fail(parser, parser->next.offset, STATUS_BAD_RACK,
                       "unexpected \":\"; " PARSER_SEPARATORS);
  }
  Status status = refuse_colon(parser, node, n);
  status = status ? status : parser_refuse_uri(parser, word.offset);
  return status ? status
                : parser_fail(parser, word.offset, STATUS_BAD_RACK,
                              "\"%.60s:\" names a new node; put | or + before it", word.text);
}

/// Clear Parser::given for the parameters of a node.
static Status
clear_given(Parser* const parser, const RackNode* const node)
{
  const uint32_t n = node->fx->n_params + 1U;
  if (n > parser->n_given) {
    Given* const grown = realloc(parser->given, n * sizeof(Given));
    if (!grown) {
      return rack_no_memory(parser->error);
    }
    parser->given = grown;
    parser->n_given = n;
  }
  memset(parser->given, 0, n * sizeof(Given)); // GIVEN_NOT
  return STATUS_OK;
}

// ---- nodes whose plugin is missing ----

/// Append a word or a text in quotes.
static void
keep_token(TextBuffer* const text, const Token* const token)
{
  const char* const quotes = token->kind == TOKEN_STRING ? "\"" : "";
  char* const to = text_buffer_reserve(text, rack_quote(token->text, NULL) + 2U);
  if (to && token->kind == TOKEN_STRING && rack_quote(token->text, to) && *to == '"') {
    text->n += strlen(to);
  } else {
    text_buffer_add(text, quotes);
    text_buffer_add(text, token->text);
    text_buffer_add(text, quotes);
  }
}

/// KEY "=" value.  Only `backend` is known.
static Status
keep_pair(Parser* const parser, RackNode* const node, TextBuffer* const text)
{
  const Token key = parser->now;
  if (!strcmp(key.text, "backend")) {
    return parse_keyed_value(parser, node, &(uint32_t){ 0 });
  }
  parser_advance(parser); // the key
  parser_advance(parser); // "="
  text_buffer_print(text, "%s%s=", text->n ? " " : "", key.text);
  keep_token(text, &parser->now);
  return skip_value(parser);
}

/// Keep the values as they are written.
static Status
keep_values(Parser* const parser, RackNode* const node)
{
  TextBuffer text = { .bytes = NULL };
  Status status = STATUS_OK;
  text_buffer_add(&text, "");
  for (Token now = parser->now; !status && (now.kind == TOKEN_WORD || now.kind == TOKEN_STRING);
       now = parser->now) {
    if (now.kind == TOKEN_WORD && parser->next.kind == TOKEN_EQUALS) {
      status = keep_pair(parser, node, &text);
    } else if (now.kind == TOKEN_WORD && parser->next.kind == TOKEN_COLON) {
      status = refuse_word_with_colon(parser, node, 0);
    } else {
      text_buffer_add(&text, text.n ? " " : "");
      keep_token(&text, &now);
      parser_advance(parser);
    }
  }
  char* const kept = text_buffer_take(&text);
  if (!status) {
    status = kept ? rack_keep_values(node, kept, parser->error) : rack_no_memory(parser->error);
  }
  free(kept);
  return status;
}

/// The end of a word of kept values, which may contain a text in quotes.
static const char*
end_of_kept(const char* at)
{
  for (bool is_quoted = false; *at && (is_quoted || *at != ' '); ++at) {
    if (*at == '\\' && at[1]) {
      ++at;
    } else if (*at == '"') {
      is_quoted = !is_quoted;
    }
  }
  return at;
}

Status
rack_parse_kept_value(Parser* const parser, RackNode* const node, const char* const key)
{
  const char* const before = node->values[0].kind == VALUE_TEXT ? node->values[0].text : "";
  const size_t n_key = strlen(key);
  const char* at = before;
  while (*at && (strncmp(at, key, n_key) != 0 || at[n_key] != '=')) {
    at = end_of_kept(at);
    at += *at == ' ';
  }
  TextBuffer text = { .bytes = NULL };
  text_buffer_print(&text, "%.*s%s%s=", (int)(at - before), before, !*at && *before ? " " : "",
                    key);
  keep_token(&text, &parser->now);
  text_buffer_add(&text, end_of_kept(at));
  char* const kept = text_buffer_take(&text);
  Status status = skip_value(parser);
  if (!status) {
    status = kept ? rack_keep_values(node, kept, parser->error) : rack_no_memory(parser->error);
  }
  free(kept);
  return status;
}

Status
rack_parse_values(Parser* const parser, RackNode* const node)
{
  Status status = clear_given(parser, node);
  if (!status && node->fx->is_missing) {
    return keep_values(parser, node);
  }
  parser->value = (Token){ .text = "" };
  Unquoted unquoted = { NULL, { 0 } };
  bool has_keys = false;
  uint32_t param = 0;
  for (uint32_t n = 0; !status; ++n, ++param) {
    const Token now = parser->now;
    const TokenKind next = parser->next.kind;
    if (now.kind == TOKEN_EQUALS && n == 0U) {
      return parser_fail(parser, now.offset, STATUS_BAD_RACK,
                         "put a space, not =, after the effect: %s %.40s", node->fx->name,
                         next == TOKEN_WORD && number_scan(parser->next.text, &(Decimal){ 0 })
                             ? parser->next.text
                             : "KEY=VALUE");
    }
    if (now.kind != TOKEN_WORD && now.kind != TOKEN_STRING) {
      break;
    }
    if (now.kind == TOKEN_WORD && next == TOKEN_EQUALS) {
      has_keys = true;
      status = parse_keyed_value(parser, node, &param);
    } else if (now.kind == TOKEN_WORD && next == TOKEN_COLON) {
      status = refuse_word_with_colon(parser, node, n);
    } else {
      status = parse_positional_value(parser, node, n, has_keys, &unquoted);
    }
    const bool is_unquoted = takes_text(node, param) && parser->value.kind == TOKEN_WORD;
    unquoted = (Unquoted){ is_unquoted ? &node->fx->params[param] : NULL, parser->value };
  }
  return status;
}
