// SPDX-License-Identifier: GPL-3.0-or-later
// Reads chains and effects into the rack, without a syntax tree.  Each parse_ function is one rule
// of the grammar in engine/rack/RACK.md.

#include "rack_parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- effects ----

/// The uid of the node with this name and effect in the previous rack, or RACK_UID_NONE.
static RackUid
previous_uid(const Parser* const parser, const char* const name, const FxInfo* const fx)
{
  const RackNode* const node = parser->previous ? rack_find(parser->previous, name) : NULL;
  return node && rack_same_effect(node->fx, fx) ? node->uid : RACK_UID_NONE;
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

/// True for the side input of a node or of an effect: "comp.sidechain".
static bool
is_side_input(const Parser* const parser, const char* const word)
{
  char name[RACK_NAME_BYTES];
  snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "."), word);
  const RackNode* const node = rack_find(parser->rack, name);
  const FxInfo* const fx = node ? node->fx : fx_find(name);
  return strchr(word, '.') && fx && fx->n_sides;
}

/// Refuse the word of an effect that does not exist.  `name`: the word before it, or NULL.
/// `cause`: the error of rack_effect().
static Status
refuse_effect(Parser* const parser, const Token* const name, const Token* const effect,
              const Error* const cause)
{
  static const char* const ends[] = { "in", "out" };
  if ((name && parser_refuse_uri(parser, name->offset)) ||
      parser_refuse_uri(parser, effect->offset)) {
    return STATUS_BAD_RACK;
  }
  const char* const mark = parser_foreign_mark(parser, effect);
  if (mark) {
    return parser_fail(parser, effect->offset, STATUS_BAD_RACK, "unexpected \"%.60s\"; %s",
                       effect->text, mark);
  }
  if (strchr(effect->text, '+')) {
    return parser_fail(parser, effect->offset, STATUS_BAD_RACK,
                       "unexpected \"%.60s\"; put a space on each side of +", effect->text);
  }
  if (name && rack_is_effect(name->text)) {
    return parser_fail(parser, name->offset, STATUS_BAD_RACK,
                       "put a space, not :, after the effect: %s %.40s", name->text, effect->text);
  }
  if (name && number_scan(effect->text, &(Decimal){ 0 })) {
    Error no_effect;
    (void)rack_effect(name->text, &no_effect);
    return parser_pass_on(parser, name->offset, &no_effect);
  }
  if (parser->now.kind == TOKEN_EQUALS && rack_is_effect(parser->next.text)) {
    return parser_fail(parser, parser->now.offset, STATUS_BAD_RACK,
                       "put a colon, not =, after a name: %.60s: %s", effect->text,
                       parser->next.text);
  }
  if (rack_find(parser->rack, effect->text)) {
    return parser_fail(
        parser, effect->offset, STATUS_BAD_RACK,
        "\"%s\" is a node, not an effect; a statement connects nodes: connect FROM TO",
        effect->text);
  }
  if (strlen(effect->text) > 2U && nearest_name(effect->text, ends, ARRAY_LEN(ends))) {
    return parser_fail(parser, effect->offset, STATUS_BAD_RACK,
                       "no effect \"%.60s\"; the ends of a chain are in and out", effect->text);
  }
  if (is_rack_file(effect->text)) {
    return parser_fail(
        parser, effect->offset, STATUS_BAD_RACK,
        "\"%.60s\" is the file of a whole rack; load it with /rack/load, or as RACK on "
        "the command line",
        effect->text);
  }
  if (is_side_input(parser, effect->text)) {
    return parser_fail(parser, effect->offset, STATUS_BAD_RACK,
                       "\"%.60s\" is no effect; a statement connects a side input: connect FROM "
                       "NODE.INPUT",
                       effect->text);
  }
  if (is_effect_with_colon(effect->text)) {
    return parser_fail(parser, effect->offset, STATUS_BAD_RACK,
                       "\"%.60s\" is no effect; a value follows a space, and channels go with in, "
                       "out and connect",
                       effect->text);
  }
  return parser_pass_on(parser, effect->offset, cause);
}

