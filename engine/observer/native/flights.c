#include "flights.h"

#include "flight_futures.h"
#include "gloo_threads.h"
#include "unseen_hook.h"

enum { kGradientReady = 30, kFinalize = 36 };

/* Names of methods, made once. */
static PyObject *s_numel, *s_element_size, *s_op_id, *s_name, *s_input_tensors, *s_output_tensors,
    *s_work, *s_get_future;

/* The sum of what a method without arguments returns for each tensor of a list, times another. */
static int size_of(PyObject* tensors, uint64_t* elements, uint64_t* bytes) {
  *elements = *bytes = 0;
  const Py_ssize_t count = PyList_Size(tensors);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* tensor = PyList_GetItem(tensors, i);
    PyObject* numel = PyObject_CallMethodObjArgs(tensor, s_numel, NULL);
    PyObject* size = PyObject_CallMethodObjArgs(tensor, s_element_size, NULL);
    if (numel != NULL && size != NULL) {
      const uint64_t n = PyLong_AsUnsignedLongLong(numel);
      *elements += n;
      *bytes += n * PyLong_AsUnsignedLongLong(size);
    }
    Py_XDECREF(numel);
    Py_XDECREF(size);
    if (PyErr_Occurred() != NULL) {
      return 0;
    }
  }
  return count >= 0;
}

static long long key_of(PyObject* args) {
  PyObject* number = PyObject_GetAttr(args, s_op_id);
  const long long key = number == NULL ? -1 : PyLong_AsLongLong(number);
  Py_XDECREF(number);
  return key;
}

/* What goes wrong here is none of the job's: the collective is not told of. */
static PyObject* nothing(void) {
  PyErr_Clear();
  Py_RETURN_NONE;
}

/* What a call returned, which is none of the job's either. */
static void drop(PyObject* result) {
  if (result == NULL) {
    PyErr_Clear();
  }
  Py_XDECREF(result);
}

/* Gives the group its post-hook where there is an end to follow by an operation's work, or takes it
 * where there is none. */
static void want_after(lk_flights* self, int wants) {
  if (self->want_after != NULL && self->has_after != wants &&
      lk_board_follows(&self->board) == wants) {
    self->has_after = wants;
    drop(PyObject_CallFunctionObjArgs(self->want_after, wants ? Py_True : Py_False, NULL));
  }
}

/* Gives the group the pre-hook that does not look, or the one that does. */
static void want_unseen(lk_flights* self, int wants) {
  if (self->turns != NULL && self->has_unseen != wants) {
    self->has_unseen = wants;
    drop(PyObject_CallFunctionObjArgs(PyTuple_GetItem(self->turns, 0),
                                      PyTuple_GetItem(self->turns, 1),
                                      PyTuple_GetItem(self->turns, wants ? 2 : 3), NULL));
  }
}

/* before(args): a group's pre-hook; returns the place of the flight, or None */
static PyObject* flights_before(PyObject* object, PyObject* args) {
  lk_flights* self = (lk_flights*)object;
  const uint64_t now = lk_observer_ticks(self->board.observer);
  PyObject* name = PyObject_GetAttr(args, s_name);
  PyObject* number = name == NULL ? NULL : PyObject_GetItem(self->operations, name);
  Py_XDECREF(name);
  const long operation = number == NULL ? 0 : PyLong_AsLong(number);
  Py_XDECREF(number);
  if (operation <= 0) {
    return nothing();
  }
  PyObject* tensors = PyObject_GetAttr(args, s_input_tensors);
  if (tensors != NULL && PyList_Size(tensors) == 0) {
    Py_DECREF(tensors);
    tensors = PyObject_GetAttr(args, s_output_tensors);
  }
  uint64_t elements = 0;
  uint64_t bytes = 0;
  const int known = tensors != NULL && size_of(tensors, &elements, &bytes);
  Py_XDECREF(tensors);
  const long long key = key_of(args);
  lk_flight* flight = known && key >= 0
                          ? lk_board_begin(&self->board, key, now, (uint8_t)operation, bytes,
                                           lk_board_bucket_of(&self->board, operation, elements))
                          : NULL;
  if (flight == NULL) {
    return nothing();
  }
  want_after(self, 1);
  lk_core_wait_look(lk_core_wait_of(self->memory), now);
  return PyLong_FromLong((long)(flight - self->board.open));
}

static void keep(PyObject** place, PyObject* object) {
  PyObject* before = *place;
  Py_INCREF(object);
  *place = object;
  Py_XDECREF(before);
}

