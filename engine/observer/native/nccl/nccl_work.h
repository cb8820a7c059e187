#ifndef LOCKSTEP_OBSERVER_NCCL_WORK_H
#define LOCKSTEP_OBSERVER_NCCL_WORK_H

/* The collectives, sends and receives that are under way in NCCL's communicators, and where they
 * are told. Kernels are told of by NCCL's proxy thread, a channel at a time, after they have run.
 * What NCCL holds of ours are numbers and not pointers: it may come with one whose place has been
 * given to another, or after the communicator has ended.
 *
 * No function here locks: the caller holds the one mutex of the plugin. Instants are ns of
 * CLOCK_MONOTONIC. */

#include <stdatomic.h>

#include "device_clock.h"
#include "nccl_abi.h"
#include "nccl_sink.h"

enum {
  kCommunicators = 64,
  kUnderWay = 1024, /* of a communicator */
  kCalls = 64       /* of a communicator, into NCCL's functions */
};

typedef struct {
  uint32_t life;
  int64_t at;
} Call;

typedef struct {
  uint32_t life; /* goes up as the place is given to another */
  uint8_t is_open;
  uint8_t channels;
  uint8_t begun;
  uint8_t ended;
  uint8_t operation;
  uint16_t bucket;
  uint32_t step;
  uint64_t value;
  int64_t asked_at;      /* no kernel of it can have begun before; 0: not known */
  uint64_t device_begun; /* ns, of the GPU's clock: the first channel's, and the last one's */
  uint64_t device_ended;
} Work;

typedef struct {
  int is_live;
  int number;
  int ranks;
  int rank;
  _Atomic int* mask;
  int wanted;
  lk_lane* calls_lane; /* NULL: nothing was told yet */
  lk_lane* kernels_lane;
  lk_device_clock clock;
  int64_t told_clock_at;
  uint64_t sends; /* point to point operations, which NCCL does not count */
  Call calls[kCalls];
  uint32_t next_call;
  Work work[kUnderWay];
  uint32_t next_work;
  uint64_t lost; /* kernels that were still under way when their place was needed */
} Communicator;

/* A communicator that NCCL made, or NULL: there are too many. `mask`: where NCCL looks for what it
 * shall tell, and `wanted` what it is while somebody records. */
Communicator* lk_nccl_open(int* mask, int wanted, int ranks, int rank);
void lk_nccl_close(Communicator* of);
/* Gives back what the closed ones took; a handle of theirs that comes yet is of nothing. */
void lk_nccl_free_closed(void);

/* Each returns the handle that NCCL gets, NULL for none. `parent` is one of these. */
void* lk_nccl_call(Communicator* of, int is_captured, int64_t now);
void* lk_nccl_coll(Communicator* of, const nccl_coll* coll, const void* parent, int64_t now);
void* lk_nccl_p2p(Communicator* of, const nccl_p2p* p2p, const void* parent, int64_t now);
void* lk_nccl_channel(Communicator* of, const nccl_kernel_channel* kernel, const void* parent,
                      int64_t now);

/* The channel of a kernel has ended, at `timer` of the GPU's clock. */
void lk_nccl_channel_ended(const void* handle, uint64_t timer, int64_t now);

/* nccl_sink.h has what these do. */
void lk_nccl_attach(const lk_nccl_sink* to);
int lk_nccl_is_attached(void);
void lk_nccl_step(uint32_t step);
void lk_nccl_expect(const uint64_t* elements, int count, int64_t now);

#endif
