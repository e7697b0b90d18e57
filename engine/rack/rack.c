// SPDX-License-Identifier: GPL-3.0-or-later
// The rack as data: nodes, connections, and the index of names and uids.

#include "rack_private.h"

#include "engine/base/hash.h"

#include <stdlib.h>
#include <string.h>

#define MIN_SLOTS 64U

Status
rack_no_memory(Error* const error)
{
  return error_set(error, STATUS_NO_MEM, "out of memory; the rack is as it was");
}

// ---- index: two hash tables with open addressing, by name and by uid, holding node index + 1 ----

/// Find the slot of a name, or the free slot for it.
static uint32_t*
slot_of_name(const Rack* const rack, const char* const name)
{
  const uint32_t mask = rack->n_slots - 1U;
  uint32_t s = hash_text(HASH32_START, name) & mask;
  while (rack->index[s] && strcmp(rack->nodes[rack->index[s] - 1U].name, name) != 0) {
    s = (s + 1U) & mask;
  }
  return &rack->index[s];
}

static uint32_t*
slot_of_uid(const Rack* const rack, const RackUid uid)
{
  const uint32_t mask = rack->n_slots - 1U;
  uint32_t* const index = rack->index + rack->n_slots;
  uint32_t s = uid & mask; // consecutive numbers need no hash
  while (index[s] && rack->nodes[index[s] - 1U].uid != uid) {
    s = (s + 1U) & mask;
  }
  return &index[s];
}

static void
index_insert(Rack* const rack, const uint32_t n)
{
  *slot_of_name(rack, rack->nodes[n].name) = n + 1U;
  *slot_of_uid(rack, rack->nodes[n].uid) = n + 1U;
}

static void
index_rebuild(Rack* const rack)
{
  memset(rack->index, 0, 2U * rack->n_slots * sizeof(uint32_t));
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    index_insert(rack, n);
  }
}

/// Ensure that the index is at most half full with one more node.
static bool
index_reserve(Rack* const rack)
{
  if (rack->index && 2U * (rack->n_nodes + 1U) <= rack->n_slots) {
    return true;
  }
  const uint32_t n_slots = rack->n_slots ? 2U * rack->n_slots : MIN_SLOTS;
  uint32_t* const index = malloc(2U * n_slots * sizeof(uint32_t));
  if (!index) {
    return false;
  }
  free(rack->index);
  rack->index = index;
  rack->n_slots = n_slots;
  index_rebuild(rack);
  return true;
}

// ---- making and freeing ----

/// The capacity of an array of n elements: the next power of two.
static size_t
capacity(const uint32_t n)
{
  size_t room = 1;
  while (room < n) {
    room *= 2U;
  }
  return room;
}

/// Make room for element n of an array of n elements.
static void*
grow(void* const array, const uint32_t n, const size_t bytes)
{
  const bool is_full = capacity(n) == n || n == 0U;
  return is_full ? realloc(array, capacity(n + 1U) * bytes) : array;
}

Rack*
rack_new(void)
{
  Rack* const rack = calloc(1, sizeof(Rack));
  RackEdge* const edge = rack && index_reserve(rack) ? rack_append_edge(rack) : NULL;
  if (!edge) {
    rack_free(rack);
    return NULL;
  }
  rack->next_uid = RACK_UID_FIRST;
  rack->tempo.bpm = RACK_TEMPO_BPM;
  *edge = (RackEdge){ .from = { .uid = RACK_UID_IN }, .to = { .uid = RACK_UID_OUT } };
  return rack;
}

static void
node_clear(RackNode* const node)
{
  for (uint32_t p = 0; node->values && p < node->fx->n_params; ++p) {
    free(node->values[p].text);
  }
  free(node->values);
}

static RackValue*
new_values(const FxInfo* const fx)
{
  RackValue* const values =
      calloc(fx->n_params + 1U, sizeof(RackValue)); // + 1: never an allocation of 0 bytes
  for (uint32_t p = 0; values && p < fx->n_params; ++p) {
    values[p].kind = fx->params[p].follows_tempo ? VALUE_TEMPO : VALUE_INITIAL;
  }
  return values;
}

static bool
copy_node(RackNode* const to, const RackNode* const from)
{
  *to = *from;
  to->values = new_values(from->fx);
  for (uint32_t p = 0; to->values && p < from->fx->n_params; ++p) {
    to->values[p] = from->values[p];
    if (from->values[p].text) {
      to->values[p].text = strdup(from->values[p].text);
      if (!to->values[p].text) {
        return false;
      }
    }
  }
  return to->values;
}

