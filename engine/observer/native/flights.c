#include "flights.h"

enum {
  kLanes = 2,
  kOpen = 256,
  kBuckets = 4096,
  kGradientReady = 30,
  kBucketReady = 32,
  kBucketLaunched = 33,
  kWait = 34,
  kFinalize = 36,
  kHookEncode = 50,
  kHookCommunicate = 51,
  kHookDecode = 52,
  kCollectiveQueued = 70,
  kCollective = 71,
  kDerived = 0x4000
};

typedef struct {
  long long key; /* c10d's number of the operation; -1: free */
  uint64_t queued;
  uint64_t latest; /* it had ended by then, whenever we hear of it; 0: not known */
  uint64_t bytes;
  uint32_t step;
  uint32_t sequence;
  uint16_t bucket;
  uint8_t operation;
  uint32_t life; /* so that who was told of an earlier flight of this place is not heard */
} Flight;

typedef struct {
  uint64_t queued;
  uint64_t ended; /* 0: under way, as far as we know */
  uint64_t bytes;
  int place;
  uint32_t life;
} Flown;

/* A call of the user's communication hook, which does not say itself what it does when. */
typedef struct {
  uint64_t given;  /* the bucket, to the hook; 0: no call is open */
  uint64_t queued; /* its first collective; 0: none was seen */
  uint64_t ended;  /* its last one */
  uint64_t bytes;
  uint32_t step;
} HookCall;

typedef struct {
  PyObject_HEAD PyObject* memory;
  PyObject* operations; /* c10d's name of an operation -> its number, 0 for none of ours */
  PyObject* add_done_callback;
  lk_observer* observer;
  lk_lane* queue;
  lk_lane* lanes[kLanes];
  uint64_t free_from[kLanes]; /* Gloo and NCCL do not tell when they began: first in, first out */
  int lane_count;
  unsigned group;
  uint32_t step;
  uint32_t sequence;
  Flight open[kOpen];
  int open_count;
  uint64_t expected[kBuckets]; /* elements of the buckets whose allreduces come, in their order */
  Flown flown[kBuckets];
  int expected_count;
  int next;
  lk_lane* hook_lane; /* NULL until a hook is called */
  HookCall hooks[kBuckets];
  int hooking; /* the bucket whose hook runs now; -1: none */
} Flights;

/* Names of methods, made once. */
static PyObject *s_numel, *s_element_size, *s_op_id, *s_name, *s_input_tensors, *s_output_tensors,
    *s_work, *s_get_future;

static uint64_t collective(const Flight* flight) {
  return (uint64_t)(flight->sequence & 0xFFFFFFu) << 40 | (flight->bytes & UINT64_C(0xFFFFFFFFFF));
}

static uint16_t detail(const Flights* self, const Flight* flight) {
  return (uint16_t)((self->group & 0xFFu) << 8 | flight->operation);
}

static Flight* place_for(Flights* self, long long key) {
  for (int i = 0; i < kOpen; ++i) {
    if (self->open[i].key < 0) {
      self->open[i].key = key;
      return &self->open[i];
    }
  }
  return NULL; /* hundreds under way: this one is not told of */
}

static Flight* flight_of(Flights* self, long long key) {
  for (int i = 0; i < kOpen; ++i) {
    if (self->open[i].key == key) {
      return &self->open[i];
    }
  }
  return NULL;
}

static void tell_oldest(Flights* self) {
  const Flight* oldest = NULL;
  for (int i = 0; i < kOpen && self->open_count > 0; ++i) {
    const Flight* flight = &self->open[i];
    if (flight->key >= 0 && (oldest == NULL || flight->queued < oldest->queued)) {
      oldest = flight;
    }
  }
  if (oldest == NULL) {
    lk_observer_operation(self->observer, 0, LK_NO_BUCKET, 0, 0);
  } else {
    lk_observer_operation(self->observer, oldest->operation, oldest->bucket, oldest->sequence,
                          oldest->queued);
  }
}

