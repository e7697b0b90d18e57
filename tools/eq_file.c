// SPDX-License-Identifier: GPL-3.0-or-later
// Equaliser settings of other programs; see eq_file.h.

#include "eq_file.h"

#include "eq_curve.h"
#include "eq_line.h"
#include "eq_nodes.h"

#include "engine/base/number.h"
#include "engine/base/text.h"
#include "engine/rack/rack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_POINTS    4096U // of a curve
#define WORD_BYTES    32U
#define GOOD_FIT_DB   0.5
#define SHELF_SLOPE   0.9   // if the file has none
#define NOTCH_Q       30.0  // if the file has none
#define SLOPE_UNIT_DB 12.0  // a slope of S = 1
#define SAME_Q        0.005 // relative: files round 0.7071 to two digits

// ---- filters ----

typedef enum EqKind {
  EQ_NONE,
  EQ_PEAK,
  EQ_LOWPASS,
  EQ_HIGHPASS,
  EQ_LOWPASS_1,
  EQ_HIGHPASS_1,
  EQ_BANDPASS,
  EQ_LOWSHELF,
  EQ_HIGHSHELF,
  EQ_LOWSHELF_C,
  EQ_HIGHSHELF_C,
  EQ_NOTCH,
  EQ_ALLPASS,
} EqKind;

static const struct {
  const char* name; ///< Without blanks
  EqKind kind;
} kinds[] = {
  { "NONE", EQ_NONE },       { "PK", EQ_PEAK },         { "PEQ", EQ_PEAK },
  { "MODAL", EQ_PEAK },      { "LP", EQ_LOWPASS },      { "LPQ", EQ_LOWPASS },
  { "HP", EQ_HIGHPASS },     { "HPQ", EQ_HIGHPASS },    { "LP1", EQ_LOWPASS_1 },
  { "HP1", EQ_HIGHPASS_1 },  { "BP", EQ_BANDPASS },     { "LS", EQ_LOWSHELF },
  { "LSQ", EQ_LOWSHELF },    { "HS", EQ_HIGHSHELF },    { "HSQ", EQ_HIGHSHELF },
  { "LSC", EQ_LOWSHELF_C },  { "HSC", EQ_HIGHSHELF_C }, { "NO", EQ_NOTCH },
  { "NOTCH", EQ_NOTCH },     { "NOTCHQ", EQ_NOTCH },    { "AP", EQ_ALLPASS },
  { "ALLPASS", EQ_ALLPASS },
};

/// One "Filter" line.  0: not stated, except for the gain.
typedef struct EqFilter {
  char type[WORD_BYTES];
  EqKind kind;
  double frequency_hz, gain_db, q, octaves, slope_db;
  bool has_gain;
} EqFilter;

static Status
add_classic(EqFile* const file, const char* const effect, const double frequency_hz,
            const double order)
{
  return eq_add_effect(file, effect,
                       (EqValue[3]){ { "frequency", frequency_hz }, { "order", order } });
}

/// Add a peak that turns a section of q0 into a section of q: (s^2 + s/q0 + 1) / (s^2 + s/q + 1).
static Status
add_resonance(EqFile* const file, const double frequency_hz, const double q0, const double q)
{
  return eq_add_section(file, "peaking", frequency_hz, eq_rounded(20.0 * log10(q / q0)),
                        eq_rounded(sqrt(q * q0)));
}

static Status
add_pass(EqFile* const file, const char* const effect, const EqFilter* const filter)
{
  const double q = filter->q > 0.0 ? filter->q : M_SQRT1_2;
  Status status = add_classic(file, effect, filter->frequency_hz, 2.0);
  if (!status && fabs(q / M_SQRT1_2 - 1.0) > SAME_Q) {
    status = add_resonance(file, filter->frequency_hz, M_SQRT1_2, q);
  }
  return status;
}

