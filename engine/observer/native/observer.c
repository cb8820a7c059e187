#define _GNU_SOURCE
#include "observer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "layout.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

struct lk_lane {
  lk_observer* observer;
  lk_lane* next;
  lk_lane_header* header;
  lk_event* events; /* NULL: the memory had no lane left */
  uint64_t mask;
  uint64_t limit; /* up to which head there is room for sure; 0 while lost events come first */
  uint64_t pending_drops;
  uint64_t gap_start;
};

struct lk_observer {
  char* memory;
  size_t bytes;
  lk_segment_header* header;
  lk_last_words* words;
  lk_clock clock;
  uint64_t origin_ticks; /* both readings of one instant, at the opening */
  int64_t origin_ns;
  pthread_mutex_t mutex; /* of lanes and messages */
  lk_lane* lanes;
};

/* A forked child shares the memory and would be a second writer of its lanes. */
static atomic_int forked;
static void note_fork(void) {
  atomic_store_explicit(&forked, 1, memory_order_relaxed);
}
__attribute__((constructor)) static void watch_forks(void) {
  pthread_atfork(NULL, NULL, note_fork);
}
static int is_child(void) {
  return atomic_load_explicit(&forked, memory_order_relaxed);
}

int64_t lk_monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t raw_ticks(lk_clock clock) {
#if defined(__x86_64__)
  if (clock == LK_CLOCK_TSC) {
    return __rdtsc();
  }
#endif
  (void)clock;
  return (uint64_t)lk_monotonic_ns();
}

/* The tightest of several brackets: another thread may run between two readings. */
static void read_both(lk_clock clock, uint64_t* ticks, int64_t* ns) {
  uint64_t narrowest = UINT64_MAX;
  for (int i = 0; i < 16; ++i) {
    const uint64_t before = raw_ticks(clock);
    const int64_t now = lk_monotonic_ns();
    const uint64_t after = raw_ticks(clock);
    if (after - before < narrowest) {
      narrowest = after - before;
      *ticks = before + (after - before) / 2;
      *ns = now;
    }
  }
}

static size_t lane_bytes(const lk_segment_header* header) {
  return sizeof(lk_lane_header) + sizeof(lk_event) * header->events_per_lane;
}

lk_observer* lk_observer_open(int fd, lk_clock clock, const char** why) {
#if !defined(__x86_64__)
  if (clock == LK_CLOCK_TSC) {
    *why = "the recorder counts ticks of a processor that this one has not";
    return NULL;
  }
#endif
  const off_t size = lseek(fd, 0, SEEK_END); /* fstat() would take a newer C library */
  if (size < LK_HEADER_BYTES + LK_LAST_WORDS_BYTES) {
    *why = "this is no event memory of lockstep: too small";
    return NULL;
  }
  const size_t bytes = (size_t)size;
  char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    *why = "the event memory cannot be mapped";
    return NULL;
  }
  lk_segment_header* header = (lk_segment_header*)memory;
  if (header->magic != LK_SEGMENT_MAGIC) {
    *why = "this is no event memory of lockstep";
  } else if (header->version != LK_SEGMENT_VERSION) {
    *why =
        "the event memory is of another version of lockstep; take lockstep's programs and its "
        "Python package of one version";
  } else if (bytes != LK_HEADER_BYTES + LK_LAST_WORDS_BYTES + header->message_ring_bytes +
                          header->lanes * lane_bytes(header)) {
    *why = "the size of the event memory does not fit its header";
  } else {
    lk_observer* observer = calloc(1, sizeof(*observer));
    if (observer != NULL) {
      observer->memory = memory;
      observer->bytes = bytes;
      observer->header = header;
      observer->words = (lk_last_words*)(memory + LK_HEADER_BYTES);
      observer->clock = clock;
      pthread_mutex_init(&observer->mutex, NULL);
      read_both(clock, &observer->origin_ticks, &observer->origin_ns);
      return observer;
    }
    *why = "no memory";
  }
  munmap(memory, bytes);
  return NULL;
}

void lk_observer_close(lk_observer* observer) {
  if (observer == NULL) {
    return;
  }
  while (observer->lanes != NULL) {
    lk_lane* lane = observer->lanes;
    observer->lanes = lane->next;
    free(lane);
  }
  munmap(observer->memory, observer->bytes);
  pthread_mutex_destroy(&observer->mutex);
  free(observer);
}

uint64_t lk_observer_ticks(const lk_observer* observer) {
  return raw_ticks(observer->clock);
}

uint64_t lk_observer_ticks_of(const lk_observer* observer, int64_t ns) {
  if (observer->clock == LK_CLOCK_MONOTONIC) {
    return (uint64_t)ns;
  }
  const int64_t elapsed = lk_monotonic_ns() - observer->origin_ns;
  const uint64_t ticks = raw_ticks(observer->clock) - observer->origin_ticks;
  /* Within the first millisecond the rate is not known well enough for anything. */
  return elapsed < 1000000 ? 0 : (uint64_t)((double)ns * ((double)ticks / (double)elapsed));
}

