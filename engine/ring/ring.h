// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The block ring and the parameter ring, in one region of memory that two threads or two processes
   share: the only data that the audio callback accesses besides its own state.

       region (memfd, position-independent: offsets only)
       ┌────────────┬─────────────┬──────────────┬──────────────────────────────────────────┐
       │ RingHeader │ submitted   │ finished     │ slot 0 │ slot 1 │ … │ messages │ reports │
       └────────────┴─────────────┴──────────────┴──────────────────────────────────────────┘
         slot: SlotHeader, input [n_in][block], output [n_out][block], each channel 64-byte aligned,
               MIDI events [n_midi]

   Single producer (callback), single consumer (worker).  The block with sequence number s is in
   slot s & (n_slots - 1).  Only the callback writes `submitted`, only the worker writes `finished`;
   each counter has its own cache line (128 bytes apart: adjacent-line prefetch).  The producer
   publishes a block with a release store of `submitted`, which the consumer loads with acquire; the
   consumer returns the output in the same way with `finished`.

   The parameter ring has one writer, the control thread, and one reader, the worker.  It carries
   notes, too.  The reports go the other way: the worker writes what it has applied and from which
   frame on, publishes all reports of a block together, and the control thread reads them.  If
   nobody reads, further reports are lost and counted.

   The taps are in the header: the control thread names nodes there, and the worker adds what it
   measures of them.  Each tap has two halves, as in engine/callback/levels.h: the control thread
   takes one while the worker adds to the other.

   Each side keeps its own counter and the shape in private memory.  Neither side trusts the region:
   it checks the range of the other side's counter on each read, counts an invalid value as a fault
   and ignores the value.

   Effects of a faulty consumer on the producer, word by word.  Any word may have any value at any
   time; the producer reads each word once per access, into private memory:

     finished         range-checked.  A wrong value in range can make an unfinished block appear
                      finished; the check of its result then fails
     result of a slot sequence number of the block that the output belongs to, plus 1.  Any other
                      value counts as a fault, and the block has no output
     output rows      any samples: the producer copies them and guards the copy
     consumer.asleep  unnecessary futex calls, or missing ones: then the consumer stays asleep
     producer.rung    a sleep that ends early, or lasts as long as a nap (2 ms)
     received         range-checked; a wrong value in range overwrites messages not yet read, or
                      makes the ring appear full
     taps             any levels: the control thread copies them, and shows them to clients.  A
                      wrong `begun` repeats or holds up the levels of that tap
     reported         range-checked; a wrong value in range repeats old reports, or hides new ones
     reports          any content: the reader copies a report before it checks it
     reports_lost     any number of lost reports
     other words      magic, version, shape, layout, submitted, sent, reports_taken, input rows,
                      slot headers, MIDI events, producer.asleep, consumer.rung, wakes: the
                      producer's side writes them and never reads them

   Sleeping works in the same way on both sides.  The sleeper reads the bell, counts itself in
   `asleep`, checks once more for its block, sleeps while the bell is unchanged, takes itself off
   the count.  The publisher stores its counter, then reads `asleep`, and only if it is not 0
   changes the bell and makes the one futex call, which wakes one sleeper.  Counter and `asleep` are
   written and read with sequential consistency, because each side writes one and then reads the
   other: in any order of the four accesses, either the sleeper sees the block or the publisher sees
   the sleeper.  In the second case the bell changes after the sleeper has read it, so either the
   kernel refuses the sleep or the futex call wakes the sleeper: no wake-up is lost.  Only sleepers
   change `asleep`.  If the publisher cleared it and then lost its core just before the futex call,
   other publishers would not see the sleeper.

   Each side has one sleeper, except with ring_wait_wake(): there the futex call wakes one of the
   threads that sleep, and a thread that has counted itself, but does not sleep yet, finds the wake
   or a changed bell.  sleepers.pml proves this for three threads.
*/
#ifndef WARPRACK_ENGINE_RING_RING_H
#define WARPRACK_ENGINE_RING_RING_H

