#include "nccl_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kBuckets = 4096,
  kNcclCall = 74, /* EventKinds */
  kNcclKernel = 75,
  kByDevice = 0x8000,
  kAllreduce = 2
};

/* Which kind of thing a handle is of. */
enum { kOfCall = 1, kOfWork = 2, kOfChannel = 3 };

static lk_nccl_sink sink;                           /* observer NULL: nobody records */
static Communicator* communicators[kCommunicators]; /* kept, and used again */
static uint32_t current_step;
static struct {
  uint64_t elements[kBuckets];
  int count;
  int next;
  int64_t told_at;
  const Communicator* from; /* the one that reduces buckets; NULL: not known yet */
} expected;

/* A handle: 3 bits of kind, 7 of the communicator, 10 of the place, 32 of its life. */
static void* handle_of(unsigned kind, int communicator, uint32_t place, uint32_t life) {
  return (void*)(uintptr_t)((uint64_t)kind | (uint64_t)communicator << 3 | (uint64_t)place << 10 |
                            (uint64_t)life << 20);
}

static unsigned kind_of(const void* handle) {
  return (unsigned)((uintptr_t)handle & 7);
}

static Communicator* communicator_of(const void* handle) {
  return communicators[(uintptr_t)handle >> 3 & (kCommunicators - 1)];
}

static Work* work_of(const void* handle) {
  Communicator* of = communicator_of(handle);
  if (of == NULL || (kind_of(handle) != kOfWork && kind_of(handle) != kOfChannel)) {
    return NULL;
  }
  Work* work = &of->work[(uintptr_t)handle >> 10 & (kUnderWay - 1)];
  return work->is_open && work->life == (uint32_t)((uintptr_t)handle >> 20) ? work : NULL;
}

static int64_t call_of(const void* handle) {
  const Communicator* of = kind_of(handle) == kOfCall ? communicator_of(handle) : NULL;
  if (of == NULL) {
    return 0;
  }
  const Call* call = &of->calls[(uintptr_t)handle >> 10 & (kCalls - 1)];
  return call->life == (uint32_t)((uintptr_t)handle >> 20) ? call->at : 0;
}

/* Operations of the run file. */
static uint8_t operation_of(const char* function) {
  static const struct {
    const char* name;
    uint8_t operation;
  } kNames[] = {{"AllReduce", kAllreduce},
                {"AllGather", 4},
                {"AllGatherV", 4},
                {"ReduceScatter", 7},
                {"Broadcast", 1},
                {"Reduce", 3},
                {"AlltoAll", 8},
                {"Gather", 5},
                {"Scatter", 6},
                {"Send", 9},
                {"Recv", 10}};
  for (size_t i = 0; function != NULL && i < sizeof(kNames) / sizeof(kNames[0]); ++i) {
    if (strcmp(function, kNames[i].name) == 0) {
      return kNames[i].operation;
    }
  }
  return 0;
}

static uint64_t element_bytes(const char* datatype) {
  if (datatype == NULL) {
    return 0;
  }
  if (strstr(datatype, "64") != NULL) {
    return 8;
  }
  if (strstr(datatype, "32") != NULL) {
    return 4;
  }
  return strstr(datatype, "16") != NULL ? 2 : 1;
}

static uint16_t detail_of(const Communicator* of, const Work* work) {
  return (uint16_t)((of->number & 0x7F) << 8 | work->operation);
}

static void ask_for(const Communicator* of) {
  if (of->is_live && of->mask != NULL) {
    atomic_store_explicit(of->mask, sink.observer != NULL ? of->wanted : 0, memory_order_relaxed);
  }
}

static uint64_t ticks(int64_t ns) {
  return sink.ticks_at(sink.observer, ns);
}

static void introduce(Communicator* of) {
  char name[32];
  snprintf(name, sizeof(name), "nccl %d calls", of->number);
  of->calls_lane = sink.lane(sink.observer, name);
  snprintf(name, sizeof(name), "nccl %d kernels", of->number);
  of->kernels_lane = sink.lane(sink.observer, name);
  char text[128];
  const int length =
      snprintf(text, sizeof(text),
               "{\"type\":\"environment\",\"values\":{\"nccl.communicator.%d\":\"rank %d of %d\"}}",
               of->number, of->rank, of->ranks);
  sink.send(sink.observer, text, (size_t)length);
}

