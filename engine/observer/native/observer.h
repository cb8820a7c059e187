#ifndef LOCKSTEP_OBSERVER_H
#define LOCKSTEP_OBSERVER_H

/* What a process that is not Lockstep's own links to be seen by it: writes events and messages into
 * the event memory that `lockstep record` hands over. The layout of that memory is Note [The
 * segment] of engine/trace/Segment.h, the meaning of every number stands in engine/trace/Event.h
 * and FORMAT.md, and the tests hold both sides together.
 *
 * C11 and libc alone. Nothing here blocks, throws, allocates after lk_observer_lane(), or ends the
 * process; where there is no room, what does not fit is counted. A process forked from an observed
 * one writes nothing: each call returns at once there. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Goes up with every change that an older caller would not survive. */
#define LK_OBSERVER_ABI 1

#define LK_NO_BUCKET 0xFFFFu

typedef struct lk_observer lk_observer;
typedef struct lk_lane lk_lane;

/* What a tick is: has to be what the recorder takes, which says so as it hands the memory over. */
typedef enum { LK_CLOCK_MONOTONIC = 0, LK_CLOCK_TSC = 1 } lk_clock;

/* Maps the event memory behind `fd`, which stays the caller's. On failure returns NULL, and `*why`
 * is a text that is not to be freed. */
lk_observer* lk_observer_open(int fd, lk_clock clock, const char** why);

/* Unmaps it. No lane of it may be used any more. */
void lk_observer_close(lk_observer* observer);

/* CLOCK_MONOTONIC in ns. */
int64_t lk_monotonic_ns(void);

/* The clock of the events. Ticks of two processes of one host are comparable. */
uint64_t lk_observer_ticks(const lk_observer* observer);

/* The same, of an instant that is given in ns of CLOCK_MONOTONIC and lies less than a minute ago.
 */
uint64_t lk_observer_ticks_at(const lk_observer* observer, int64_t monotonic_ns);

/* A duration of `ns` in ticks. */
uint64_t lk_observer_ticks_of(const lk_observer* observer, int64_t ns);

/* The lane with the name that the timeline shows, cut at 31 bytes: a new one, or that of a process
 * whose place this one took. A lane has one writer at a time: one thread, or threads that take
 * turns under one lock. Never NULL: where the memory has no lane left, the events are counted as
 * lost. */
lk_lane* lk_observer_lane(lk_observer* observer, const char* name);

/* One event. `kind` is an EventKind; an instant ends where it starts. */
void lk_lane_span(lk_lane* lane, uint16_t kind, uint64_t start, uint64_t end, uint32_t step,
                  uint16_t bucket, uint64_t value, uint16_t detail);

/* One message, a JSON text of engine/trace/Messages.h. Returns 0 where it did not fit. Any thread.
 */
int lk_observer_send(lk_observer* observer, const char* json, size_t bytes);

/* What the process is in now, for the sentence about it after it has died: an EventKind that is a
 * phase, 0 between phases. */
void lk_observer_phase(lk_observer* observer, uint16_t phase, uint32_t step, uint64_t since);

/* The oldest collective that has not ended (an Operation, 0 for none). */
void lk_observer_operation(lk_observer* observer, uint8_t operation, uint16_t bucket,
                           uint32_t sequence, uint64_t since);

/* The name of the communication hook, cut at 63 bytes. */
void lk_observer_hook(lk_observer* observer, const char* name);

/* The error that the process is ending with, cut at 1023 bytes; the first one stays. */
void lk_observer_error(lk_observer* observer, const char* text);

/* Its work is done: how it ends from here on is nobody's fault. */
void lk_observer_finished(lk_observer* observer);

/* Payload handed to the wire. */
void lk_observer_sent(lk_observer* observer, uint64_t bytes);

/* The latest request for a trace: how many steps (low 16 bits), the n-th request (high 16 bits); 0
 * where there was none. And that it is over. */
uint32_t lk_observer_trace_requested(const lk_observer* observer);
void lk_observer_trace_done(lk_observer* observer, uint32_t request);

/* How many events of a lane the recorder has not read yet. */
uint64_t lk_lane_waiting(const lk_lane* lane);

/* Whether events are wanted now: a run's capture can be switched off. */
int lk_observer_captures(const lk_observer* observer);

#ifdef __cplusplus
}
#endif

#endif
