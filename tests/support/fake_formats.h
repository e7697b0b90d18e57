// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Formats of plugins for tests of the scan; they replace plugin_formats(), so the program is linked
   with --wrap=plugin_formats.

   - `leaf`: a bundle is a file NAME.leaf in a folder of LEAF_PATH.  Its first word says what its
     code does: `good`, or misbehave() in fake_formats.c.  The whole content is the name of its
     plugin.
   - `tree`: the same with NAME.tree and TREE_PATH, but it prepares.  The name of a plugin is the
     content of all bundles that were prepared, each with a slash after it.
   - `crate`: a bundle is a file NAME.crate in a folder of CRATE_PATH, or in the folder `crates` in
     the home of the user.  The content is the name of its plugin.
   - `box`: a bundle is a folder NAME.box in a folder of BOX_PATH, by default the home of the
     user, or one with any name that has a file "label".

   Code that hangs, and a process that it leaves behind, write their id to the file `pid` beside the
   bundle.  Code that is a `storm` of forks counts the new processes in the file `born`.
*/
#ifndef WARPRACK_TESTS_FAKE_FORMATS_H
#define WARPRACK_TESTS_FAKE_FORMATS_H

#define FAKE_SLOW_MS 300U // between two plugins of a bundle that is `slow`

#define FAKE_STORM      1000
#define FAKE_STORM_NAME "fake-storm" // of its processes

/// The content of a file, at most 63 bytes; "" if there is none.
void read_words(const char* path, char words[64]);

#endif