/* How late kernels may stand, once a second: it changes with the time since a kernel began at
 * once. */
static void tell_clock(Communicator* of, lk_device_offset offset, uint32_t step, int64_t now) {
  if (offset.late_by < 0 || (of->told_clock_at != 0 && now - of->told_clock_at < 1000000000)) {
    return;
  }
  of->told_clock_at = now;
  char text[160];
  const int length = snprintf(text, sizeof(text),
                              "{\"type\":\"ddp_logging\",\"step\":%u,\"facts\":{},\"numbers\":{"
                              "\"nccl.%d.late_by_at_most_ns\":%lld}}",
                              step, of->number, (long long)offset.late_by);
  sink.send(sink.observer, text, (size_t)length);
}

/* The n-th allreduce of a backward with the n-th bucket's number of elements is its. */
static uint16_t bucket_of(const Communicator* of, uint8_t operation, uint64_t elements) {
  if (operation != kAllreduce || expected.next >= expected.count ||
      expected.elements[expected.next] != elements ||
      (expected.from != NULL && expected.from != of)) {
    return LK_NO_BUCKET;
  }
  expected.from = of;
  return (uint16_t)expected.next++;
}

static Work* begin(Communicator* of, uint8_t operation, uint8_t channels, uint64_t sequence,
                   uint64_t bytes, int64_t asked_at) {
  Work* work = &of->work[of->next_work++ & (kUnderWay - 1)];
  of->lost += work->is_open ? 1 : 0;
  const uint32_t life = work->life + 1;
  memset(work, 0, sizeof(*work));
  work->life = life;
  work->is_open = 1;
  work->operation = operation;
  work->channels = channels;
  work->bucket = LK_NO_BUCKET;
  work->step = current_step;
  work->value = (sequence & 0xFFFFFF) << 40 | (bytes & UINT64_C(0xFFFFFFFFFF));
  work->asked_at = asked_at;
  return work;
}

static void* launched(Communicator* of, Work* work, int64_t now) {
  if (of->calls_lane == NULL) {
    introduce(of);
  }
  const uint64_t end = ticks(now);
  sink.span(of->calls_lane, kNcclCall, work->asked_at != 0 ? ticks(work->asked_at) : end, end,
            work->step, work->bucket, work->value, detail_of(of, work));
  if (work->asked_at == 0 && work->bucket != LK_NO_BUCKET) {
    work->asked_at = expected.told_at; /* a bucket's is asked for in its backward */
  }
  work->is_open = work->channels > 0;
  return handle_of(kOfWork, of->number, (uint32_t)(work - of->work), work->life);
}

void* lk_nccl_coll(Communicator* of, const nccl_coll* coll, const void* parent, int64_t now) {
  const uint8_t operation = operation_of(coll->function);
  uint64_t bytes = coll->count * element_bytes(coll->datatype);
  if (operation == 7) {
    bytes *= (uint64_t)of->ranks; /* NCCL counts what one rank is left with */
  }
  Work* work = begin(of, operation, coll->channels, coll->sequence, bytes, call_of(parent));
  work->bucket = bucket_of(of, operation, coll->count);
  return launched(of, work, now);
}

void* lk_nccl_p2p(Communicator* of, const nccl_p2p* p2p, const void* parent, int64_t now) {
  Work* work = begin(of, operation_of(p2p->function), p2p->channels, of->sends++,
                     p2p->count * element_bytes(p2p->datatype), call_of(parent));
  return launched(of, work, now);
}

void* lk_nccl_call(Communicator* of, int is_captured, int64_t now) {
  if (is_captured) {
    return NULL; /* its kernels begin when the graph is launched, again and again */
  }
  const uint32_t place = of->next_call++ & (kCalls - 1);
  Call* call = &of->calls[place];
  ++call->life;
  call->at = now;
  return handle_of(kOfCall, of->number, place, call->life);
}

