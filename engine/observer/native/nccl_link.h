#ifndef LOCKSTEP_OBSERVER_NCCL_LINK_H
#define LOCKSTEP_OBSERVER_NCCL_LINK_H

/* lockstep._native.Nccl: this module's end of nccl/nccl_sink.h. */

#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Makes the type; NULL with an exception on failure. */
PyObject* lk_nccl_type(void);

#endif
