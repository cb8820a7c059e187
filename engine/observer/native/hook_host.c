/* lockstep._hook_host.Host: one hook of a plugin at work, and the module itself. */

#include "hook_host.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { kMostGroups = 4096 };

typedef struct {
  PyObject_HEAD lockstep_host table;
  lockstep_hook* hook;
  PyObject* library;
  PyObject* session; /* borrowed: it holds this Host, and outlives the hook */
  lk_group* groups[kMostGroups];
  unsigned group_count;
} Host;

PyObject* lk_session_of(const lockstep_host* table) { return ((Host*)table->data)->session; }

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

/* The hook, if there is one. */
static lockstep_hook* hook_of(Host* self) {
  if (self->hook == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "there is no hook: it was not made, or destroyed");
  }
  return self->hook;
}

static const void* extension_of(lockstep_hook* hook, const char* id) {
  return hook->extension == NULL ? NULL : hook->extension(hook, id);
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
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sidz", &values[i].key, &type,
                          &values[i].number, &values[i].text)) {
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
  lockstep_hook* hook = hook_of(self);
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
  lockstep_hook* hook = hook_of((Host*)object);
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
  lockstep_hook* hook = hook_of((Host*)object);
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

/* around() -> names of the calls around a step that the hook has */
static PyObject* host_around(PyObject* object, PyObject* unused) {
  (void)unused;
  lockstep_hook* hook = hook_of((Host*)object);
  if (hook == NULL) {
    return NULL;
  }
  const lockstep_ext_step* step = extension_of(hook, "lockstep.step/1");
  const int before = step != NULL && step->before_forward != NULL;
  const int after = step != NULL && step->after_optimizer != NULL;
  const int end = step != NULL && step->end_of_run != NULL;
  return Py_BuildValue("(NNN)", PyBool_FromLong(before), PyBool_FromLong(after),
                       PyBool_FromLong(end));
}

static PyObject* host_drifts(PyObject* object, PyObject* unused) {
  (void)unused;
  lockstep_hook* hook = hook_of((Host*)object);
  if (hook == NULL) {
    return NULL;
  }
  const lockstep_ext_replicas* table = extension_of(hook, "lockstep.replicas/1");
  return PyBool_FromLong(table != NULL && table->drift != NULL && table->drift(hook) != 0);
}

static const lockstep_ext_optimizer* optimizer_of(lockstep_hook* hook) {
  return extension_of(hook, "lockstep.optimizer/1");
}

static PyObject* host_wants_optimizer(PyObject* object, PyObject* unused) {
  (void)unused;
  lockstep_hook* hook = hook_of((Host*)object);
  if (hook == NULL) {
    return NULL;
  }
  const lockstep_ext_optimizer* table = optimizer_of(hook);
  return PyBool_FromLong(table != NULL && (table->configure != NULL || table->update != NULL));
}

/* configure(kind, rate, decay, momentum, dampening, nesterov, beta1, beta2, epsilon) -> status */
static PyObject* host_configure(PyObject* object, PyObject* args) {
  lockstep_optimizer_info info;
  memset(&info, 0, sizeof(info));
  info.struct_size = sizeof(info);
  int kind = 0;
  int nesterov = 0;
  if (!PyArg_ParseTuple(args, "iddddpddd", &kind, &info.learning_rate, &info.weight_decay,
                        &info.momentum, &info.dampening, &nesterov, &info.beta1, &info.beta2,
                        &info.epsilon)) {
    return NULL;
  }
  info.kind = kind;
  info.nesterov = nesterov;
  lockstep_hook* hook = hook_of((Host*)object);
  if (hook == NULL) {
    return NULL;
  }
  const lockstep_ext_optimizer* table = optimizer_of(hook);
  lockstep_status status = LOCKSTEP_OK;
  if (table != NULL && table->configure != NULL) {
    Py_BEGIN_ALLOW_THREADS;
    status = table->configure(hook, &info);
    Py_END_ALLOW_THREADS;
  }
  return PyLong_FromLong(status);
}

static PyObject* host_owns_update(PyObject* object, PyObject* unused) {
  (void)unused;
  lockstep_hook* hook = hook_of((Host*)object);
  if (hook == NULL) {
    return NULL;
  }
  const lockstep_ext_optimizer* table = optimizer_of(hook);
  return PyBool_FromLong(table != NULL && table->update != NULL && table->owns_update != NULL &&
                         table->owns_update(hook) != 0);
}

static PyObject* host_has_update(PyObject* object, PyObject* unused) {
  (void)unused;
  lockstep_hook* hook = hook_of((Host*)object);
  if (hook == NULL) {
    return NULL;
  }
  const lockstep_ext_optimizer* table = optimizer_of(hook);
  return PyBool_FromLong(table != NULL && table->update != NULL);
}

/* set(key, type, number, text) -> status, or None where nothing can be changed */
static PyObject* host_set(PyObject* object, PyObject* args) {
  lockstep_value value;
  int type = 0;
  if (!PyArg_ParseTuple(args, "sidz", &value.key, &type, &value.number, &value.text)) {
    return NULL;
  }
  value.type = type;
  lockstep_hook* hook = hook_of((Host*)object);
  if (hook == NULL) {
    return NULL;
  }
  const lockstep_ext_live_params* table = extension_of(hook, "lockstep.live-params/1");
  if (table == NULL || table->set == NULL) {
    Py_RETURN_NONE;
  }
  lockstep_status status = LOCKSTEP_OK;
  Py_BEGIN_ALLOW_THREADS;
  status = table->set(hook, &value);
  Py_END_ALLOW_THREADS;
  return PyLong_FromLong(status);
}

/* ---- State ----------------------------------------------------------------------------------- */

typedef struct {
  char* bytes;
  size_t size, room;
} Saved;

static lockstep_status append(void* context, const void* bytes, uint64_t size) {
  Saved* saved = context;
  if (saved->size + size > saved->room) {
    const size_t room = 2 * saved->room > saved->size + size ? 2 * saved->room : saved->size + size;
    char* grown = realloc(saved->bytes, room);
    if (grown == NULL) {
      return LOCKSTEP_E_MEMORY;
    }
    saved->bytes = grown;
    saved->room = room;
  }
  if (size > 0) {
    memcpy(saved->bytes + saved->size, bytes, size);
  }
  saved->size += size;
  return LOCKSTEP_OK;
}

/* save() -> (status, schema, bytes), or None for a hook without a state */
static PyObject* host_save(PyObject* object, PyObject* unused) {
  (void)unused;
  lockstep_hook* hook = hook_of((Host*)object);
  if (hook == NULL) {
    return NULL;
  }
  const lockstep_ext_state* table = extension_of(hook, "lockstep.state/1");
  if (table == NULL) {
    Py_RETURN_NONE;
  }
  Saved saved = {NULL, 0, 0};
  const lockstep_writer writer = {&saved, append};
  lockstep_status status = LOCKSTEP_OK;
  Py_BEGIN_ALLOW_THREADS;
  status = table->save(hook, &writer);
  Py_END_ALLOW_THREADS;
  PyObject* result =
      Py_BuildValue("(iIy#)", (int)status, (unsigned)table->schema,
                    saved.bytes == NULL ? "" : saved.bytes, (Py_ssize_t)saved.size);
  free(saved.bytes);
  return result;
}

typedef struct {
  lockstep_reader table;
  const char* at;
} Source;

static lockstep_status take(lockstep_reader* reader, void* bytes, uint64_t size) {
  Source* source = (Source*)reader;
  if (size > reader->left) {
    return LOCKSTEP_E_STATE;
  }
  if (size > 0) {
    memcpy(bytes, source->at, size);
  }
  source->at += size;
  reader->left -= size;
  return LOCKSTEP_OK;
}

/* load(schema, world_size, bytes) -> status, or None for a hook without a state */
static PyObject* host_load(PyObject* object, PyObject* args) {
  unsigned schema = 0;
  int world_size = 0;
  const char* bytes = NULL;
  Py_ssize_t size = 0;
  if (!PyArg_ParseTuple(args, "Iiy#", &schema, &world_size, &bytes, &size)) {
    return NULL;
  }
  lockstep_hook* hook = hook_of((Host*)object);
  if (hook == NULL) {
    return NULL;
  }
  const lockstep_ext_state* table = extension_of(hook, "lockstep.state/1");
  if (table == NULL) {
    Py_RETURN_NONE;
  }
  Source source = {{NULL, (uint64_t)size, take}, bytes};
  lockstep_status status = LOCKSTEP_OK;
  Py_BEGIN_ALLOW_THREADS;
  status = table->load(hook, schema, world_size, &source.table);
  Py_END_ALLOW_THREADS;
  return PyLong_FromLong(status);
}

static PyMethodDef methods[] = {
    {"create", host_create, METH_VARARGS, "create(id, [(key, type, number, text)]) -> status"},
    {"run", host_run, METH_VARARGS,
     "run(run, bucket, flags, step, divisor, address, numel, dtype) -> status"},
    {"resume", host_resume, METH_VARARGS, "resume(run, stage) -> status"},
    {"cancel", host_cancel, METH_O, "cancel(run)"},
    {"destroy", host_destroy, METH_NOARGS, "destroy(): no run is left"},
    {"around", host_around, METH_NOARGS,
     "around() -> whether it has before_forward, after_optimizer, end_of_run"},
    {"drifts", host_drifts, METH_NOARGS, "drifts() -> whether it lets replicas drift"},
    {"wants_optimizer", host_wants_optimizer, METH_NOARGS,
     "wants_optimizer() -> whether it has to be told of the optimizer"},
    {"configure", host_configure, METH_VARARGS, "configure(...) -> status"},
    {"has_update", host_has_update, METH_NOARGS, "has_update() -> whether it may step itself"},
    {"owns_update", host_owns_update, METH_NOARGS, "owns_update() -> whether it steps itself"},
    {"set", host_set, METH_VARARGS, "set(key, type, number, text) -> status or None"},
    {"save", host_save, METH_NOARGS, "save() -> (status, schema, bytes) or None"},
    {"load", host_load, METH_VARARGS, "load(schema, world_size, bytes) -> status or None"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Host(library, session, rank, size)"},
                              {Py_tp_new, host_new},
                              {Py_tp_dealloc, host_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = {"lockstep._hook_host.Host", sizeof(Host), 0, Py_TPFLAGS_DEFAULT, slots};

PyObject* lk_host_type(void) { return PyType_FromSpec(&spec); }
