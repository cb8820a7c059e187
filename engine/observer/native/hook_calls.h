#ifndef LOCKSTEP_OBSERVER_HOOK_CALLS_H
#define LOCKSTEP_OBSERVER_HOOK_CALLS_H

/* Methods of lockstep._hook_host.Host that ask a hook for one of its extensions. */

#include "hook_host.h"

/* The hook of a Host; NULL with an exception where there is none. */
lockstep_hook* lk_hook_of(PyObject* host);

PyObject* lk_host_around(PyObject* host, PyObject* unused);
PyObject* lk_host_drifts(PyObject* host, PyObject* unused);
PyObject* lk_host_wants_optimizer(PyObject* host, PyObject* unused);
PyObject* lk_host_configure(PyObject* host, PyObject* args);
PyObject* lk_host_owns_update(PyObject* host, PyObject* unused);
PyObject* lk_host_has_update(PyObject* host, PyObject* unused);
PyObject* lk_host_set(PyObject* host, PyObject* args);
PyObject* lk_host_save(PyObject* host, PyObject* unused);
PyObject* lk_host_load(PyObject* host, PyObject* args);

/* A hook's table of this name; NULL where it has none. */
const void* lk_extension_of(lockstep_hook* hook, const char* id);

#endif
