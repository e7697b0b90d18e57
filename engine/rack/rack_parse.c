// SPDX-License-Identifier: GPL-3.0-or-later
// Reads documents and statements of the rack language by recursive descent.  Each parse_ function
// is one rule of the grammar in engine/rack/RACK.md.

#include "rack_parser.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Remove the empty rack's connection: in a document at the first chain, add or connect; in an edit
/// only at a chain, and only while the rack has no nodes.
static void
begin(Parser* const parser, const bool is_chain)
{
  if (parser->is_document ? !parser->has_begun : is_chain && !parser->rack->n_nodes) {
    parser->rack->n_edges = 0;
  }
  parser->has_begun = true;
}

static Status
parse_chain_statement(Parser* const parser)
{
  begin(parser, true);
  return rack_parse_chain(parser);
}

/// Expect the name of a new node, and detect a missing name: "add gain 3".
static Status
expect_name(Parser* const parser, const char* const usage, Token* const name)
{
  const Status status = parser_expect(parser, TOKEN_WORD, usage, name);
  const bool is_effect = parser->now.kind == TOKEN_WORD && rack_is_effect(parser->now.text);
  return !status && !is_effect && rack_is_effect(name->text) ? parser_unexpected(parser, usage)
                                                             : status;
}

/// "add" name effect values
static Status
parse_add(Parser* const parser)
{
  static const char usage[] = "write: add NAME EFFECT [VALUE ...]";
  begin(parser, false);
  Token name;
  RackNode* node = NULL;
  Status status = expect_name(parser, usage, &name);
  status = status ? status : rack_parse_effect(parser, &name, &node);
  return status ? status : rack_parse_values(parser, node);
}

/// "insert" name effect ( "before" | "after" ) end values
static Status
parse_insert(Parser* const parser)
{
  static const char usage[] = "write: insert NAME EFFECT before|after END [VALUE ...]";
  Token name;
  Token words[2]; // side and end
  RackNode* node = NULL;
  Status status = expect_name(parser, usage, &name);
  status = status ? status : rack_parse_effect(parser, &name, &node);
  for (uint32_t i = 0; i < ARRAY_LEN(words) && !status; ++i) {
    status = parser_expect(parser, TOKEN_WORD, usage, &words[i]);
  }
  if (status) {
    return status;
  }
  parser->has_begun = true; // keep the connections that the new node takes over
  RackSide side;
  RackEnd end;
  Error cause;
  if (rack_read_side(words[0].text, &side, &cause)) {
    return parser_pass_on(parser, words[0].offset, &cause);
  }
  if (rack_read_end(parser->rack, words[1].text, &end, &cause) ||
      rack_splice(parser->rack, node->uid, side, end, &cause)) {
    return parser_pass_on(parser, words[1].offset, &cause);
  }
  return rack_parse_values(parser, node);
}

/// Read an end, for `connect` and `disconnect`.
static Status
parse_end(Parser* const parser, const char* const usage, RackEnd* const end)
{
  Token token;
  if (parser_expect(parser, TOKEN_WORD, usage, &token)) {
    return STATUS_BAD_RACK;
  }
  Error cause;
  if (rack_read_end(parser->rack, token.text, end, &cause)) {
    const char* const next = parser_next_statement(parser, &token);
    return parser_foreign_mark(parser, &token)
               ? parser_fail(parser, token.offset, STATUS_BAD_RACK, "unexpected \"%.60s\"; %s",
                             token.text, next ? next : usage)
               : parser_pass_on(parser, token.offset, &cause);
  }
  return STATUS_OK;
}

/// [ "gain" "=" value ]
static Status
parse_gain(Parser* const parser, double* const gain_db)
{
  Decimal decimal;
  if (parser->now.kind == TOKEN_WORD && number_scan(parser->now.text, &decimal)) {
    const char* const text = parser->now.text;
    const bool has_comma = *decimal.end == ',' && isdigit((unsigned char)decimal.end[1]);
    return parser_fail(parser, parser->now.offset, STATUS_BAD_RACK,
                       "unexpected \"%.60s\"; write: gain=%.*s%s%.40s", text,
                       has_comma ? (int)(decimal.end - text) : 0, text, has_comma ? "." : "",
                       has_comma ? decimal.end + 1 : text);
  }
  if (parser->now.kind != TOKEN_WORD || strcmp(parser->now.text, "gain") != 0) {
    return STATUS_OK;
  }
  parser_advance(parser);
  Token token;
  if (parser_expect(parser, TOKEN_EQUALS, "write: gain=-6dB", &token) ||
      parser_expect(parser, TOKEN_WORD, "write: gain=-6dB", &token)) {
    return STATUS_BAD_RACK;
  }
  RackValue value;
  Error cause;
  parser->value = token;
  if (rack_value_from_text(&rack_gain_param, token.text, &value, &cause)) {
    return parser_pass_on(parser, token.offset, &cause);
  }
  *gain_db = value.number; // VALUE_INITIAL is 0
  return STATUS_OK;
}