static void begin(Flights* self, Flight* flight, uint8_t operation, uint64_t bytes, int bucket) {
  flight->operation = operation;
  flight->bytes = bytes;
  flight->step = self->step;
  flight->sequence = self->sequence++;
  flight->latest = 0;
  flight->bucket = LK_NO_BUCKET;
  ++flight->life;
  ++self->open_count;
  if (self->hooking >= 0) { /* whatever a hook sends is about its bucket */
    bucket = self->hooking;
    HookCall* call = &self->hooks[bucket];
    call->queued = call->queued == 0 ? flight->queued : call->queued;
  }
  if (bucket >= 0 && bucket < kBuckets) {
    flight->bucket = (uint16_t)bucket;
    const Flown flown = {flight->queued, 0, bytes, (int)(flight - self->open), flight->life};
    self->flown[bucket] = flown;
    self->next = bucket + 1;
  }
  lk_lane_span(self->queue, kCollectiveQueued, flight->queued, flight->queued, flight->step,
               flight->bucket, collective(flight), detail(self, flight));
  lk_observer_sent(self->observer, bytes);
  if (self->open_count == 1) {
    tell_oldest(self);
  }
}

static void end(Flights* self, Flight* flight) {
  uint64_t ended = lk_observer_ticks(self->observer);
  /* Who waited for it may have gone on before this thread got the interpreter. */
  if (flight->latest != 0 && flight->latest < ended) {
    ended = flight->latest;
  }
  int lane = 0;
  for (int i = 1; i < self->lane_count; ++i) {
    lane = self->free_from[i] < self->free_from[lane] ? i : lane;
  }
  uint64_t began = flight->queued > self->free_from[lane] ? flight->queued : self->free_from[lane];
  began = began < ended ? began : ended;
  self->free_from[lane] = ended;
  lk_lane_span(self->lanes[lane], kCollective, began, ended, flight->step, flight->bucket,
               collective(flight), detail(self, flight));
  if (flight->bucket < self->next) {
    Flown* flown = &self->flown[flight->bucket];
    if (flown->place == flight - self->open && flown->life == flight->life) {
      flown->ended = ended;
    }
    if (self->hooks[flight->bucket].given != 0) {
      self->hooks[flight->bucket].ended = ended;
    }
  }
  flight->key = -1;
  --self->open_count;
  tell_oldest(self);
}

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

static PyObject* flights_before(PyObject* object, PyObject* args) {
  Flights* self = (Flights*)object;
  const uint64_t now = lk_observer_ticks(self->observer);
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
  Flight* flight = known && key >= 0 ? place_for(self, key) : NULL;
  if (flight == NULL) {
    return nothing();
  }
  flight->queued = now;
  /* The n-th allreduce of a backward with the n-th bucket's number of elements is its. */
  const int is_bucket =
      operation == 2 && self->next < self->expected_count && self->expected[self->next] == elements;
  begin(self, flight, (uint8_t)operation, bytes, is_bucket ? self->next : -1);
  Py_RETURN_NONE;
}

static PyObject* flights_ended(PyObject* bound, PyObject* future);
static PyMethodDef ended_method = {"ended", flights_ended, METH_O, NULL};

/* (flights, place, life): what a future calls when it is done. */
static PyObject* flights_ended(PyObject* bound, PyObject* future) {
  (void)future;
  Flights* self = (Flights*)PyTuple_GetItem(bound, 0);
  const long place = PyLong_AsLong(PyTuple_GetItem(bound, 1));
  const unsigned long life = PyLong_AsUnsignedLong(PyTuple_GetItem(bound, 2));
  Flight* flight = &self->open[place];
  if (flight->key >= 0 && flight->life == life) {
    end(self, flight);
  }
  Py_RETURN_NONE;
}

static int call_when_done(Flights* self, PyMethodDef* method, PyObject* bound, PyObject* future) {
  PyObject* callback = bound == NULL ? NULL : PyCFunction_New(method, bound);
  Py_XDECREF(bound);
  PyObject* done = callback == NULL ? NULL
                                    : PyObject_CallFunctionObjArgs(self->add_done_callback, future,
                                                                   callback, NULL);
  Py_XDECREF(callback);
  Py_XDECREF(done);
  return done != NULL;
}

