#include "nccl_link.h"

#include "flights.h"
#include "nccl/nccl_sink.h"

enum { kMostBuckets = 4096 };

typedef struct {
  PyObject_HEAD lk_nccl_step_function step;
  lk_nccl_expect_function expect;
  uint64_t elements[kMostBuckets];
} Nccl;

/* Nccl(memory, attach, step, expect): addresses of the plugin's functions, which Python looks up,
 * since the functions that do so in C are of a newer C library. */
static PyObject* nccl_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  PyObject* memory = NULL;
  unsigned long long attach = 0;
  unsigned long long step = 0;
  unsigned long long expect = 0;
  if (!PyArg_ParseTuple(args, "OKKK", &memory, &attach, &step, &expect)) {
    return NULL;
  }
  lk_observer* observer = lk_observer_of(memory);
  if (observer == NULL) {
    return NULL;
  }
  const lk_nccl_sink sink = {LK_NCCL_ABI,  observer,         lk_observer_lane,
                             lk_lane_span, lk_observer_send, lk_observer_ticks_at};
  if (!((lk_nccl_attach_function)(uintptr_t)attach)(&sink)) {
    PyErr_SetString(PyExc_OSError, "it is of another version of lockstep");
    return NULL;
  }
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Nccl* self = (Nccl*)allocate(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->step = (lk_nccl_step_function)(uintptr_t)step;
  self->expect = (lk_nccl_expect_function)(uintptr_t)expect;
  Py_INCREF(memory);
  return (PyObject*)self;
}

static PyObject* nccl_set_step(PyObject* object, PyObject* number) {
  const unsigned long step = PyLong_AsUnsignedLong(number);
  if (PyErr_Occurred() != NULL) {
    return NULL;
  }
  ((Nccl*)object)->step((uint32_t)step);
  Py_RETURN_NONE;
}

static PyObject* nccl_expect(PyObject* object, PyObject* elements) {
  Nccl* self = (Nccl*)object;
  Py_ssize_t count = PyList_Size(elements);
  if (count < 0) {
    return NULL;
  }
  count = count < kMostBuckets ? count : kMostBuckets;
  for (Py_ssize_t i = 0; i < count; ++i) {
    self->elements[i] = PyLong_AsUnsignedLongLong(PyList_GetItem(elements, i));
  }
  if (PyErr_Occurred() != NULL) {
    return NULL;
  }
  self->expect(self->elements, (int)count);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"set_step", nccl_set_step, METH_O, "set_step(step)"},
                                {"expect", nccl_expect, METH_O, "expect(elements of each bucket)"},
                                {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Nccl(memory, attach, step, expect): NCCL's profiler plugin"},
    {Py_tp_new, nccl_new},
    {Py_tp_methods, methods},
    {0, NULL}};

static PyType_Spec spec = {"lockstep._native.Nccl", sizeof(Nccl), 0, Py_TPFLAGS_DEFAULT, slots};

PyObject* lk_nccl_type(void) {
  return PyType_FromSpec(&spec);
}
