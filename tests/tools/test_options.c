// SPDX-License-Identifier: GPL-3.0-or-later
// A table describes the options; options_parse() stores their values in variables.  It refuses
// every mistake with exit code 2 and a message that names the mistake and the nearest valid word.

#include "tests/support/suite.h"
#include "tools/options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char* const colours[] = { "red", "green", NULL };

static const Command command = { .name = "paint", .usage = "[options] WALL", .summary = "Paint" };

typedef struct Paint {
  bool wet;
  bool frame;
  int64_t coats;
  double litres;
  const char* label;
  uint32_t colour;
  Operands operands;
  bool goes_on;
  char out[4096]; // stdout and stderr of options_parse()
} Paint;

/// Run options_parse() on these arguments, with stdout and stderr redirected to paint->out.
static void
parse(Paint* const paint, const uint32_t n_words, const char** words)
{
  *paint = (Paint){ .frame = true, .coats = 1 };
  const Option table[] = {
    { "wet", 'w', OPTION_FLAG, .help = "Paint is wet", .to.flag = &paint->wet },
    { "frame", 0, OPTION_SWITCH, .help = "Frame, too", .to.flag = &paint->frame },
    { "coats", 'c', OPTION_INTEGER, "N", 1, 9, .help = "Coats", .to.integer = &paint->coats },
    { "litres", 'l', OPTION_NUMBER, "L", -2, 5, .help = "Litres", .to.number = &paint->litres },
    { "label", 0, OPTION_TEXT, "TEXT", .help = "Label", .to.text = &paint->label },
    { "colour", 0, OPTION_CHOICE, .choices = colours, .help = "Colour",
      .to.choice = &paint->colour },
  };
  const OptionTable options = { table, ARRAY_LEN(table), 1, 1 };
  static char* argv[16]; // static, because paint->operands points into it
  argv[0] = (char*)"paint";
  for (uint32_t i = 0; i < n_words; ++i) {
    argv[i + 1U] = (char*)words[i];
  }

  FILE* const caught = tmpfile();
  ck_assert_ptr_nonnull(caught);
  fflush(stdout);
  fflush(stderr);
  const int kept_out = dup(STDOUT_FILENO);
  const int kept_err = dup(STDERR_FILENO);
  dup2(fileno(caught), STDOUT_FILENO);
  dup2(fileno(caught), STDERR_FILENO);
  paint->goes_on = options_parse(&command, &options, (int)n_words + 1, argv, &paint->operands);
  fflush(stdout);
  fflush(stderr);
  dup2(kept_out, STDOUT_FILENO);
  dup2(kept_err, STDERR_FILENO);
  close(kept_out);
  close(kept_err);
  rewind(caught);
  paint->out[fread(paint->out, 1, sizeof(paint->out) - 1U, caught)] = '\0';
  fclose(caught);
}

#define PARSE(paint, ...)                                                                          \
  do {                                                                                             \
    const char* words_[] = { __VA_ARGS__ };                                                        \
    parse(paint, (uint32_t)ARRAY_LEN(words_), words_);                                             \
  } while (0)

/// Fails the test unless options_parse() has failed with exit code 2 and printed `said`.
static void
assert_refused(const Paint* const paint, const char* const said)
{
  ck_assert(!paint->goes_on);
  ck_assert_int_eq(paint->operands.exit_code, 2);
  assert_says(paint->out, said);
  ck_assert_msg(!strncmp(paint->out, "warprack paint: ", 16), "%s", paint->out);
}

TEST(values_reach_their_places_in_any_order)
{
  Paint paint;
  PARSE(&paint, "-w", "wall", "--no-frame", "-c3", "--litres=-1.5", "--label", "x y", "--colour",
        "green");
  ck_assert_msg(paint.goes_on, "%s", paint.out);
  ck_assert(paint.wet);
  ck_assert(!paint.frame);
  ck_assert_int_eq(paint.coats, 3);
  ck_assert_double_eq(paint.litres, -1.5);
  ck_assert_str_eq(paint.label, "x y");
  ck_assert_uint_eq(paint.colour, 1);
  ck_assert_uint_eq(paint.operands.n, 1);
  ck_assert_str_eq(paint.operands.words[0], "wall");
}