/// Add the band-pass s/q / (s^2 + s/q + 1).  A first-order high-pass and low-pass in series have q
/// = 1/2.
static Status
add_bandpass(EqFile* const file, const EqFilter* const filter)
{
  const double q = filter->q > 0.0 ? filter->q : M_SQRT1_2;
  Status status = add_classic(file, "highpass", filter->frequency_hz, 1.0);
  status = status ? status : add_classic(file, "lowpass", filter->frequency_hz, 1.0);
  status = status ? status : add_resonance(file, filter->frequency_hz, 0.5, q);
  return status ? status
                : eq_add_effect(file, "gain",
                                (EqValue[3]){ { "gain", eq_rounded(-20.0 * log10(q)) } });
}

static Status
add_shelf(EqFile* const file, const EqFilter* const filter)
{
  const bool is_low = filter->kind == EQ_LOWSHELF || filter->kind == EQ_LOWSHELF_C;
  const bool has_corner = (filter->kind == EQ_LOWSHELF || filter->kind == EQ_HIGHSHELF) &&
                          (filter->q > 0.0 || filter->slope_db > 0.0);
  const double a = pow(10.0, filter->gain_db / 40.0);
  const double both = a + 1.0 / a;
  double slope = filter->slope_db > 0.0 ? filter->slope_db / SLOPE_UNIT_DB : SHELF_SLOPE;
  double q = filter->q;
  if (q > 0.0) {
    slope = 1.0 / ((1.0 / (q * q) - 2.0) / both + 1.0);
  } else {
    q = eq_rounded(1.0 / sqrt(both * (1.0 / slope - 1.0) + 2.0));
  }
  if (!isfinite(q) || !isfinite(slope) || slope <= 0.0) {
    return eq_refuse(file, "no shelf of %g dB is as steep as this one", filter->gain_db);
  }
  double frequency_hz = filter->frequency_hz;
  if (has_corner) {
    const double shift = pow(10.0, fabs(filter->gain_db) / 80.0 / slope);
    frequency_hz = eq_rounded(is_low ? frequency_hz * shift : frequency_hz / shift);
  }
  return eq_add_section(file, is_low ? "lowshelf" : "highshelf", frequency_hz, filter->gain_db, q);
}

static Status
add_filter(EqFile* const file, const EqFilter* const filter)
{
  switch (filter->kind) {
  case EQ_PEAK:
    return eq_add_section(file, "peaking", filter->frequency_hz, filter->gain_db, filter->q);
  case EQ_LOWPASS:
    return add_pass(file, "lowpass", filter);
  case EQ_HIGHPASS:
    return add_pass(file, "highpass", filter);
  case EQ_LOWPASS_1:
    return add_classic(file, "lowpass", filter->frequency_hz, 1.0);
  case EQ_HIGHPASS_1:
    return add_classic(file, "highpass", filter->frequency_hz, 1.0);
  case EQ_BANDPASS:
    return add_bandpass(file, filter);
  case EQ_NOTCH:
  case EQ_ALLPASS:
    return eq_add_effect(file, filter->kind == EQ_NOTCH ? "notch" : "allpass",
                         (EqValue[3]){ { "frequency", filter->frequency_hz },
                                       { "q", filter->q > 0.0 ? filter->q : NOTCH_Q } });
  default:
    return add_shelf(file, filter);
  }
}

