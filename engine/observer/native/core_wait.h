#ifndef LOCKSTEP_OBSERVER_CORE_WAIT_H
#define LOCKSTEP_OBSERVER_CORE_WAIT_H

/* How long a thread was ready to run and had no core, by the kernel's account of it, as
 * engine/trace/CoreWait.h has it of a rank of the engine: looked at every 0.2 ms at most, and within
 * a backward every 10 ms. */

#include "observer.h"

typedef struct {
  lk_observer* observer;
  lk_lane* lane;
  int file;       /* -1: nobody looks, or the kernel does not say */
  int thread;     /* that the file is of */
  int64_t looked; /* ns; 0: not yet */
  uint64_t looked_ticks;
  uint64_t least_ticks; /* between two looks within a backward */
  uint64_t waited; /* ns, in all */
  uint32_t step;   /* the iteration that the thread is in */
} lk_core_wait;

/* Its spans go into `lane`. */
void lk_core_wait_make(lk_core_wait* wait, lk_observer* observer, lk_lane* lane);

/* Writes a span from the look before until now, where the calling thread waited in it, of the
 * iteration that it was in; from now on it is in `step`. Where another thread called last, it is the
 * first look at this one. */
void lk_core_wait_enter(lk_core_wait* wait, uint32_t step);

/* Looks in the middle of an iteration, at these ticks, where the thread is that of the last
 * lk_core_wait_enter(). */
void lk_core_wait_look(lk_core_wait* wait, uint64_t ticks);

#endif
