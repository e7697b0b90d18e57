// SPDX-License-Identifier: GPL-3.0-or-later
// Reads chains, nodes and values, straight into the rack: no tree in between.  Each parse_ function
// is one rule of the grammar in engine/RACK.md.

#include "rack_parser.h"

#include <stdlib.h>
#include <string.h>

/// Where signal stands while a chain is read: the ends that feed whatever comes next.
typedef struct Ends {
  RackEnd* ends; ///< Owned
  uint32_t n;
} Ends;

// ---- nodes ----

static Status
lonely_unit(Parser* const parser, const Token* const unit)
{
  return parser_fail(parser, unit->offset, STATUS_BAD_RACK,
                     "\"%s\" stands alone; write a unit right after its number, as in 80Hz",
                     unit->text);
}

Status
rack_parse_value(Parser* const parser, RackNode* const node, const uint32_t param)
{
  const Token value = parser->now;
  if (!parser_accept(parser, TOKEN_WORD) && !parser_accept(parser, TOKEN_STRING)) {
    return parser_unexpected(parser, "a value comes here");
  }
  Error cause;
  const Status status = rack_set_param(node, param, value.text, &cause);
  if (status && rack_is_unit(value.text)) {
    return lonely_unit(parser, &value);
  }
  return status ? parser_pass_on(parser, value.offset, &cause) : STATUS_OK;
}

static Status
parse_keyed_value(Parser* const parser, RackNode* const node)
{
  const Token key = parser->now;
  uint32_t param = 0;
  Error cause;
  if (rack_find_param(node->fx, key.text, &param, &cause)) {
    return parser_pass_on(parser, key.offset, &cause);
  }
  if (parser->given[param]) {
    return parser_fail(parser, key.offset, STATUS_BAD_RACK, "%s is given twice; remove one",
                       key.text);
  }
  parser->given[param] = true;
  parser_advance(parser); // the key
  parser_advance(parser); // "="
  return rack_parse_value(parser, node, param);
}

Status
rack_parse_values(Parser* const parser, RackNode* const node)
{
  const uint32_t n_params = node->fx->n_params;
  memset(parser->given, 0, (n_params + 1U) * sizeof(bool));
  bool has_keys = false;
  Status status = STATUS_OK;
  for (uint32_t n = 0; !status; ++n) {
    const Token* const now = &parser->now;
    if (now->kind != TOKEN_WORD && now->kind != TOKEN_STRING) {
      break;
    }
    if (now->kind == TOKEN_WORD && parser->next.kind == TOKEN_EQUALS) {
      has_keys = true;
      status = parse_keyed_value(parser, node);
    } else if (now->kind == TOKEN_WORD && parser->next.kind == TOKEN_COLON) {
      status = parser_fail(parser, now->offset, STATUS_BAD_RACK,
                           "\"%.60s:\" names a new node; put | or + before it", now->text);
    } else if (has_keys) {
      status = parser_unexpected(parser, "after the first key=value write all values so");
    } else if (n == n_params && rack_is_unit(now->text)) {
      status = lonely_unit(parser, now);
    } else if (n == n_params) {
      status = parser_fail(parser, now->offset, STATUS_BAD_RACK,
                           "%s takes at most %u value%s; \"%.60s\" is one too many", node->fx->name,
                           n_params, n_params == 1U ? "" : "s", now->text);
    } else {
      parser->given[n] = true;
      status = rack_parse_value(parser, node, n);
    }
  }
  return status;
}

/// The uid that a node of that name and effect had before, or none.
static RackUid
previous_uid(const Parser* const parser, const char* const name, const FxInfo* const fx)
{
  const RackNode* const node = parser->previous ? rack_find(parser->previous, name) : NULL;
  return node && node->fx == fx ? node->uid : RACK_UID_NONE;
}

Status
rack_parse_effect(Parser* const parser, const Token* const name, RackNode** const node)
{
  Token effect;
  if (parser_expect(parser, TOKEN_WORD, "the name of an effect comes here", &effect)) {
    return STATUS_BAD_RACK;
  }
  Error cause;
  const FxInfo* const fx = rack_effect(effect.text, &cause);
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

/// True when `now` is "in", "in:1-2" and so on, for the name "in".
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

/// [ name ":" ] node | group; adds what comes out of it to `to`.
static Status
parse_item(Parser* const parser, const Ends* const from, Ends* const to)
{
  if (parser->now.kind == TOKEN_OPEN) {
    return parse_group(parser, from, to);
  }
  if (at_end_of_rack(parser, "in") || at_end_of_rack(parser, "out")) {
    return parser_fail(parser, parser->now.offset, STATUS_BAD_RACK,
                       "\"%.20s\" cannot be here; a chain may begin with in and end with out",
                       parser->now.text);
  }
  const Token name = parser->now;
  const bool has_name = name.kind == TOKEN_WORD && parser->next.kind == TOKEN_COLON;
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

/// parallel { "|" parallel }; adds what comes out of the last one to `to`.
static Status
parse_series(Parser* const parser, const Ends* const from, Ends* const to)
{
  Ends last = { 0 };
  Status status = parse_parallel(parser, from, &last);
  while (!status && parser_accept(parser, TOKEN_BAR)) {
    if (!parser->depth && at_end_of_rack(parser, "out")) {
      break; // for rack_parse_chain()
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

Status
rack_parse_chain(Parser* const parser)
{
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
  }
  status = status ? status : connect_all(parser, &last, out, parser->now.offset);
  free(last.ends);
  return status;
}
