/* The functions that a plugin calls. Each takes the GIL and asks the session. */

#include "hook_host.h"

#include <string.h>

/* Where a method of the session raised: that is no plugin's doing. */
static lockstep_status defect(PyObject* session) {
  PyErr_WriteUnraisable(session);
  return LOCKSTEP_E_INTERNAL;
}

/* Of a method's answer, which it takes. */
static lockstep_status status_of(PyObject* session, PyObject* answer) {
  long status = answer == NULL ? 0 : PyLong_AsLong(answer);
  Py_XDECREF(answer);
  return PyErr_Occurred() != NULL ? defect(session) : (lockstep_status)status;
}

static void done(PyObject* session, PyObject* answer) {
  if (answer == NULL) {
    (void)defect(session);
  }
  Py_XDECREF(answer);
}

static PyObject* none(void) {
  Py_INCREF(Py_None);
  return Py_None;
}

static PyObject* buffer_of(const lockstep_buffer* buffer) {
  return buffer == NULL
             ? none()
             : Py_BuildValue("(KLii)", (unsigned long long)(uintptr_t)buffer->data,
                             (long long)buffer->numel, (int)buffer->dtype, (int)buffer->device);
}

/* A number behind the others of a list, which is NULL with an exception where that fails. */
static void append(PyObject** list, long long number) {
  PyObject* value = PyLong_FromLongLong(number);
  if (value == NULL || PyList_Append(*list, value) != 0) {
    Py_CLEAR(*list);
  }
  Py_XDECREF(value);
}

/* ---- Collectives --------------------------------------------------------------------------- */

static lockstep_status collective(const lockstep_group* group, lockstep_run* run, const char* name,
                                  uint32_t stage, const lockstep_buffer* in,
                                  const lockstep_buffer* out, PyObject* extra) {
  PyObject* answer = extra == NULL
                         ? NULL
                         : PyObject_CallMethod(run->session, "collective", "OOsINNN",
                                               ((const lk_group*)group)->group, run->self, name,
                                               stage, buffer_of(in), buffer_of(out), extra);
  return status_of(run->session, answer);
}

/* One that takes a number beside its buffers: a reduction, or a root. */
static lockstep_status with_one(const lockstep_group* group, lockstep_run* run, const char* name,
                                uint32_t stage, const lockstep_buffer* in,
                                const lockstep_buffer* out, int32_t number) {
  const PyGILState_STATE state = PyGILState_Ensure();
  const lockstep_status status =
      collective(group, run, name, stage, in, out, PyLong_FromLong(number));
  PyGILState_Release(state);
  return status;
}

static lockstep_status all_reduce(const lockstep_group* group, lockstep_run* run, uint32_t stage,
                                  const lockstep_buffer* inout, int32_t op) {
  return with_one(group, run, "all_reduce", stage, inout, NULL, op);
}

static lockstep_status reduce_scatter(const lockstep_group* group, lockstep_run* run,
                                      uint32_t stage, const lockstep_buffer* in,
                                      const lockstep_buffer* out, int32_t op) {
  return with_one(group, run, "reduce_scatter", stage, in, out, op);
}

static lockstep_status broadcast(const lockstep_group* group, lockstep_run* run, uint32_t stage,
                                 const lockstep_buffer* inout, int32_t root) {
  return with_one(group, run, "broadcast", stage, inout, NULL, root);
}

static lockstep_status all_gather(const lockstep_group* group, lockstep_run* run, uint32_t stage,
                                  const lockstep_buffer* in, const lockstep_buffer* out) {
  const PyGILState_STATE state = PyGILState_Ensure();
  const lockstep_status status = collective(group, run, "all_gather", stage, in, out, none());
  PyGILState_Release(state);
  return status;
}

static PyObject* splits_of(const int64_t* splits, int32_t size) {
  PyObject* list = splits == NULL ? none() : PyList_New(0);
  for (int32_t i = 0; splits != NULL && list != NULL && i < size; ++i) {
    append(&list, splits[i]);
  }
  return list;
}

static lockstep_status all_to_all(const lockstep_group* group, lockstep_run* run, uint32_t stage,
                                  const lockstep_buffer* in, const int64_t* in_splits,
                                  const lockstep_buffer* out, const int64_t* out_splits) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* splits =
      Py_BuildValue("(NN)", splits_of(in_splits, group->size), splits_of(out_splits, group->size));
  const lockstep_status status = collective(group, run, "all_to_all", stage, in, out, splits);
  PyGILState_Release(state);
  return status;
}

