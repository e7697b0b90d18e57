// SPDX-License-Identifier: GPL-3.0-or-later
/// A host of LV2 plugins by lilv's own functions, to compare samples with.  It shares no code with
/// plugins/lv2: controls at the default values of lilv, work at once, events never.
#ifndef WARPRACK_TESTS_REFERENCE_LV2_H
#define WARPRACK_TESTS_REFERENCE_LV2_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ReferenceLv2 ReferenceLv2;

/// What other hosts do in another way.
typedef struct ReferenceLv2Variant {
  bool no_options;          ///< No options: the plugin does not know the length of a block
  bool nan_outputs;         ///< Control outputs without a default begin as NaN, not as 0
  void (*before_run)(void); ///< Called immediately before each run(), or NULL
} ReferenceLv2Variant;

/// Open a plugin of a bundle; NULL if it is not there.  Other errors fail the test.
ReferenceLv2*
reference_lv2_open(const char* bundle, const char* uri, double rate_hz, uint32_t block_frames);

/// Open a plugin as another host does.
ReferenceLv2* reference_lv2_open_variant(const ReferenceLv2Variant* variant, const char* bundle,
                                         const char* uri, double rate_hz, uint32_t block_frames);

/// Restore the state and the port values that a subject has, a preset or the plugin itself.
void reference_lv2_restore(ReferenceLv2* reference, const char* subject);

void reference_lv2_close(ReferenceLv2* reference);

/// Set the control port of this index.
void reference_lv2_set(ReferenceLv2* reference, uint32_t port, float value);

/// Run a block: one row per audio port, in the order of the ports.
void
reference_lv2_run(ReferenceLv2* reference, float* const* in, float* const* out, uint32_t n_frames);

#endif