/// EFFECT; `name` as in rack_parse_effect().
static Status
parse_built_in(Parser* const parser, const Token* const name, const FxInfo** const fx)
{
  if (parser->now.kind == TOKEN_STRING && parser_refuse_uri(parser, parser->now.offset)) {
    return STATUS_BAD_RACK;
  }
  Token effect;
  if (parser_expect(parser, TOKEN_WORD, "the name of an effect comes here", &effect)) {
    return STATUS_BAD_RACK;
  }
  Error cause;
  *fx = rack_effect(effect.text, &cause);
  return *fx ? STATUS_OK : refuse_effect(parser, name, &effect, &cause);
}

/// Find a plugin; if it is missing, the effect that stands for it, if the rack may lack plugins or
/// the parser looks for all that are missing.
static Status
find_plugin(Parser* const parser, const size_t offset, const char* const format,
            const char* const id, const FxInfo** const fx)
{
  const uint32_t place = parser->rack->n_nodes;
  RackCopied* const copied = place < parser->n_copied ? &parser->copied[place] : NULL;
  Error cause = { STATUS_OK, "" };
  Status status = STATUS_OK;
  if (!parser->has_no_plugins && !(copied && *copied == RACK_COPIED_MISSING)) {
    status = fx_find_plugin(format, id, fx, &cause);
    const bool is_missing =
        status == STATUS_NOT_FOUND || status == STATUS_NO_BACKEND || status == STATUS_FILE;
    if (!status || !is_missing || (!parser->bypasses && !copied)) {
      return status ? parser_pass_on(parser, offset, &cause) : STATUS_OK;
    }
  }
  if (status && copied && *copied == RACK_COPIED_THERE) {
    (void)parser_pass_on(parser, offset, &cause);
    parser->lacking = parser->lacking.status ? parser->lacking : *parser->error;
    *copied = RACK_COPIED_LACKING;
  }
  status = fx_missing_plugin(format, id, NULL, 0, fx, &cause);
  return status ? parser_pass_on(parser, offset, &cause) : STATUS_OK;
}

/// FORMAT value
static Status
parse_plugin(Parser* const parser, const FxInfo** const fx)
{
  const Token format = parser->now;
  parser_advance(parser);
  const Token id = parser->now;
  const bool is_word = id.kind == TOKEN_WORD && parser->next.kind != TOKEN_EQUALS;
  if (!is_word && (id.kind != TOKEN_STRING || !*id.text)) {
    return parser_unexpected(
        parser, "the id or a short name of a plugin comes here, see warprack list plugins");
  }
  const char* const text = parser->tokenizer.document + id.offset;
  const size_t n_text = parser_id_length(text);
  if (is_word && parser->next.kind == TOKEN_COLON && n_text > strlen(id.text) + 1U) {
    return parser_fail(parser, id.offset, STATUS_BAD_RACK,
                       "put quotes around an id with a colon: %s \"%.*s\"", format.text,
                       (int)n_text, text);
  }
  parser_advance(parser);
  return find_plugin(parser, id.offset, format.text, id.text, fx);
}

Status
rack_parse_effect(Parser* const parser, const Token* const name, RackNode** const node)
{
  const Token effect = parser->now;
  const bool is_plugin = effect.kind == TOKEN_WORD && rack_is_format(effect.text);
  const FxInfo* fx = NULL;
  const Status status = is_plugin ? parse_plugin(parser, &fx) : parse_built_in(parser, name, &fx);
  if (status) {
    return status;
  }
  char default_name[RACK_NAME_BYTES];
  if (!name && parser_default_name(parser, fx, default_name)) {
    return STATUS_NO_MEM;
  }
  const char* const node_name = name ? name->text : default_name;
  Error cause;
  if (rack_add_node(parser->rack, node_name, fx, previous_uid(parser, node_name, fx), &cause)) {
    return parser_pass_on(parser, name ? name->offset : effect.offset, &cause);
  }
  *node = &parser->rack->nodes[parser->rack->n_nodes - 1U];
  return STATUS_OK;
}

// ---- chains ----

/// The ends that feed the next item of a chain.
typedef struct Ends {
  RackEnd* ends; ///< Owned
  uint32_t n;
} Ends;

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
    const RackEdge edge = { .from = from->ends[i], .to = to };
    if (parser_add_edge(parser, &edge, &cause)) {
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
  if (has_name && rack_is_effect(name.text) &&
      parser->next.offset > name.offset + strlen(name.text)) {
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
