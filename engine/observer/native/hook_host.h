#ifndef LOCKSTEP_OBSERVER_HOOK_HOST_H
#define LOCKSTEP_OBSERVER_HOOK_HOST_H

/* lockstep._hook_host: the host's side of the plugin border (plugins/abi), for Python. It reads
 * a library of hooks, makes a hook, and hands what the hook calls to a Python object, the session,
 * which decides. Nothing in here knows PyTorch. The GIL is released in every call into a plugin,
 * and taken in every call that comes back.
 *
 * A session has these methods; buffers are tuples (address, elements, dtype, device), None for null:
 *   collective(group, run, name, stage, in, out, extra) -> status
 *   scratch(run, numel, dtype) -> (status, address)
 *   math(name, buffers, numbers) -> status; allocate(like, numel, dtype) -> (status, address);
 *   release(address)
 *   mark(run, phase, begin), counter(run, key, value), no_more(run), result_ready(run),
 *   complete(run), fail(address of a run or 0, status, text), log(level, text)
 *   subgroup(ranks) -> (status, group, rank, size), rank -1 where this one is not in it
 * An exception in one of them is a defect of the session's: it is printed, and the plugin is told
 * LOCKSTEP_E_INTERNAL. */

#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "plugins/abi/include/lockstep/comm_hook.h"

/* The types of the module; NULL with an exception on failure. */
PyObject* lk_library_type(void); /* Library(address of the entry, path) */
PyObject* lk_bucket_type(void);  /* Bucket(index, count, layout, ids, offsets, lengths, shapes) */
PyObject* lk_run_type(void);     /* Run() */
PyObject* lk_host_type(void);    /* Host(library, session, rank, size) */

/* What a Library of this module holds. NULL with an exception for anything else. */
const lockstep_plugin* lk_plugin_of(PyObject* library);

/* A run as the plugin sees it. */
struct lockstep_run {
  PyObject* self;    /* the Run; whoever made it keeps it */
  PyObject* session; /* what the plugin calls with it */
  void* slot;
};

/* What a Run holds. NULL with an exception for anything else. */
lockstep_run* lk_run_of(PyObject* run);
/* Shows a Run the bucket whose gradients lie there. The Run keeps it. NULL with an exception. */
const lockstep_bucket* lk_run_show(PyObject* run, PyObject* bucket, uint32_t flags, uint64_t step,
                                   double divisor, const lockstep_buffer* flat);

/* The tables that the plugin calls, which find their session by themselves. `self` of a host is the
 * Host, of a group what the session calls it. */
typedef struct {
  lockstep_group table;
  PyObject* group; /* None: all ranks */
} lk_group;

void lk_fill_host(lockstep_host* table, void* host);
void lk_fill_group(lk_group* group, PyObject* python_group, int32_t rank, int32_t size);
/* Of the Host that a table belongs to. */
PyObject* lk_session_of(const lockstep_host* table);
const lockstep_group* lk_world_of(const lockstep_host* table);
/* Makes a group that lives as long as the Host; NULL where there is no memory. */
const lockstep_group* lk_add_group(const lockstep_host* table, PyObject* python_group, int32_t rank,
                                   int32_t size);

#endif