static int follow(Flights* self, Flight* flight, PyObject* future) {
  PyObject* bound =
      Py_BuildValue("(OiI)", (PyObject*)self, (int)(flight - self->open), (unsigned)flight->life);
  return call_when_done(self, &ended_method, bound, future);
}

static PyObject* flights_after(PyObject* object, PyObject* args) {
  Flights* self = (Flights*)object;
  const long long key = key_of(args);
  Flight* flight = key < 0 ? NULL : flight_of(self, key);
  PyObject* work = flight == NULL ? NULL : PyObject_GetAttr(args, s_work);
  if (work == NULL) {
    return nothing();
  }
  PyObject* future = work == Py_None ? NULL : PyObject_CallMethodObjArgs(work, s_get_future, NULL);
  /* A reduce-scatter's work may have none: then it ends, as far as we know, where it was issued. */
  if (future == NULL || !follow(self, flight, future)) {
    end(self, flight);
  }
  Py_XDECREF(future);
  Py_DECREF(work);
  return nothing();
}

/* begin(bucket, bytes) -> place: of a communication hook, which knows its bucket */
static PyObject* flights_begin(PyObject* object, PyObject* args) {
  Flights* self = (Flights*)object;
  int bucket = -1;
  unsigned long long bytes = 0;
  if (!PyArg_ParseTuple(args, "iK", &bucket, &bytes)) {
    return NULL;
  }
  Flight* flight = place_for(self, 0);
  if (flight == NULL) {
    return PyLong_FromLong(-1);
  }
  flight->queued = lk_observer_ticks(self->observer);
  begin(self, flight, 2, bytes, bucket);
  return PyLong_FromLong((long)(flight - self->open));
}

/* follow(place, future) */
static PyObject* flights_follow(PyObject* object, PyObject* args) {
  Flights* self = (Flights*)object;
  int place = -1;
  PyObject* future = NULL;
  if (!PyArg_ParseTuple(args, "iO", &place, &future)) {
    return NULL;
  }
  if (place >= 0 && place < kOpen && !follow(self, &self->open[place], future)) {
    return NULL;
  }
  Py_RETURN_NONE;
}

/* expect(elements): of the buckets that a backward will reduce, in their order; [] for none */
static PyObject* flights_expect(PyObject* object, PyObject* elements) {
  Flights* self = (Flights*)object;
  const Py_ssize_t count = PyList_Size(elements);
  if (count < 0) {
    return NULL;
  }
  self->expected_count = (int)(count < kBuckets ? count : kBuckets);
  for (int i = 0; i < self->expected_count; ++i) {
    self->expected[i] = PyLong_AsUnsignedLongLong(PyList_GetItem(elements, i));
  }
  self->next = 0;
  return PyErr_Occurred() != NULL ? NULL : (Py_INCREF(Py_None), Py_None);
}

/* hook_begins(bucket, bytes): the user's hook is given its bucket; what it queues is the bucket's
 */
static PyObject* flights_hook_begins(PyObject* object, PyObject* args) {
  Flights* self = (Flights*)object;
  int bucket = -1;
  unsigned long long bytes = 0;
  if (!PyArg_ParseTuple(args, "iK", &bucket, &bytes)) {
    return NULL;
  }
  if (bucket >= 0 && bucket < kBuckets) {
    if (self->hook_lane == NULL) {
      self->hook_lane = lk_observer_lane(self->observer, "hook");
    }
    const HookCall call = {lk_observer_ticks(self->observer), 0, 0, bytes, self->step};
    self->hooks[bucket] = call;
    self->hooking = bucket;
  }
  Py_RETURN_NONE;
}

