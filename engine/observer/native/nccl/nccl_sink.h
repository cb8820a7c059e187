#ifndef LOCKSTEP_OBSERVER_NCCL_SINK_H
#define LOCKSTEP_OBSERVER_NCCL_SINK_H

/* What joins the NCCL profiler plugin and the Python module, which both live in one process, in
 * whatever order they are loaded: whoever opens the plugin's file gets the same plugin. The module
 * hands over where events go, and says what DDP is about to reduce. */

#include <stddef.h>

#include "../observer.h"

/* Goes up with every change of what stands here. */
#define LK_NCCL_ABI 1

typedef struct {
  unsigned abi; /* LK_NCCL_ABI */
  lk_observer* observer;
  lk_lane* (*lane)(lk_observer* observer, const char* name);
  void (*span)(lk_lane* lane, uint16_t kind, uint64_t start, uint64_t end, uint32_t step,
               uint16_t bucket, uint64_t value, uint16_t detail);
  int (*send)(lk_observer* observer, const char* json, size_t bytes);
  uint64_t (*ticks_at)(const lk_observer* observer, int64_t monotonic_ns);
} lk_nccl_sink;

/* lockstep_nccl_attach, a symbol of the plugin. From then on NCCL is asked for its events; before,
 * it tells nothing. Returns 0 where the other side is of another version. The sink is copied; what
 * it points to stays for as long as the process. */
typedef int (*lk_nccl_attach_function)(const lk_nccl_sink* sink);

/* lockstep_nccl_step: the iteration that what NCCL is asked for from now on belongs to. */
typedef void (*lk_nccl_step_function)(uint32_t step);

/* lockstep_nccl_expect: a backward begins, which reduces buckets of so many elements, in this
 * order. */
typedef void (*lk_nccl_expect_function)(const uint64_t* elements, int count);

#endif
