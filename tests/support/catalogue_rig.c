// SPDX-License-Identifier: GPL-3.0-or-later

#include "catalogue_rig.h"

#include "plugins/format.h"
#include "plugin_sample.h"
#include "scoped.h"
#include "suite.h"

#include <stdlib.h>

const char* catalogue_rig_format;
Error catalogue_rig_fault;

void
catalogue_rig_begin(void)
{
  uint32_t n = 0;
  catalogue_rig_format = plugin_formats(&n)[0]->name;
}

void
catalogue_rig_add(TextBuffer* const text, const char* const of_format, const char* const id,
                  const char* const plugin_fault)
{
  Plugin plugin = plugin_sample;
  plugin.origin = (FxOrigin){ .format = of_format, .id = id };
  plugin.fault = plugin_fault;
  SCOPED_MEMORY char* const description = plugin_sample_text(&plugin);
  const CatalogueBundle bundle = { .format = of_format,
                                   .path = plugin.bundle,
                                   .key = UINT64_MAX,
                                   .fault = "",
                                   .text = description,
                                   .n_bytes = strlen(description) };
  catalogue_write_bundle(text, &bundle);
}

TextBuffer
catalogue_rig_begin_text(void)
{
  TextBuffer text = { .bytes = NULL };
  text_buffer_add(&text, CATALOGUE_START);
  return text;
}

Catalogue*
catalogue_rig_of(TextBuffer* const text)
{
  Catalogue* catalogue = NULL;
  const size_t n_bytes = text->n;
  OK(catalogue_new(text_buffer_take(text), n_bytes, &catalogue, &error));
  return catalogue;
}

void
catalogue_rig_use_some(void)
{
  TextBuffer text = catalogue_rig_begin_text();
  catalogue_rig_add(&text, catalogue_rig_format, "urn:test:Tube", "");
  catalogue_rig_add(&text, catalogue_rig_format, "urn:a:amp", "");
  catalogue_rig_add(&text, catalogue_rig_format, "urn:b:Amp", "");
  catalogue_rig_add(&text, "other", "urn:other:tube", "");
  catalogue_rig_add(&text, catalogue_rig_format, "urn:test:broken", "needs the feature \"x\"");
  catalogue_rig_add(&text, catalogue_rig_format, "urn:test:Tube", ""); // again, in another folder
  catalogue_rig_add(&text, catalogue_rig_format, "urn:a:amp", "");
  catalogue_use(catalogue_rig_of(&text));
}

const FxInfo*
catalogue_rig_find(const char* const reference)
{
  const FxInfo* fx = NULL;
  OK(fx_find_plugin(catalogue_rig_format, reference, &fx, &error));
  return fx;
}

Status
catalogue_rig_search(const char* const reference)
{
  const FxInfo* fx = NULL;
  catalogue_rig_fault = (Error){ STATUS_OK, "" };
  const Status status = fx_find_plugin(catalogue_rig_format, reference, &fx, &catalogue_rig_fault);
  ck_assert(!status == (fx != NULL));
  return status;
}

Catalogue*
catalogue_rig_tube(const uint64_t changed_ns, const char* const name)
{
  TextBuffer text = catalogue_rig_begin_text();
  Plugin plugin = plugin_sample;
  plugin.origin = (FxOrigin){ .format = catalogue_rig_format, .id = "urn:test:Tube" };
  plugin.binary_key.changed_ns = changed_ns;
  plugin.name = name;
  SCOPED_MEMORY char* const description = plugin_sample_text(&plugin);
  const CatalogueBundle bundle = { .format = catalogue_rig_format,
                                   .path = "/b",
                                   .fault = "",
                                   .text = description,
                                   .n_bytes = strlen(description) };
  catalogue_write_bundle(&text, &bundle);
  return catalogue_rig_of(&text);
}