/// Read the words up to the first parameter, without blanks, and a slope ("LS 6dB", "LSC 10.8
/// dB").
static Status
read_type(EqFile* const file, EqLine* const line, EqFilter* const filter)
{
  static const char* const params[] = { "Fc", "Gain", "BW", "T60" };
  size_t n = 0;
  while (!eq_is_at_end(line)) {
    EqLine ahead = *line;
    double ignored = 0.0;
    bool is_param = eq_take_value(&ahead, "Q", &ignored);
    for (unsigned p = 0; p < ARRAY_LEN(params); ++p) {
      is_param =
          is_param || eq_take_word(&ahead, params[p]) || eq_take_value(&ahead, params[p], &ignored);
    }
    if (is_param) {
      break;
    }
    if (n && eq_take_number(line, &filter->slope_db)) {
      (void)eq_take_word(line, "dB");
      continue;
    }
    char word[WORD_BYTES];
    (void)eq_take_any(line, word, sizeof(word));
    n += (size_t)snprintf(filter->type + n, sizeof(filter->type) - n, "%s", word);
    n = n < sizeof(filter->type) ? n : sizeof(filter->type) - 1U;
  }
  for (unsigned k = 0; k < ARRAY_LEN(kinds); ++k) {
    if (!strcasecmp(kinds[k].name, filter->type)) {
      filter->kind = kinds[k].kind;
      return STATUS_OK;
    }
  }
  return eq_refuse(file, "filters of type '%s' cannot be imported", filter->type);
}

static Status
read_params(EqFile* const file, EqLine* const line, EqFilter* const filter)
{
  double ignored = 0.0;
  while (!eq_is_at_end(line)) {
    if (eq_take_value(line, "Fc", &filter->frequency_hz)) {
      filter->frequency_hz *= eq_take_word(line, "kHz") ? 1000.0 : 1.0;
      (void)eq_take_word(line, "Hz");
    } else if (eq_take_value(line, "Gain", &filter->gain_db)) {
      filter->has_gain = true;
      (void)eq_take_word(line, "dB");
    } else if (eq_take_value(line, "Q", &filter->q)) {
    } else if (eq_take_word(line, "BW")) {
      (void)eq_take_word(line, "Oct");
      if (!eq_take_number(line, &filter->octaves)) {
        return eq_refuse(file, "BW needs a number of octaves");
      }
      (void)eq_take_word(line, "Oct");
    } else if (eq_take_word(line, "T60")) { // the target in REW, which has chosen Q by it
      (void)eq_take_word(line, "target");
      (void)eq_take_number(line, &ignored);
      (void)eq_take_word(line, "ms");
    } else {
      char word[WORD_BYTES];
      (void)eq_take_any(line, word, sizeof(word));
      return eq_refuse(file, "'%s' is not understood", word);
    }
  }
  return STATUS_OK;
}

/// Check that the type has all required parameters and no others.
static Status
check_filter(EqFile* const file, EqFilter* const filter)
{
  const bool is_shelf = filter->kind >= EQ_LOWSHELF && filter->kind <= EQ_HIGHSHELF_C;
  const bool is_first = filter->kind == EQ_LOWPASS_1 || filter->kind == EQ_HIGHPASS_1;
  const bool takes_gain = is_shelf || filter->kind == EQ_PEAK;
  if (filter->frequency_hz <= 0.0) {
    return eq_refuse(file, "'%s' needs Fc and a frequency", filter->type);
  }
  if (takes_gain && !filter->has_gain) {
    return eq_refuse(file, "'%s' needs Gain", filter->type);
  }
  if (!takes_gain && filter->gain_db != 0.0) {
    eq_report(file, "the Gain of '%s' means nothing and is left out", filter->type);
  }
  if (filter->q < 0.0 || filter->octaves < 0.0 || filter->slope_db < 0.0) {
    return eq_refuse(file, "Q, BW and slope are above 0");
  }
  if ((filter->slope_db > 0.0 && !is_shelf) || (filter->octaves > 0.0 && (is_shelf || is_first)) ||
      (filter->q > 0.0 && is_first) ||
      (filter->q > 0.0) + (filter->octaves > 0.0) + (filter->slope_db > 0.0) > 1) {
    return eq_refuse(file, "'%s' has a width that it cannot have, or more than one", filter->type);
  }
  if (filter->octaves > 0.0) { // the cookbook's definition, for the analog prototype
    filter->q = eq_rounded(0.5 / sinh(M_LN2 / 2.0 * filter->octaves));
    if (filter->frequency_hz > 4000.0) {
      eq_report(file,
                "BW is that of the analog filter; towards half the rate this one is narrower");
    }
  }
  if ((filter->kind == EQ_PEAK || filter->kind == EQ_ALLPASS) && filter->q <= 0.0) {
    return eq_refuse(file, "'%s' needs Q and a number above 0", filter->type);
  }
  if (is_shelf && filter->q > 0.0 && !strcasecmp(filter->type + 1, "SQ")) {
    eq_report(file, "Fc of '%c%c Q' is taken as the corner, as Equalizer APO does", filter->type[0],
              filter->type[1]);
  }
  return STATUS_OK;
}