static bool
copy_content(Rack* const to, const Rack* const from)
{
  to->index = malloc(2U * from->n_slots * sizeof(uint32_t));
  to->nodes = malloc(capacity(from->n_nodes) * sizeof(RackNode));
  to->edges = malloc(capacity(from->n_edges) * sizeof(RackEdge));
  // + 1: never an allocation of 0 bytes.
  to->lates = malloc((from->n_lates + 1U) * sizeof(RackLate));
  if (!to->index || !to->nodes || !to->edges || !to->lates) {
    return false;
  }
  memcpy(to->index, from->index, 2U * from->n_slots * sizeof(uint32_t));
  to->n_slots = from->n_slots;
  if (from->n_edges) {
    memcpy(to->edges, from->edges, from->n_edges * sizeof(RackEdge));
  }
  to->n_edges = from->n_edges;
  to->n_summed = from->n_summed;
  if (from->n_lates) {
    memcpy(to->lates, from->lates, from->n_lates * sizeof(RackLate));
  }
  to->n_lates = from->n_lates;
  to->tempo = from->tempo;
  to->next_uid = from->next_uid;
  while (to->n_nodes < from->n_nodes) {
    const uint32_t n = to->n_nodes++; // before the copy, so that rack_free() frees a partial node
    if (!copy_node(&to->nodes[n], &from->nodes[n])) {
      return false;
    }
  }
  return rack_copy_midi(to, from) && rack_copy_scenes(to, from);
}

Rack*
rack_copy(const Rack* const rack)
{
  Rack* const copy = calloc(1, sizeof(Rack));
  if (copy && !copy_content(copy, rack)) {
    rack_free(copy);
    return NULL;
  }
  return copy;
}

static void
clear(Rack* const rack)
{
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    node_clear(&rack->nodes[n]);
  }
  free(rack->nodes);
  free(rack->edges);
  free(rack->lates);
  rack_clear_scenes(rack);
  rack_clear_midi(rack);
  free(rack->index);
}

void
rack_free(Rack* const rack)
{
  if (rack) {
    clear(rack);
    free(rack);
  }
}

void
rack_take(Rack* const to, Rack* const from)
{
  clear(to);
  *to = *from;
  free(from);
}

// ---- adding and removing, after all checks ----

RackNode*
rack_append_node(Rack* const rack, const char* const name, const FxInfo* const fx,
                 const RackUid uid)
{
  RackNode* const nodes = grow(rack->nodes, rack->n_nodes, sizeof(RackNode));
  rack->nodes = nodes ? nodes : rack->nodes;
  RackValue* const values = new_values(fx);
  if (!nodes || !values || !index_reserve(rack)) {
    free(values);
    return NULL;
  }
  RackNode* const node = &nodes[rack->n_nodes];
  *node = (RackNode){
    .uid = uid ? uid : rack->next_uid++, .fx = fx, .values = values, .tempo_bpm = rack->tempo.bpm
  };
  strcpy(node->name, name);
  index_insert(rack, rack->n_nodes++);
  return node;
}

void
rack_drop_node(Rack* const rack, RackNode* const node)
{
  node_clear(node);
  const RackNode* const end = rack->nodes + rack->n_nodes--;
  memmove(node, node + 1, (size_t)(end - (node + 1)) * sizeof(RackNode));
  index_rebuild(rack);
}

void
rack_name_node(Rack* const rack, RackNode* const node, const char* const name)
{
  strcpy(node->name, name);
  index_rebuild(rack);
}

RackEdge*
rack_append_edge(Rack* const rack)
{
  RackEdge* const edges = grow(rack->edges, rack->n_edges, sizeof(RackEdge));
  if (!edges) {
    return NULL;
  }
  rack->edges = edges;
  return &edges[rack->n_edges++];
}

// ---- uids ----

static int
compare_uids(const void* const a, const void* const b)
{
  const RackUid left = *(const RackUid*)a;
  const RackUid right = *(const RackUid*)b;
  return (left > right) - (left < right);
}

