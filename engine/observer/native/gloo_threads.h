#ifndef LOCKSTEP_OBSERVER_GLOO_THREADS_H
#define LOCKSTEP_OBSERVER_GLOO_THREADS_H

/* When an allreduce of Gloo's begins and ends, as the thread that does it tells by itself: PyTorch
 * calls this as it would call a profiler, without Python. A callback of Python's for each of a
 * backward's buckets takes a multiple of that.
 *
 * Note [Recorded functions]
 * PyTorch has no C interface for this. `at::addThreadLocalCallback` takes an
 * at::RecordFunctionCallback by value; both are part of PyTorch's public headers, but nothing
 * promises that the class keeps its members. So who calls this knows that PyTorch is of a version
 * that this was tried with, and that a user's scope has the number kUserScope; and hears a scope of
 * its own before it relies on others. Where an object is returned, and where its address is passed,
 * is the x86-64's convention.
 *
 * Note [When it listens]
 * For each node of a backward PyTorch sets the thread's state, and sets it back; each time it sorts
 * out anew which scopes its callbacks are for, which takes 1,700 instructions where there is one,
 * and 600 where that is disabled. What an allreduce will call is settled as it is issued. So the
 * callback is put into the thread's state as an allreduce is queued, and is gone with the node that
 * queued it. One that is queued outside of a node leaves it there: the next backward takes it out.
 */

#include "flight_board.h"

enum { kUserScope = 7 };

/* Addresses of functions of PyTorch's. */
typedef struct {
  uintptr_t add_callback;    /* at::addThreadLocalCallback */
  uintptr_t remove_callback; /* at::removeCallback */
  uintptr_t thread_state;    /* at::get_record_function_tls_ */
  uintptr_t name_of;         /* at::RecordFunction::name */
} lk_recorded_functions;

/* Hears the allreduces of the one group of Gloo that there is, as far as this thread queues them.
 * Listens from here on until the board expects a backward. Once in a process; 0 where PyTorch's
 * functions do not do what they are known for. */
int lk_gloo_listen(lk_board* board, const lk_recorded_functions* functions);

/* How often a scope with this name was heard to begin, or to end, in this thread. */
#define LK_GLOO_PROBE "lockstep: listening"
int lk_gloo_probes(void);

#endif