uint64_t lk_observer_ticks_at(const lk_observer* observer, int64_t at_ns) {
  uint64_t ticks = 0;
  int64_t now = 0;
  read_both(observer->clock, &ticks, &now);
  return at_ns <= now ? ticks - lk_observer_ticks_of(observer, now - at_ns)
                      : ticks + lk_observer_ticks_of(observer, at_ns - now);
}

static char* first_lane(const lk_observer* observer) {
  return observer->memory + LK_HEADER_BYTES + LK_LAST_WORDS_BYTES +
         observer->header->message_ring_bytes;
}

/* The number of the lane with this name, which a process before this one left, or of the next. */
static uint32_t lane_index(const lk_observer* observer, const char* name) {
  const uint32_t used = atomic_load_explicit(&observer->header->lanes_in_use, memory_order_relaxed);
  for (uint32_t i = 0; i < used; ++i) {
    const lk_lane_header* lane =
        (const lk_lane_header*)(first_lane(observer) + i * lane_bytes(observer->header));
    if (strncmp(lane->name, name, LK_LANE_NAME_BYTES - 1) == 0) {
      return i;
    }
  }
  return used;
}

/* Has the kernel give memory now, which it would else do a page at a time, in the middle of the
 * backwards that write there first: some µs each, and more in a virtual machine. Kernels
 * before 5.14 know nothing of it, and the pages come as they are written. */
static void populate(void* from, size_t bytes) {
  enum { kPopulateWrite = 23 }; /* MADV_POPULATE_WRITE, which older headers do not have */
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t begin = (uintptr_t)from & ~(page - 1);
  madvise((void*)begin, (uintptr_t)from + bytes - begin, kPopulateWrite);
}

lk_lane* lk_observer_lane(lk_observer* observer, const char* name) {
  static lk_lane nowhere; /* where there is no memory for a lane */
  lk_lane* lane = calloc(1, sizeof(*lane));
  if (lane == NULL) {
    return &nowhere;
  }
  pthread_mutex_lock(&observer->mutex);
  lane->observer = observer;
  lane->next = observer->lanes;
  observer->lanes = lane;
  lk_segment_header* header = observer->header;
  const uint32_t index = lane_index(observer, name);
  if (is_child() || index >= header->lanes) {
    lane->header = (lk_lane_header*)first_lane(observer);
  } else {
    lane->header = (lk_lane_header*)(first_lane(observer) + index * lane_bytes(header));
    lane->events = (lk_event*)(lane->header + 1);
    lane->mask = header->events_per_lane - 1;
    populate(lane->header, lane_bytes(header));
    strncpy(lane->header->name, name, LK_LANE_NAME_BYTES - 1);
    if (index == atomic_load_explicit(&header->lanes_in_use, memory_order_relaxed)) {
      atomic_store_explicit(&header->lanes_in_use, index + 1, memory_order_release);
    }
  }
  pthread_mutex_unlock(&observer->mutex);
  return lane;
}

static void fill(lk_event* event, uint16_t kind, uint64_t start, uint64_t duration, uint32_t step,
                 uint16_t bucket, uint64_t value, uint16_t detail) {
  event->start_ticks = start;
  event->duration_and_kind = (duration & ((UINT64_C(1) << 48) - 1)) | (uint64_t)kind << 48;
  event->step = step;
  event->bucket = bucket;
  event->detail = detail;
  event->value = value;
}

/* Events from which on the memory is fetched that they will go to: the recorder had it last, and a
 * backward's are written one after another. */
enum { kAhead = 12 };

/* Where the next event goes, or NULL. */
static lk_event* room(lk_lane* lane, uint64_t head) {
  if (head >= lane->limit) {
    lane->limit = atomic_load_explicit(&lane->header->tail, memory_order_acquire) + lane->mask + 1;
  }
  return head < lane->limit ? &lane->events[head & lane->mask] : NULL;
}

void lk_lane_span(lk_lane* lane, uint16_t kind, uint64_t start, uint64_t end, uint32_t step,
                  uint16_t bucket, uint64_t value, uint16_t detail) {
  if (lane->header == NULL || is_child() || !lk_observer_captures(lane->observer)) {
    return;
  }
  if (lane->events == NULL) {
    atomic_fetch_add_explicit(&lane->header->dropped, 1, memory_order_relaxed);
    return;
  }
  uint64_t head = atomic_load_explicit(&lane->header->head, memory_order_relaxed);
  lk_event* next = room(lane, head);
  if (next != NULL && lane->pending_drops != 0) {
    /* What was lost is told where it was lost, before anything else. */
    fill(next, LK_KIND_GAP, lane->gap_start, start > lane->gap_start ? start - lane->gap_start : 0,
         step, LK_NO_BUCKET, lane->pending_drops, 0);
    atomic_store_explicit(&lane->header->head, ++head, memory_order_release);
    lane->pending_drops = 0;
    next = room(lane, head);
  }
  if (next == NULL) {
    if (lane->pending_drops++ == 0) {
      lane->gap_start = start;
    }
    atomic_fetch_add_explicit(&lane->header->dropped, 1, memory_order_relaxed);
    return;
  }
  __builtin_prefetch(&lane->events[(head + kAhead) & lane->mask], 1);
  fill(next, kind, start, end > start ? end - start : 0, step, bucket, value, detail);
  atomic_store_explicit(&lane->header->head, head + 1, memory_order_release);
}