static lockstep_status exchange(const lockstep_group* group, lockstep_run* run, uint32_t stage,
                                const lockstep_buffer* out, int32_t to, const lockstep_buffer* in,
                                int32_t from) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* peers = Py_BuildValue("(ii)", (int)to, (int)from);
  const lockstep_status status = collective(group, run, "exchange", stage, out, in, peers);
  PyGILState_Release(state);
  return status;
}

void lk_fill_group(lk_group* group, PyObject* python_group, int32_t rank, int32_t size) {
  const lockstep_group table = {
      sizeof(lockstep_group), rank,      size,       all_reduce, all_gather,
      reduce_scatter,         broadcast, all_to_all, exchange};
  Py_INCREF(python_group);
  group->table = table;
  group->group = python_group;
}

/* ---- "lockstep.math/1" ----------------------------------------------------------------------- */

/* Takes both tuples. */
static lockstep_status calculate(const lockstep_host* host, const char* name, PyObject* buffers,
                                 PyObject* numbers) {
  PyObject* session = lk_session_of(host);
  PyObject* answer = NULL;
  if (buffers != NULL && numbers != NULL) {
    answer = PyObject_CallMethod(session, "math", "sOO", name, buffers, numbers);
  }
  Py_XDECREF(buffers);
  Py_XDECREF(numbers);
  return status_of(session, answer);
}

/* An answer (status, address), which it takes, for memory that `out` is to describe. */
static lockstep_status given_memory(PyObject* session, PyObject* answer, int64_t numel,
                                    int32_t dtype, lockstep_buffer* out) {
  int status = 0;
  unsigned long long address = 0;
  const int understood = answer != NULL && PyArg_ParseTuple(answer, "iK", &status, &address);
  Py_XDECREF(answer);
  if (!understood) {
    return defect(session);
  }
  if (status == LOCKSTEP_OK) {
    memset(out, 0, sizeof(*out));
    out->data = (void*)(uintptr_t)address;
    out->numel = numel;
    out->dtype = dtype;
    out->device = LOCKSTEP_CPU;
  }
  return status;
}

static lockstep_status math_allocate(const lockstep_host* host, const lockstep_buffer* like,
                                     int64_t numel, int32_t dtype, lockstep_buffer* out) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* session = lk_session_of(host);
  const lockstep_status status =
      given_memory(session,
                   PyObject_CallMethod(session, "allocate", "NLi", buffer_of(like),
                                       (long long)numel, (int)dtype),
                   numel, dtype, out);
  PyGILState_Release(state);
  return status;
}

static void math_release(const lockstep_host* host, const lockstep_buffer* buffer) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* session = lk_session_of(host);
  done(session,
       PyObject_CallMethod(session, "release", "K", (unsigned long long)(uintptr_t)buffer->data));
  PyGILState_Release(state);
}

static lockstep_status math_copy(const lockstep_host* host, const lockstep_buffer* in,
                                 const lockstep_buffer* out) {
  const PyGILState_STATE state = PyGILState_Ensure();
  const lockstep_status status = calculate(
      host, "copy", Py_BuildValue("(NN)", buffer_of(in), buffer_of(out)), Py_BuildValue("()"));
  PyGILState_Release(state);
  return status;
}

static lockstep_status with_number(const lockstep_host* host, const char* name,
                                   const lockstep_buffer* buffer, double number) {
  const PyGILState_STATE state = PyGILState_Ensure();
  const lockstep_status status =
      calculate(host, name, Py_BuildValue("(N)", buffer_of(buffer)), Py_BuildValue("(d)", number));
  PyGILState_Release(state);
  return status;
}

static lockstep_status math_fill(const lockstep_host* host, const lockstep_buffer* out,
                                 double value) {
  return with_number(host, "fill", out, value);
}

static lockstep_status math_multiply(const lockstep_host* host, const lockstep_buffer* inout,
                                     double factor) {
  return with_number(host, "multiply", inout, factor);
}

static lockstep_status math_divide(const lockstep_host* host, const lockstep_buffer* inout,
                                   double divisor) {
  return with_number(host, "divide", inout, divisor);
}

static lockstep_status math_add_scaled(const lockstep_host* host, const lockstep_buffer* inout,
                                       const lockstep_buffer* in, double factor) {
  const PyGILState_STATE state = PyGILState_Ensure();
  const lockstep_status status =
      calculate(host, "add_scaled", Py_BuildValue("(NN)", buffer_of(inout), buffer_of(in)),
                Py_BuildValue("(d)", factor));
  PyGILState_Release(state);
  return status;
}