/* by_need(callable): what gives the group its post-hook where it is called with True: within the
 * pre-hook of an operation that needs it, since PyTorch looks for post-hooks when the operation has
 * been issued. With False it takes it: as a backward begins to which it would be of no use. */
static PyObject* flights_by_need(PyObject* object, PyObject* callable) {
  keep(&((lk_flights*)object)->want_after, callable);
  Py_RETURN_NONE;
}

/* unseen(type's name, number of an allreduce, hook of Python's) -> the pre-hook that does not look,
 * or is that of Python's: lk_unseen_hook() */
static PyObject* flights_unseen(PyObject* object, PyObject* args) {
  lk_flights* self = (lk_flights*)object;
  const char* type = NULL;
  unsigned char allreduce = 0;
  PyObject* otherwise = NULL;
  if (!PyArg_ParseTuple(args, "sbO", &type, &allreduce, &otherwise)) {
    return NULL;
  }
  return lk_unseen_hook(&self->board, lk_core_wait_of(self->memory), type, allreduce, otherwise);
}

/* by_turns(register, number, unseen, before): has the group given the one pre-hook by
 * register(number, unseen) for a backward whose operations need not be looked at, and the other
 * as that ends. by_turns(): no more. */
static PyObject* flights_by_turns(PyObject* object, PyObject* turns) {
  lk_flights* self = (lk_flights*)object;
  const Py_ssize_t count = PyTuple_Size(turns);
  if (count != 0 && count != 4) {
    PyErr_SetString(PyExc_TypeError, "by_turns() takes what registers, a number and two hooks");
    return NULL;
  }
  if (count == 0) {
    Py_CLEAR(self->turns);
  } else {
    keep(&self->turns, turns);
  }
  self->has_unseen = 0;
  Py_RETURN_NONE;
}

static PyObject* flights_after(PyObject* object, PyObject* args) {
  lk_flights* self = (lk_flights*)object;
  if (!lk_board_follows(&self->board)) {
    Py_RETURN_NONE;
  }
  const long long key = key_of(args);
  lk_flight* flight = key < 0 ? NULL : lk_board_find(&self->board, key);
  PyObject* work = flight == NULL ? NULL : PyObject_GetAttr(args, s_work);
  if (work == NULL) {
    return nothing();
  }
  PyObject* future = work == Py_None ? NULL : PyObject_CallMethodObjArgs(work, s_get_future, NULL);
  /* A reduce-scatter's work may have none: then it ends, as far as we know, where it was issued.
   * What it does from there on may be an allreduce, which is not to be taken for another. */
  if (future == NULL || !lk_end_with(self, flight, future)) {
    lk_board_hear(&self->board, 0);
    lk_board_end(&self->board, flight);
  }
  Py_XDECREF(future);
  Py_DECREF(work);
  return nothing();
}

/* begin(bucket, bytes, tensor) -> place: of a communication hook, which knows its bucket */
static PyObject* flights_begin(PyObject* object, PyObject* args) {
  lk_flights* self = (lk_flights*)object;
  int bucket = -1;
  unsigned long long bytes = 0;
  PyObject* tensor = NULL; /* for those who ask where it is */
  if (!PyArg_ParseTuple(args, "iKO", &bucket, &bytes, &tensor)) {
    return NULL;
  }
  const uint64_t now = lk_observer_ticks(self->board.observer);
  const lk_flight* flight = lk_board_begin(&self->board, 0, now, kAllreduce, bytes, bucket);
  if (flight == NULL) {
    return PyLong_FromLong(-1);
  }
  lk_core_wait_look(lk_core_wait_of(self->memory), now);
  return PyLong_FromLong((long)(flight - self->board.open));
}

/* Takes (place, future); the future is borrowed. Returns 0 where that is not what was given. */
static int flight_and_future(lk_flights* self, PyObject* args, lk_flight** flight,
                             PyObject** future) {
  int place = -1;
  if (!PyArg_ParseTuple(args, "iO", &place, future)) {
    return 0;
  }
  *flight = lk_board_at(&self->board, place);
  return 1;
}

/* follow(place, future) */
static PyObject* flights_follow(PyObject* object, PyObject* args) {
  lk_flights* self = (lk_flights*)object;
  lk_flight* flight = NULL;
  PyObject* future = NULL;
  if (!flight_and_future(self, args, &flight, &future) ||
      (flight != NULL && !lk_end_with(self, flight, future))) {
    return NULL;
  }
  Py_RETURN_NONE;
}