#include "engine/base/midi_event.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct RingShape {
  uint32_t n_in, n_out;  ///< Channels, 0..1024
  uint32_t block_frames; ///< 1..8192
  uint32_t n_slots;      ///< Power of two, 4..64
  uint32_t n_messages;   ///< Capacity of the parameter ring, power of two
  uint32_t n_midi;       ///< Capacity of a block for MIDI events, 0..1024
} RingShape;

typedef enum MessageKind {
  MESSAGE_VALUE,       ///< A new value of a parameter
  MESSAGE_NOTE,        ///< A note begins or, with velocity 0, ends
  MESSAGE_NOTES_OFF,   ///< All notes of the node end
  MESSAGE_IN_DOCUMENT, ///< A value that the worker has set by MIDI is in the document: edits that
                       ///< are sent from now on override it
  MESSAGE_MIDI_FORGET, ///< Forget what MIDI controllers have sent; MESSAGE_MIDI_KNOWN follow
  MESSAGE_MIDI_KNOWN,  ///< A message that a controller has sent, and that sets no parameter any
                       ///< more: `param` has its bytes, `uid` is their number
  MESSAGE_N_KINDS
} MessageKind;

/// A change of a node, for the worker: a parameter, or a note.
typedef struct ParamMessage {
  uint64_t frame;    ///< Frame time at which the change applies; 0 or past: with the next block
  uint32_t uid;      ///< RackUid of the node
  uint32_t param;    ///< Index in the effect's table of parameters; of a note: its key
  double value;      ///< In the parameter's unit; of a note: its velocity, 0 to 1
  uint32_t kind;     ///< MessageKind
  uint32_t n_frames; ///< Of a note: its length; 0: until another message ends it
  uint32_t param_id; ///< Of a value: fx_param_hash(): a process that knows another version of the
                     ///< plugin, with another parameter `param`, drops it; 0: not known
  uint32_t fade_frames; ///< Of a value: it is reached this long after `frame`, by a fade
                        ///< (engine/contract/fade.h); 0: by the node's own ramp
  uint32_t curve;       ///< Of a fade: FxCurve
  uint32_t is_running;  ///< Of a fade: 1 if another worker has begun it, at `frame`, ...
  double from;          ///< ... from this value; else 0
  double tempo_bpm;     ///< Of a value that follows the tempo of the rack: that tempo; else 0
} ParamMessage;

/// What the worker has applied.
typedef enum ReportKind {
  REPORT_VALUE = MESSAGE_VALUE,
  REPORT_NOTE = MESSAGE_NOTE,
  REPORT_NOTES_OFF = MESSAGE_NOTES_OFF,
  REPORT_PLAN,   ///< The worker plays another plan
  REPORT_EVENTS, ///< All MIDI events before the frame time `message.frame` have been run; the values
                 ///< that they set are in the reports before this one
  RING_N_REPORT_KINDS
} ReportKind;

/// Of a plan: no edit asked for it, and it changes the sound, such as a latency that has changed.
#define REPORT_UNASKED 1U
/// Of a message: the worker has made it of MIDI.
#define REPORT_MIDI 2U
/// Of a plan: it continues no other one, so all its nodes are new.
#define REPORT_FIRST_PLAN 4U

/// A report of the worker.  The reader trusts no value.
typedef struct RingReport {
  uint32_t kind;    ///< ReportKind
  uint32_t flags;   ///< REPORT_*
  uint64_t number;  ///< Of a message: in the order of arrival; of a plan: id of its edit, 0: none
  uint64_t stamp;   ///< Of a plan: its edit overrides the values of messages up to this number
  uint64_t planned; ///< Of a plan: frame time of the next block when it was planned
  ParamMessage message; ///< The message, with the frame from which it applies; of a plan: `frame`
                        ///< only, its first one
} RingReport;

