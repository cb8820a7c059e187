#ifndef LOCKSTEP_OBSERVER_NCCL_ABI_H
#define LOCKSTEP_OBSERVER_NCCL_ABI_H

/* What NCCL's profiler interface hands over, versions 4 (NCCL 2.27), 5 (2.28) and 6 (2.29 on):
 * https://github.com/NVIDIA/nccl, plugins/profiler. The three differ in the order of init's
 * arguments, in the width of an event's type, and in fields behind those that are read here. */

#include <stddef.h>
#include <stdint.h>

typedef int nccl_result; /* 0: success */

/* Kinds of events: bits of the mask of what NCCL shall tell. */
enum {
  kNcclColl = 1 << 1,
  kNcclP2p = 1 << 2,
  kNcclKernelChannel = 1 << 6,
  kNcclCollApi = 1 << 9, /* from version 5 on */
  kNcclP2pApi = 1 << 10  /* likewise */
};

enum { kNcclKernelChannelStop = 22 }; /* a state of an event */

typedef struct {
  uint64_t sequence; /* of this function in the communicator */
  const char* function;
  const void* send;
  void* receive;
  size_t count;
  int root;
  const char* datatype;
  uint8_t channels;
} nccl_coll;

typedef struct {
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t channels;
} nccl_p2p;

typedef struct {
  uint8_t channel;
  uint64_t timer; /* ns, of the GPU's own clock */
} nccl_kernel_channel;

typedef struct {
  const char* function;
  size_t count;
  const char* datatype;
  int root;
  void* stream;
  _Bool is_captured; /* into a CUDA graph */
} nccl_coll_api;

typedef struct {
  const char* function;
  size_t count;
  const char* datatype;
  void* stream;
  _Bool is_captured;
} nccl_p2p_api;

typedef struct {
  uint64_t type; /* version 4: the first byte of it alone */
  void* parent;  /* the handle of the event that this one is part of */
  int rank;
  union {
    nccl_coll coll;
    nccl_p2p p2p;
    nccl_kernel_channel kernel;
    nccl_coll_api coll_api;
    nccl_p2p_api p2p_api;
  } of;
} nccl_event;

typedef union {
  uint64_t kernel_timer; /* of kNcclKernelChannelStop */
} nccl_state;

typedef nccl_result (*nccl_start)(void* context, void** handle, nccl_event* event);
typedef nccl_result (*nccl_stop)(void* handle);
typedef nccl_result (*nccl_record)(void* handle, int state, nccl_state* arguments);
typedef nccl_result (*nccl_finalize)(void* context);

typedef struct {
  const char* name;
  nccl_result (*init)(void** context, int* mask, const char* name, uint64_t communicator, int nodes,
                      int ranks, int rank, void* log);
  nccl_start start;
  nccl_stop stop;
  nccl_record record;
  nccl_finalize finalize;
} nccl_profiler_v4;

typedef struct {
  const char* name;
  nccl_result (*init)(void** context, uint64_t communicator, int* mask, const char* name, int nodes,
                      int ranks, int rank, void* log);
  nccl_start start;
  nccl_stop stop;
  nccl_record record;
  nccl_finalize finalize;
} nccl_profiler_v5; /* and 6 */

#endif
