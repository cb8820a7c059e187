#ifndef LOCKSTEP_OBSERVER_FLIGHTS_H
#define LOCKSTEP_OBSERVER_FLIGHTS_H

/* lockstep._native.Flights: the collectives of one process group. It is what a process group's
 * hooks call, a few times a bucket, in the middle of a backward: so it is C. */

#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core_wait.h"
#include "observer.h"

/* Makes the type; NULL with an exception on failure. */
PyObject* lk_flights_type(void);

/* What a Memory of the same module holds. */
lk_observer* lk_observer_of(PyObject* memory);

/* The lane that a Memory gave this number to; NULL with an exception where there is none. */
lk_lane* lk_lane_of(PyObject* memory, unsigned number);

/* Of a Memory: how long its training thread waits for a core. */
lk_core_wait* lk_core_wait_of(PyObject* memory);

#endif
