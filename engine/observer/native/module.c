/* lockstep._native: observer.h for Python, by the stable ABI of 3.9, so that one build serves every
 * Python since. A step costs a handful of calls: each does all that it can in one go. */

#include <string.h>

#include "core_wait.h"
#include "flights.h"
#include "nccl_link.h"
#include "tensors.h"

typedef struct {
  PyObject_HEAD lk_observer* observer;
  lk_lane* lanes[64];
  unsigned lane_count;
  lk_core_wait core_wait; /* of the thread that tells of phases */
} Memory;

static PyObject* memory_type;

lk_observer* lk_observer_of(PyObject* memory) {
  if (!PyObject_TypeCheck(memory, (PyTypeObject*)memory_type)) {
    PyErr_SetString(PyExc_TypeError, "this is no event memory");
    return NULL;
  }
  return ((Memory*)memory)->observer;
}

static lk_lane* lane_of(Memory* self, unsigned number) {
  if (number >= self->lane_count) {
    PyErr_Format(PyExc_IndexError, "lane %u of %u", number, self->lane_count);
    return NULL;
  }
  return self->lanes[number];
}

lk_core_wait* lk_core_wait_of(PyObject* memory) {
  return &((Memory*)memory)->core_wait;
}

lk_lane* lk_lane_of(PyObject* memory, unsigned number) {
  return lk_observer_of(memory) == NULL ? NULL : lane_of((Memory*)memory, number);
}

static PyObject* memory_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  int fd = -1;
  int is_tsc = 0;
  if (!PyArg_ParseTuple(args, "ip", &fd, &is_tsc)) {
    return NULL;
  }
  const char* why = NULL;
  lk_observer* observer = lk_observer_open(fd, is_tsc ? LK_CLOCK_TSC : LK_CLOCK_MONOTONIC, &why);
  if (observer == NULL) {
    PyErr_SetString(PyExc_OSError, why);
    return NULL;
  }
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Memory* self = (Memory*)allocate(type, 0);
  if (self == NULL) {
    lk_observer_close(observer);
    return NULL;
  }
  self->observer = observer;
  return (PyObject*)self;
}

/* The memory stays mapped: callbacks of other threads may come until the process has ended. */
static void memory_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(object);
  Py_DECREF(type);
}

static PyObject* memory_lane(Memory* self, PyObject* args) {
  const char* name = NULL;
  if (!PyArg_ParseTuple(args, "s", &name)) {
    return NULL;
  }
  if (self->lane_count == sizeof(self->lanes) / sizeof(self->lanes[0])) {
    PyErr_SetString(PyExc_OverflowError, "too many lanes");
    return NULL;
  }
  self->lanes[self->lane_count] = lk_observer_lane(self->observer, name);
  return PyLong_FromUnsignedLong(self->lane_count++);
}

static PyObject* memory_ticks(Memory* self, PyObject* unused) {
  (void)unused;
  return PyLong_FromUnsignedLongLong(lk_observer_ticks(self->observer));
}

static PyObject* memory_ticks_at(Memory* self, PyObject* args) {
  long long ns = 0;
  if (!PyArg_ParseTuple(args, "L", &ns)) {
    return NULL;
  }
  return PyLong_FromUnsignedLongLong(lk_observer_ticks_at(self->observer, ns));
}

static PyObject* memory_ticks_of(Memory* self, PyObject* args) {
  long long ns = 0;
  if (!PyArg_ParseTuple(args, "L", &ns)) {
    return NULL;
  }
  return PyLong_FromUnsignedLongLong(lk_observer_ticks_of(self->observer, ns));
}

/* span(lane, kind, start, end, step, bucket, value, detail) */
static PyObject* memory_span(Memory* self, PyObject* args) {
  unsigned lane = 0;
  unsigned kind = 0;
  unsigned long long start = 0;
  unsigned long long end = 0;
  unsigned step = 0;
  unsigned bucket = LK_NO_BUCKET;
  unsigned long long value = 0;
  unsigned detail = 0;
  if (!PyArg_ParseTuple(args, "IIKKI|IKI", &lane, &kind, &start, &end, &step, &bucket, &value,
                        &detail)) {
    return NULL;
  }
  lk_lane* into = lane_of(self, lane);
  if (into == NULL) {
    return NULL;
  }
  lk_lane_span(into, (uint16_t)kind, start, end, step, (uint16_t)bucket, value, (uint16_t)detail);
  Py_RETURN_NONE;
}