void* lk_nccl_channel(Communicator* of, const nccl_kernel_channel* kernel, const void* parent,
                      int64_t now) {
  Work* work = work_of(parent);
  if (work == NULL || kernel->timer == 0) {
    return NULL;
  }
  if (work->begun++ == 0 || kernel->timer < work->device_begun) {
    work->device_begun = kernel->timer;
  }
  lk_device_clock_not_after(&of->clock, (int64_t)kernel->timer, now);
  if (work->asked_at != 0) {
    lk_device_clock_not_before(&of->clock, (int64_t)kernel->timer, work->asked_at);
  }
  return handle_of(kOfChannel, of->number, (uint32_t)(work - of->work), work->life);
}

void lk_nccl_channel_ended(const void* handle, uint64_t timer, int64_t now) {
  Work* work = kind_of(handle) == kOfChannel ? work_of(handle) : NULL;
  if (work == NULL) {
    return;
  }
  Communicator* of = communicator_of(handle);
  lk_device_clock_not_after(&of->clock, (int64_t)timer, now);
  work->device_ended = timer > work->device_ended ? timer : work->device_ended;
  if (++work->ended < work->channels) {
    return;
  }
  work->is_open = 0;
  if (sink.observer == NULL) {
    return;
  }
  const lk_device_offset offset = lk_device_clock_offset(&of->clock, now);
  sink.span(of->kernels_lane, kNcclKernel, ticks((int64_t)work->device_begun + offset.offset),
            ticks((int64_t)work->device_ended + offset.offset), work->step, work->bucket,
            work->value, (uint16_t)(detail_of(of, work) | kByDevice));
  tell_clock(of, offset, work->step, now);
}

static Communicator* place_for(int* number) {
  for (*number = 0; *number < kCommunicators; ++*number) {
    if (communicators[*number] == NULL) {
      communicators[*number] = calloc(1, sizeof(Communicator));
    }
    if (communicators[*number] == NULL || !communicators[*number]->is_live) {
      return communicators[*number];
    }
  }
  return NULL;
}

Communicator* lk_nccl_open(int* mask, int wanted, int ranks, int rank) {
  int number = 0;
  Communicator* of = place_for(&number);
  if (of != NULL) {
    of->is_live = 1;
    of->number = number;
    of->ranks = ranks;
    of->rank = rank;
    of->mask = (_Atomic int*)mask;
    of->wanted = wanted;
    of->calls_lane = NULL;
    memset(&of->clock, 0, sizeof(of->clock));
    of->told_clock_at = 0;
    ask_for(of);
  }
  return of;
}

void lk_nccl_close(Communicator* of) {
  for (int i = 0; i < kUnderWay; ++i) {
    of->lost += of->work[i].is_open ? 1 : 0;
    of->work[i].is_open = 0;
  }
  if (of->lost > 0 && sink.observer != NULL) {
    char text[192];
    const int length =
        snprintf(text, sizeof(text),
                 "{\"type\":\"problem\",\"severity\":\"warning\",\"step\":%u,\"text\":"
                 "\"NCCL never told when %llu kernels of its communicator %d had "
                 "ended: they are not in this run\"}",
                 current_step, (unsigned long long)of->lost, of->number);
    sink.send(sink.observer, text, (size_t)length);
  }
  of->lost = 0;
  of->is_live = 0;
  of->mask = NULL;
  expected.from = expected.from == of ? NULL : expected.from;
}

void lk_nccl_free_closed(void) {
  for (int i = 0; i < kCommunicators; ++i) {
    if (communicators[i] != NULL && !communicators[i]->is_live) {
      free(communicators[i]);
      communicators[i] = NULL;
    }
  }
}

void lk_nccl_attach(const lk_nccl_sink* to) {
  sink = *to;
  for (int i = 0; i < kCommunicators && communicators[i] != NULL; ++i) {
    ask_for(communicators[i]);
  }
}

int lk_nccl_is_attached(void) {
  return sink.observer != NULL;
}

void lk_nccl_step(uint32_t step) {
  current_step = step;
}

void lk_nccl_expect(const uint64_t* elements, int count, int64_t now) {
  if (expected.next < expected.count) {
    expected.from = NULL; /* not all came from there: it may have been another's by chance */
  }
  expected.count = count < kBuckets ? count : kBuckets;
  memcpy(expected.elements, elements, sizeof(uint64_t) * (size_t)expected.count);
  expected.next = 0;
  expected.told_at = now;
}
