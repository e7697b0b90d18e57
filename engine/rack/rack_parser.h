// SPDX-License-Identifier: GPL-3.0-or-later
/// Shared by the parts of the parser: rack_parse.c (documents and statements), rack_parse_chain.c
/// (chains and effects), rack_parse_values.c (values), rack_parse_scene.c (scenes),
/// rack_parse_midi.c (the MIDI map) and rack_parse_index.c (an index of default names and
/// connections).
#ifndef WARPRACK_ENGINE_RACK_RACK_PARSER_H
#define WARPRACK_ENGINE_RACK_RACK_PARSER_H

#include "rack_private.h"
#include "rack_token.h"

#include "engine/base/key_index.h"

/// A connection made by the text, to find the place of a cycle's error.
typedef struct Made {
  RackUid from, to;
  size_t offset;
} Made;

/// How a value of a node was written.
typedef enum Given { GIVEN_NOT, GIVEN_BY_PLACE, GIVEN_BY_NAME } Given;

typedef struct NameSeries NameSeries;

typedef struct Parser {
  Tokenizer tokenizer;
  Token now, next;
  Token value; ///< The last value
  const char* place;
  Rack* rack;
  const Rack* previous; ///< May be NULL
  bool is_document;     ///< False: an edit of an existing rack
  bool is_copy;         ///< See rack_parse_copy()
  bool bypasses;        ///< See rack_parse_bypass()
  bool has_no_plugins;  ///< See rack_parse_without_plugins()
  RackCopied* copied;   ///< [n_copied] see rack_parse_copy()
  uint32_t n_copied;
  Error lacking;    ///< Of the first node that is RACK_COPIED_LACKING
  bool has_begun;   ///< begin() has removed the connection of the empty rack
  Given* given;     ///< Of each parameter of the current node, backend last
  uint32_t n_given; ///< Room in `given`
  Made* made;
  uint32_t n_made;
  uint32_t depth; ///< Number of parentheses around `now`
  Error* error;

  // The index, private to rack_parse_index.c:
  NameSeries* series; ///< [n_series] of default names
  uint32_t n_series;
  KeyIndex edges; ///< The keys of the first n_edges_seen connections
  uint32_t n_edges_seen;
  uint32_t n_searches; ///< Connections that were searched for without the index
} Parser;

typedef enum Statement {
  STATEMENT_CHAIN,
  STATEMENT_ADD,
  STATEMENT_INSERT,
  STATEMENT_CONNECT,
  STATEMENT_DISCONNECT,
  STATEMENT_SET,
  STATEMENT_RENAME,
  STATEMENT_REMOVE,
  STATEMENT_LATE,
  STATEMENT_TEMPO,
  STATEMENT_SCENE,
  STATEMENT_SAFE,
  STATEMENT_MIDI,
  N_STATEMENTS
} Statement;

/// The first words of the statements.
extern const char* const parser_statements[N_STATEMENTS];

/// The statement that begins with `word`; N_STATEMENTS: none.
Statement parser_find_statement(const char* word);

/// Fail with "place:line:column: what", columns in characters.
Status parser_fail(Parser* parser, size_t offset, Status status, const char* format, ...)
    PRINTF_LIKE(4, 5);

/// Fail with `cause`, an error of the rack's functions, at the place `offset`.
Status parser_pass_on(Parser* parser, size_t offset, const Error* cause);

/// Fail because `now` is not the expected token.
Status parser_unexpected(Parser* parser, const char* wanted);

void parser_advance(Parser* parser);

/// If `now` is of that kind, advance and return true.
bool parser_accept(Parser* parser, TokenKind kind);

/// If `now` is of that kind, store it in `token` and advance; otherwise fail.
NODISCARD Status parser_expect(Parser* parser, TokenKind kind, const char* wanted, Token* token);

/// [ "in" [channels] "|" ] series [ "|" "out" [channels] ]
NODISCARD Status rack_parse_chain(Parser* parser);

/// A hint for users of other languages: the separators of this one.
#define PARSER_SEPARATORS "put | between effects and a space between values"

/// Refuse a unit that a space separates from its number, which is the last value.
Status parser_unit(Parser* parser, const Token* word);

/// If `word`, which is `now` or the token before it, contains a character that separates or quotes
/// in other languages, returns a hint for its replacement; else NULL.
const char* parser_foreign_mark(const Parser* parser, const Token* word);

/// If a statement follows `word`, as above, and a semicolon, returns what to write instead; else
/// NULL.
const char* parser_next_statement(const Parser* parser, const Token* word);

/// Length of the id of a plugin that is written without quotes.
size_t parser_id_length(const char* text);

/// Refuse a URI at `offset`, which may be in quotes: it is the id of a plugin, without the format
/// before it.  Returns STATUS_OK if there is none.
Status parser_refuse_uri(Parser* parser, size_t offset);

/// True if the first n bytes end in the extension of a file name.
bool parser_ends_in_extension(const char* text, size_t n);

/// A text or file name that is written without quotes.
typedef struct Unquoted {
  const FxParam* param; ///< NULL: none
  Token first;          ///< Its first word
} Unquoted;

/// Fail at `offset` with the quotes that the text needs, because it contains `what`.  Returns
/// STATUS_OK if it needs none.
Status parser_unquoted(Parser* parser, const Unquoted* unquoted, size_t offset, const char* what);

/// Choose a default name for a node: the effect's name, or the effect's name with the number after
/// the highest one in use.
NODISCARD Status parser_default_name(Parser* parser, const FxInfo* fx, char name[RACK_NAME_BYTES]);

/// As rack_add_edge(), but with the index.
NODISCARD Status parser_add_edge(Parser* parser, const RackEdge* edge, Error* error);

/// Drop the index, and free its memory.  Call it before names or connections change in any other
/// way than by a new node or connection at the end.
void parser_drop_index(Parser* parser);

/// EFFECT | FORMAT value; `name` is the node's name, or NULL without one.  The node is valid until
/// the next one is added.
NODISCARD Status rack_parse_effect(Parser* parser, const Token* name, RackNode** node);

/// { value } { key "=" value }
NODISCARD Status rack_parse_values(Parser* parser, RackNode* node);

/// A value for a parameter of a node whose plugin is missing: it replaces or joins the kept ones.
NODISCARD Status rack_parse_kept_value(Parser* parser, RackNode* node, const char* key);
NODISCARD Status rack_parse_value(Parser* parser, RackNode* node, uint32_t param);

/// After "scene": NAME { NODE "." PARAM "=" value }
NODISCARD Status rack_parse_scene(Parser* parser);

/// After "safe": pattern { pattern }
NODISCARD Status rack_parse_safe(Parser* parser);

/// After "midi": SOURCE target { range | option }
NODISCARD Status rack_parse_midi(Parser* parser);

#endif