/* ends(lane, kind, start, step, ...) -> end: a span that ends now */
static PyObject* memory_ends(Memory* self, PyObject* args) {
  unsigned lane = 0;
  unsigned kind = 0;
  unsigned long long start = 0;
  unsigned step = 0;
  unsigned bucket = LK_NO_BUCKET;
  unsigned long long value = 0;
  unsigned detail = 0;
  if (!PyArg_ParseTuple(args, "IIKI|IKI", &lane, &kind, &start, &step, &bucket, &value, &detail)) {
    return NULL;
  }
  lk_lane* into = lane_of(self, lane);
  if (into == NULL) {
    return NULL;
  }
  const uint64_t end = lk_observer_ticks(self->observer);
  lk_lane_span(into, (uint16_t)kind, start, end, step, (uint16_t)bucket, value, (uint16_t)detail);
  return PyLong_FromUnsignedLongLong(end);
}

static PyObject* memory_send(Memory* self, PyObject* args) {
  const char* text = NULL;
  Py_ssize_t bytes = 0;
  if (!PyArg_ParseTuple(args, "s#", &text, &bytes)) {
    return NULL;
  }
  return PyBool_FromLong(lk_observer_send(self->observer, text, (size_t)bytes));
}

/* The thread is in a phase of an iteration from now on; returns when that is. */
static uint64_t enter(Memory* self, unsigned phase, unsigned step) {
  const uint64_t now = lk_observer_ticks(self->observer);
  lk_observer_phase(self->observer, (uint16_t)phase, step, now);
  lk_core_wait_enter(&self->core_wait, step);
  return now;
}

static PyObject* memory_enter(Memory* self, PyObject* args) {
  unsigned phase = 0;
  unsigned step = 0;
  if (!PyArg_ParseTuple(args, "II", &phase, &step)) {
    return NULL;
  }
  return PyLong_FromUnsignedLongLong(enter(self, phase, step));
}

/* turn(lane, kind, start, step, phase, its step) -> now: a span that ends as a phase begins */
static PyObject* memory_turn(Memory* self, PyObject* args) {
  unsigned lane = 0;
  unsigned kind = 0;
  unsigned long long start = 0;
  unsigned step = 0;
  unsigned phase = 0;
  unsigned next_step = 0;
  if (!PyArg_ParseTuple(args, "IIKIII", &lane, &kind, &start, &step, &phase, &next_step)) {
    return NULL;
  }
  lk_lane* into = lane_of(self, lane);
  if (into == NULL) {
    return NULL;
  }
  const uint64_t now = enter(self, phase, next_step);
  lk_lane_span(into, (uint16_t)kind, start, now, step, LK_NO_BUCKET, 0, 0);
  return PyLong_FromUnsignedLongLong(now);
}

/* number(lane, kind, step, value): one that stands from now on */
static PyObject* memory_number(Memory* self, PyObject* args) {
  unsigned lane = 0;
  unsigned kind = 0;
  unsigned step = 0;
  double value = 0;
  if (!PyArg_ParseTuple(args, "IIId", &lane, &kind, &step, &value)) {
    return NULL;
  }
  lk_lane* into = lane_of(self, lane);
  if (into == NULL) {
    return NULL;
  }
  const uint64_t now = lk_observer_ticks(self->observer);
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  lk_lane_span(into, (uint16_t)kind, now, now, step, LK_NO_BUCKET, bits, 0);
  Py_RETURN_NONE;
}

/* tell_cores(lane): where who enters a phase tells how long its thread waited for a core */
static PyObject* memory_tell_cores(Memory* self, PyObject* args) {
  unsigned number = 0;
  if (!PyArg_ParseTuple(args, "I", &number)) {
    return NULL;
  }
  lk_lane* lane = lane_of(self, number);
  if (lane == NULL) {
    return NULL;
  }
  lk_core_wait_make(&self->core_wait, self->observer, lane);
  Py_RETURN_NONE;
}

static PyObject* memory_hook(Memory* self, PyObject* args) {
  const char* name = NULL;
  if (!PyArg_ParseTuple(args, "s", &name)) {
    return NULL;
  }
  lk_observer_hook(self->observer, name);
  Py_RETURN_NONE;
}

static PyObject* memory_error(Memory* self, PyObject* args) {
  const char* text = NULL;
  if (!PyArg_ParseTuple(args, "s", &text)) {
    return NULL;
  }
  lk_observer_error(self->observer, text);
  Py_RETURN_NONE;
}

static PyObject* memory_finished(Memory* self, PyObject* unused) {
  (void)unused;
  lk_observer_finished(self->observer);
  Py_RETURN_NONE;
}