static PyObject* flights_hook_done(PyObject* bound, PyObject* future) {
  (void)future;
  Flights* self = (Flights*)PyTuple_GetItem(bound, 0);
  const long bucket = PyLong_AsLong(PyTuple_GetItem(bound, 1));
  HookCall* call = &self->hooks[bucket];
  const uint64_t given = call->given;
  if (given == 0) {
    Py_RETURN_NONE;
  }
  const uint64_t now = lk_observer_ticks(self->observer);
  call->given = 0;
  const uint16_t of = (uint16_t)bucket;
  lk_lane* lane = self->hook_lane;
  if (call->queued == 0 || call->ended == 0) { /* it communicates nothing, or by a way of its own */
    lk_lane_span(lane, kHookEncode, given, now, call->step, of, call->bytes, kDerived);
    Py_RETURN_NONE;
  }
  lk_lane_span(lane, kHookEncode, given, call->queued, call->step, of, call->bytes, kDerived);
  lk_lane_span(lane, kHookCommunicate, call->queued, call->ended, call->step, of, call->bytes,
               kDerived);
  lk_lane_span(lane, kHookDecode, call->ended, now, call->step, of, call->bytes, kDerived);
  Py_RETURN_NONE;
}
static PyMethodDef hook_done_method = {"hook_done", flights_hook_done, METH_O, NULL};

/* hook_returns(bucket, future): with the future of its result, or None where it failed */
static PyObject* flights_hook_returns(PyObject* object, PyObject* args) {
  Flights* self = (Flights*)object;
  int bucket = -1;
  PyObject* future = NULL;
  if (!PyArg_ParseTuple(args, "iO", &bucket, &future)) {
    return NULL;
  }
  self->hooking = -1;
  if (bucket >= 0 && bucket < kBuckets && future != Py_None &&
      !call_when_done(self, &hook_done_method, Py_BuildValue("(Oi)", object, bucket), future)) {
    return NULL;
  }
  Py_RETURN_NONE;
}

/* tell_backward(lane, origin, end, ns, buckets): what a backward that ended at `end` did with its
 * gradients and buckets. `ns`: when each parameter's gradient was ready, counted from `origin`, 0
 * or less for never, [] where PyTorch does not say; `buckets`: the bucket of each parameter. */
static PyObject* flights_tell_backward(PyObject* object, PyObject* args) {
  Flights* self = (Flights*)object;
  unsigned number = 0;
  unsigned long long origin = 0;
  unsigned long long end = 0;
  PyObject* times = NULL;
  PyObject* buckets = NULL;
  if (!PyArg_ParseTuple(args, "IKKOO", &number, &origin, &end, &times, &buckets)) {
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
  for (int i = 0; i < self->next; ++i) {
    ready[i] = 0;
  }
  const double ticks_per_ns = (double)lk_observer_ticks_of(self->observer, 1000000000) / 1e9;
  uint64_t last = origin;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const long long ns = PyLong_AsLongLong(PyList_GetItem(times, i));
    const unsigned long bucket = PyLong_AsUnsignedLong(PyList_GetItem(buckets, i));
    if (PyErr_Occurred() != NULL) {
      return NULL;
    }
    if (ns > 0) {
      const uint64_t at = origin + (uint64_t)((double)ns * ticks_per_ns);
      lk_lane_span(lane, kGradientReady, at, at, self->step, (uint16_t)bucket, (uint64_t)i, 0);
      last = at > last ? at : last;
      if (bucket < (unsigned long)self->next && at > ready[bucket]) {
        ready[bucket] = at;
      }
    }
  }
  /* DDP waits for its buckets in order, once the last one is under way. */
  uint64_t until = last;
  for (int bucket = 0; bucket < self->next; ++bucket) {
    until = self->flown[bucket].queued > until ? self->flown[bucket].queued : until;
  }
  for (int bucket = 0; bucket < self->next; ++bucket) {
    const Flown* flown = &self->flown[bucket];
    Flight* flight = &self->open[flown->place];
    if (flown->ended == 0 && flight->key >= 0 && flight->life == flown->life) {
      flight->latest = end; /* DDP had waited for it by then */
    }
    const uint64_t ended = flown->ended != 0 ? flown->ended : end;
    const uint16_t of = (uint16_t)bucket;
    if (ready[bucket] != 0) {
      const uint64_t at = ready[bucket] < flown->queued ? ready[bucket] : flown->queued;
      lk_lane_span(lane, kBucketReady, at, at, self->step, of, flown->bytes, 0);
    }
    lk_lane_span(lane, kBucketLaunched, flown->queued, flown->queued, self->step, of, flown->bytes,
                 0);
    if (ended > until) {
      lk_lane_span(lane, kWait, until, ended, self->step, of, 0, 0);
      until = ended;
    }
  }
  if (count > 0 && end > last) {
    lk_lane_span(lane, kFinalize, last, end, self->step, LK_NO_BUCKET, 0, 0);
  }
  Py_RETURN_NONE;
}

