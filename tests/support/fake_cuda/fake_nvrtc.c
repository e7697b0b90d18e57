// SPDX-License-Identifier: GPL-3.0-or-later
// The fake compiler.

#include "fake_nvrtc.h"

#include "fake_private.h"

#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef FAKE_NVRTC_MAJOR
#define FAKE_NVRTC_MAJOR 13
#endif

struct _nvrtcProgram {
  char* cubin;
  char* ptx;
};

static const char* refusal;
static char options[1024];

void
fake_nvrtc_refuse(const char* const log)
{
  refusal = log;
}

const char*
fake_nvrtc_options(void)
{
  return options;
}

#define ENTER()                                                                                    \
  FAKE_LOCK();                                                                                     \
  const int failure = fake_enter(&(FakeCall){ .name = __func__ }, false);                          \
  if (failure) {                                                                                   \
    return (nvrtcResult)failure;                                                                   \
  }

const char*
nvrtcGetErrorString(const nvrtcResult result)
{
  if (result == NVRTC_ERROR_INTERNAL_ERROR) { // lets the tests check an error without a text
    return NULL;
  }
  return result == NVRTC_ERROR_COMPILATION ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_OTHER";
}

nvrtcResult
nvrtcVersion(int* const major, int* const minor)
{
  ENTER()
  FAKE_GIVE_NUMBER(major)
  *major = FAKE_NVRTC_MAJOR;
  *minor = 0;
  return NVRTC_SUCCESS;
}

#if FAKE_NVRTC_MAJOR == 12
static const int archs[] = { 50, 75, 80, 86 };
#else
static const int archs[] = { 75, 80, 86, 90, 100 };
#endif

nvrtcResult
nvrtcGetNumSupportedArchs(int* const n_archs)
{
  ENTER()
  FAKE_GIVE_NUMBER(n_archs)
  *n_archs = (int)(sizeof(archs) / sizeof(archs[0]));
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetSupportedArchs(int* const found)
{
  ENTER()
  FAKE_GIVE_NUMBER(found)
  memcpy(found, archs, sizeof(archs));
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcCreateProgram(nvrtcProgram* const program, const char* const source, const char* const name,
                   const int n_headers, const char* const* const headers,
                   const char* const* const header_names)
{
  ENTER()
  FAKE_GIVE(program)
  (void)name;
  (void)n_headers;
  (void)headers;
  (void)header_names;
  *program = malloc(sizeof(**program));
  if (asprintf(&(*program)->cubin, FAKE_CODE_FORMAT "%s", "cubin", FAKE_NVRTC_MAJOR, source) < 0 ||
      asprintf(&(*program)->ptx, FAKE_CODE_FORMAT "%s", "ptx", FAKE_NVRTC_MAJOR, source) < 0) {
    abort();
  }
  fake_made();
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcDestroyProgram(nvrtcProgram* const program)
{
  FAKE_LOCK();
  const int failure = fake_enter(&(FakeCall){ .name = __func__ }, false);
  free((*program)->cubin);
  free((*program)->ptx);
  free(*program);
  *program = NULL;
  fake_freed();
  return (nvrtcResult)failure;
}

nvrtcResult
nvrtcCompileProgram(const nvrtcProgram program, const int n_words, const char* const* const words)
{
  ENTER()
  (void)program;
  options[0] = '\0';
  for (int w = 0; w < n_words; ++w) {
    const size_t length = strlen(options);
    snprintf(options + length, sizeof(options) - length, "%s%s", w ? " " : "", words[w]);
  }
  return refusal ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetProgramLogSize(const nvrtcProgram program, size_t* const n_bytes)
{
  ENTER()
  FAKE_GIVE_NUMBER(n_bytes)
  (void)program;
  *n_bytes = strlen(refusal ? refusal : "") + 1U;
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetProgramLog(const nvrtcProgram program, char* const log)
{
  ENTER()
  FAKE_GIVE(log)
  (void)program;
  strcpy(log, refusal ? refusal : ""); // NOLINT: the caller asked for the size
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetCUBINSize(const nvrtcProgram program, size_t* const n_bytes)
{
  ENTER()
  FAKE_GIVE_NUMBER(n_bytes)
  *n_bytes = strlen(program->cubin) + 1U;
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetCUBIN(const nvrtcProgram program, char* const cubin)
{
  ENTER()
  FAKE_GIVE(cubin)
  strcpy(cubin, program->cubin); // NOLINT: the caller asked for the size
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetPTXSize(const nvrtcProgram program, size_t* const n_bytes)
{
  ENTER()
  FAKE_GIVE_NUMBER(n_bytes)
  *n_bytes = strlen(program->ptx) + 1U;
  return NVRTC_SUCCESS;
}

nvrtcResult
nvrtcGetPTX(const nvrtcProgram program, char* const ptx)
{
  ENTER()
  FAKE_GIVE(ptx)
  strcpy(ptx, program->ptx); // NOLINT: the caller asked for the size
  return NVRTC_SUCCESS;
}