static Status
check_uids(const RackUid* const uids, const uint32_t n, const RackUid next_uid, Error* const error)
{
  RackUid* const sorted = malloc((n + 1U) * sizeof(RackUid)); // + 1: never an allocation of 0 bytes
  if (!sorted) {
    return rack_no_memory(error);
  }
  if (n) {
    memcpy(sorted, uids, n * sizeof(RackUid));
    qsort(sorted, n, sizeof(RackUid), compare_uids);
  }
  bool is_good = next_uid >= RACK_UID_FIRST;
  for (uint32_t i = 0; i < n; ++i) {
    is_good &= sorted[i] >= RACK_UID_FIRST && sorted[i] < next_uid &&
               (i == 0U || sorted[i] != sorted[i - 1U]);
  }
  free(sorted);
  return is_good ? STATUS_OK
                 : error_set(error, STATUS_BAD_ARG,
                             "uids that are in use, reserved or not assigned yet");
}

static RackUid
new_uid(const Rack* const rack, const RackUid* const uids, const RackUid old)
{
  const uint32_t n = rack_index_of(rack, old, rack->n_nodes);
  return n < rack->n_nodes ? uids[n] : old; // in and out keep their uids
}

Status
rack_set_uids(Rack* const rack, const RackUid* const uids, const uint32_t n, const RackUid next_uid,
              Error* const error)
{
  if (n != rack->n_nodes) {
    return error_set(error, STATUS_BAD_ARG, "%u uids for %u nodes", n, rack->n_nodes);
  }
  const Status status = check_uids(uids, n, next_uid, error);
  if (status) {
    return status;
  }
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    RackEdge* const edge = &rack->edges[e];
    edge->from.uid = new_uid(rack, uids, edge->from.uid);
    edge->to.uid = new_uid(rack, uids, edge->to.uid);
  }
  for (uint32_t i = 0; i < n; ++i) {
    rack->nodes[i].uid = uids[i];
  }
  rack->next_uid = next_uid;
  index_rebuild(rack);
  return STATUS_OK;
}

// ---- looking up ----

const RackNode*
rack_find(const Rack* const rack, const char* const name)
{
  const uint32_t found = *slot_of_name(rack, name);
  return found ? &rack->nodes[found - 1U] : NULL;
}

const RackNode*
rack_find_uid(const Rack* const rack, const RackUid uid)
{
  const uint32_t found = *slot_of_uid(rack, uid);
  return found ? &rack->nodes[found - 1U] : NULL;
}

uint32_t
rack_index_of(const Rack* const rack, const RackUid uid, const uint32_t if_none)
{
  const uint32_t found = *slot_of_uid(rack, uid);
  return found ? found - 1U : if_none;
}

// ---- comparing ----

static bool
value_equal(const RackValue* const v, const RackValue* const w)
{
  return v->kind == w->kind && v->number == w->number &&
         (v->kind != VALUE_TEXT || !strcmp(v->text, w->text));
}

static bool
values_equal(const RackNode* const a, const RackNode* const b)
{
  for (uint32_t p = 0; p < a->fx->n_params; ++p) {
    if (!value_equal(&a->values[p], &b->values[p])) {
      return false;
    }
  }
  return true;
}

bool
rack_same_structure(const RackNode* const a, const RackNode* const b)
{
  if (a->fx != b->fx || a->is_quarantined != b->is_quarantined || a->dry_frames != b->dry_frames) {
    return false;
  }
  for (uint32_t p = 0; p < a->fx->n_params; ++p) {
    const bool is_structural = a->fx->params[p].structural && !a->fx->params[p].of_engine;
    if (is_structural && !value_equal(&a->values[p], &b->values[p])) {
      return false;
    }
  }
  return true;
}

bool
rack_has_solo(const RackNode* const node)
{
  bool has = false;
  for (uint32_t p = fx_own_params(node->fx); p < node->fx->n_params; ++p) {
    const bool is_solo = node->fx->params[p].of_engine == FX_SWITCH_SOLO;
    has = has || (is_solo && node->values[p].kind == VALUE_NUMBER && node->values[p].number != 0.0);
  }
  return has;
}

/// True if `b` has solo in the same nodes as `a`.
static bool
solos_equal(const Rack* const a, const Rack* const b)
{
  for (uint32_t n = 0; n < a->n_nodes; ++n) {
    const RackNode* const other = rack_find_uid(b, a->nodes[n].uid);
    if (other && rack_has_solo(&a->nodes[n]) != rack_has_solo(other)) {
      return false;
    }
  }
  return true;
}