static Status
read_filter(EqFile* const file, EqLine* const line)
{
  EqFilter filter = { .kind = EQ_NONE };
  eq_name_nodes(file, "f");
  if (eq_take_word(line, "OFF")) {
    return STATUS_OK;
  }
  if (!eq_take_word(line, "ON")) {
    return eq_refuse(file, "a filter is ON or OFF");
  }
  Status status = read_type(file, line, &filter);
  if (status || filter.kind == EQ_NONE) {
    return status;
  }
  status = read_params(file, line, &filter);
  status = status ? status : check_filter(file, &filter);
  return status ? status : add_filter(file, &filter);
}

// ---- other statements ----

static Status
read_preamp(EqFile* const file, EqLine* const line)
{
  double gain_db = 0.0;
  if (!eq_take_number(line, &gain_db) || (!eq_take_word(line, "dB") && !eq_is_at_end(line)) ||
      !eq_is_at_end(line)) {
    return eq_refuse(file, "Preamp needs a gain in dB");
  }
  for (unsigned c = 0; c < EQ_MAX_CHANNELS; ++c) {
    file->preamps_db[c] += file->channels >> c & 1U ? gain_db : 0.0;
    if (file->preamps_db[c] < -120.0 || file->preamps_db[c] > 40.0) {
      return eq_refuse(file, "Preamp is %g dB in all; gain takes -120 to 40 dB",
                       file->preamps_db[c]);
    }
  }
  return STATUS_OK;
}

/// The number of a channel name in the order of WAVE files; 0 for an unknown name.
static unsigned
channel_number(const char* const word)
{
  static const char* const names[] = { "L", "R", "C", "LFE", "RL", "RR", "SL", "SR" };
  for (unsigned c = 0; c < ARRAY_LEN(names); ++c) {
    if (!strcasecmp(word, names[c])) {
      return c + 1U;
    }
  }
  char* end = NULL;
  const unsigned long number = strtoul(word, &end, 10);
  return strcasecmp(word, "SUB") == 0                            ? 4U
         : *word && !*end && number && number <= EQ_MAX_CHANNELS ? (unsigned)number
                                                                 : 0U;
}

static Status
read_channels(EqFile* const file, EqLine* const line)
{
  char word[WORD_BYTES];
  file->channels = 0;
  while (eq_take_any(line, word, sizeof(word))) {
    const unsigned number = channel_number(word);
    if (!strcasecmp(word, "all")) {
      file->channels = EQ_ALL_CHANNELS;
    } else if (number) {
      file->channels |= 1ULL << (number - 1U);
      file->n_channels = number > file->n_channels ? number : file->n_channels;
    } else {
      return eq_refuse(file, "'%s' is no channel; 1 to %u, L R C LFE RL RR SL SR and all are", word,
                       EQ_MAX_CHANNELS);
    }
    if (number > 2U && !(*word >= '0' && *word <= '9')) {
      eq_report(file, "channel %s is taken as %u", word, number);
    }
  }
  return file->channels ? STATUS_OK : eq_refuse(file, "Channel needs a channel, or all");
}

