// SPDX-License-Identifier: GPL-3.0-or-later
// The PortAudio driver: one stream after the other on the same device.
//
// PortAudio does not report that a device has disappeared, and does not update its list of devices
// after its initialisation.  Therefore a stream without a period for two seconds counts as lost,
// and every attempt to reconnect initialises PortAudio again.  The end of a JACK server is
// reported, see pa_jack.h.

#include "library_log.h"
#include "pa_device.h"
#include "reconnect.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "io/quirks/pa_alsa.h"
#include "io/quirks/pa_jack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_BLOCK 256U
#define WAKE_MS       20U
#define RETRY_MS      240U            // every attempt scans all devices again
#define SILENT_NS     (2U * NS_PER_S) // without a period: the stream is lost

typedef struct PortAudio {
  Reconnect reconnect; // First member, so that an Io* is a PortAudio*
  char* host_api;      // NULL: default
  char* device;        // NULL: default
  double rate_hz;      // 0: the device's
  uint32_t block_frames;
} PortAudio;

typedef struct PaSession {
  IoSession base; // First member, so that an IoSession* is a PaSession*
  const PortAudio* config;
  bool is_initialised;
  bool is_on_jack; // The stream belongs to PortAudio's JACK host API
  PaStream* stream;
  char device[64];
  atomic_bool ended; // PortAudio has ended the stream
  uint64_t seen;     // [main] Number of periods at seen_ns
  uint64_t seen_ns;
} PaSession;

// ---- PortAudio's threads ----

static int
on_period(const void* const in, void* const out, const unsigned long n_frames,
          const PaStreamCallbackTimeInfo* const time, const PaStreamCallbackFlags flags,
          void* const context)
{
  (void)time;
  PaSession* const session = context;
  rt_flush_denormals(); // no other call runs on this thread
  if (flags & (paInputUnderflow | paInputOverflow | paOutputUnderflow | paOutputOverflow)) {
    atomic_fetch_add_explicit(&session->base.xruns, 1U, memory_order_relaxed);
  }
  const Io* const io = session->base.io;
  if ((in || !io->n_in) && (out || !io->n_out)) {
    io_session_process(&session->base, in, (float* const*)out, (uint32_t)n_frames, false, NULL);
  } else if (out) {
    period_door_silence((float* const*)out, io->n_out, (uint32_t)n_frames);
  }
  return paContinue;
}

static void
on_end(void* const context)
{
  atomic_store(&((PaSession*)context)->ended, true);
}

// ---- calls ----

static Status
fail(PaSession* const session, const char* const what, const PaError code)
{
  const PaHostErrorInfo* const host =
      code == paUnanticipatedHostError ? Pa_GetLastHostErrorInfo() : NULL;
  char text[256];
  snprintf(text, sizeof(text), "PortAudio %s: %s", what,
           host && host->errorText && host->errorText[0] ? host->errorText : Pa_GetErrorText(code));
  return library_log_fail(&session->base.error, STATUS_AUDIO_IO, text);
}

static PaStreamParameters
parameters(const PaDeviceIndex device, const uint32_t n_channels, const bool is_input)
{
  const PaDeviceInfo info = pa_device_info(device);
  return (PaStreamParameters){ .device = device,
                               .channelCount = (int)n_channels,
                               .sampleFormat = paFloat32 | paNonInterleaved,
                               .suggestedLatency = is_input ? info.defaultLowInputLatency
                                                            : info.defaultLowOutputLatency };
}

static Status
open_stream(PaSession* const session)
{
  const PortAudio* const config = session->config;
  const Io* const io = session->base.io;
  PaDeviceIndex in = paNoDevice;
  PaDeviceIndex out = paNoDevice;
  const Status status = pa_device_find(config->host_api, config->device, io->n_in, io->n_out, &in,
                                       &out, &session->base.error);
  if (status) {
    session->base.absent = true;
    return status;
  }
  const PaStreamParameters from =
      in >= 0 ? parameters(in, io->n_in, true) : (PaStreamParameters){ 0 };
  const PaStreamParameters to =
      out >= 0 ? parameters(out, io->n_out, false) : (PaStreamParameters){ 0 };
  const PaDeviceInfo info = pa_device_info(out >= 0 ? out : in);
  const PaHostApiInfo api = pa_api_info(info.hostApi);
  session->is_on_jack = api.type == paJACK;
  snprintf(session->device, sizeof(session->device), "%s: %s", api.name, info.name);
  const PaError code =
      Pa_OpenStream(&session->stream, in >= 0 ? &from : NULL, out >= 0 ? &to : NULL,
                    config->rate_hz > 0.0 ? config->rate_hz : info.defaultSampleRate,
                    config->block_frames, paNoFlag, on_period, session);
  if (code != paNoError || !session->stream) {
    session->stream = NULL;
    char what[96];
    snprintf(what, sizeof(what), "cannot open '%s'", session->device);
    return fail(session, what, code);
  }
  Pa_SetStreamFinishedCallback(session->stream, on_end);
  return STATUS_OK;
}

static PaError
initialise(void)
{
  char noise[256];
  library_log_catch();
  pa_alsa_prepare();
  const PaError code = Pa_Initialize();
  library_log_take(noise, sizeof(noise)); // messages about unrelated devices
  return code;
}

static void
open_session(void* const context)
{
  PaSession* const session = context;
  const PaError code = initialise();
  session->is_initialised = code == paNoError;
  session->base.status =
      session->is_initialised ? open_stream(session) : fail(session, "does not start", code);
}

