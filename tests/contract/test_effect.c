// SPDX-License-Identifier: GPL-3.0-or-later
// Every row of the table of effects is complete and consistent, and can be found by its name.

#include "engine/contract/effect.h"
#include "tests/support/suite.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

TEST(every_effect_describes_itself_completely)
{
  uint32_t n = 0;
  const FxInfo* const* const table = fx_table(&n);
  ck_assert_uint_gt(n, 0);
  for (uint32_t i = 0; i < n; ++i) {
    const FxInfo* const fx = table[i];
    ck_assert_msg(i == 0 || strcmp(table[i - 1U]->name, fx->name) < 0,
                  "%s is not in alphabetical order", fx->name);
    ck_assert_msg(fx->summary && fx->create && fx->destroy && fx->unit_init && fx->run,
                  "%s lacks a field or a function", fx->name);
    ck_assert_msg(fx->tolerance > 0.0 && fx->tolerance_reason, "%s has no tolerance", fx->name);
    for (uint32_t p = 0; p < fx->n_params; ++p) {
      const FxParam* const param = &fx->params[p];
      ck_assert_msg(param->id && islower((unsigned char)param->id[0]) && param->help, "%s.%u",
                    fx->name, p);
      ck_assert_msg(fx_param_find(fx, param->id) == (int)p, "%s.%s twice", fx->name, param->id);
      ck_assert_msg(strcmp(param->id, "backend") != 0,
                    "%s.backend: every node has a parameter of this name", fx->name);
      if (param->kind == PARAM_NUMBER || param->kind == PARAM_INTEGER) {
        ck_assert_msg(param->min < param->max && param->initial >= param->min &&
                          param->initial <= param->max,
                      "%s.%s range", fx->name, param->id);
      }
      ck_assert_msg((param->kind == PARAM_CHOICE) == (param->choices != NULL), "%s.%s choices",
                    fx->name, param->id);
      if (param->kind == PARAM_FILE || param->kind == PARAM_TEXT) {
        ck_assert_msg(param->structural, "%s.%s must be structural", fx->name, param->id);
      }
      ck_assert_msg(param->structural || fx->set, "%s.%s cannot be set", fx->name, param->id);
    }
  }
}

TEST(an_edge_may_be_as_low_as_one_hertz)
{
  uint32_t n = 0;
  const FxInfo* const* const table = fx_table(&n);
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t p = 0; p < table[i]->n_params; ++p) {
      const FxParam* const param = &table[i]->params[p];
      if (!strcmp(param->id, "frequency") || !strcmp(param->id, "high")) {
        ck_assert_msg(param->min == 1.0, "%s.%s has the minimum %g", table[i]->name, param->id,
                      param->min);
      }
    }
  }
}

TEST(effects_are_found_by_name)
{
  ck_assert_ptr_nonnull(fx_find("gain"));
  ck_assert_ptr_null(fx_find("gian"));
}

SUITE_MAIN("effect")
