/* NCCL's profiler plugin (NCCL_PROFILER_PLUGIN): for each collective and each send and receive,
 * when it was asked for, and when its kernel ran by the GPU's clock. Links libc alone. Nothing
 * fails here that NCCL would hear of. */

#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

#include "nccl_work.h"

/* Of all that nccl_work.c holds, and of every lane. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static nccl_result init(void** context, int* mask, int wanted, int ranks, int rank) {
  pthread_mutex_lock(&mutex);
  *context = lk_nccl_open(mask, wanted, ranks, rank);
  pthread_mutex_unlock(&mutex);
  return 0;
}

static nccl_result init_v4(void** context, int* mask, const char* name, uint64_t communicator,
                           int nodes, int ranks, int rank, void* log) {
  (void)name, (void)communicator, (void)nodes, (void)log;
  return init(context, mask, kNcclColl | kNcclP2p | kNcclKernelChannel, ranks, rank);
}

static nccl_result init_v5(void** context, uint64_t communicator, int* mask, const char* name,
                           int nodes, int ranks, int rank, void* log) {
  (void)name, (void)communicator, (void)nodes, (void)log;
  return init(context, mask, kNcclColl | kNcclP2p | kNcclKernelChannel | kNcclCollApi | kNcclP2pApi,
              ranks, rank);
}

static nccl_result start(void* context, void** handle, uint64_t type, const nccl_event* event) {
  *handle = NULL;
  Communicator* of = context;
  if (of == NULL) {
    return 0;
  }
  const int64_t now = now_ns();
  const void* parent = event->parent;
  pthread_mutex_lock(&mutex);
  if (lk_nccl_is_attached()) {
    switch (type) {
      case kNcclColl:
        *handle = lk_nccl_coll(of, &event->of.coll, parent, now);
        break;
      case kNcclP2p:
        *handle = lk_nccl_p2p(of, &event->of.p2p, parent, now);
        break;
      case kNcclCollApi:
        *handle = lk_nccl_call(of, event->of.coll_api.is_captured, now);
        break;
      case kNcclP2pApi:
        *handle = lk_nccl_call(of, event->of.p2p_api.is_captured, now);
        break;
      case kNcclKernelChannel:
        *handle = lk_nccl_channel(of, &event->of.kernel, parent, now);
        break;
      default:
        break;
    }
  }
  pthread_mutex_unlock(&mutex);
  return 0;
}

static nccl_result start_v4(void* context, void** handle, nccl_event* event) {
  return start(context, handle, event->type & 0xFF, event);
}

static nccl_result start_v5(void* context, void** handle, nccl_event* event) {
  return start(context, handle, event->type, event);
}

/* A kernel's end comes as a state before it; that a call has returned says nothing. */
static nccl_result stop(void* handle) {
  (void)handle;
  return 0;
}

static nccl_result record(void* handle, int state, nccl_state* arguments) {
  if (state == kNcclKernelChannelStop && handle != NULL && arguments != NULL) {
    const int64_t now = now_ns();
    pthread_mutex_lock(&mutex);
    lk_nccl_channel_ended(handle, arguments->kernel_timer, now);
    pthread_mutex_unlock(&mutex);
  }
  return 0;
}

static nccl_result finalize(void* context) {
  if (context != NULL) {
    pthread_mutex_lock(&mutex);
    lk_nccl_close(context);
    pthread_mutex_unlock(&mutex);
  }
  return 0;
}

/* NCCL unloads a plugin behind its last communicator, and may load it again. One that is open as
 * the process ends stays: another thread may still tell of it. */
__attribute__((destructor)) static void unload(void) {
  pthread_mutex_lock(&mutex);
  lk_nccl_free_closed();
  pthread_mutex_unlock(&mutex);
}

#define EXPORTED __attribute__((visibility("default")))

/* nccl_sink.h declares what the Python module calls. */

EXPORTED int lockstep_nccl_attach(const lk_nccl_sink* to) {
  if (to->abi != LK_NCCL_ABI) {
    return 0;
  }
  pthread_mutex_lock(&mutex);
  lk_nccl_attach(to);
  pthread_mutex_unlock(&mutex);
  return 1;
}

EXPORTED void lockstep_nccl_step(uint32_t step) {
  pthread_mutex_lock(&mutex);
  lk_nccl_step(step);
  pthread_mutex_unlock(&mutex);
}

EXPORTED void lockstep_nccl_expect(const uint64_t* elements, int count) {
  const int64_t now = now_ns();
  pthread_mutex_lock(&mutex);
  lk_nccl_expect(elements, count, now);
  pthread_mutex_unlock(&mutex);
}

EXPORTED nccl_profiler_v4 ncclProfiler_v4 = {"Lockstep", init_v4, start_v4, stop, record, finalize};
EXPORTED nccl_profiler_v5 ncclProfiler_v5 = {"Lockstep", init_v5, start_v5, stop, record, finalize};
EXPORTED nccl_profiler_v5 ncclProfiler_v6 = {"Lockstep", init_v5, start_v5, stop, record, finalize};
