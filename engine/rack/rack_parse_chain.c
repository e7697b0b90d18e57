// SPDX-License-Identifier: GPL-3.0-or-later
// Reads chains, nodes and values into the rack, without a syntax tree.  Each parse_ function is one
// rule of the grammar in engine/rack/RACK.md.

#include "rack_parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// The ends that feed the next item of a chain.
typedef struct Ends {
  RackEnd* ends; ///< Owned
  uint32_t n;
} Ends;

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
  while (p < fx->n_params && fx->params[p].kind != PARAM_FILE) {
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
  if (rack_is_statement(word->text)) {
    return parser_fail(parser, word->offset, STATUS_BAD_RACK,
                       "unexpected \"%s\"; put each statement on a line of its own", word->text);
  }
  for (uint32_t c = 0; c < ARRAY_LEN(conjunctions) && fx_find(parser->next.text); ++c) {
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
  const char* const mark = parser_foreign_mark(parser, word);
  const FxParam* const choice = param_with_choice(node->fx, word->text);
  if (word->kind == TOKEN_STRING || cause->status == STATUS_NO_MEM) {
    return parser_pass_on(parser, word->offset, cause);
  }
  if (mark) {
    return parser_fail(parser, word->offset, STATUS_BAD_RACK, "unexpected \"%.60s\"; %s",
                       word->text, mark);
  }
  if (rack_unit(word->text)) {
    return parser_unit(parser, word);
  }
  if (fx_param_find(node->fx, name) >= 0) {
    return refuse_param(parser, word, name);
  }
  if (fx_find(word->text)) {
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
  return param < fx->n_params &&
         (fx->params[param].kind == PARAM_FILE || fx->params[param].kind == PARAM_TEXT);
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

static Status
parse_keyed_value(Parser* const parser, RackNode* const node, uint32_t* const param)
{
  const Token key = parser->now;
  Error cause;
  if (rack_find_param(node->fx, key.text, param, &cause)) {
    return refuse_key(parser, &key, &cause);
  }
  if (parser->given[*param]) {
    return parser_fail(parser, key.offset, STATUS_BAD_RACK, "%s is given twice; remove one",
                       key.text);
  }
  parser->given[*param] = true;
  parser_advance(parser); // the key
  parser_advance(parser); // "="
  return rack_parse_value(parser, node, *param);
}

/// Parse the n-th value without a key.  `unquoted`: as in refuse_value().
static Status
parse_positional_value(Parser* const parser, RackNode* const node, const uint32_t n,
                       const bool has_keys, const Unquoted* const unquoted)
{
  const FxInfo* const fx = node->fx;
  const Token word = parser->now;
  Error cause;
  if (unquoted->param && takes_text(node, n)) { // "1 0; 0 1"
    return parser_unquoted(parser, unquoted, word.offset, "spaces");
  }
  const bool takes_rows = n < fx->n_params && fx->params[n].kind == PARAM_TEXT;
  const FxParam* const file = takes_rows ? param_for_file(fx, word.text) : NULL;
  if (file && word.kind == TOKEN_WORD) {
    return refuse_file(parser, &word, file);
  }
  if (has_keys) {
    error_set(&cause, STATUS_BAD_RACK,
              "unexpected \"%.60s\"; after the first key=value write all values so", word.text);
  } else if (n == fx->n_params) {
    error_set(&cause, STATUS_BAD_RACK, "%s takes at most %u value%s; \"%.60s\" is one too many",
              fx->name, n, n == 1U ? "" : "s", word.text);
  } else if (!rack_set_param(node, n, word.text, &cause)) {
    parser->given[n] = true;
    parser->value = word;
    parser_advance(parser);
    return STATUS_OK;
  }
  Decimal number;
  const bool is_value = n < fx->n_params && number_scan(word.text, &number) && !*number.end &&
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
  const Status status = refuse_colon(parser, node, n);
  return status ? status
                : parser_fail(parser, word.offset, STATUS_BAD_RACK,
                              "\"%.60s:\" names a new node; put | or + before it", word.text);
}

Status
rack_parse_values(Parser* const parser, RackNode* const node)
{
  memset(parser->given, 0, (node->fx->n_params + 1U) * sizeof(bool));
  parser->value = (Token){ .text = "" };
  Unquoted unquoted = { NULL, { 0 } };
  bool has_keys = false;
  Status status = STATUS_OK;
  for (uint32_t n = 0; !status; ++n) {
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
    uint32_t param = n;
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

/// The uid of the node with this name and effect in the previous rack, or RACK_UID_NONE.
static RackUid
previous_uid(const Parser* const parser, const char* const name, const FxInfo* const fx)
{
  const RackNode* const node = parser->previous ? rack_find(parser->previous, name) : NULL;
  return node && node->fx == fx ? node->uid : RACK_UID_NONE;
}

/// True for an effect's name with a colon: "highpass:80", "gain:1".
static bool
is_effect_with_colon(const char* const word)
{
  char name[RACK_NAME_BYTES];
  snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, ":"), word);
  return strchr(word, ':') && fx_find(name);
}

static bool
is_rack_file(const char* const word)
{
  const char* const dot = strrchr(word, '.');
  return dot && dot != word && !strcmp(dot, ".rack");
}

Status
rack_parse_effect(Parser* const parser, const Token* const name, RackNode** const node)
{
  Token effect;
  if (parser_expect(parser, TOKEN_WORD, "the name of an effect comes here", &effect)) {
    return STATUS_BAD_RACK;
  }
  static const char* const ends[] = { "in", "out" };
  Error cause;
  const FxInfo* const fx = rack_effect(effect.text, &cause);
  const char* const mark = fx ? NULL : parser_foreign_mark(parser, &effect);
  if (mark) {
    return parser_fail(parser, effect.offset, STATUS_BAD_RACK, "unexpected \"%.60s\"; %s",
                       effect.text, mark);
  }
  if (!fx && strchr(effect.text, '+')) {
    return parser_fail(parser, effect.offset, STATUS_BAD_RACK,
                       "unexpected \"%.60s\"; put a space on each side of +", effect.text);
  }
  if (!fx && name && number_scan(effect.text, &(Decimal){ 0 })) {
    if (!rack_effect(name->text, &cause)) {
      return parser_pass_on(parser, name->offset, &cause);
    }
    return parser_fail(parser, name->offset, STATUS_BAD_RACK,
                       "put a space, not :, after the effect: %s %.40s", name->text, effect.text);
  }
  if (!fx && parser->now.kind == TOKEN_EQUALS && fx_find(parser->next.text)) {
    return parser_fail(parser, parser->now.offset, STATUS_BAD_RACK,
                       "put a colon, not =, after a name: %.60s: %s", effect.text,
                       parser->next.text);
  }
  if (!fx && rack_find(parser->rack, effect.text)) {
    return parser_fail(
        parser, effect.offset, STATUS_BAD_RACK,
        "\"%s\" is a node, not an effect; a statement connects nodes: connect FROM TO",
        effect.text);
  }
  if (!fx && strlen(effect.text) > 2U && nearest_name(effect.text, ends, ARRAY_LEN(ends))) {
    return parser_fail(parser, effect.offset, STATUS_BAD_RACK,
                       "no effect \"%.60s\"; the ends of a chain are in and out", effect.text);
  }
  if (!fx && is_rack_file(effect.text)) {
    return parser_fail(
        parser, effect.offset, STATUS_BAD_RACK,
        "\"%.60s\" is the file of a whole rack; load it with /rack/load, or as RACK on "
        "the command line",
        effect.text);
  }
  if (!fx && is_effect_with_colon(effect.text)) {
    return parser_fail(parser, effect.offset, STATUS_BAD_RACK,
                       "\"%.60s\" is no effect; a value follows a space, and channels go with in, "
                       "out and connect",
                       effect.text);
  }
  if (!fx) {
    return parser_pass_on(parser, effect.offset, &cause);
  }
  char free_name[RACK_NAME_BYTES];
  if (!name) {
    rack_free_name(parser->rack, fx, free_name);
  }
  const char* const node_name = name ? name->text : free_name;
  if (rack_add_node(parser->rack, node_name, fx, previous_uid(parser, node_name, fx), &cause)) {
    return parser_pass_on(parser, name ? name->offset : effect.offset, &cause);
  }
  *node = &parser->rack->nodes[parser->rack->n_nodes - 1U];
  return STATUS_OK;
}

// ---- chains ----

static Status
append_end(Parser* const parser, Ends* const ends, const RackEnd end)
{
  RackEnd* const grown = realloc(ends->ends, (ends->n + 1U) * sizeof(RackEnd));
  if (!grown) {
    return rack_no_memory(parser->error);
  }
  ends->ends = grown;
  ends->ends[ends->n++] = end;
  return STATUS_OK;
}

static Status
connect_all(Parser* const parser, const Ends* const from, const RackEnd to, const size_t offset)
{
  for (uint32_t i = 0; i < from->n; ++i) {
    Error cause;
    if (rack_add_edge(parser->rack, from->ends[i], to, 0.0, &cause)) {
      return parser_pass_on(parser, offset, &cause);
    }
  }
  return STATUS_OK;
}

/// True if `now` is the end "in", "in:1-2" and so on, for the name "in".
static bool
at_end_of_rack(const Parser* const parser, const char* const name)
{
  const size_t length = strlen(name);
  return parser->now.kind == TOKEN_WORD && parser->next.kind != TOKEN_COLON &&
         !strncmp(parser->now.text, name, length) &&
         (parser->now.text[length] == '\0' || parser->now.text[length] == ':');
}

static Status
parse_end_of_rack(Parser* const parser, RackEnd* const end)
{
  Error cause;
  if (rack_read_end(parser->rack, parser->now.text, end, &cause)) {
    return parser_pass_on(parser, parser->now.offset, &cause);
  }
  parser_advance(parser);
  return STATUS_OK;
}

static Status parse_series(Parser* parser, const Ends* from, Ends* to);

/// "(" series ")"
static Status
parse_group(Parser* const parser, const Ends* const from, Ends* const to)
{
  const Token open = parser->now;
  if (parser->depth == RACK_MAX_DEPTH) {
    return parser_fail(parser, open.offset, STATUS_LIMIT,
                       "too many parentheses inside each other; at most %u", RACK_MAX_DEPTH);
  }
  parser_advance(parser);
  parser->depth++;
  const Status status = parse_series(parser, from, to);
  parser->depth--;
  if (!status && parser->now.kind == TOKEN_END) {
    return parser_fail(parser, open.offset, STATUS_BAD_RACK, "\"(\" is not closed; add \")\"");
  }
  Token close;
  return status ? status
                : parser_expect(parser, TOKEN_CLOSE, "|, +, a value or \")\" comes here", &close);
}

/// [ name ":" ] node | group; appends its outputs to `to`.
static Status
parse_item(Parser* const parser, const Ends* const from, Ends* const to)
{
  if (parser->now.kind == TOKEN_OPEN) {
    return parse_group(parser, from, to);
  }
  if (at_end_of_rack(parser, "in") || at_end_of_rack(parser, "out")) {
    return parser_fail(parser, parser->now.offset, STATUS_BAD_RACK,
                       "\"%.20s\" cannot be here; a chain may begin with in and end with out, and "
                       "further lines may have further chains",
                       parser->now.text);
  }
  const Token name = parser->now;
  const bool has_name = name.kind == TOKEN_WORD && parser->next.kind == TOKEN_COLON;
  if (has_name && (!strcmp(name.text, "in") || !strcmp(name.text, "out"))) {
    return parser_fail(parser, name.offset, STATUS_BAD_RACK,
                       "\"%s\" is an end of the rack and names no node; its channels are numbers, "
                       "as in %s:1-2",
                       name.text, name.text);
  }
  if (has_name && fx_find(name.text) && parser->next.offset > name.offset + strlen(name.text)) {
    return parser_fail(parser, parser->next.offset, STATUS_BAD_RACK,
                       "unexpected \":\"; " PARSER_SEPARATORS);
  }
  if (has_name) {
    parser_advance(parser);
    parser_advance(parser);
  }
  RackNode* node = NULL;
  Status status = rack_parse_effect(parser, has_name ? &name : NULL, &node);
  status = status ? status : rack_parse_values(parser, node);
  if (status) {
    return status;
  }
  const RackEnd end = { .uid = node->uid };
  status = connect_all(parser, from, end, name.offset);
  return status ? status : append_end(parser, to, end);
}

/// item { "+" item }
static Status
parse_parallel(Parser* const parser, const Ends* const from, Ends* const to)
{
  Status status = parse_item(parser, from, to);
  while (!status && parser_accept(parser, TOKEN_PLUS)) {
    status = parse_item(parser, from, to);
  }
  return status;
}

/// parallel { "|" parallel }; appends the outputs of the last one to `to`.
static Status
parse_series(Parser* const parser, const Ends* const from, Ends* const to)
{
  Ends last = { 0 };
  Status status = parse_parallel(parser, from, &last);
  while (!status && parser_accept(parser, TOKEN_BAR)) {
    if (!parser->depth && at_end_of_rack(parser, "out")) {
      break; // rack_parse_chain() reads the rest
    }
    Ends next = { 0 };
    status = parse_parallel(parser, &last, &next);
    free(last.ends);
    last = next;
  }
  for (uint32_t i = 0; !status && i < last.n; ++i) {
    status = append_end(parser, to, last.ends[i]);
  }
  free(last.ends);
  return status;
}

/// True if one of the first n connections of the rack shares an end with `from` or `to`.
static bool
has_edge(const Rack* const rack, const uint32_t n, const RackEnd* const from,
         const RackEnd* const to)
{
  for (uint32_t e = 0; e < n; ++e) {
    if ((from && rack_ends_overlap(rack->edges[e].from, *from)) ||
        (to && rack_ends_overlap(rack->edges[e].to, *to))) {
      return true;
    }
  }
  return false;
}

Status
rack_parse_chain(Parser* const parser)
{
  const uint32_t n_before = parser->rack->n_edges;
  RackEnd in = { .uid = RACK_UID_IN };
  RackEnd out = { .uid = RACK_UID_OUT };
  Ends last = { 0 };
  Token bar;
  Status status = STATUS_OK;
  if (at_end_of_rack(parser, "in")) {
    status = parse_end_of_rack(parser, &in);
    status = status ? status : parser_expect(parser, TOKEN_BAR, "\"|\" comes after in", &bar);
  }
  if (!status && at_end_of_rack(parser, "out")) {
    status = append_end(parser, &last, in);
  } else if (!status) {
    status = parse_series(parser, &(Ends){ &in, 1 }, &last);
  }
  if (!status && at_end_of_rack(parser, "out")) {
    status = parse_end_of_rack(parser, &out);
    if (!status && parser->now.kind != TOKEN_NEWLINE && parser->now.kind != TOKEN_END) {
      status = parser_unexpected(parser, "a chain ends with out");
    }
  }
  parser->rack->n_summed +=
      has_edge(parser->rack, n_before, &in, NULL) && has_edge(parser->rack, n_before, NULL, &out);
  status = status ? status : connect_all(parser, &last, out, parser->now.offset);
  free(last.ends);
  return status;
}