TEST(options_that_are_not_given_stay_unchanged)
{
  Paint paint;
  PARSE(&paint, "wall");
  ck_assert(paint.goes_on);
  ck_assert(paint.frame);
  ck_assert_int_eq(paint.coats, 1);
  ck_assert_ptr_null(paint.label);
}

TEST(wrong_values_are_refused_with_the_range)
{
  Paint paint;
  PARSE(&paint, "wall", "--coats", "10");
  assert_refused(&paint, "--coats takes a whole number from 1 to 9, not '10'");
  PARSE(&paint, "wall", "--coats", "2.5");
  assert_refused(&paint, "not '2.5'");
  PARSE(&paint, "wall", "--coats", "99999999999999999999");
  assert_refused(&paint, "--coats");
  PARSE(&paint, "wall", "--litres", "nan");
  assert_refused(&paint, "--litres takes a number from -2 to 5, not 'nan'");
  PARSE(&paint, "wall", "--litres", "");
  assert_refused(&paint, "--litres");
  PARSE(&paint, "wall", "--colour", "grey");
  assert_refused(&paint, "--colour takes one of red|green, not 'grey'");
  PARSE(&paint, "wall", "--label", "");
  assert_refused(&paint, "--label needs TEXT");
}

TEST(unknown_options_are_refused_with_the_nearest)
{
  Paint paint;
  PARSE(&paint, "wall", "--coast", "2");
  assert_refused(&paint, "unknown option --coast; did you mean --coats?");
  PARSE(&paint, "wall", "--zebra");
  assert_refused(&paint, "unknown option --zebra;");
  PARSE(&paint, "wall", "-z");
  assert_refused(&paint, "unknown option -z");
  PARSE(&paint, "wall", "--wet=1");
  assert_refused(&paint, "--wet takes no value");
  PARSE(&paint, "wall", "--coats");
  assert_refused(&paint, "--coats needs a value");
}

TEST(operands_are_counted)
{
  Paint paint;
  PARSE(&paint, "-w");
  assert_refused(&paint, "warprack paint [options] WALL");
  PARSE(&paint, "wall", "door");
  assert_refused(&paint, "unexpected argument 'door'");
}

TEST(help_names_every_option_and_exits_with_0)
{
  Paint paint;
  PARSE(&paint, "--help");
  ck_assert(!paint.goes_on);
  ck_assert_int_eq(paint.operands.exit_code, 0);
  const char* const parts[] = { "usage: warprack paint [options] WALL",
                                "-w, --wet",
                                "--[no-]frame",
                                "Coats (1 to 9)",
                                "--colour red|green",
                                "-h, --help" };
  for (uint32_t i = 0; i < ARRAY_LEN(parts); ++i) {
    assert_says(paint.out, parts[i]);
  }
}

TEST(numbers_and_words_after_two_dashes_are_operands)
{
  Paint paint;
  PARSE(&paint, "-6dB", "-w");
  ck_assert_msg(paint.goes_on && paint.wet, "%s", paint.out);
  ck_assert_str_eq(paint.operands.words[0], "-6dB");
  PARSE(&paint, "-w", "-.5");
  ck_assert_msg(paint.goes_on, "%s", paint.out);
  ck_assert_str_eq(paint.operands.words[0], "-.5");
  PARSE(&paint, "-c2", "--", "--wet");
  ck_assert_msg(paint.goes_on && !paint.wet, "%s", paint.out);
  ck_assert_str_eq(paint.operands.words[0], "--wet");
  PARSE(&paint, "-");
  ck_assert_str_eq(paint.operands.words[0], "-");
  PARSE(&paint, "-wall");
  assert_refused(&paint, "unknown option -a; put -- before arguments that begin with -");
}

TEST(a_value_is_no_option_and_a_long_name_has_two_dashes)
{
  Paint paint;
  PARSE(&paint, "wall", "--label", "--wet");
  assert_refused(&paint, "--label needs a value");
  PARSE(&paint, "wall", "--label=--wet");
  ck_assert_msg(paint.goes_on && !paint.wet, "%s", paint.out);
  ck_assert_str_eq(paint.label, "--wet");
  PARSE(&paint, "wall", "-coats", "2");
  assert_refused(&paint, "unknown option -coats; did you mean --coats?");
  PARSE(&paint, "wall", "-wc", "2");
  ck_assert_msg(paint.goes_on && paint.wet && paint.coats == 2, "%s", paint.out);
}

SUITE_MAIN("options")
