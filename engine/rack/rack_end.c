// SPDX-License-Identifier: GPL-3.0-or-later
// Ends of connections: from text and back, side inputs, comparisons.

#include "rack_private.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- from text ----

/// The parts of "node.side:1-2".
typedef struct EndParts {
  char node[RACK_NAME_BYTES]; ///< "" if it is too long
  const char* side;           ///< NULL: none; n_side bytes
  size_t n_side;
  const char* channels; ///< NULL: none; up to the end of the text
} EndParts;

static EndParts
split_end(const char* const text)
{
  EndParts parts = { .side = NULL };
  const size_t n_node = strcspn(text, ".:");
  const char* at = text + n_node;
  snprintf(parts.node, sizeof(parts.node), "%.*s", n_node < sizeof(parts.node) ? (int)n_node : 0,
           text);
  if (*at == '.') {
    parts.side = at + 1;
    parts.n_side = strcspn(parts.side, ":");
    at = parts.side + parts.n_side;
  }
  parts.channels = *at ? at + 1 : NULL;
  return parts;
}

/// Read "3" or "1-2"; the whole text must match.
static bool
read_channels(const char* const text, RackEnd* const end)
{
  unsigned long bounds[2] = { 0, 0 };
  const char* at = text;
  for (uint32_t b = 0; b < 2U; ++b) {
    if (!isdigit((unsigned char)*at)) {
      return false;
    }
    char* after = NULL;
    bounds[b] = strtoul(at, &after, 10);
    if (*after == '\0' && b == 0U) {
      bounds[1] = bounds[0];
      break;
    }
    if (*after != (b == 0U ? '-' : '\0')) {
      return false;
    }
    at = after + 1;
  }
  if (bounds[0] < 1U || bounds[1] < bounds[0] || bounds[1] > FX_MAX_CHANNELS) {
    return false;
  }
  end->first = (uint16_t)bounds[0];
  end->last = (uint16_t)bounds[1];
  return true;
}

static Status
no_side(const RackNode* const node, const char* const wrong, const size_t n, Error* const error)
{
  const FxInfo* const fx = node->fx;
  const char* const without = fx->is_missing ? "its plugin is missing" : "it has none";
  char names[256] = "";
  for (uint32_t s = 0; s < fx->n_sides; ++s) {
    const size_t used = strlen(names);
    snprintf(names + used, sizeof(names) - used, "%s%s", s ? ", " : "", fx->sides[s].name);
  }
  return error_set(error, STATUS_NOT_FOUND, "\"%s\" has no side input \"%.*s\"; %s%s", node->name,
                   n < FX_SIDE_BYTES ? (int)n : (int)FX_SIDE_BYTES, wrong,
                   fx->n_sides ? "it has " : without, names);
}

/// Read the name of a side input, of n bytes.  `node` is NULL for an end of the rack.
static Status
read_side(const RackNode* const node, const char* const text, const size_t n, RackEnd* const end,
          Error* const error)
{
  if (!node) {
    return error_set(error, STATUS_BAD_RACK, "only nodes have side inputs");
  }
  end->side = rack_find_side_input(node->fx, text, n);
  return end->side ? STATUS_OK : no_side(node, text, n, error);
}

Status
rack_read_end(const Rack* const rack, const char* const text, RackEnd* const end,
              Error* const error)
{
  const EndParts parts = split_end(text);
  const RackNode* node = NULL;
  RackEnd found = { 0 };
  if (!strcmp(parts.node, "in")) {
    found.uid = RACK_UID_IN;
  } else if (!strcmp(parts.node, "out")) {
    found.uid = RACK_UID_OUT;
  } else {
    node = rack_find(rack, parts.node);
    if (!node) {
      return rack_no_node(rack, *parts.node ? parts.node : text, true, error);
    }
    found.uid = node->uid;
  }
  const Status status =
      parts.side ? read_side(node, parts.side, parts.n_side, &found, error) : STATUS_OK;
  if (status) {
    return status;
  }
  if (parts.channels && !read_channels(parts.channels, &found)) {
    return error_set(error, STATUS_BAD_RACK,
                     "\"%.20s\" are no channels; write 3 or 1-2, counted from 1, at most %u",
                     parts.channels, FX_MAX_CHANNELS);
  }
  *end = found;
  return STATUS_OK;
}

const char*
rack_print_end(const Rack* const rack, const RackEnd end, char text[const RACK_END_BYTES])
{
  const RackNode* const node = rack_find_uid(rack, end.uid);
  const char* const name = node ? node->name : end.uid == RACK_UID_IN ? "in" : "out";
  const bool has_side = node && end.side;
  const int n = snprintf(text, RACK_END_BYTES, "%s%s%s", name, has_side ? "." : "",
                         has_side ? node->fx->sides[end.side - 1U].name : "");
  if (end.first) {
    snprintf(text + n, RACK_END_BYTES - (size_t)n, end.first == end.last ? ":%u" : ":%u-%u",
             end.first, end.last);
  }
  return text;
}

// ---- comparisons ----

bool
rack_end_matches(const RackEnd wanted, const RackEnd end)
{
  return wanted.uid == end.uid && wanted.side == end.side &&
         (!wanted.first || (wanted.first == end.first && wanted.last == end.last));
}

bool
rack_ends_overlap(const RackEnd a, const RackEnd b)
{
  return a.uid == b.uid && a.side == b.side &&
         (!a.first || !b.first || (a.first <= b.last && b.first <= a.last));
}

// ---- side inputs of nodes whose plugin is missing ----

static bool
is_side_name(const char* const name, const size_t n)
{
  size_t n_valid = 0;
  while (n_valid < n && (isalnum((unsigned char)name[n_valid]) || strchr("_-", name[n_valid]))) {
    ++n_valid;
  }
  return n && n == n_valid && n < FX_SIDE_BYTES;
}

Status
rack_add_missing_side(Rack* const rack, const char* const end, Error* const error)
{
  const EndParts parts = split_end(end);
  const RackNode* const node = rack_find(rack, parts.node);
  if (!node || !node->fx->is_missing || !parts.side || !is_side_name(parts.side, parts.n_side)) {
    return STATUS_OK;
  }
  const FxInfo* const fx = node->fx;
  if (rack_find_side_input(fx, parts.side, parts.n_side) || fx->n_sides == FX_MISSING_SIDES) {
    return STATUS_OK;
  }
  char added[FX_SIDE_BYTES];
  const char* sides[FX_MISSING_SIDES];
  snprintf(added, sizeof(added), "%.*s", (int)parts.n_side, parts.side);
  for (uint32_t s = 0; s < fx->n_sides; ++s) {
    sides[s] = fx->sides[s].name;
  }
  sides[fx->n_sides] = added;
  return fx_missing_plugin(fx->origin->format, fx->origin->id, sides, fx->n_sides + 1U,
                           &rack->nodes[node - rack->nodes].fx, error);
}