/// Header of a block, written by the producer.
typedef struct SlotHeader {
  uint64_t frame;    ///< Frame time of the block's first frame
  uint32_t n_frames; ///< Frames in the block, 1..block_frames
  uint32_t flags;    ///< SLOT_*
  uint32_t n_midi;   ///< MIDI events of the block, at most RingShape::n_midi
} SlotHeader;

/// The producer waits for this block (offline, freewheel): deadlines do not apply.
#define SLOT_WAITED 1U

/// The result of a finished block.
typedef enum RingResult {
  RING_SOUND,
  RING_NO_SOUND, ///< ring_fail()
  RING_WRONG     ///< The consumer returned the wrong sequence number
} RingResult;

typedef struct Ring Ring; // one side's view of the region

/// Make a region in a new memfd, zeroed, with all pages present. [main]
NODISCARD Status ring_new(const RingShape* shape, Ring** ring, Error* error);

/// View a region that another process made; checks seals, size, magic, version, every field and
/// the counters.  All its pages are present.  Keeps a duplicate of `fd`.  STATUS_BAD_ARG names the
/// failed check. [main]
NODISCARD Status ring_attach(int fd, Ring** ring, Error* error);

/// Seal the region, when the other side has mapped it: from now on nobody can map it for writing,
/// or make holes in it, whose pages the callback would have to get again.  Restores pages that are
/// gone already.  Without effect before Linux 5.1.  False if the other side has prevented it.
/// [main, supervisor]
bool ring_seal(const Ring* ring);

/// Unmap the region; the kernel frees the memfd when no process uses it.  Accepts NULL. [main]
void ring_free(Ring* ring);

int ring_fd(const Ring* ring);
const RingShape* ring_shape(const Ring* ring);

/// The region, for registration with a GPU driver. [main]
void* ring_memory(const Ring* ring, size_t* n_bytes);

/// Channel c of the input or output of sequence number s: [block_frames], 64-byte aligned. [rt]
REALTIME float* ring_input(const Ring* ring, uint64_t sequence, uint32_t channel);
REALTIME float* ring_output(const Ring* ring, uint64_t sequence, uint32_t channel);
REALTIME SlotHeader* ring_slot(const Ring* ring, uint64_t sequence);

/// The MIDI events of sequence number s: [RingShape::n_midi], in the order of their frames. [rt]
REALTIME MidiEvent* ring_midi(const Ring* ring, uint64_t sequence);

// ---- producer: the callback ----

/// True if slot `submitted` is free to be written (fewer than n_slots blocks in flight) and the
/// ring is not abandoned. [rt]
REALTIME bool ring_can_submit(Ring* ring);

/// The sequence number that the next submit will publish. [rt]
REALTIME uint64_t ring_next(const Ring* ring);

/// Publish the slot ring_next(); wakes the consumer if it sleeps (at most one futex call). [rt]
REALTIME void ring_submit(Ring* ring);

/// True if sequence number s is finished and the ring is not abandoned.  A counter out of range
/// counts as a fault and returns false. [rt]
REALTIME bool ring_is_finished(Ring* ring, uint64_t sequence);

/// Wait until s is finished, the ring is abandoned or `timeout_ns` (monotonic, relative;
/// UINT64_MAX: no limit) has passed; returns ring_is_finished(). [rt when depth 0; else offline]
bool ring_wait_finished(Ring* ring, uint64_t sequence, uint64_t timeout_ns);

/// The result of a finished block whose slot has not been submitted again.  A wrong one counts as
/// a fault. [rt]
REALTIME RingResult ring_result(Ring* ring, uint64_t sequence);

/// The consumer of this view is permanently gone: from now on the view accepts no block and
/// reports none as finished; a wait in progress ends within a few milliseconds. [any]
void ring_abandon(Ring* ring);

/// True after ring_abandon() of this view. [rt]
REALTIME bool ring_is_abandoned(const Ring* ring);

/// Number of invalid counters and results that this side has read from the other side. [any]
uint64_t ring_faults(const Ring* ring);

// ---- consumer: the worker ----

