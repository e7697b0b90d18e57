// SPDX-License-Identifier: GPL-3.0-or-later
/// An instance of a fixture whose ports are connected one by one, as LADSPA and LV2 do.  `instance`
/// is that of fixture_instantiate().
#ifndef WARPRACK_TESTS_INSTANCE_H
#define WARPRACK_TESTS_INSTANCE_H

#include "fixture.h"

#define FIXTURE_MAX_PLUGINS 64U
#define FIXTURE_MAX_PORTS   320U

/// The fixture with this index; NULL if there are no more.
const Fixture* fixture_at(unsigned long index);

void* fixture_instantiate(const Fixture* fixture, double rate_hz);
void fixture_connect(void* instance, uint32_t port, void* location);
void fixture_activate(void* instance);

/// Where the port for notes is connected; NULL: the fixture has none.
void* fixture_notes_port(void* instance);

/// Run, with these notes in order of their frames.
void
fixture_run_notes(void* instance, uint32_t n_frames, const FixtureNote* notes, uint32_t n_notes);
void fixture_run(void* instance, uint32_t n_frames);
void fixture_cleanup(void* instance);

#endif
