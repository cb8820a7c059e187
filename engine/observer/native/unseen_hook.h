#ifndef LOCKSTEP_OBSERVER_UNSEEN_HOOK_H
#define LOCKSTEP_OBSERVER_UNSEEN_HOOK_H

/* A pre-hook of a process group's that is called without Python, for a backward whose allreduces
 * can be taken for its buckets unseen. To make the arguments of a hook of Python's, and to call it,
 * is code that a backward has pushed out of the caches: 40 us a bucket.
 *
 * Note [A function of C++]
 * A std::function that is made of a Python callable calls that, but for one case: pybind11 takes
 * the function itself where the callable is one of its own that has no state and the very type that
 * is asked for. It knows its own, those of other modules too, by the name of the type of what they
 * are bound to, which holds the version of that object's layout. Here is such an object. Where
 * pybind11 finds the name or the function's type to be others it calls Python, and all is as with a
 * hook of Python's. Of the arguments, a c10d::PreHookArgs, the first byte is read: which operation.
 */

#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core_wait.h"
#include "flight_board.h"

/* What a group's pre-hook is set to while lk_board_take() is to have its operations. One in a
 * process: it has no state of its own. `type`: the name of that type, of version 1 of the layout.
 * `allreduce`: the number of that operation. `otherwise`: the hook of Python's that is called in
 * its place by a pybind11 that does not know it. Returns NULL with an exception. */
PyObject* lk_unseen_hook(lk_board* board, lk_core_wait* wait, const char* type, uint8_t allreduce,
                         PyObject* otherwise);

#endif