static lockstep_status math_matmul(const lockstep_host* host, const lockstep_buffer* a,
                                   const lockstep_buffer* b, const lockstep_buffer* out, int64_t m,
                                   int64_t k, int64_t n, uint32_t transposed) {
  const PyGILState_STATE state = PyGILState_Ensure();
  const lockstep_status status = calculate(
      host, "matmul", Py_BuildValue("(NNN)", buffer_of(a), buffer_of(b), buffer_of(out)),
      Py_BuildValue("(LLLI)", (long long)m, (long long)k, (long long)n, (unsigned)transposed));
  PyGILState_Release(state);
  return status;
}

static const lockstep_ext_math math_table = {sizeof(lockstep_ext_math),
                                             math_allocate,
                                             math_release,
                                             math_copy,
                                             math_fill,
                                             math_multiply,
                                             math_divide,
                                             math_add_scaled,
                                             math_matmul};

/* ---- The host -------------------------------------------------------------------------------- */

static const void* extension(const lockstep_host* host, const char* id) {
  (void)host;
  return strcmp(id, "lockstep.math/1") == 0 ? &math_table : NULL;
}

static void say(const lockstep_host* host, int32_t level, const char* text) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* session = lk_session_of(host);
  done(session, PyObject_CallMethod(session, "log", "iz", (int)level, text));
  PyGILState_Release(state);
}

/* The one call that may be handed a run which is none: the session looks for its address. */
static void fail(const lockstep_host* host, lockstep_run* run, lockstep_status status,
                 const char* text) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* session = lk_session_of(host);
  done(session, PyObject_CallMethod(session, "fail", "Kiz", (unsigned long long)(uintptr_t)run,
                                    (int)status, text));
  PyGILState_Release(state);
}

static lockstep_status scratch(lockstep_run* run, int64_t numel, int32_t dtype,
                               lockstep_buffer* out) {
  const PyGILState_STATE state = PyGILState_Ensure();
  const lockstep_status status = given_memory(
      run->session,
      PyObject_CallMethod(run->session, "scratch", "OLi", run->self, (long long)numel, (int)dtype),
      numel, dtype, out);
  PyGILState_Release(state);
  return status;
}

static void mark(lockstep_run* run, int32_t phase, int32_t begin) {
  const PyGILState_STATE state = PyGILState_Ensure();
  done(run->session,
       PyObject_CallMethod(run->session, "mark", "Oii", run->self, (int)phase, (int)begin));
  PyGILState_Release(state);
}

static void counter(lockstep_run* run, const char* key, double value) {
  const PyGILState_STATE state = PyGILState_Ensure();
  done(run->session, PyObject_CallMethod(run->session, "counter", "Ozd", run->self, key, value));
  PyGILState_Release(state);
}

static void tell(lockstep_run* run, const char* method) {
  const PyGILState_STATE state = PyGILState_Ensure();
  done(run->session, PyObject_CallMethod(run->session, method, "O", run->self));
  PyGILState_Release(state);
}

static void no_more(lockstep_run* run) {
  tell(run, "no_more");
}
static void result_ready(lockstep_run* run) {
  tell(run, "result_ready");
}
static void complete(lockstep_run* run) {
  tell(run, "complete");
}
static void** slot(lockstep_run* run) {
  return &run->slot;
}

static lockstep_status subgroup(const lockstep_host* host, const int32_t* ranks, uint32_t count,
                                const lockstep_group** out) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject* session = lk_session_of(host);
  PyObject* list = PyList_New(0);
  for (uint32_t i = 0; list != NULL && i < count; ++i) {
    append(&list, ranks[i]);
  }
  PyObject* answer = list == NULL ? NULL : PyObject_CallMethod(session, "subgroup", "N", list);
  int status = 0;
  PyObject* group = NULL;
  int rank = -1;
  int size = 0;
  if (answer == NULL || !PyArg_ParseTuple(answer, "iOii", &status, &group, &rank, &size)) {
    status = defect(session);
  } else if (status == LOCKSTEP_OK) {
    *out = rank < 0 ? NULL : lk_add_group(host, group, rank, size);
    status = rank >= 0 && *out == NULL ? LOCKSTEP_E_MEMORY : LOCKSTEP_OK;
  }
  Py_XDECREF(answer);
  PyGILState_Release(state);
  return status;
}

void lk_fill_host(lockstep_host* table, void* host) {
  memset(table, 0, sizeof(*table));
  table->struct_size = sizeof(*table);
  table->data = host;
  table->name = "pytorch";
  table->version = LOCKSTEP_VERSION;
  table->extension = extension;
  table->log = say;
  table->fail = fail;
  table->scratch = scratch;
  table->mark = mark;
  table->counter = counter;
  table->no_more = no_more;
  table->result_ready = result_ready;
  table->complete = complete;
  table->slot = slot;
  table->subgroup = subgroup;
  table->world = lk_world_of;
}
