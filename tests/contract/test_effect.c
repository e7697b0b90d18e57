// SPDX-License-Identifier: GPL-3.0-or-later
// Every row of the table of effects is complete and consistent, and can be found by its name.  The
// positions of a controller cover the range of each parameter, by its taper or in steps.

#include "engine/contract/effect.h"
#include "tests/support/suite.h"

#include <ctype.h>
#include <math.h>
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
      ck_assert_msg(param->structural || param->of_engine || fx->set, "%s.%s cannot be set",
                    fx->name, param->id);
    }
  }
}

TEST(every_effect_has_the_switches_of_the_engine_and_nothing_after_them)
{
  uint32_t n = 0;
  const FxInfo* const* const table = fx_table(&n);
  for (uint32_t i = 0; i < n; ++i) {
    const FxInfo* const fx = table[i];
    const uint32_t n_own = fx_own_params(fx);
    ck_assert_uint_eq(fx->n_params, n_own + FX_N_ENGINE_PARAMS);
    ck_assert_str_eq(fx->params[n_own].id, "bypass");
    ck_assert_int_eq(fx->params[n_own].of_engine, FX_SWITCH_BYPASS);
    ck_assert_str_eq(fx->params[n_own + 1U].id, "mute");
    ck_assert_int_eq(fx->params[n_own + 1U].of_engine, FX_SWITCH_MUTE);
    ck_assert_str_eq(fx->params[n_own + 2U].id, "solo");
    ck_assert_int_eq(fx->params[n_own + 2U].of_engine, FX_SWITCH_SOLO);
    ck_assert_int_eq(fx->params[n_own + 3U].of_engine, FX_RAMP_TIME);
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

// ---- positions of controllers ----

/// Call a function for every parameter of every effect.
static void
for_each_param(void (*check)(const FxInfo* fx, const FxParam* param))
{
  uint32_t n = 0;
  const FxInfo* const* const table = fx_table(&n);
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t p = 0; p < table[i]->n_params; ++p) {
      check(table[i], &table[i]->params[p]);
    }
  }
}

/// The number of choices.
static uint32_t
count_choices(const FxParam* const param)
{
  uint32_t n = 0;
  while (param->choices[n]) {
    ++n;
  }
  return n;
}

static void
check_taper(const FxInfo* const fx, const FxParam* const param)
{
  const bool is_number = param->kind == PARAM_NUMBER || param->kind == PARAM_INTEGER;
  ck_assert_msg(is_number || param->taper == TAPER_LINEAR, "%s.%s", fx->name, param->id);
  ck_assert_msg(param->taper != TAPER_LOG || param->min >= 0.0, "%s.%s", fx->name, param->id);
  ck_assert_msg(param->taper != TAPER_DB || (param->unit == UNIT_DB && param->min < -40.0 &&
                                             param->max > 0.0 && param->kind == PARAM_NUMBER),
                "%s.%s", fx->name, param->id);
  ck_assert_msg(param->unit != UNIT_HZ || param->taper == TAPER_LOG, "%s.%s", fx->name, param->id);
}

TEST(tapers_suit_the_ranges_of_their_parameters)
{
  for_each_param(check_taper);
}

static void
check_ends(const FxInfo* const fx, const FxParam* const param)
{
  double min = 0.0;
  double max = 0.0;
  if (!fx_param_range(param, &min, &max)) {
    ck_assert(fx_param_from_norm(param, 0.7) == 0.0 && fx_param_to_norm(param, 3.0) == 0.0);
    return;
  }
  if (param->kind == PARAM_CHOICE) {
    min = fx_choice_number(param, 0);
    max = fx_choice_number(param, count_choices(param) - 1U);
  }
  static const double low[] = { 0.0, -0.1, -INFINITY, NAN };
  static const double high[] = { 1.0, 1.1, INFINITY };
  for (uint32_t i = 0; i < ARRAY_LEN(low); ++i) {
    ck_assert_msg(fx_param_from_norm(param, low[i]) == min, "%s.%s at %g", fx->name, param->id,
                  low[i]);
  }
  for (uint32_t i = 0; i < ARRAY_LEN(high); ++i) {
    ck_assert_msg(fx_param_from_norm(param, high[i]) == max, "%s.%s at %g", fx->name, param->id,
                  high[i]);
  }
  ck_assert_msg(fx_param_to_norm(param, min) == 0.0 && fx_param_to_norm(param, max) == 1.0,
                "%s.%s: %g and %g", fx->name, param->id, fx_param_to_norm(param, min),
                fx_param_to_norm(param, max));
}

TEST(a_controller_reaches_both_ends_of_every_range_and_no_further)
{
  for_each_param(check_ends);
}

#define N_POSITIONS 2000U

