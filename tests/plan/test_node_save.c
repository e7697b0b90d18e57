// SPDX-License-Identifier: GPL-3.0-or-later
// A node that has saved its state goes on as the one with that file, until the next edit.

#include "engine/plan/node.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static char state[16];

static Status
save(void* const node, FxShape* const shape, unsigned char** const bytes, size_t* const n_bytes,
     Error* const error)
{
  (void)node;
  (void)shape;
  (void)error;
  *bytes = (unsigned char*)strdup(state);
  *n_bytes = strlen(state);
  return STATUS_OK;
}

static char kept; // what a renewal restores: the first letter of a state

static void
end_save(void* const fx_node, FxShape* const shape, const bool is_named)
{
  (void)fx_node;
  (void)shape;
  kept = is_named ? state[0] : kept;
}

static const FxParam params[] = { { .id = "state", .kind = PARAM_PATH, .structural = true } };
static const FxInfo fx = {
  .name = "keeper", .params = params, .n_params = 1, .save = save, .end_save = end_save
};

static double made_with[1];
static char* made_texts[1];
static Node node;

static void
start(void)
{
  node = (Node){ .fx = &fx, .rack_fx = &fx, .made_with = made_with, .made_texts = made_texts };
  kept = '0';
}

static void
end(void)
{
  free(made_texts[0]);
  free(node.saved_as);
  made_texts[0] = NULL;
}

/// Save a state.  Returns the name of its file, valid until the next call.
static char*
name_of(const char* const content)
{
  static char name[FX_STATE_NAME_BYTES];
  unsigned char* bytes = NULL;
  size_t n_bytes = 0;
  strcpy(state, content);
  OK(node_save(&node, &bytes, &n_bytes, &error));
  fx_state_name(&fx, bytes, n_bytes, name);
  free(bytes);
  return name;
}

static RackNode
naming(char* const file, RackValue* const value)
{
  *value = (RackValue){ .kind = file ? VALUE_TEXT : VALUE_INITIAL, .text = file };
  return (RackNode){ .fx = &fx, .values = value };
}

/// True if the node can continue as one that names a file; NULL: none.
static bool
continues_with(char* const file)
{
  RackValue value;
  const RackNode rack_node = naming(file, &value);
  return node_can_be(&node, &rack_node, (NodeWidths){ 0 }, 48000.0, NULL);
}

/// An edit after which the node goes on, and names a file.
static void
edit(char* const file)
{
  RackValue value;
  const RackNode rack_node = naming(file, &value);
  node_keep_saved(&node, &rack_node);
}

TEST(a_node_continues_as_the_one_with_its_saved_state)
{
  ck_assert(continues_with(NULL));
  ck_assert(!continues_with("other.state"));
  char* const name = name_of("a");
  ck_assert(continues_with(name));
  ck_assert(continues_with(NULL));
  edit(name);
  ck_assert(continues_with(name));
  ck_assert(!continues_with(NULL)); // an undo makes it anew
}

TEST(the_state_that_was_saved_last_counts)
{
  char first[FX_STATE_NAME_BYTES];
  strcpy(first, name_of("a"));
  char* const second = name_of("b");
  ck_assert(!continues_with(first));
  ck_assert(continues_with(second));
}

TEST(a_saved_state_is_another_one_after_an_edit_without_it)
{
  char* const name = name_of("a");
  edit(NULL); // the edit of the save failed, and another one came
  ck_assert(!continues_with(name));
  ck_assert(continues_with(NULL));
}

TEST(a_renewal_restores_a_saved_state_only_once_the_rack_names_its_file)
{
  char* const name = name_of("a");
  ck_assert_int_eq(kept, '0'); // the server may fail to write the file
  edit(NULL);
  ck_assert_int_eq(kept, '0');
  edit(name); // of a save that is over
  ck_assert_int_eq(kept, '0');
  name_of("b");
  edit(name_of("b"));
  ck_assert_int_eq(kept, 'b');
}

TEST(a_node_that_is_renewed_after_its_save_is_made_anew_with_the_file)
{
  char* const name = name_of("a");
  OK(node_reset(&node, &error));
  ck_assert(!continues_with(name)); // it plays an older state
  edit(name);
  ck_assert_int_eq(kept, '0');
}

SUITE_MAIN_WITH("node_save", start, end)