/// Get the sequence number of the oldest unfinished block, or of the `ahead`-th block after it.
/// False if the block is not submitted yet. [player]
REALTIME bool ring_take(Ring* ring, uint32_t ahead, uint64_t* sequence);

/// Get the oldest block as ring_take() does.  Without a block, spin for at most spin_ns, then sleep
/// until a block is submitted, ring_wake() is called, or timeout_ns have passed since this call
/// began (UINT64_MAX: no limit). [player]
bool ring_wait_take(Ring* ring, uint64_t spin_ns, uint64_t timeout_ns, uint64_t* sequence);

/// Publish the oldest block's output and wake a waiting producer. [player]
REALTIME void ring_finish(Ring* ring);

/// Finish the oldest block without output. [player]
REALTIME void ring_fail(Ring* ring);

/// Number of blocks submitted since the ring was made, read from the region: shows whether the
/// producer still submits blocks. [any]
uint64_t ring_n_submitted(const Ring* ring);

/// Number of blocks finished since the ring was made, read from the region: shows whether the
/// consumer makes progress. [any]
uint64_t ring_n_finished(const Ring* ring);

/// Make ring_wait_take() return false once: the call in progress if there is one, else the next
/// call.  Also end ring_wait_wake() of one thread. [any]
void ring_wake(Ring* ring);

/// Wait for ring_wake(), in any number of threads, instead of ring_wait_take().  After each
/// ring_wake(), also one that comes before the wait, a call returns and sees what was written
/// before it; one call may return for several.  A thread that is busy holds up no wake: another
/// one, which sleeps, returns. [any thread of the consumer]
void ring_wait_wake(Ring* ring);

// ---- taps ----

#define RING_TAPS 64U // nodes that can be watched at the same time

/// Measurements of a node by the worker.  The reader trusts no value.
typedef struct RingLevel {
  double energy;      ///< Sum of the squares of all samples
  uint64_t n_samples; ///< Of all channels together
  float peak;         ///< Largest magnitude, linear
  float reduction_db; ///< Largest reduction of its gain
} RingLevel;

/// Watch a node with a tap (uid 0: none), and take what the worker has measured of it since the
/// last call that returned true.  Returns false, and `level` is undefined, if there is nothing.
/// [control]
bool ring_tap(Ring* ring, uint32_t tap, uint32_t uid, RingLevel* level);

/// True if ring_tap() has changed a tap since the last call of this function. [player]
REALTIME bool ring_taps_moved(Ring* ring);

/// The node that a tap watches from now on, 0: none. [player, after ring_taps_moved()]
REALTIME uint32_t ring_tap_uid(Ring* ring, uint32_t tap);

/// Add the levels of a block. [player]
REALTIME void ring_tap_add(Ring* ring, uint32_t tap, const RingLevel* block);

// ---- messages ----

/// Send n messages together: a reader that empties the ring receives all of them or none.  If they
/// do not all fit, sends none and returns false. [control]
bool ring_send(Ring* ring, const ParamMessage* messages, uint32_t n);

/// Number of messages that the reader has not received; a count out of range is the whole ring.
/// [control]
uint32_t ring_n_waiting(const Ring* ring);

/// Receive a message; false if the ring is empty. [player]
REALTIME bool ring_receive(Ring* ring, ParamMessage* message);

// ---- reports ----

/// Report what was applied, with the next ring_publish_reports().  If the reports are full, counts
/// it as lost instead, and returns false. [player]
REALTIME bool ring_report(Ring* ring, const RingReport* report);

/// Publish the reports since the last call, all at once: if the worker ends before, the control
/// thread gets none of them. [player]
REALTIME void ring_publish_reports(Ring* ring);

/// Number of reports that are not published, at most 2 * RingShape::n_messages. [player]
REALTIME uint32_t ring_n_unpublished(const Ring* ring);

/// Take the oldest report; false if there is none. [control]
bool ring_take_report(Ring* ring, RingReport* report);

/// Number of reports lost since the last call. [control]
uint64_t ring_reports_lost(Ring* ring);

#endif
