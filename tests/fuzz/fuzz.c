// SPDX-License-Identifier: GPL-3.0-or-later
// Shared by all targets.

#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void
fuzz_check(const int holds, const char* const promise)
{
  if (!holds) {
    fprintf(stderr, "fuzz: not true: %s\n", promise);
    abort();
  }
}

static void
visit_file(const char* const path, FuzzVisit* const visit, void* const context)
{
  struct stat info;
  FILE* const file = fopen(path, "re");
  if (!file || fstat(fileno(file), &info) || !S_ISREG(info.st_mode)) {
    if (file) {
      fclose(file);
    }
    return;
  }
  void* const bytes = malloc((size_t)info.st_size + 1U);
  if (bytes) {
    const size_t n_bytes = fread(bytes, 1, (size_t)info.st_size, file);
    visit(context, bytes, n_bytes);
  }
  free(bytes);
  fclose(file);
}

void
fuzz_visit_files(const char* const variable, const char* const name, FuzzVisit* const visit,
                 void* const context)
{
  char folder[512];
  const char* const parent = getenv(variable);
  snprintf(folder, sizeof(folder), "%s/%s", parent ? parent : ".", name);
  struct dirent** entries = NULL;
  const int n = scandir(folder, &entries, NULL, alphasort);
  for (int i = 0; i < n; ++i) {
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
    visit_file(path, visit, context);
    free(entries[i]);
  }
  free(entries);
}