bool
rack_has_nodes(const Rack* const rack, const Rack* const of)
{
  for (uint32_t n = 0; n < of->n_nodes; ++n) {
    const RackNode* const other = rack_find_uid(rack, of->nodes[n].uid);
    if (!other || !rack_same_structure(&of->nodes[n], other)) {
      return false;
    }
  }
  return true;
}

bool
rack_same_effect(const FxInfo* const a, const FxInfo* const b)
{
  return a == b ||
         (a->is_missing && b->is_missing && !strcmp(a->origin->format, b->origin->format) &&
          !strcmp(a->origin->id, b->origin->id));
}

static bool
nodes_equal(const Rack* const a, const Rack* const b)
{
  for (uint32_t n = 0; n < a->n_nodes; ++n) {
    const RackNode* const node = &a->nodes[n];
    const RackNode* const other = rack_find(b, node->name);
    if (!other || other->fx != node->fx || other->backend != node->backend ||
        !values_equal(node, other)) {
      return false;
    }
  }
  return a->n_nodes == b->n_nodes;
}

static bool
ends_equal(const RackEnd a, const RackEnd b)
{
  return a.uid == b.uid && a.first == b.first && a.last == b.last && a.side == b.side;
}

uint32_t
rack_find_edge(const Rack* const rack, const RackEnd from, const RackEnd to,
               const uint32_t first_guess)
{
  const uint32_t n = rack->n_edges;
  const uint32_t begin = first_guess < n ? first_guess : n; // the other rack may be larger
  for (uint32_t i = 0; i <= n; ++i) {
    const uint32_t places[] = { begin + i, begin - i }; // below 0: it wraps to a large number
    for (uint32_t p = 0; p < ARRAY_LEN(places); ++p) {
      const uint32_t e = places[p];
      if (e < n && ends_equal(rack->edges[e].from, from) && ends_equal(rack->edges[e].to, to)) {
        return e;
      }
    }
  }
  return n;
}

/// Translate an end of rack `a` to the end with the same name in rack `b`, which must have that
/// node.
static RackEnd
translate_end(const Rack* const a, RackEnd end, const Rack* const b)
{
  const RackNode* const node = rack_find_uid(a, end.uid);
  end.uid = node ? rack_find(b, node->name)->uid : end.uid;
  return end;
}

/// True if the racks have equal connections, of nodes with the same name (`by_name`; `b` must have
/// all nodes of `a`) or with the same uid.
static bool
edges_equal(const Rack* const a, const Rack* const b, const bool by_name)
{
  for (uint32_t e = 0; e < a->n_edges; ++e) {
    const RackEdge* const edge = &a->edges[e];
    const RackEnd from = by_name ? translate_end(a, edge->from, b) : edge->from;
    const RackEnd to = by_name ? translate_end(a, edge->to, b) : edge->to;
    const uint32_t other = rack_find_edge(b, from, to, e);
    if (other == b->n_edges || b->edges[other].gain_db != edge->gain_db) {
      return false;
    }
  }
  return a->n_edges == b->n_edges;
}

bool
rack_same_fallback(const RackFallback a, const RackFallback b)
{
  return a.is_fixed == b.is_fixed && (!a.is_fixed || a.level_db == b.level_db);
}

static bool
lates_equal(const Rack* const a, const Rack* const b)
{
  bool are_equal = a->n_lates == b->n_lates;
  for (uint32_t l = 0; are_equal && l < a->n_lates; ++l) {
    const RackLate* const late = &a->lates[l];
    const RackLate* const other = &b->lates[l];
    are_equal = late->first == other->first && late->last == other->last &&
                rack_same_fallback(late->fallback, other->fallback);
  }
  return are_equal;
}

bool
rack_differs_in_values(const Rack* const a, const Rack* const b)
{
  return edges_equal(a, b, false) && a->n_nodes == b->n_nodes && rack_has_nodes(a, b) &&
         solos_equal(a, b) && lates_equal(a, b);
}

bool
rack_sounds_equal(const Rack* const a, const Rack* const b)
{
  return a->tempo.bpm == b->tempo.bpm && nodes_equal(a, b) && edges_equal(a, b, true) &&
         lates_equal(a, b) && rack_equal_midi(a, b, true);
}

bool
rack_equal(const Rack* const a, const Rack* const b)
{
  return rack_equal_scenes(a, b) && rack_equal_midi(a, b, false) &&
         a->tempo.source == b->tempo.source && rack_sounds_equal(a, b);
}
