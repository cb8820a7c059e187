/* lockstep._hook_host.Host: one hook of a plugin at work. */

#include "hook_calls.h"

#include <stddef.h>
#include <stdlib.h>

enum { kMostGroups = 4096 };

typedef struct {
  PyObject_HEAD lockstep_host table;
  lockstep_hook* hook;
  PyObject* library;
  PyObject* session; /* borrowed: it holds this Host, and outlives the hook */
  lk_group* groups[kMostGroups];
  unsigned group_count;
} Host;

PyObject* lk_session_of(const lockstep_host* table) {
  return ((Host*)table->data)->session;
}

const lockstep_group* lk_world_of(const lockstep_host* table) {
  return &((Host*)table->data)->groups[0]->table;
}

const lockstep_group* lk_add_group(const lockstep_host* table, PyObject* python_group, int32_t rank,
                                   int32_t size) {
  Host* self = (Host*)table->data;
  lk_group* group = self->group_count < kMostGroups ? malloc(sizeof(*group)) : NULL;
  if (group == NULL) {
    return NULL;
  }
  lk_fill_group(group, python_group, rank, size);
  self->groups[self->group_count++] = group;
  return &group->table;
}

static PyObject* host_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  PyObject* library = NULL;
  PyObject* session = NULL;
  int rank = 0;
  int size = 1;
  if (!PyArg_ParseTuple(args, "OOii", &library, &session, &rank, &size) ||
      lk_plugin_of(library) == NULL) {
    return NULL;
  }
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Host* self = (Host*)allocate(type, 0);
  if (self == NULL) {
    return NULL;
  }
  Py_INCREF(library);
  self->library = library;
  self->session = session;
  lk_fill_host(&self->table, self);
  if (lk_add_group(&self->table, Py_None, rank, size) == NULL) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  return (PyObject*)self;
}

/* A hook that was not destroyed may still be at work: then its tables stay. */
static void host_dealloc(PyObject* object) {
  Host* self = (Host*)object;
  if (self->hook != NULL) {
    return;
  }
  for (unsigned i = 0; i < self->group_count; ++i) {
    Py_DECREF(self->groups[i]->group);
    free(self->groups[i]);
  }
  Py_XDECREF(self->library);
  PyTypeObject* type = Py_TYPE(object);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(object);
  Py_DECREF(type);
}

static int is_whole(const lockstep_hook* hook) {
  return hook != NULL && hook->struct_size >= offsetof(lockstep_hook, destroy) + sizeof(void*) &&
         hook->run != NULL && hook->resume != NULL && hook->destroy != NULL;
}

lockstep_hook* lk_hook_of(PyObject* host) {
  lockstep_hook* hook = ((Host*)host)->hook;
  if (hook == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "there is no hook: it was not made, or destroyed");
  }
  return hook;
}

/* create(id, [(key, type, number, text)]) -> status, or None for a table that lacks a function */
static PyObject* host_create(PyObject* object, PyObject* args) {
  Host* self = (Host*)object;
  const char* id = NULL;
  PyObject* list = NULL;
  if (!PyArg_ParseTuple(args, "sO", &id, &list)) {
    return NULL;
  }
  const Py_ssize_t count = PyList_Size(list);
  if (count < 0) {
    return NULL;
  }
  lockstep_value* values = calloc((size_t)count + 1, sizeof(*values));
  if (values == NULL) {
    return PyErr_NoMemory();
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    int type = 0;
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sidz", &values[i].key, &type, &values[i].number,
                          &values[i].text)) {
      free(values);
      return NULL;
    }
    values[i].type = type;
  }
  const lockstep_plugin* plugin = lk_plugin_of(self->library);
  lockstep_hook* hook = NULL;
  lockstep_status status = LOCKSTEP_OK;
  Py_BEGIN_ALLOW_THREADS;
  status = plugin->create(&self->table, id, values, (uint32_t)count, &hook);
  Py_END_ALLOW_THREADS;
  free(values);
  if (status == LOCKSTEP_OK && !is_whole(hook)) {
    Py_RETURN_NONE;
  }
  self->hook = status == LOCKSTEP_OK ? hook : NULL;
  return PyLong_FromLong(status);
}

