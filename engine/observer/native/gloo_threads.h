#ifndef LOCKSTEP_OBSERVER_GLOO_THREADS_H
#define LOCKSTEP_OBSERVER_GLOO_THREADS_H

/* When an allreduce of Gloo's begins and ends, as the thread that does it tells by itself: PyTorch
 * calls this as it would call a profiler, without Python. A callback of Python's for each of a
 * backward's buckets takes a multiple of that.
 *
 * Note [Recorded functions]
 * PyTorch has no C interface for this. `at::addGlobalCallback` takes an at::RecordFunctionCallback
 * by value; both are part of PyTorch's public headers, but nothing promises that the class keeps
 * its members. So who calls this knows that PyTorch is of a version that this was tried with, and
 * that a user's scope has the number kUserScope; and hears a scope of its own before it relies on
 * others. Where an object is returned, and where its address is passed, is the x86-64's convention.
 */

#include "flight_board.h"

enum { kUserScope = 7 };

/* Hears the allreduces of the one group of Gloo that there is. `add_callback`:
 * at::addGlobalCallback; `name_of`: at::RecordFunction::name. Once in a process. */
void lk_gloo_listen(lk_board* board, void* add_callback, void* name_of);

/* How often a scope with this name was heard to begin, or to end, in this thread. */
#define LK_GLOO_PROBE "lockstep: listening"
int lk_gloo_probes(void);

#endif
