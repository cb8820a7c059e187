#ifndef LOCKSTEP_OBSERVER_FLIGHT_FUTURES_H
#define LOCKSTEP_OBSERVER_FLIGHT_FUTURES_H

/* What futures of PyTorch call, on whatever thread ends them, and hold until then.
 *
 * A future lets go of its callbacks on the thread that ended it, which waits for Python's lock to
 * do so: until then that thread cannot be joined by one that has the lock, as a process group's
 * destructor joins it. So those that are still held are counted. */

#include "flight_board.h"
#include "flights.h"

typedef struct {
  PyObject_HEAD PyObject* memory;
  PyObject* operations; /* c10d's name of an operation -> its number, 0 for none of ours */
  PyObject* add_done_callback;
  PyObject* want_after; /* gives the group its post-hook, and takes it; NULL: nobody does */
  int has_after;        /* it gave it, and has not taken it since */
  PyObject* turns; /* of the group's two pre-hooks, as by_turns() is given them; NULL: it has one */
  int has_unseen;
  int held; /* callbacks that futures still hold */
  lk_board board;
} lk_flights;

/* A future's end is that of a flight, or of the result of a hook's call. 0 with an exception
 * where the future takes no callback. */
int lk_end_with(lk_flights* flights, const lk_flight* flight, PyObject* future);
int lk_hook_ends_with(lk_flights* flights, int call, PyObject* future);

/* The future of the one tensor that a collective's future has a list of; the flight ends with it,
 * NULL: none does. One call less on the thread that ends it than lk_end_with() and then(). */
PyObject* lk_result_of(lk_flights* flights, const lk_flight* flight, PyObject* future);

/* Makes what they need; 0 with an exception. */
int lk_prepare_futures(void);

#endif