static Status
remember(Parser* const parser, const RackEnd ends[const 2], const size_t offset)
{
  Made* const grown = realloc(parser->made, (parser->n_made + 1U) * sizeof(Made));
  if (!grown) {
    return rack_no_memory(parser->error);
  }
  parser->made = grown;
  parser->made[parser->n_made++] = (Made){ ends[0].uid, ends[1].uid, offset };
  return STATUS_OK;
}

/// True in a copy if the second of the two ends here is an input that its plugin does not have.
static bool
leads_nowhere(const Parser* const parser)
{
  const char* const to = parser->next.text;
  char name[RACK_NAME_BYTES];
  snprintf(name, sizeof(name), "%.*s", (int)strcspn(to, ".:"), to);
  const RackNode* const node = parser->is_copy ? rack_find(parser->rack, name) : NULL;
  if (!node || !node->fx->origin) {
    return false;
  }
  RackEnd end = { 0 };
  const Status status = rack_read_end(parser->rack, to, &end, NULL);
  return status ? status == STATUS_NOT_FOUND : node->fx->is_source && !end.side;
}

/// "connect" end end [ "gain" "=" value ]
static Status
parse_connect(Parser* const parser)
{
  static const char usage[] = "write: connect FROM TO [gain=-6dB]";
  begin(parser, false);
  const size_t offset = parser->now.offset;
  const bool may_lack_plugins = parser->bypasses || parser->copied;
  Status status = may_lack_plugins
                      ? rack_add_missing_side(parser->rack, parser->next.text, parser->error)
                      : STATUS_OK;
  const bool is_left_out = leads_nowhere(parser);
  RackEnd ends[2];
  double gain_db = 0.0;
  status = status ? status : parse_end(parser, usage, &ends[0]);
  if (!status && is_left_out) {
    parser_advance(parser);
  } else if (!status) {
    status = parse_end(parser, usage, &ends[1]);
  }
  status = status ? status : parse_gain(parser, &gain_db);
  if (status || is_left_out) {
    return status;
  }
  Error cause;
  const RackEdge edge = { .from = ends[0], .to = ends[1], .gain_db = gain_db };
  if (parser_add_edge(parser, &edge, &cause)) {
    return parser_pass_on(parser, offset, &cause);
  }
  return remember(parser, ends, offset);
}

/// "disconnect" end end
static Status
parse_disconnect(Parser* const parser)
{
  static const char usage[] = "write: disconnect FROM TO";
  const size_t offset = parser->now.offset;
  RackEnd ends[2];
  Status status = parse_end(parser, usage, &ends[0]);
  status = status ? status : parse_end(parser, usage, &ends[1]);
  Error cause;
  if (!status && rack_remove_edges(parser->rack, ends[0], ends[1], &cause)) {
    return parser_pass_on(parser, offset, &cause);
  }
  return status;
}

/// "set" node "." param value
static Status
parse_set(Parser* const parser)
{
  static const char usage[] = "write: set NODE.PARAM VALUE";
  Token target;
  if (parser->now.kind != TOKEN_WORD || !strchr(parser->now.text, '.')) {
    return parser_unexpected(parser, usage);
  }
  if (parser_expect(parser, TOKEN_WORD, usage, &target)) {
    return STATUS_BAD_RACK;
  }
  const size_t n_name = strcspn(target.text, ".");
  char name[RACK_NAME_BYTES];
  snprintf(name, sizeof(name), "%.*s", n_name < sizeof(name) ? (int)n_name : 0, target.text);
  Error cause;
  RackNode* const node = rack_lookup(parser->rack, name, &cause);
  if (!node) {
    return parser_pass_on(parser, target.offset, &cause);
  }
  uint32_t param = 0;
  const char* const id = target.text + n_name + 1U;
  const bool is_kept = node->fx->is_missing && *id && strcmp(id, rack_backend_param.id) != 0;
  if (!is_kept && rack_find_param(node->fx, id, &param, &cause)) {
    return parser_pass_on(parser, target.offset + n_name + 1U, &cause);
  }
  if (parser->now.kind == TOKEN_EQUALS) {
    return parser_unexpected(parser, usage);
  }
  if (is_kept) {
    return rack_parse_kept_value(parser, node, id);
  }
  return rack_parse_value(parser, node, param);
}

