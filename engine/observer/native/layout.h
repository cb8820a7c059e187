#ifndef LOCKSTEP_OBSERVER_LAYOUT_H
#define LOCKSTEP_OBSERVER_LAYOUT_H

/* The event memory as C sees it: Note [The segment] of engine/trace/Segment.h, byte for byte. That
 * both are the same is asserted by tests/engine/observer. */

#include <stdatomic.h>
#include <stdint.h>

#define LK_SEGMENT_MAGIC UINT64_C(0x31504554534b4c)
#define LK_SEGMENT_VERSION 1u
#define LK_HEADER_BYTES 4096
#define LK_LAST_WORDS_BYTES 4096
#define LK_LANE_NAME_BYTES 32
#define LK_KIND_GAP 100

typedef struct {
  uint64_t magic;
  uint32_t version;
  uint32_t lanes;
  uint32_t events_per_lane;
  uint32_t message_ring_bytes;
  _Atomic uint32_t lanes_in_use;
  _Atomic uint32_t capture_enabled;
  _Atomic uint32_t trace_requested;
  _Atomic uint32_t trace_done;
  _Alignas(64) _Atomic uint64_t message_head;
  _Alignas(64) _Atomic uint64_t message_tail;
  _Alignas(64) _Atomic uint64_t messages_dropped;
  _Atomic uint64_t sent_bytes;
  _Atomic uint64_t received_bytes;
  _Atomic uint64_t sent_messages;
} lk_segment_header;

typedef struct {
  _Atomic uint32_t step;
  _Atomic uint16_t phase;
  _Atomic uint16_t startup_stage;
  _Atomic uint8_t operation;
  _Atomic uint16_t bucket;
  _Atomic uint32_t sequence;
  _Atomic uint64_t since_ticks;
  _Atomic uint32_t finished;
  char hook[64];
  char error[1024];
} lk_last_words;

typedef struct {
  _Alignas(64) _Atomic uint64_t head;
  _Alignas(64) _Atomic uint64_t tail;
  _Alignas(64) _Atomic uint64_t dropped;
  char name[LK_LANE_NAME_BYTES];
} lk_lane_header;

typedef struct {
  uint64_t start_ticks;
  uint64_t duration_and_kind; /* 48 bits and 16 */
  uint32_t step;
  uint16_t bucket;
  uint16_t detail;
  uint64_t value;
} lk_event;

#endif
