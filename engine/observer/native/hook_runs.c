/* Buckets and runs as a plugin sees them. */

#include "hook_host.h"

#include <stdlib.h>
#include <string.h>

/* The arrays that a lockstep_bucket points to: of one bucket of one layout. */
typedef struct {
  PyObject_HEAD uint32_t index, bucket_count, params;
  uint64_t layout;
  uint32_t* ids;
  uint32_t* dims;
  int64_t* offsets;
  int64_t* lengths;
  int64_t** shapes;
} Bucket;

typedef struct {
  PyObject_HEAD lockstep_run raw;
  lockstep_bucket bucket;
  PyObject* shown; /* the Bucket, or null */
} Run;

static PyObject* bucket_type;
static PyObject* run_type;

static int fill_dims(Bucket* self, uint32_t i, PyObject* shape) {
  const Py_ssize_t dims = PyList_Size(shape);
  if (dims < 0) {
    return 0;
  }
  self->dims[i] = (uint32_t)dims;
  self->shapes[i] = calloc((size_t)dims + 1, sizeof(int64_t));
  for (Py_ssize_t j = 0; self->shapes[i] != NULL && j < dims; ++j) {
    self->shapes[i][j] = PyLong_AsLongLong(PyList_GetItem(shape, j));
  }
  return self->shapes[i] != NULL && PyErr_Occurred() == NULL;
}

static int fill(Bucket* self, PyObject* ids, PyObject* offsets, PyObject* lengths,
                PyObject* shapes) {
  const Py_ssize_t count = PyList_Size(ids);
  if (count < 0 || PyList_Size(offsets) != count || PyList_Size(lengths) != count ||
      PyList_Size(shapes) != count) {
    PyErr_SetString(PyExc_ValueError, "a bucket's lists differ in length");
    return 0;
  }
  const size_t room = (size_t)count + 1;
  self->ids = calloc(room, sizeof(*self->ids));
  self->dims = calloc(room, sizeof(*self->dims));
  self->offsets = calloc(room, sizeof(*self->offsets));
  self->lengths = calloc(room, sizeof(*self->lengths));
  self->shapes = calloc(room, sizeof(*self->shapes));
  if (self->ids == NULL || self->dims == NULL || self->offsets == NULL || self->lengths == NULL ||
      self->shapes == NULL) {
    PyErr_NoMemory();
    return 0;
  }
  self->params = (uint32_t)count;
  for (Py_ssize_t i = 0; i < count; ++i) {
    self->ids[i] = (uint32_t)PyLong_AsUnsignedLong(PyList_GetItem(ids, i));
    self->offsets[i] = PyLong_AsLongLong(PyList_GetItem(offsets, i));
    self->lengths[i] = PyLong_AsLongLong(PyList_GetItem(lengths, i));
    if (PyErr_Occurred() != NULL || !fill_dims(self, (uint32_t)i, PyList_GetItem(shapes, i))) {
      return 0;
    }
  }
  return 1;
}

static PyObject* bucket_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  unsigned index = 0;
  unsigned count = 0;
  unsigned long long layout = 0;
  PyObject* ids = NULL;
  PyObject* offsets = NULL;
  PyObject* lengths = NULL;
  PyObject* shapes = NULL;
  if (!PyArg_ParseTuple(args, "IIKOOOO", &index, &count, &layout, &ids, &offsets, &lengths,
                        &shapes)) {
    return NULL;
  }
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Bucket* self = (Bucket*)allocate(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->index = index;
  self->bucket_count = count;
  self->layout = layout;
  if (!fill(self, ids, offsets, lengths, shapes)) {
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject*)self;
}

static void free_object(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(object);
  Py_DECREF(type);
}

static void bucket_dealloc(PyObject* object) {
  Bucket* self = (Bucket*)object;
  for (uint32_t i = 0; self->shapes != NULL && i < self->params; ++i) {
    free(self->shapes[i]);
  }
  free(self->shapes);
  free(self->lengths);
  free(self->offsets);
  free(self->dims);
  free(self->ids);
  free_object(object);
}

static PyObject* run_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)args;
  (void)kwargs;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Run* self = (Run*)allocate(type, 0);
  if (self != NULL) {
    self->raw.self = (PyObject*)self;
  }
  return (PyObject*)self;
}

static void run_dealloc(PyObject* object) {
  Py_XDECREF(((Run*)object)->shown);
  free_object(object);
}

static int is_a(PyObject* object, PyObject* type, const char* what) {
  if (!PyObject_TypeCheck(object, (PyTypeObject*)type)) {
    PyErr_Format(PyExc_TypeError, "this is no %s", what);
    return 0;
  }
  return 1;
}

lockstep_run* lk_run_of(PyObject* run) {
  return is_a(run, run_type, "run") ? &((Run*)run)->raw : NULL;
}

const lockstep_bucket* lk_run_show(PyObject* run, PyObject* bucket, uint32_t flags, uint64_t step,
                                   double divisor, const lockstep_buffer* flat) {
  if (!is_a(run, run_type, "run") || !is_a(bucket, bucket_type, "bucket")) {
    return NULL;
  }
  Run* self = (Run*)run;
  const Bucket* shown = (const Bucket*)bucket;
  Py_INCREF(bucket);
  Py_XDECREF(self->shown);
  self->shown = bucket;
  lockstep_bucket* raw = &self->bucket;
  memset(raw, 0, sizeof(*raw));
  raw->struct_size = sizeof(*raw);
  raw->index = shown->index;
  raw->count = shown->bucket_count;
  raw->flags = flags;
  raw->step = step;
  raw->layout = shown->layout;
  raw->divisor = divisor;
  raw->flat = *flat;
  raw->param_count = shown->params;
  raw->param_ids = shown->ids;
  raw->offsets = shown->offsets;
  raw->lengths = shown->lengths;
  raw->dims = shown->dims;
  raw->shapes = (const int64_t* const*)shown->shapes;
  return raw;
}

static PyType_Slot bucket_slots[] = {
    {Py_tp_doc, "Bucket(index, count, layout, ids, offsets, lengths, shapes)"},
    {Py_tp_new, bucket_new},
    {Py_tp_dealloc, bucket_dealloc},
    {0, NULL}};

static PyType_Spec bucket_spec = {"lockstep._hook_host.Bucket", sizeof(Bucket), 0,
                                  Py_TPFLAGS_DEFAULT, bucket_slots};

static PyObject* run_address(PyObject* object, PyObject* unused) {
  (void)unused;
  return PyLong_FromUnsignedLongLong((unsigned long long)(uintptr_t)&((Run*)object)->raw);
}

static PyMethodDef run_methods[] = {
    {"address", run_address, METH_NOARGS, "address() -> what the plugin holds"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot run_slots[] = {{Py_tp_doc, "Run(): one call of a hook, until it completes"},
                                  {Py_tp_new, run_new},
                                  {Py_tp_dealloc, run_dealloc},
                                  {Py_tp_methods, run_methods},
                                  {0, NULL}};

/* A session derives from it, to keep what it knows of a run with it. */
static PyType_Spec run_spec = {"lockstep._hook_host.Run", sizeof(Run), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, run_slots};

PyObject* lk_bucket_type(void) {
  bucket_type = PyType_FromSpec(&bucket_spec);
  return bucket_type;
}

PyObject* lk_run_type(void) {
  run_type = PyType_FromSpec(&run_spec);
  return run_type;
}