/* result(place, future) -> future of the one tensor; with it ends what is in the place, -1: nothing */
static PyObject* flights_result(PyObject* object, PyObject* args) {
  lk_flights* self = (lk_flights*)object;
  lk_flight* flight = NULL;
  PyObject* future = NULL;
  return flight_and_future(self, args, &flight, &future) ? lk_result_of(self, flight, future)
                                                         : NULL;
}

/* landed(place) -> (sequence, step, bucket, operation, bytes), or None where it has ended: a device
 * goes on with it, in its own time */
static PyObject* flights_landed(PyObject* object, PyObject* number) {
  lk_flights* self = (lk_flights*)object;
  const long place = PyLong_AsLong(number);
  if (PyErr_Occurred() != NULL) {
    return NULL;
  }
  lk_flight* flight = lk_board_at(&self->board, place);
  if (flight == NULL || flight->key < 0) {
    Py_RETURN_NONE;
  }
  PyObject* told = Py_BuildValue("(IIiiK)", flight->sequence, flight->step, (int)flight->bucket,
                                 (int)flight->operation, (unsigned long long)flight->bytes);
  lk_board_land(&self->board, flight);
  return told;
}

/* flew((sequence, step, bucket, operation, bytes), queued, ended): what landed, by its device */
static PyObject* flights_flew(PyObject* object, PyObject* args) {
  lk_flight flight = {0};
  int bucket = 0;
  int operation = 0;
  unsigned long long bytes = 0;
  unsigned long long queued = 0;
  unsigned long long ended = 0;
  if (!PyArg_ParseTuple(args, "(IIiiK)KK", &flight.sequence, &flight.step, &bucket, &operation,
                        &bytes, &queued, &ended)) {
    return NULL;
  }
  flight.bucket = (uint16_t)bucket;
  flight.operation = (uint8_t)operation;
  flight.bytes = bytes;
  lk_board_flew(&((lk_flights*)object)->board, &flight, queued, ended);
  Py_RETURN_NONE;
}

/* place_of(args) -> where the flight of a post-hook's operation is, or None */
static PyObject* flights_place_of(PyObject* object, PyObject* args) {
  lk_flights* self = (lk_flights*)object;
  const long long key = key_of(args);
  const lk_flight* flight = key < 0 ? NULL : lk_board_find(&self->board, key);
  return flight == NULL ? nothing() : PyLong_FromLong((long)(flight - self->board.open));
}

/* expect(elements): of the buckets that a backward will reduce, in their order; [] for none */
static PyObject* flights_expect(PyObject* object, PyObject* elements) {
  lk_board* board = &((lk_flights*)object)->board;
  const Py_ssize_t count = PyList_Size(elements);
  if (count < 0) {
    return NULL;
  }
  static uint64_t expected[kBuckets]; /* one thread at a time has the interpreter */
  const int known = (int)(count < kBuckets ? count : kBuckets);
  for (int i = 0; i < known; ++i) {
    expected[i] = PyLong_AsUnsignedLongLong(PyList_GetItem(elements, i));
  }
  lk_board_expect(board, expected, known);
  if (known > 0) {
    want_after((lk_flights*)object, 0);
  }
  want_unseen((lk_flights*)object, lk_board_assumes(board));
  return PyErr_Occurred() != NULL ? NULL : (Py_INCREF(Py_None), Py_None);
}

/* hook_begins(bucket, bytes) -> number of the call, -1 where it is not told of */
static PyObject* flights_hook_begins(PyObject* object, PyObject* args) {
  int bucket = -1;
  unsigned long long bytes = 0;
  if (!PyArg_ParseTuple(args, "iK", &bucket, &bytes)) {
    return NULL;
  }
  return PyLong_FromLong(lk_board_hook_begins(&((lk_flights*)object)->board, bucket, bytes));
}

/* hook_returns(call, future): with the future of its result, or None where it failed */
static PyObject* flights_hook_returns(PyObject* object, PyObject* args) {
  lk_flights* self = (lk_flights*)object;
  int call = -1;
  PyObject* future = NULL;
  if (!PyArg_ParseTuple(args, "iO", &call, &future)) {
    return NULL;
  }
  call = call < kOpen ? call : -1;
  const int follows = call >= 0 && future != Py_None && lk_hook_ends_with(self, call, future);
  lk_board_hook_returns(&self->board, call, !follows);
  return PyErr_Occurred() != NULL ? NULL : (Py_INCREF(Py_None), Py_None);
}

