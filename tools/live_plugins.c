// SPDX-License-Identifier: GPL-3.0-or-later
// Renews the catalogue of plugins of a live run.

#include "live_plugins.h"

#include "engine/base/sealed_text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void
live_plugins_want(LivePlugins* const plugins)
{
  atomic_store(&plugins->is_wanted, true);
}

void
live_plugins_want_for_reload(LivePlugins* const plugins)
{
  plugins->reload = LIVE_PLUGINS_RELOAD_WANTED;
  live_plugins_want(plugins);
}

bool
live_plugins_delay_reload(const LivePlugins* const plugins)
{
  return plugins->reload != LIVE_PLUGINS_NO_RELOAD;
}

void
live_plugins_stop(LivePlugins* const plugins)
{
  child_mail_stop(&plugins->child);
}

bool
live_plugins_are_used(Engine* const engine)
{
  Rack* const rack = engine_rack(engine);
  bool are_used = false;
  for (uint32_t n = 0; rack && n < rack->n_nodes; ++n) {
    are_used = are_used || rack->nodes[n].fx->origin;
  }
  rack_free(rack);
  return are_used;
}

// ---- a new catalogue ----

Status
live_plugins_share(void* const engine, const Catalogue* const catalogue,
                   const CatalogueChange* const change, Error* const error)
{
  int fd = -1;
  size_t n_bytes = 0;
  const char* const text = catalogue_text(catalogue, &n_bytes);
  Status status = sealed_text_new(text, n_bytes, &fd, error);
  if (!status) {
    status = engine_use_plugins(engine, fd, change->n_changed > 0U, error);
    close(fd);
  }
  return status;
}

static bool
is_current(const Catalogue* const newer)
{
  const Catalogue* const current = catalogue_current();
  size_t n_bytes = 0;
  size_t n_newer = 0;
  const char* const text = current ? catalogue_text(current, &n_bytes) : "";
  const char* const newer_text = catalogue_text(newer, &n_newer);
  return n_bytes == n_newer && !memcmp(text, newer_text, n_bytes);
}

static void
count(const Catalogue* const catalogue, PluginsNews* const news)
{
  uint32_t n = 0;
  const CatalogueEntry* const entries = catalogue_entries(catalogue, &n);
  for (uint32_t e = 0; e < n; ++e) {
    news->n_plugins += !entries[e].fault[0];
    news->n_unusable += entries[e].fault[0] != '\0';
  }
  const CatalogueBundle* const bundles = catalogue_bundles(catalogue, &n);
  for (uint32_t b = 0; b < n; ++b) {
    news->n_failed += bundles[b].fault[0] != '\0';
  }
}

/// Say what the new catalogue means for the racks.
static void
describe(const CatalogueChange* const change, PluginsNews* const news)
{
  char* const text = news->text;
  int n = snprintf(text, sizeof(news->text),
                   "%u plugins, %u that cannot be used, %u bundles without a description",
                   news->n_plugins, news->n_unusable, news->n_failed);
  if (change->n_changed) {
    n += snprintf(text + n, sizeof(news->text) - (size_t)n,
                  "; %u that were used have changed: another worker loads them, or a restart with "
                  "--in-process",
                  change->n_changed);
  }
  if (change->n_others && (size_t)n < sizeof(news->text)) {
    n += snprintf(text + n, sizeof(news->text) - (size_t)n,
                  "; read the rack again for those with other parameters or inputs: %s",
                  change->names);
  }
  if (change->n_gone && (size_t)n < sizeof(news->text)) {
    snprintf(text + n, sizeof(news->text) - (size_t)n, "; %u that were used are gone",
             change->n_gone);
  }
}

/// Change to a catalogue.  If it is the present one, the worker gets that again: it then tries the
/// nodes again that it could not make.
static Status
renew(Catalogue* const newer, Engine* const engine, PluginsNews* const news, Error* const error)
{
  CatalogueChange change = { .n_gone = 0 };
  Status status = STATUS_OK;
  count(newer, news);
  if (is_current(newer)) {
    status = catalogue_current() ? live_plugins_share(engine, catalogue_current(), &change, error)
                                 : STATUS_OK;
    catalogue_free(newer);
  } else {
    status = catalogue_exchange(newer, live_plugins_share, engine, &change, error);
  }
  describe(&change, news);
  return status;
}

// ---- the scan ----

/// True if a scan that is requested may start now.
static bool
may_start(const LivePlugins* const plugins, const uint64_t now_ns)
{
  return !plugins->child.process &&
         (plugins->reload == LIVE_PLUGINS_RELOAD_WANTED || now_ns >= plugins->rest_until_ns);
}

/// Start a scan if one is requested and may start.
static Status
start(LivePlugins* const plugins, const uint64_t now_ns, Error* const error)
{
  if (!may_start(plugins, now_ns) || !atomic_exchange(&plugins->is_wanted, false)) {
    return STATUS_OK;
  }
  if (plugins->reload == LIVE_PLUGINS_RELOAD_WANTED) {
    plugins->reload = LIVE_PLUGINS_RELOAD_RUNS;
  }
  return child_mail_start(&plugins->child, "scan", error);
}

static void
end(LivePlugins* const plugins, const uint64_t now_ns)
{
  plugins->rest_until_ns = now_ns + LIVE_PLUGINS_REST_NS;
  if (plugins->reload == LIVE_PLUGINS_RELOAD_RUNS) {
    plugins->reload = LIVE_PLUGINS_NO_RELOAD;
  }
}

bool
live_plugins_poll(LivePlugins* const plugins, Engine* const engine, const uint64_t now_ns,
                  PluginsNews* const news)
{
  Error error = { STATUS_OK, "" };
  bool has_ended = start(plugins, now_ns, &error) != STATUS_OK;
  *news = (PluginsNews){ .text = "" };
  Catalogue* newer = NULL;
  if (plugins->child.process && scan_child_has_ended(&plugins->child, &newer, &error)) {
    has_ended = true;
    if (newer) {
      (void)renew(newer, engine, news, &error);
    }
  }
  if (has_ended) {
    end(plugins, now_ns);
  }
  if (error.status) {
    news->has_failed = true;
    snprintf(news->text, sizeof(news->text), "%.*s", (int)sizeof(news->text) - 1, error.text);
  }
  return has_ended;
}