/* run(run, bucket, flags, step, divisor, address, numel, dtype) -> status */
static PyObject* host_run(PyObject* object, PyObject* args) {
  Host* self = (Host*)object;
  PyObject* run = NULL;
  PyObject* bucket = NULL;
  unsigned flags = 0;
  unsigned long long step = 0;
  double divisor = 1;
  unsigned long long address = 0;
  long long numel = 0;
  int dtype = 0;
  if (!PyArg_ParseTuple(args, "OOIKdKLi", &run, &bucket, &flags, &step, &divisor, &address, &numel,
                        &dtype)) {
    return NULL;
  }
  lockstep_hook* hook = lk_hook_of(object);
  lockstep_run* raw = hook == NULL ? NULL : lk_run_of(run);
  if (raw == NULL) {
    return NULL;
  }
  const lockstep_buffer flat = {(void*)(uintptr_t)address, numel, dtype, LOCKSTEP_CPU, 0, NULL};
  const lockstep_bucket* shown = lk_run_show(run, bucket, flags, step, divisor, &flat);
  if (shown == NULL) {
    return NULL;
  }
  raw->session = self->session;
  lockstep_status status = LOCKSTEP_OK;
  Py_BEGIN_ALLOW_THREADS;
  status = hook->run(hook, raw, &self->groups[0]->table, shown);
  Py_END_ALLOW_THREADS;
  return PyLong_FromLong(status);
}

/* resume(run, stage) -> status */
static PyObject* host_resume(PyObject* object, PyObject* args) {
  PyObject* run = NULL;
  unsigned stage = 0;
  if (!PyArg_ParseTuple(args, "OI", &run, &stage)) {
    return NULL;
  }
  lockstep_hook* hook = lk_hook_of(object);
  lockstep_run* raw = hook == NULL ? NULL : lk_run_of(run);
  if (raw == NULL) {
    return NULL;
  }
  lockstep_status status = LOCKSTEP_OK;
  Py_BEGIN_ALLOW_THREADS;
  status = hook->resume(hook, raw, stage);
  Py_END_ALLOW_THREADS;
  return PyLong_FromLong(status);
}

static PyObject* host_cancel(PyObject* object, PyObject* run) {
  lockstep_hook* hook = lk_hook_of(object);
  lockstep_run* raw = hook == NULL ? NULL : lk_run_of(run);
  if (raw == NULL) {
    return NULL;
  }
  if (hook->cancel != NULL) {
    Py_BEGIN_ALLOW_THREADS;
    hook->cancel(hook, raw);
    Py_END_ALLOW_THREADS;
  }
  Py_RETURN_NONE;
}

static PyObject* host_destroy(PyObject* object, PyObject* unused) {
  (void)unused;
  Host* self = (Host*)object;
  lockstep_hook* hook = self->hook;
  if (hook != NULL) {
    Py_BEGIN_ALLOW_THREADS;
    hook->destroy(hook);
    Py_END_ALLOW_THREADS;
    self->hook = NULL;
  }
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"create", host_create, METH_VARARGS, "create(id, [(key, type, number, text)]) -> status"},
    {"run", host_run, METH_VARARGS,
     "run(run, bucket, flags, step, divisor, address, numel, dtype) -> status"},
    {"resume", host_resume, METH_VARARGS, "resume(run, stage) -> status"},
    {"cancel", host_cancel, METH_O, "cancel(run)"},
    {"destroy", host_destroy, METH_NOARGS, "destroy(): no run is left"},
    {"around", lk_host_around, METH_NOARGS,
     "around() -> whether it has before_forward, after_optimizer, end_of_run"},
    {"drifts", lk_host_drifts, METH_NOARGS, "drifts() -> whether it lets replicas drift"},
    {"wants_optimizer", lk_host_wants_optimizer, METH_NOARGS,
     "wants_optimizer() -> whether it has to be told of the optimizer"},
    {"configure", lk_host_configure, METH_VARARGS, "configure(...) -> status"},
    {"has_update", lk_host_has_update, METH_NOARGS, "has_update() -> whether it may step itself"},
    {"owns_update", lk_host_owns_update, METH_NOARGS, "owns_update() -> whether it steps itself"},
    {"set", lk_host_set, METH_VARARGS, "set(key, type, number, text) -> status or None"},
    {"save", lk_host_save, METH_NOARGS, "save() -> (status, schema, bytes) or None"},
    {"load", lk_host_load, METH_VARARGS, "load(schema, world_size, bytes) -> status or None"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Host(library, session, rank, size)"},
                              {Py_tp_new, host_new},
                              {Py_tp_dealloc, host_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = {"lockstep._hook_host.Host", sizeof(Host), 0, Py_TPFLAGS_DEFAULT, slots};

PyObject* lk_host_type(void) {
  return PyType_FromSpec(&spec);
}
