// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers for URIs: the same on all threads, and never changed.

#include "plugins/lv2/lv2_urids.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <stdio.h>

#define N_URIS    3000U // more than a chain and a block
#define N_THREADS 4U

static const char*
uri_of(char uri[64], const unsigned n)
{
  snprintf(uri, 64, "urn:warprack:%u", n);
  return uri;
}

TEST(a_uri_has_one_number)
{
  char uri[64];
  const LV2_URID first = urid_map("urn:warprack:a");
  ck_assert_uint_ne(first, 0);
  ck_assert_uint_ne(urid_map("urn:warprack:b"), first);
  snprintf(uri, sizeof(uri), "urn:warprack:%s", "a");
  ck_assert_uint_eq(urid_map(uri), first);
  ck_assert_str_eq(urid_unmap(first), "urn:warprack:a");
}

TEST(an_unknown_number_has_no_uri)
{
  ck_assert_ptr_null(urid_unmap(0));
  ck_assert_ptr_null(urid_unmap(URIDS_MAX - 1U));
  ck_assert_ptr_null(urid_unmap(URIDS_MAX));
  ck_assert_ptr_null(urid_unmap(UINT32_MAX));
}

static LV2_URID urids[N_THREADS][N_URIS];
static pthread_barrier_t at_once;

static void*
map_all(void* const context)
{
  LV2_URID* const row = context;
  for (unsigned n = 0; n < N_URIS; ++n) {
    char uri[64];
    pthread_barrier_wait(&at_once);
    row[n] = urid_map(uri_of(uri, n));
    const char* const back = urid_unmap(row[n]);
    row[n] = back && !strcmp(back, uri) ? row[n] : 0U;
  }
  return NULL;
}

TEST(all_threads_get_the_same_numbers)
{
  pthread_t threads[N_THREADS];
  pthread_barrier_init(&at_once, NULL, N_THREADS);
  for (unsigned t = 0; t < N_THREADS; ++t) {
    ck_assert_int_eq(pthread_create(&threads[t], NULL, map_all, urids[t]), 0);
  }
  for (unsigned t = 0; t < N_THREADS; ++t) {
    pthread_join(threads[t], NULL);
  }
  for (unsigned n = 0; n < N_URIS; ++n) {
    ck_assert_uint_ne(urids[0][n], 0);
    for (unsigned t = 1; t < N_THREADS; ++t) {
      ck_assert_uint_eq(urids[t][n], urids[0][n]);
    }
  }
}

TEST(a_full_table_refuses_new_uris_and_keeps_the_old_ones)
{
  const LV2_URID first = urid_map("urn:warprack:a");
  char uri[64];
  unsigned n = 0;
  while (n < 2U * URIDS_MAX && urid_map(uri_of(uri, n))) {
    ++n;
  }
  ck_assert_uint_gt(n, URIDS_MAX - 8U); // 0 is no number, and other URIs have one
  ck_assert_uint_lt(n, URIDS_MAX - 1U);
  ck_assert_uint_eq(urid_map(uri_of(uri, n)), 0);
  ck_assert_uint_eq(urid_map("urn:warprack:a"), first);
}

SUITE_MAIN("lv2_urids")