static void put(char* ring, uint64_t size, uint64_t at, const char* bytes, size_t count) {
  const uint64_t offset = at & (size - 1);
  const size_t before_end = count < size - offset ? count : (size_t)(size - offset);
  memcpy(ring + offset, bytes, before_end);
  memcpy(ring, bytes + before_end, count - before_end);
}

int lk_observer_send(lk_observer* observer, const char* json, size_t bytes) {
  if (is_child()) {
    return 1;
  }
  lk_segment_header* header = observer->header;
  const uint64_t size = header->message_ring_bytes;
  pthread_mutex_lock(&observer->mutex);
  const uint64_t head = atomic_load_explicit(&header->message_head, memory_order_relaxed);
  const uint64_t tail = atomic_load_explicit(&header->message_tail, memory_order_acquire);
  const int fits = bytes <= size && head - tail + 4 + bytes <= size;
  if (fits) {
    char* ring = observer->memory + LK_HEADER_BYTES + LK_LAST_WORDS_BYTES;
    const uint32_t length = (uint32_t)bytes;
    put(ring, size, head, (const char*)&length, sizeof(length));
    put(ring, size, head + sizeof(length), json, bytes);
    atomic_store_explicit(&header->message_head, head + sizeof(length) + bytes,
                          memory_order_release);
  } else {
    atomic_fetch_add_explicit(&header->messages_dropped, 1, memory_order_relaxed);
  }
  pthread_mutex_unlock(&observer->mutex);
  return fits;
}

void lk_observer_phase(lk_observer* observer, uint16_t phase, uint32_t step, uint64_t since) {
  if (!is_child()) {
    atomic_store_explicit(&observer->words->step, step, memory_order_relaxed);
    atomic_store_explicit(&observer->words->phase, phase, memory_order_relaxed);
    atomic_store_explicit(&observer->words->since_ticks, since, memory_order_relaxed);
  }
}

void lk_observer_operation(lk_observer* observer, uint8_t operation, uint16_t bucket,
                           uint32_t sequence, uint64_t since) {
  if (!is_child()) {
    atomic_store_explicit(&observer->words->bucket, bucket, memory_order_relaxed);
    atomic_store_explicit(&observer->words->sequence, sequence, memory_order_relaxed);
    atomic_store_explicit(&observer->words->operation, operation, memory_order_relaxed);
    if (operation != 0) {
      atomic_store_explicit(&observer->words->since_ticks, since, memory_order_relaxed);
    }
  }
}

void lk_observer_hook(lk_observer* observer, const char* name) {
  if (!is_child()) {
    strncpy(observer->words->hook, name, sizeof(observer->words->hook) - 1);
  }
}

void lk_observer_error(lk_observer* observer, const char* text) {
  if (!is_child() && observer->words->error[0] == '\0') {
    strncpy(observer->words->error, text, sizeof(observer->words->error) - 1);
  }
}

void lk_observer_finished(lk_observer* observer) {
  if (!is_child()) {
    atomic_store_explicit(&observer->words->finished, 1, memory_order_release);
  }
}

void lk_observer_sent(lk_observer* observer, uint64_t bytes) {
  if (!is_child()) {
    atomic_fetch_add_explicit(&observer->header->sent_bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&observer->header->sent_messages, 1, memory_order_relaxed);
  }
}

uint32_t lk_observer_trace_requested(const lk_observer* observer) {
  return atomic_load_explicit(&observer->header->trace_requested, memory_order_relaxed);
}

void lk_observer_trace_done(lk_observer* observer, uint32_t request) {
  if (!is_child()) {
    atomic_store_explicit(&observer->header->trace_done, request, memory_order_relaxed);
  }
}

uint64_t lk_lane_waiting(const lk_lane* lane) {
  if (lane->header == NULL || lane->events == NULL) {
    return 0;
  }
  return atomic_load_explicit(&lane->header->head, memory_order_relaxed) -
         atomic_load_explicit(&lane->header->tail, memory_order_acquire);
}

int lk_observer_captures(const lk_observer* observer) {
  return (int)atomic_load_explicit(&observer->header->capture_enabled, memory_order_relaxed);
}
