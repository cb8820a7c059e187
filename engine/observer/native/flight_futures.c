#include "flight_futures.h"

#include <stdlib.h>

static PyObject *s_value, *s_then;

/* What a future calls: for the flight, or for the hook's call, in a place. */
typedef struct {
  lk_flights* flights;
  int place;
  uint32_t life;
} Callback;

static void callback_released(PyObject* capsule) {
  Callback* callback = PyCapsule_GetPointer(capsule, NULL);
  if (callback != NULL) {
    --callback->flights->held;
    Py_DECREF((PyObject*)callback->flights);
    free(callback);
  }
}

/* A function that is called with its Callback's capsule. */
static PyObject* callback_of(lk_flights* self, PyMethodDef* method, int place, uint32_t life) {
  Callback* callback = malloc(sizeof(*callback));
  if (callback == NULL) {
    return PyErr_NoMemory();
  }
  callback->flights = self;
  callback->place = place;
  callback->life = life;
  PyObject* capsule = PyCapsule_New(callback, NULL, callback_released);
  if (capsule == NULL) {
    free(callback);
    return NULL;
  }
  Py_INCREF((PyObject*)self);
  ++self->held;
  PyObject* function = PyCFunction_New(method, capsule);
  Py_DECREF(capsule);
  return function;
}

static int call_when_done(lk_flights* self, PyMethodDef* method, int place, uint32_t life,
                          PyObject* future) {
  PyObject* callback = callback_of(self, method, place, life);
  PyObject* done = callback == NULL ? NULL
                                    : PyObject_CallFunctionObjArgs(self->add_done_callback, future,
                                                                   callback, NULL);
  Py_XDECREF(callback);
  Py_XDECREF(done);
  return done != NULL;
}

/* The flight that a callback was made for; NULL where it has ended. */
static lk_flight* flight_in(lk_board* board, int place, uint32_t life) {
  lk_flight* flight = lk_board_at(board, place);
  return flight != NULL && flight->key >= 0 && flight->life == life ? flight : NULL;
}

static void end(PyObject* capsule) {
  const Callback* callback = PyCapsule_GetPointer(capsule, NULL);
  lk_board* board = &callback->flights->board;
  lk_flight* flight = flight_in(board, callback->place, callback->life);
  if (flight != NULL) {
    lk_board_end(board, flight);
  }
}

static PyObject* ended(PyObject* capsule, PyObject* future) {
  (void)future;
  end(capsule);
  Py_RETURN_NONE;
}
static PyMethodDef ended_method = {"ended", ended, METH_O, NULL};

static PyObject* ended_with(PyObject* capsule, PyObject* future) {
  end(capsule);
  PyObject* values = PyObject_CallMethodObjArgs(future, s_value, NULL);
  PyObject* first = values == NULL ? NULL : PySequence_GetItem(values, 0);
  Py_XDECREF(values);
  return first;
}
static PyMethodDef ended_with_method = {"ended_with", ended_with, METH_O, NULL};

static PyObject* hook_done(PyObject* capsule, PyObject* future) {
  (void)future;
  const Callback* callback = PyCapsule_GetPointer(capsule, NULL);
  lk_board_hook_done(&callback->flights->board, callback->place, callback->life);
  Py_RETURN_NONE;
}
static PyMethodDef hook_done_method = {"hook_done", hook_done, METH_O, NULL};

int lk_end_with(lk_flights* flights, const lk_flight* flight, PyObject* future) {
  return call_when_done(flights, &ended_method, (int)(flight - flights->board.open), flight->life,
                        future);
}

int lk_hook_ends_with(lk_flights* flights, int call, PyObject* future) {
  return call_when_done(flights, &hook_done_method, call, flights->board.calls[call].life, future);
}

PyObject* lk_result_of(lk_flights* flights, const lk_flight* flight, PyObject* future) {
  const int place = flight == NULL ? -1 : (int)(flight - flights->board.open);
  PyObject* callback =
      callback_of(flights, &ended_with_method, place, flight == NULL ? 0 : flight->life);
  PyObject* result =
      callback == NULL ? NULL : PyObject_CallMethodObjArgs(future, s_then, callback, NULL);
  Py_XDECREF(callback);
  return result;
}

int lk_prepare_futures(void) {
  s_value = PyUnicode_InternFromString("value");
  s_then = PyUnicode_InternFromString("then");
  return s_value != NULL && s_then != NULL;
}