/// "remove" name
static Status
parse_remove(Parser* const parser)
{
  Token name;
  if (parser_expect(parser, TOKEN_WORD, "write: remove NODE", &name)) {
    return STATUS_BAD_RACK;
  }
  Error cause;
  const Status status = rack_remove(parser->rack, name.text, &cause);
  return status ? parser_pass_on(parser, name.offset, &cause) : STATUS_OK;
}

/// "rename" name name
static Status
parse_rename(Parser* const parser)
{
  static const char usage[] = "write: rename NODE NAME";
  Token names[2];
  if (parser_expect(parser, TOKEN_WORD, usage, &names[0]) ||
      parser_expect(parser, TOKEN_WORD, usage, &names[1])) {
    return STATUS_BAD_RACK;
  }
  Error cause;
  const Status status = rack_rename(parser->rack, names[0].text, names[1].text, &cause);
  return status ? parser_pass_on(parser, names[status != STATUS_NOT_FOUND].offset, &cause)
                : STATUS_OK;
}

/// "late" [ "out" [ channels ] ] fallback
static Status
parse_late(Parser* const parser)
{
  static const char usage[] = "write: late [out[:CHANNELS]] auto|dry|silence|LEVEL";
  RackEnd end = { .uid = RACK_UID_OUT };
  const size_t offset = parser->now.offset;
  Token word;
  Error cause;
  Status status = parser_expect(parser, TOKEN_WORD, usage, &word);
  parser->value = word;
  if (!status && parser->now.kind == TOKEN_WORD && !rack_unit(parser->now.text)) {
    // the first word was the end
    if (rack_read_end(parser->rack, word.text, &end, &cause)) {
      RackFallback first = { 0 }; // a fallback, which comes last
      return !rack_read_fallback(word.text, &first, NULL) || number_scan(word.text, &(Decimal){ 0 })
                 ? parser_fail(parser, offset, STATUS_BAD_RACK, "unexpected \"%.60s\"; %s",
                               word.text, usage)
                 : parser_pass_on(parser, offset, &cause);
    }
    status = parser_expect(parser, TOKEN_WORD, usage, &word);
    parser->value = word;
  }
  const bool has_more = parser->now.kind != TOKEN_NEWLINE && parser->now.kind != TOKEN_END;
  if (!status && has_more && !rack_unit(parser->now.text)) {
    status = parser_unexpected(parser, usage);
  }
  if (status) {
    return status;
  }
  RackFallback fallback = { 0 };
  if (rack_read_fallback(word.text, &fallback, &cause)) {
    return parser_pass_on(parser, word.offset, &cause);
  }
  const bool failed = rack_set_fallback(parser->rack, end, fallback, &cause);
  return failed ? parser_pass_on(parser, offset, &cause) : STATUS_OK;
}

/// "tempo" ( value [ source ] | source [ value ] )
static Status
parse_tempo(Parser* const parser)
{
  static const char usage[] = "write: tempo BPM [fixed|jack|midi]";
  RackTempo tempo = parser->rack->tempo;
  Token first;
  Error cause;
  if (parser_expect(parser, TOKEN_WORD, usage, &first)) {
    return STATUS_BAD_RACK;
  }
  const Token second = parser->now;
  const bool begins_with_source = rack_is_tempo_source(first.text);
  const bool begins_with_number = number_scan(first.text, &(Decimal){ 0 });
  const bool is_pair = second.kind == TOKEN_WORD &&
                       (begins_with_source || (begins_with_number && !rack_unit(second.text)));
  parser->value =
      is_pair && (begins_with_source || !rack_is_tempo_source(second.text)) ? second : first;
  if (is_pair) {
    parser_advance(parser);
  }
  if (rack_read_tempo(first.text, is_pair ? second.text : NULL, &tempo, &cause)) {
    return parser_pass_on(parser, parser->value.offset, &cause);
  }
  rack_set_tempo(parser->rack, tempo);
  return STATUS_OK;
}

/// The statement that begins with `now`; N_STATEMENTS: none.
static Statement
statement_here(const Parser* const parser)
{
  const bool may_be = parser->now.kind == TOKEN_WORD && parser->next.kind != TOKEN_COLON;
  return may_be ? parser_find_statement(parser->now.text) : N_STATEMENTS;
}