static Status
read_delay(EqFile* const file, EqLine* const line)
{
  double time = 0.0;
  if (!eq_take_number(line, &time) || time < 0.0 || time > 60000.0) {
    return eq_refuse(file, "Delay needs 0 to 60000 ms, or samples");
  }
  const bool is_frames = eq_take_word(line, "samples");
  if (!is_frames && !eq_take_word(line, "ms")) {
    return eq_refuse(file, "Delay needs ms or samples behind its number");
  }
  char digits[NUMBER_BYTES];
  char text[96];
  snprintf(text, sizeof(text), "delay time=%s%s mix=100%% feedback=0%%",
           number_print(is_frames ? rint(time) : time, digits), is_frames ? "frames" : "ms");
  eq_name_nodes(file, "d");
  return eq_add_node(file, strdup(text));
}

static Status
read_convolution(EqFile* const file, EqLine* const line)
{
  char* text = NULL;
  if (eq_is_at_end(line)) {
    return eq_refuse(file, "Convolution needs the name of a file");
  }
  if (!text_is_printable(line->at)) {
    return eq_refuse(file, "the file's name is not UTF-8, or has control characters");
  }
  char* const quoted = malloc(rack_quote(line->at, NULL));
  if (quoted) {
    rack_quote(line->at, quoted);
    if (asprintf(&text, "convolver %s", quoted) < 0) {
      text = NULL;
    }
  }
  free(quoted);
  eq_name_nodes(file, "c");
  return eq_add_node(file, text);
}

// ---- curves ----

static Status
read_points(EqFile* const file, EqLine* const line, EqPoint* const points, uint32_t* const n_points)
{
  for (; !eq_is_at_end(line); ++*n_points) {
    EqPoint* const point = &points[*n_points];
    if (*n_points == MAX_POINTS) {
      return eq_refuse(file, "GraphicEQ has more than %u points", MAX_POINTS);
    }
    if (!eq_take_number(line, &point->frequency_hz) || !eq_take_number(line, &point->gain_db) ||
        point->frequency_hz <= 0.0 || fabs(point->gain_db) > 100.0) {
      return eq_refuse(file, "point %u of GraphicEQ is no frequency and gain", *n_points + 1U);
    }
    if (*n_points && point->frequency_hz <= point[-1].frequency_hz) {
      return eq_refuse(file, "point %u of GraphicEQ has no higher frequency than the one before",
                       *n_points + 1U);
    }
    line->at += strspn(line->at, " \t;");
  }
  return *n_points ? STATUS_OK : eq_refuse(file, "GraphicEQ has no points");
}

static Status
add_curve(EqFile* const file, const EqPoint* const points, const uint32_t n_points)
{
  EqCurve curve;
  eq_curve_fit(points, n_points, &curve);
  eq_name_nodes(file, "g");
  Status status =
      eq_add_effect(file, "gain", (EqValue[3]){ { "gain", eq_rounded(curve.gain_db) } });
  for (uint32_t k = 0; !status && k < EQ_CURVE_FILTERS; ++k) {
    const char* const effect = !k                           ? "lowshelf"
                               : k == EQ_CURVE_FILTERS - 1U ? "highshelf"
                                                            : "peaking";
    status = eq_add_section(file, effect, eq_rounded(curve.frequency_hz[k]),
                            eq_rounded(curve.gains_db[k]), eq_rounded(curve.q[k]));
  }
  if (!status && curve.worst_db > GOOD_FIT_DB) {
    eq_report(
        file,
        "the filters differ from the curve by up to %.1f dB, at %.0f Hz; a ParametricEQ of it "
        "would be exact",
        curve.worst_db, curve.worst_at_hz);
  }
  return status;
}

static Status
read_curve(EqFile* const file, EqLine* const line)
{
  EqPoint* const points = calloc(MAX_POINTS, sizeof(EqPoint));
  if (!points) {
    return error_set(file->error, STATUS_NO_MEM, "%.200s: out of memory", file->name);
  }
  uint32_t n_points = 0;
  Status status = read_points(file, line, points, &n_points);
  status = status ? status : add_curve(file, points, n_points);
  free(points);
  return status;
}

// ---- lines ----