static void
check_way(const FxInfo* const fx, const FxParam* const param)
{
  if (fx_param_is_text(param)) {
    return;
  }
  double before = -INFINITY;
  for (uint32_t i = 0; i <= N_POSITIONS; ++i) {
    const double x = (double)i / N_POSITIONS;
    const double number = fx_param_from_norm(param, x);
    const double order = param->kind == PARAM_CHOICE ? fx_choice_find(param, number) : number;
    ck_assert_msg(order >= before, "%s.%s decreases at %g", fx->name, param->id, x);
    ck_assert_msg(fx_param_accepts(param, number), "%s.%s at %g: %g", fx->name, param->id, x,
                  number);
    const double again = fx_param_from_norm(param, fx_param_to_norm(param, number));
    ck_assert_msg(fabs(again - number) <= 1e-12 * (param->max - param->min),
                  "%s.%s at %g: %.17g, %.17g", fx->name, param->id, x, number, again);
    if (param->kind == PARAM_NUMBER) {
      ck_assert_msg(order > before, "%s.%s stays at %g", fx->name, param->id, x);
      ck_assert_msg(fabs(fx_param_to_norm(param, number) - x) < 1e-9, "%s.%s at %g: %.17g",
                    fx->name, param->id, x, fx_param_to_norm(param, number));
    }
    before = order;
  }
}

TEST(a_number_rises_with_its_position_and_leads_back_to_it)
{
  for_each_param(check_way);
}

static void
check_steps(const FxInfo* const fx, const FxParam* const param)
{
  const bool is_switch = param->kind == PARAM_SWITCH;
  if (!is_switch && param->kind != PARAM_CHOICE) {
    return;
  }
  const uint32_t n = is_switch ? 2U : count_choices(param);
  for (uint32_t k = 0; k < n; ++k) {
    const double number = is_switch ? k : fx_choice_number(param, k);
    const double at = fx_param_to_norm(param, number);
    ck_assert_msg(at == (double)k / (n - 1.0) && fx_param_from_norm(param, at) == number,
                  "%s.%s: %u is at %g", fx->name, param->id, k, at);
    ck_assert_msg(fx_param_from_norm(param, (k + 0.01) / n) == number &&
                      fx_param_from_norm(param, (k + 0.99) / n) == number,
                  "%s.%s: %u has less than 1/%u of the way", fx->name, param->id, k, n);
  }
}

TEST(switches_and_choices_have_equal_parts_of_the_way)
{
  for_each_param(check_steps);
}

TEST(tapers_have_the_documented_numbers_on_their_way)
{
  static const struct {
    FxParam param;
    double norm, number;
  } rows[] = {
    { { .min = -20.0, .max = 80.0 }, 0.25, 5.0 },
    { { .min = 20.0, .max = 20000.0, .taper = TAPER_LOG }, 1.0 / 3.0, 200.0 },
    { { .min = 20.0, .max = 20000.0, .taper = TAPER_LOG }, 2.0 / 3.0, 2000.0 },
    { { .min = 0.0, .max = 999.0, .taper = TAPER_LOG }, 1.0 / 3.0, 9.0 },
    { { .min = 0.0, .max = 999.0, .taper = TAPER_LOG }, 2.0 / 3.0, 99.0 },
    { { .min = -120.0, .max = 40.0, .taper = TAPER_DB }, 0.125, -80.0 },
    { { .min = -120.0, .max = 40.0, .taper = TAPER_DB }, 0.25, -40.0 },
    { { .min = -120.0, .max = 40.0, .taper = TAPER_DB }, 0.5, -20.0 },
    { { .min = -120.0, .max = 40.0, .taper = TAPER_DB }, 0.75, 0.0 },
    { { .min = -120.0, .max = 40.0, .taper = TAPER_DB }, 0.875, 20.0 },
    { { .kind = PARAM_INTEGER, .min = -1.0, .max = 2.0 }, 0.49, 0.0 },
    { { .kind = PARAM_INTEGER, .min = -1.0, .max = 2.0 }, 0.51, 1.0 },
    { { .kind = PARAM_INTEGER, .min = 1.0, .max = 10000.0, .taper = TAPER_LOG }, 0.5, 100.0 },
  };
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    const double number = fx_param_from_norm(&rows[r].param, rows[r].norm);
    ck_assert_msg(fabs(number - rows[r].number) < 1e-9, "row %u: %.17g", r, number);
  }
}

/// Plugins declare any range.
TEST(a_controller_stays_in_ranges_of_any_size)
{
  static const FxParam rows[] = {
    { .min = -1.7e308, .max = 1.7e308 },
    { .min = 1e-300, .max = 1.7e308, .taper = TAPER_LOG },
    { .min = 0.0, .max = 1.7e308, .taper = TAPER_LOG },
    { .min = 3.0, .max = 3.0 },
    { .kind = PARAM_INTEGER, .min = 3.0, .max = 3.0 },
    { .kind = PARAM_INTEGER, .min = -2147483648.0, .max = 2147483647.0 },
  };
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    for (uint32_t i = 0; i <= 100U; ++i) {
      const double number = fx_param_from_norm(&rows[r], i / 100.0);
      const double back = fx_param_to_norm(&rows[r], number);
      ck_assert_msg(fx_param_accepts(&rows[r], number) && back >= 0.0 && back <= 1.0,
                    "row %u at %u: %g, %g", r, i, number, back);
    }
  }
  for (uint32_t k = 0; k < 20000U; ++k) {
    const double number = k * 214748.0 - 2147483648.0;
    ck_assert(fx_param_from_norm(&rows[5], fx_param_to_norm(&rows[5], number)) == number);
  }
}

SUITE_MAIN("effect")