static Status
no_statement(Parser* const parser)
{
  if (parser->now.kind == TOKEN_BAR || parser->now.kind == TOKEN_PLUS) {
    return parser_unexpected(parser,
                             "put it at the end of the previous line, which then continues");
  }
  if (parser->now.kind != TOKEN_WORD) {
    return parser_unexpected(parser,
                             "a line begins with chain, add, insert, connect, disconnect, set, "
                             "rename, remove, late, tempo, scene, safe or midi");
  }
  if (rack_is_effect(parser->now.text)) {
    return parser_fail(parser, parser->now.offset, STATUS_BAD_RACK,
                       "\"%s\" is no statement; write: chain %s", parser->now.text,
                       parser->now.text);
  }
  if (strchr(parser->now.text, '.')) {
    return parser_fail(parser, parser->now.offset, STATUS_BAD_RACK,
                       "\"%.60s\" is no statement; write: set NODE.PARAM VALUE", parser->now.text);
  }
  char hint[HINT_BYTES];
  return parser_fail(parser, parser->now.offset, STATUS_BAD_RACK, "no statement \"%.60s\"; %s",
                     parser->now.text,
                     name_hint(hint, parser->now.text, parser_statements, N_STATEMENTS));
}

static Status
parse_statement(Parser* const parser)
{
  static Status (*const parse[N_STATEMENTS])(Parser*) = {
    [STATEMENT_CHAIN] = parse_chain_statement,
    [STATEMENT_ADD] = parse_add,
    [STATEMENT_INSERT] = parse_insert,
    [STATEMENT_CONNECT] = parse_connect,
    [STATEMENT_DISCONNECT] = parse_disconnect,
    [STATEMENT_SET] = parse_set,
    [STATEMENT_RENAME] = parse_rename,
    [STATEMENT_REMOVE] = parse_remove,
    [STATEMENT_LATE] = parse_late,
    [STATEMENT_TEMPO] = parse_tempo,
    [STATEMENT_SCENE] = rack_parse_scene,
    [STATEMENT_SAFE] = rack_parse_safe,
    [STATEMENT_MIDI] = rack_parse_midi,
  };
  const Statement statement = statement_here(parser);
  parser->value = (Token){ .text = "" };
  if (statement == N_STATEMENTS) {
    return no_statement(parser);
  }
  const bool rearranges = statement == STATEMENT_INSERT || statement == STATEMENT_DISCONNECT ||
                          statement == STATEMENT_RENAME || statement == STATEMENT_REMOVE;
  if (rearranges) {
    parser_drop_index(parser);
  }
  parser_advance(parser);
  return parse[statement](parser);
}

static Status
parse_statements(Parser* const parser)
{
  Status status = STATUS_OK;
  while (!status && parser->now.kind != TOKEN_END) {
    if (parser_accept(parser, TOKEN_NEWLINE)) {
      continue;
    }
    status = parse_statement(parser);
    if (!status && parser->now.kind != TOKEN_NEWLINE && parser->now.kind != TOKEN_END) {
      status = rack_unit(parser->now.text)
                   ? parser_unit(parser, &parser->now)
                   : parser_unexpected(parser, "a statement ends with its line");
    }
  }
  return status;
}

/// True if an unknown first word looks like a statement ("conect in out") and not like an effect
/// ("gian -6").
static bool
looks_like_statement(const Parser* const parser)
{
  if (parser->now.kind != TOKEN_WORD || parser->next.kind != TOKEN_WORD) {
    return false;
  }
  uint32_t n = 0;
  const char** const names = rack_effect_names(&n);
  const char* const effect = names ? nearest_name(parser->now.text, names, n) : NULL;
  free(names);
  return !effect && nearest_name(parser->now.text, parser_statements, N_STATEMENTS);
}

/// Parse a document whose first word is not a statement: one chain.
static Status
parse_lone_chain(Parser* const parser)
{
  if (looks_like_statement(parser)) {
    return no_statement(parser);
  }
  Status status = parse_chain_statement(parser);
  while (!status && parser_accept(parser, TOKEN_NEWLINE)) {
  }
  if (!status && parser->now.kind != TOKEN_END) {
    status = parser_unexpected(parser, parser->now.kind == TOKEN_OPEN
                                           ? "put | before a group, and a space before a value"
                                           : "this text is one chain; end its lines with | or + to "
                                             "go on");
  }
  return status;
}

static Status
parse_document(Parser* const parser)
{
  while (parser_accept(parser, TOKEN_NEWLINE)) {
  }
  const bool is_empty = parser->now.kind == TOKEN_END;
  return is_empty || statement_here(parser) < N_STATEMENTS ? parse_statements(parser)
                                                           : parse_lone_chain(parser);
}

