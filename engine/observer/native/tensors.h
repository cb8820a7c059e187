#ifndef LOCKSTEP_OBSERVER_TENSORS_H
#define LOCKSTEP_OBSERVER_TENSORS_H

/* lockstep._native.fingerprints and tally: what is read of the elements of tensors. */

#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject* lk_fingerprints(PyObject* module, PyObject* args);
PyObject* lk_tally(PyObject* module, PyObject* args);

extern const char lk_fingerprints_doc[];
extern const char lk_tally_doc[];

#endif