static PyObject* memory_trace_requested(Memory* self, PyObject* unused) {
  (void)unused;
  return PyLong_FromUnsignedLong(lk_observer_trace_requested(self->observer));
}

static PyObject* memory_trace_done(Memory* self, PyObject* args) {
  unsigned request = 0;
  if (!PyArg_ParseTuple(args, "I", &request)) {
    return NULL;
  }
  lk_observer_trace_done(self->observer, request);
  Py_RETURN_NONE;
}

static PyObject* memory_waiting(Memory* self, PyObject* args) {
  unsigned number = 0;
  if (!PyArg_ParseTuple(args, "I", &number)) {
    return NULL;
  }
  const lk_lane* lane = lane_of(self, number);
  return lane == NULL ? NULL : PyLong_FromUnsignedLongLong(lk_lane_waiting(lane));
}

static PyMethodDef memory_methods[] = {
    {"trace_requested", (PyCFunction)memory_trace_requested, METH_NOARGS,
     "trace_requested() -> the latest request for a trace"},
    {"trace_done", (PyCFunction)memory_trace_done, METH_VARARGS, "trace_done(request)"},
    {"waiting", (PyCFunction)memory_waiting, METH_VARARGS,
     "waiting(lane) -> events that the recorder has not read"},
    {"lane", (PyCFunction)memory_lane, METH_VARARGS, "lane(name) -> number of a new lane"},
    {"ticks", (PyCFunction)memory_ticks, METH_NOARGS, "ticks() -> now"},
    {"ticks_at", (PyCFunction)memory_ticks_at, METH_VARARGS,
     "ticks_at(ns) -> ticks of an instant of CLOCK_MONOTONIC"},
    {"ticks_of", (PyCFunction)memory_ticks_of, METH_VARARGS, "ticks_of(ns) -> ticks of a duration"},
    {"span", (PyCFunction)memory_span, METH_VARARGS,
     "span(lane, kind, start, end, step, bucket=NONE, value=0, detail=0)"},
    {"ends", (PyCFunction)memory_ends, METH_VARARGS,
     "ends(lane, kind, start, step, bucket=NONE, value=0, detail=0) -> now"},
    {"send", (PyCFunction)memory_send, METH_VARARGS, "send(json) -> whether it fitted"},
    {"enter", (PyCFunction)memory_enter, METH_VARARGS, "enter(phase, step) -> now"},
    {"turn", (PyCFunction)memory_turn, METH_VARARGS,
     "turn(lane, kind, start, step, phase, its step) -> now"},
    {"number", (PyCFunction)memory_number, METH_VARARGS, "number(lane, kind, step, value)"},
    {"tell_cores", (PyCFunction)memory_tell_cores, METH_VARARGS, "tell_cores(lane)"},
    {"hook", (PyCFunction)memory_hook, METH_VARARGS, "hook(name)"},
    {"error", (PyCFunction)memory_error, METH_VARARGS, "error(text)"},
    {"finished", (PyCFunction)memory_finished, METH_NOARGS, "finished()"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot memory_slots[] = {
    {Py_tp_doc, "Memory(fd, is_tsc): the event memory of one process"},
    {Py_tp_new, memory_new},
    {Py_tp_dealloc, memory_dealloc},
    {Py_tp_methods, memory_methods},
    {0, NULL}};

static PyType_Spec memory_spec = {"lockstep._native.Memory", sizeof(Memory), 0, Py_TPFLAGS_DEFAULT,
                                  memory_slots};

static PyMethodDef module_methods[] = {
    {"fingerprints", lk_fingerprints, METH_VARARGS, lk_fingerprints_doc},
    {"tally", lk_tally, METH_VARARGS, lk_tally_doc},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "lockstep._native",
                                        "The event memory of an observed process.",
                                        -1,
                                        module_methods,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

/* Adds a type to the module, and returns it; NULL with an exception on failure. */
static PyObject* add(PyObject* module, const char* name, PyObject* type) {
  if (type == NULL || PyModule_AddObject(module, name, type) != 0) {
    Py_XDECREF(type);
    return NULL;
  }
  return type;
}

PyMODINIT_FUNC PyInit__native(void) {
  PyObject* module = PyModule_Create(&definition);
  if (module == NULL) {
    return NULL;
  }
  memory_type = add(module, "Memory", PyType_FromSpec(&memory_spec));
  if (memory_type == NULL || add(module, "Flights", lk_flights_type()) == NULL ||
      add(module, "Nccl", lk_nccl_type()) == NULL ||
      PyModule_AddIntConstant(module, "ABI", LK_OBSERVER_ABI) != 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