/* tell_backward(lane, origin, end, ns, buckets, tells_buckets): what a backward that ended at `end`
 * did with its gradients and buckets. `ns`: when each parameter's gradient was ready, counted from
 * `origin`, 0 or less for never, [] where PyTorch does not say; `buckets`: the bucket of each
 * parameter; `tells_buckets`: false where a device will tell of them. */
static PyObject* flights_tell_backward(PyObject* object, PyObject* args) {
  lk_flights* self = (lk_flights*)object;
  lk_board* board = &self->board;
  unsigned number = 0;
  unsigned long long origin = 0;
  unsigned long long end = 0;
  PyObject* times = NULL;
  PyObject* buckets = NULL;
  int tells_buckets = 1;
  if (!PyArg_ParseTuple(args, "IKKOOp", &number, &origin, &end, &times, &buckets, &tells_buckets)) {
    return NULL;
  }
  lk_lane* lane = lk_lane_of(self->memory, number);
  const Py_ssize_t count = lane == NULL ? -1 : PyList_Size(times);
  if (count < 0 || PyList_Size(buckets) < count) {
    if (PyErr_Occurred() == NULL) {
      PyErr_SetString(PyExc_ValueError, "a bucket is missing");
    }
    return NULL;
  }
  static uint64_t ready[kBuckets]; /* one thread at a time has the interpreter */
  for (int i = 0; i < board->next; ++i) {
    ready[i] = 0;
  }
  const double ticks_per_ns = (double)lk_observer_ticks_of(board->observer, 1000000000) / 1e9;
  uint64_t last = origin;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const long long ns = PyLong_AsLongLong(PyList_GetItem(times, i));
    const unsigned long bucket = PyLong_AsUnsignedLong(PyList_GetItem(buckets, i));
    if (PyErr_Occurred() != NULL) {
      return NULL;
    }
    if (ns > 0) {
      const uint64_t at = origin + (uint64_t)((double)ns * ticks_per_ns);
      lk_lane_span(lane, kGradientReady, at, at, board->step, (uint16_t)bucket, (uint64_t)i, 0);
      last = at > last ? at : last;
      if (bucket < (unsigned long)board->next && at > ready[bucket]) {
        ready[bucket] = at;
      }
    }
  }
  if (tells_buckets) {
    lk_board_tell_buckets(board, lane, ready, last, end);
    if (count > 0 && end > last) {
      lk_lane_span(lane, kFinalize, last, end, board->step, LK_NO_BUCKET, 0, 0);
    }
  }
  Py_RETURN_NONE;
}

/* listen(addresses of lk_recorded_functions, in their order): Note [Recorded functions] */
static PyObject* flights_listen(PyObject* object, PyObject* args) {
  unsigned long long add = 0;
  unsigned long long remove = 0;
  unsigned long long state = 0;
  unsigned long long name_of = 0;
  if (!PyArg_ParseTuple(args, "KKKK", &add, &remove, &state, &name_of)) {
    return NULL;
  }
  const lk_recorded_functions functions = {(uintptr_t)add, (uintptr_t)remove, (uintptr_t)state,
                                           (uintptr_t)name_of};
  if (!lk_gloo_listen(&((lk_flights*)object)->board, &functions)) {
    Py_RETURN_NONE;
  }
  return PyUnicode_FromString(LK_GLOO_PROBE);
}

static PyObject* flights_probes(PyObject* object, PyObject* unused) {
  (void)object;
  (void)unused;
  return PyLong_FromLong(lk_gloo_probes());
}

static PyObject* flights_hear(PyObject* object, PyObject* hears) {
  lk_board_hear(&((lk_flights*)object)->board, PyObject_IsTrue(hears) == 1);
  Py_RETURN_NONE;
}

static PyObject* flights_waited(PyObject* object, PyObject* unused) {
  (void)unused;
  want_unseen((lk_flights*)object, 0);
  return PyBool_FromLong(lk_board_waited(&((lk_flights*)object)->board));
}

static PyObject* flights_set_step(PyObject* object, PyObject* step) {
  ((lk_flights*)object)->board.step = (uint32_t)PyLong_AsUnsignedLong(step);
  return PyErr_Occurred() != NULL ? NULL : (Py_INCREF(Py_None), Py_None);
}

/* busy() -> whether a thread of the group has still to tell of an end, or to let go of a callback
 */
static PyObject* flights_busy(PyObject* object, PyObject* unused) {
  (void)unused;
  const lk_flights* self = (const lk_flights*)object;
  return PyBool_FromLong(self->board.open_count > 0 || self->held > 0);
}