static Status
refuse_statement(EqFile* const file, EqLine* const line)
{
  (void)line;
  return eq_refuse(file,
                   "this statement of Equalizer APO cannot be imported; leave it out, or import "
                   "the file that it includes");
}

static Status
leave_out(EqFile* const file, EqLine* const line)
{
  (void)line;
  eq_report(file, "a rack has no devices and stages: the lines below are imported in any case");
  return STATUS_OK;
}

static const struct {
  const char* word;
  Status (*read)(EqFile* file, EqLine* line);
} statements[] = {
  { "Preamp", read_preamp },
  { "Channel", read_channels },
  { "Delay", read_delay },
  { "GraphicEQ", read_curve },
  { "Convolution", read_convolution },
  { "Device", leave_out },
  { "Stage", leave_out },
  { "Copy", refuse_statement },
  { "Include", refuse_statement },
  { "If", refuse_statement },
  { "ElseIf", refuse_statement },
  { "Else", refuse_statement },
  { "EndIf", refuse_statement },
  { "Eval", refuse_statement },
  { "VSTPlugin", refuse_statement },
  { "LoudnessCorrection", refuse_statement },
};

/// Skip "Filter", "Filter 12" or another word, and the colon.
static bool
take_head(EqLine* const line, const char* const word, const bool has_number)
{
  const EqLine before = *line;
  if (eq_take_word(line, word)) {
    line->at += strspn(line->at, has_number ? " \t0123456789" : " \t");
    if (*line->at == ':') {
      ++line->at;
      return true;
    }
  }
  *line = before;
  return false;
}

static Status
read_line(EqFile* const file, char* const text)
{
  eq_line_clean(text);
  EqLine line = { text, file->decimal };
  if (eq_is_at_end(&line) || *line.at == '#' || *line.at == '*') {
    return STATUS_OK;
  }
  if (take_head(&line, "Filter", true)) {
    file->has_statement = true;
    return read_filter(file, &line);
  }
  for (unsigned s = 0; s < ARRAY_LEN(statements); ++s) {
    if (take_head(&line, statements[s].word, false)) {
      file->has_statement = true;
      return statements[s].read(file, &line);
    }
  }
  file->is_rew = file->is_rew || eq_take_word(&line, "Filter Settings file");
  if (!file->is_rew || file->has_statement) {
    eq_report(file, "this line is not understood and left out");
  }
  return STATUS_OK;
}

static Status
read_lines(EqFile* const file, char* text)
{
  Status status = STATUS_OK;
  text += strncmp(text, "\xEF\xBB\xBF", 3) ? 0 : 3; // UTF-8's byte order mark
  for (char* line = NULL; !status && (line = strsep(&text, "\n"));) {
    ++file->line_number;
    status = read_line(file, line);
  }
  return status;
}

Status
eq_file_to_rack(const char* const text, const char* const name, EqNote* const notes,
                void* const context, char** const rack, Error* const error)
{
  EqFile file = { .name = name,
                  .note = notes,
                  .context = context,
                  .error = error,
                  .decimal = eq_decimal(text),
                  .channels = EQ_ALL_CHANNELS };
  char* const copy = strdup(text);
  char* made = NULL;
  Status status = copy ? read_lines(&file, copy) : STATUS_NO_MEM;
  bool is_empty = !file.n_nodes;
  for (unsigned c = 0; c < EQ_MAX_CHANNELS; ++c) {
    is_empty = is_empty && file.preamps_db[c] == 0.0;
  }
  if (!status && is_empty) {
    status = error_set(error, STATUS_FILE, "%.200s: no filter in it that is on", name);
  }
  status = status ? status : eq_print_rack(&file, &made);
  if (status) {
    free(made);
  } else {
    *rack = made;
  }
  for (size_t n = 0; n < file.n_nodes; ++n) {
    free(file.nodes[n].text);
  }
  free(file.nodes);
  free(copy);
  return status;
}
