#include "unseen_hook.h"

#include <stddef.h>
#include <string.h>

/* A std::type_info. */
typedef struct {
  const void* of_the_class;
  const char* name;
} type_info;

/* pybind11's function_record, version 1. What is NULL here is not looked at of a function that is
 * taken as it is. */
typedef struct {
  const char* texts[3];
  const void* arguments[3];
  const void* call;
  const void* data[3]; /* the function, and its type */
  const void* release;
  uint8_t policy;
  uint8_t flags[2];
  uint16_t counts[3];
  const void* names[3];
  const void* next;
} function_record;

_Static_assert(sizeof(void*) != 8 || offsetof(function_record, next) == 128, "as pybind11's");

enum { kIsStateless = 1 << 2 };

/* What such a function is bound to. Never let go of: a group may have the function until the end.
 */
typedef struct {
  PyObject_HEAD const function_record* record;
  PyObject* otherwise;
} bound_to;

static lk_board* board;
static lk_core_wait* wait;
static uint8_t allreduce;

/* The thread that queues, without Python's lock. */
static void before(const uint8_t* arguments) {
  const uint64_t now = lk_observer_ticks(board->observer);
  lk_board_take(board, now, *arguments == allreduce);
  lk_core_wait_look(wait, now);
}

static PyObject* called_by_python(PyObject* object, PyObject* arguments) {
  return PyObject_CallFunctionObjArgs(((bound_to*)object)->otherwise, arguments, NULL);
}

PyObject* lk_unseen_hook(lk_board* of_board, lk_core_wait* of_wait, const char* type,
                         uint8_t number, PyObject* otherwise) {
  static const type_info type_of_before = {NULL, "PFvRKN4c10d11PreHookArgsEE"};
  static const function_record record = {.data = {(const void*)before, &type_of_before},
                                         .flags = {kIsStateless}};
  static PyType_Slot slots[] = {{0, NULL}};
  /* The type has the name for as long as it lives. */
  PyType_Spec spec = {strdup(type), sizeof(bound_to), 0, Py_TPFLAGS_DEFAULT, slots};
  PyTypeObject* made =
      spec.name == NULL ? (PyTypeObject*)PyErr_NoMemory() : (PyTypeObject*)PyType_FromSpec(&spec);
  if (made == NULL) {
    return NULL;
  }
  bound_to* self = (bound_to*)((allocfunc)PyType_GetSlot(made, Py_tp_alloc))(made, 0);
  if (self == NULL) {
    return NULL;
  }
  board = of_board;
  wait = of_wait;
  allreduce = number;
  self->record = &record;
  self->otherwise = otherwise;
  Py_INCREF(otherwise);
  static PyMethodDef method = {"unseen", called_by_python, METH_O, "a group's pre-hook"};
  return PyCFunction_NewEx(&method, (PyObject*)self, NULL);
}