/* Flights(memory, backend's name, lanes, group, its ranks, operations, add_done_callback,
 * subgroup's lane) */
static PyObject* flights_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  PyObject* memory = NULL;
  const char* name = NULL;
  int lanes = 1;
  unsigned group = 0;
  unsigned ranks = 0;
  PyObject* operations = NULL;
  PyObject* add_done_callback = NULL;
  const char* own_lane = NULL;
  if (!PyArg_ParseTuple(args, "OsiIIOOz", &memory, &name, &lanes, &group, &ranks,
                        &operations, &add_done_callback, &own_lane)) {
    return NULL;
  }
  lk_observer* observer = lk_observer_of(memory);
  if (observer == NULL) {
    return NULL;
  }
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  lk_flights* self = (lk_flights*)allocate(type, 0);
  if (self == NULL) {
    return NULL;
  }
  lk_board_make(&self->board, observer, name, lanes, group, ranks, own_lane);
  Py_INCREF(memory);
  Py_INCREF(operations);
  Py_INCREF(add_done_callback);
  self->memory = memory;
  self->operations = operations;
  self->add_done_callback = add_done_callback;
  return (PyObject*)self;
}

/* It lives as long as the process: callbacks of other threads may come until the end. */
static PyMethodDef methods[] = {
    {"before", flights_before, METH_O, "before(args) -> place or None: a group's pre-hook"},
    {"after", flights_after, METH_O, "after(args): a group's post-hook"},
    {"by_need", flights_by_need, METH_O,
     "by_need(what registers after as the post-hook, called with whether it is needed)"},
    {"unseen", flights_unseen, METH_VARARGS,
     "unseen(type, allreduce, otherwise) -> a pre-hook that does not look"},
    {"by_turns", flights_by_turns, METH_VARARGS,
     "by_turns(what registers a pre-hook, its number, unseen, before)"},
    {"place_of", flights_place_of, METH_O, "place_of(args of a post-hook) -> place or None"},
    {"landed", flights_landed, METH_O, "landed(place) -> what it was, or None"},
    {"flew", flights_flew, METH_VARARGS, "flew(what landed, queued, ended)"},
    {"begin", flights_begin, METH_VARARGS, "begin(bucket, bytes, tensor) -> place"},
    {"follow", flights_follow, METH_VARARGS, "follow(place, future)"},
    {"result", flights_result, METH_VARARGS, "result(place or -1, future) -> future of its tensor"},
    {"expect", flights_expect, METH_O, "expect(elements of each bucket)"},
    {"hook_begins", flights_hook_begins, METH_VARARGS, "hook_begins(bucket, bytes) -> call"},
    {"hook_returns", flights_hook_returns, METH_VARARGS, "hook_returns(call, future or None)"},
    {"tell_backward", flights_tell_backward, METH_VARARGS,
     "tell_backward(lane, origin, end, ns, buckets, tells_buckets)"},
    {"waited", flights_waited, METH_NOARGS,
     "waited() -> whether what was taken unseen for buckets was as many as those: DDP has waited"},
    {"set_step", flights_set_step, METH_O, "set_step(step)"},
    {"listen", flights_listen, METH_VARARGS,
     "listen(addresses of lk_recorded_functions) -> name of a probe, or None"},
    {"probes", flights_probes, METH_NOARGS,
     "probes() -> how often the probe was heard to begin or end"},
    {"hear", flights_hear, METH_O, "hear(whether threads of Gloo's are heard from now on)"},
    {"busy", flights_busy, METH_NOARGS, "busy() -> whether its threads need the interpreter"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Flights(memory, name, lanes, group, operations, add_done_callback)"},
    {Py_tp_new, flights_new},
    {Py_tp_methods, methods},
    {0, NULL}};

static PyType_Spec spec = {"lockstep._native.Flights", sizeof(lk_flights), 0, Py_TPFLAGS_DEFAULT,
                           slots};

PyObject* lk_flights_type(void) {
  struct {
    PyObject** into;
    const char* text;
  } names[] = {{&s_numel, "numel"},
               {&s_element_size, "element_size"},
               {&s_op_id, "op_id"},
               {&s_name, "name"},
               {&s_input_tensors, "input_tensors"},
               {&s_output_tensors, "output_tensors"},
               {&s_work, "work"},
               {&s_get_future, "get_future"}};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    *names[i].into = PyUnicode_InternFromString(names[i].text);
    if (*names[i].into == NULL) {
      return NULL;
    }
  }
  return lk_prepare_futures() ? PyType_FromSpec(&spec) : NULL;
}