/// Parse at least one statement.
static Status
parse_edit(Parser* const parser)
{
  while (parser_accept(parser, TOKEN_NEWLINE)) {
  }
  return parser->now.kind == TOKEN_END ? no_statement(parser) : parse_statements(parser);
}

// ---- whole texts ----

/// True if the connection is part of the cycle.
static bool
is_in_circle(const Made* const made, const RackUid* const path, const uint32_t n_path)
{
  for (uint32_t i = 0; i < n_path; ++i) {
    if (made->from == path[i] && made->to == path[(i + 1U) % n_path]) {
      return true;
    }
  }
  return false;
}

/// Refuse a cycle.  The place of the error is the last connection in the text that is part of it.
static Status
check_circles(Parser* const parser)
{
  RackUid* path = NULL;
  uint32_t n_path = 0;
  Error cause;
  Status status = rack_find_cycle(parser->rack, &path, &n_path, &cause);
  if (n_path) {
    uint32_t m = parser->n_made;
    while (m && !is_in_circle(&parser->made[m - 1U], path, n_path)) {
      --m;
    }
    status = parser_pass_on(parser, m ? parser->made[m - 1U].offset : 0U, &cause);
  } else if (status) {
    status = rack_no_memory(parser->error);
  }
  free(path);
  return status;
}

/// Run `parse` on the text; it edits parser->rack.
static Status
parse_text(Parser* const parser, const char* const text, Status (*const parse)(Parser*))
{
  if (strnlen(text, RACK_MAX_TEXT + 1U) > RACK_MAX_TEXT) {
    return error_set(parser->error, STATUS_LIMIT, "%s:1:1: too much text; at most %u bytes",
                     parser->place, RACK_MAX_TEXT);
  }
  Status status =
      tokenizer_init(&parser->tokenizer, text) ? STATUS_OK : rack_no_memory(parser->error);
  if (!status) {
    parser_advance(parser);
    parser_advance(parser);
    status = parse(parser);
  }
  status = status ? status : check_circles(parser);
  tokenizer_clear(&parser->tokenizer);
  parser_drop_index(parser);
  free(parser->given);
  free(parser->made);
  return status;
}

/// Parse a document with a parser that has everything but the rack.
static Status
parse_new(Parser* const parser, const char* const text, Rack** const out)
{
  Rack* const rack = rack_new();
  if (!rack) {
    return rack_no_memory(parser->error);
  }
  rack->next_uid = parser->previous ? parser->previous->next_uid : rack->next_uid;
  parser->rack = rack;
  const Status status = parse_text(parser, text, parse_document);
  if (status) {
    rack_free(rack);
  } else {
    *out = rack;
  }
  return status;
}

Status
rack_parse(const char* const text, const char* const place, const Rack* const previous,
           Rack** const out, Error* const error)
{
  Parser parser = { .place = place, .previous = previous, .is_document = true, .error = error };
  return parse_new(&parser, text, out);
}

Status
rack_parse_bypass(const char* const text, const char* const place, const Rack* const previous,
                  Rack** const out, Error* const error)
{
  Parser parser = {
    .place = place, .previous = previous, .is_document = true, .bypasses = true, .error = error
  };
  return parse_new(&parser, text, out);
}

Status
rack_parse_without_plugins(const char* const text, const char* const place, Rack** const out,
                           Error* const error)
{
  Parser parser = {
    .place = place, .is_document = true, .bypasses = true, .has_no_plugins = true, .error = error
  };
  return parse_new(&parser, text, out);
}

Status
rack_parse_copy(const char* const text, const char* const place, RackCopied* const plugins,
                const uint32_t n_nodes, Rack** const out, Error* const error)
{
  Parser parser = { .place = place,
                    .is_document = true,
                    .is_copy = true,
                    .copied = plugins,
                    .n_copied = plugins ? n_nodes : 0U,
                    .error = error };
  Rack* rack = NULL;
  const Status status = parse_new(&parser, text, &rack);
  if (status || parser.lacking.status) {
    rack_free(rack);
    return status ? status : error_set(error, parser.lacking.status, "%s", parser.lacking.text);
  }
  *out = rack;
  return STATUS_OK;
}

Status
rack_apply(Rack* const rack, const char* const statements, const char* const place,
           Error* const error)
{
  Rack* const edited = rack_copy(rack); // a failure then leaves `rack` unchanged
  if (!edited) {
    return rack_no_memory(error);
  }
  Parser parser = { .place = place, .rack = edited, .error = error };
  const Status status = parse_text(&parser, statements, parse_edit);
  if (status) {
    rack_free(edited);
  } else {
    rack_take(rack, edited);
  }
  return status;
}