static void
start_session(void* const context)
{
  PaSession* const session = context;
  const PaError code = Pa_StartStream(session->stream);
  session->base.status =
      code == paNoError ? STATUS_OK : fail(session, "cannot start the stream", code);
}

static void
abort_stream(void* const context)
{
  Pa_AbortStream(((PaSession*)context)->stream);
}

// Stop a stream before Pa_CloseStream().  While it stops, PortAudio may wait for a dead JACK server
// and must be woken; while it closes, PortAudio must not be woken.
static void
stop_stream(PaSession* const session)
{
  AsyncCall* call = NULL;
  if (async_call_start("warprack-abort", abort_stream, session, &call, &session->base.error)) {
    abort_stream(session);
    return;
  }
  while (!async_call_wait(call, WAKE_MS)) {
    if (session->is_on_jack) {
      pa_jack_wake();
    }
  }
}

static void
close_session(void* const context)
{
  PaSession* const session = context;
  if (session->stream) {
    stop_stream(session);
    Pa_CloseStream(session->stream);
  }
  if (session->is_initialised) {
    Pa_Terminate();
  }
  free(session);
}

// ---- life of a session ----

static IoSession*
make_session(Reconnect* const reconnect)
{
  PaSession* const session = calloc(1, sizeof(PaSession));
  if (!session) {
    return NULL;
  }
  session->config = (const PortAudio*)reconnect;
  return &session->base;
}

static Status
arm(Reconnect* const reconnect, Error* const error)
{
  PaSession* const session = (PaSession*)reconnect->session;
  snprintf(reconnect->name, sizeof(reconnect->name), "PortAudio device '%s'", session->device);
  const PaStreamInfo* const info = Pa_GetStreamInfo(session->stream);
  return info ? io_arm(&reconnect->io, session, info->sampleRate, session->config->block_frames,
                       error)
              : error_set(error, STATUS_AUDIO_IO, "%s reports no rate", reconnect->name);
}

static void
note_start(Reconnect* const reconnect)
{
  ((PaSession*)reconnect->session)->seen_ns = time_now_ns();
}

static bool
follow(Reconnect* const reconnect)
{
  PaSession* const session = (PaSession*)reconnect->session;
  const uint64_t periods = atomic_load_explicit(&session->base.periods, memory_order_relaxed);
  const uint64_t now_ns = time_now_ns();
  if (periods != session->seen) {
    session->seen = periods;
    session->seen_ns = now_ns;
  }
  const char* reason = NULL;
  if (atomic_load(&session->ended)) {
    reason = "it ended the stream";
  } else if (session->is_on_jack && pa_jack_is_down()) {
    reason = "the JACK server has ended";
  } else if (now_ns - session->seen_ns >= SILENT_NS) {
    reason = "no period for 2 s";
  }
  if (!reason) {
    return false;
  }
  io_session_lose(&session->base, reason);
  return true;
}

static const ReconnectKind kind = {
  .make = make_session,
  .open = open_session,
  .arm = arm,
  .start = start_session,
  .started = note_start,
  .follow = follow,
  .close = close_session,
};

// ---- the driver ----

static Status
portaudio_close(Io* const io)
{
  PortAudio* const portaudio = (PortAudio*)io;
  if (reconnect_close(&portaudio->reconnect)) {
    free(portaudio->device);
    free(portaudio->host_api);
    free(portaudio);
  }
  return STATUS_OK;
}

static Status
portaudio_open(const IoConfig* const config, const IoEvents* const events, Io** const io,
               Error* const error)
{
  PortAudio* const portaudio = calloc(1, sizeof(PortAudio));
  if (!portaudio) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  portaudio->reconnect.io = (Io){
    .driver = &io_portaudio, .events = *events, .n_in = config->n_in, .n_out = config->n_out
  };
  portaudio->reconnect.kind = &kind;
  portaudio->reconnect.wait = config->wait;
  portaudio->reconnect.retry_ms = RETRY_MS;
  snprintf(portaudio->reconnect.name, sizeof(portaudio->reconnect.name), "PortAudio");
  portaudio->rate_hz = config->rate_hz;
  portaudio->block_frames = config->block_frames ? config->block_frames : DEFAULT_BLOCK;
  portaudio->host_api = config->host_api ? strdup(config->host_api) : NULL;
  portaudio->device = config->device ? strdup(config->device) : NULL;
  Error reason = { STATUS_OK, "" };
  Status status =
      (config->host_api && !portaudio->host_api) || (config->device && !portaudio->device)
          ? error_set(&reason, STATUS_NO_MEM, "out of memory")
          : reconnect_start(&portaudio->reconnect, &reason);
  if (status) {
    portaudio_close(&portaudio->reconnect.io);
    return error_set(error, status, "%s", reason.text);
  }
  *io = &portaudio->reconnect.io;
  return STATUS_OK;
}

static json_t*
portaudio_devices(void)
{
  const bool is_initialised = initialise() == paNoError;
  json_t* const list = is_initialised ? pa_device_list() : json_array();
  if (is_initialised) {
    Pa_Terminate();
  }
  return list;
}

const IoDriver io_portaudio = {
  .name = "portaudio",
  .summary = "PortAudio: ALSA, OSS, JACK, and other systems' sound cards",
  .open = portaudio_open,
  .poll = reconnect_poll,
  .status = reconnect_status,
  .close = portaudio_close,
  .devices = portaudio_devices,
};