static PyObject* flights_set_step(PyObject* object, PyObject* step) {
  ((Flights*)object)->step = (uint32_t)PyLong_AsUnsignedLong(step);
  return PyErr_Occurred() != NULL ? NULL : (Py_INCREF(Py_None), Py_None);
}

static PyObject* flights_open_count(PyObject* object, PyObject* unused) {
  (void)unused;
  return PyLong_FromLong(((Flights*)object)->open_count);
}

/* Flights(memory, backend's name, lanes, group, operations, add_done_callback, subgroup's lane). Of
 * a group that has one lane all its flights are told there, however many fly at a time. */
static PyObject* flights_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  PyObject* memory = NULL;
  const char* name = NULL;
  int lanes = 1;
  unsigned group = 0;
  PyObject* operations = NULL;
  PyObject* add_done_callback = NULL;
  const char* own_lane = NULL;
  if (!PyArg_ParseTuple(args, "OsiIOOz", &memory, &name, &lanes, &group, &operations,
                        &add_done_callback, &own_lane)) {
    return NULL;
  }
  lk_observer* observer = lk_observer_of(memory);
  if (observer == NULL) {
    return NULL;
  }
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Flights* self = (Flights*)allocate(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->observer = observer;
  self->group = group;
  self->lane_count = lanes < 1 ? 1 : lanes > kLanes ? kLanes : lanes;
  char lane[64];
  PyOS_snprintf(lane, sizeof(lane), "%s queue", name);
  self->queue = lk_observer_lane(observer, lane);
  for (int i = 0; i < self->lane_count; ++i) {
    PyOS_snprintf(lane, sizeof(lane), "%s %d", name, i);
    self->lanes[i] = i > 0 && own_lane != NULL
                         ? self->lanes[0]
                         : lk_observer_lane(observer, own_lane != NULL ? own_lane : lane);
  }
  self->hooking = -1;
  for (int i = 0; i < kOpen; ++i) {
    self->open[i].key = -1;
  }
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
    {"before", flights_before, METH_O, "before(args): a group's pre-hook"},
    {"after", flights_after, METH_O, "after(args): a group's post-hook"},
    {"begin", flights_begin, METH_VARARGS, "begin(bucket, bytes) -> place"},
    {"follow", flights_follow, METH_VARARGS, "follow(place, future)"},
    {"expect", flights_expect, METH_O, "expect(elements of each bucket)"},
    {"hook_begins", flights_hook_begins, METH_VARARGS, "hook_begins(bucket, bytes)"},
    {"hook_returns", flights_hook_returns, METH_VARARGS, "hook_returns(bucket, future or None)"},
    {"tell_backward", flights_tell_backward, METH_VARARGS,
     "tell_backward(lane, origin, end, ns, buckets)"},
    {"set_step", flights_set_step, METH_O, "set_step(step)"},
    {"open_count", flights_open_count, METH_NOARGS, "open_count() -> how many are under way"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Flights(memory, name, lanes, group, operations, add_done_callback)"},
    {Py_tp_new, flights_new},
    {Py_tp_methods, methods},
    {0, NULL}};

static PyType_Spec spec = {"lockstep._native.Flights", sizeof(Flights), 0, Py_TPFLAGS_DEFAULT,
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
  return PyType_FromSpec(&spec);
}
