#include "tensors.h"

#include <math.h>
#include <string.h>

#include "count_sketch.h"
#include "xxh64.h"

const char lk_fingerprints_doc[] =
    "fingerprints([(address, bytes, reals' address, reals, their width)]) -> (hashes, norms, "
    "sketch)\n"
    "\n"
    "Of tensors in this process's memory that lie without gaps: the XXH64 of the bytes of each, "
    "the\n"
    "Euclidean norm of its reals, and one count-sketch of all, each as the hex digits that\n"
    "engine/trace/Messages.cpp reads. The reals, of 4 or 8 bytes, are the same memory, or those of "
    "a\n"
    "copy in another type.";

typedef struct {
  unsigned long long bytes_at;
  unsigned long long bytes;
  unsigned long long reals_at;
  unsigned long long reals;
  int width;
} Tensor;

static void put_hex(char* at, uint64_t bits) {
  for (int i = 0; i < 16; ++i) {
    at[i] = "0123456789abcdef"[bits >> (60 - 4 * i) & 15];
  }
}

static void put_double(char* at, double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  put_hex(at, bits);
}

static double add_to(lk_count_sketch* sketch, const Tensor* tensor) {
  const void* at = (const void*)(uintptr_t)tensor->reals_at;
  return tensor->width == 8 ? lk_count_sketch_add_doubles(sketch, at, (size_t)tensor->reals)
                            : lk_count_sketch_add_floats(sketch, at, (size_t)tensor->reals);
}

PyObject* lk_fingerprints(PyObject* module, PyObject* args) {
  (void)module;
  PyObject* list = NULL;
  if (!PyArg_ParseTuple(args, "O", &list)) {
    return NULL;
  }
  const Py_ssize_t count = PyList_Size(list);
  Tensor* tensors = count < 0 ? NULL : PyMem_Malloc(((size_t)count + 1) * sizeof(Tensor));
  char* text = count < 0 ? NULL : PyMem_Malloc((size_t)count * 32 + LK_COUNTERS * 16);
  PyObject* result = NULL;
  int known = tensors != NULL && text != NULL;
  for (Py_ssize_t i = 0; known && i < count; ++i) {
    Tensor* tensor = &tensors[i];
    known = PyArg_ParseTuple(PyList_GetItem(list, i), "KKKKi", &tensor->bytes_at, &tensor->bytes,
                             &tensor->reals_at, &tensor->reals, &tensor->width);
  }
  if (known) {
    lk_count_sketch sketch;
    memset(&sketch, 0, sizeof(sketch));
    char* hashes = text;
    char* norms = hashes + 16 * count;
    char* counters = norms + 16 * count;
    Py_BEGIN_ALLOW_THREADS;
    for (Py_ssize_t i = 0; i < count; ++i) {
      const void* bytes = (const void*)(uintptr_t)tensors[i].bytes_at;
      put_hex(hashes + 16 * i, lk_xxh64(bytes, (size_t)tensors[i].bytes));
      put_double(norms + 16 * i, sqrt(add_to(&sketch, &tensors[i])));
    }
    double folded[LK_COUNTERS];
    lk_count_sketch_counters(&sketch, folded);
    for (int i = 0; i < LK_COUNTERS; ++i) {
      put_double(counters + 16 * i, folded[i]);
    }
    Py_END_ALLOW_THREADS;
    result = Py_BuildValue("(s#s#s#)", hashes, 16 * count, norms, 16 * count, counters,
                           (Py_ssize_t)16 * LK_COUNTERS);
  } else if (PyErr_Occurred() == NULL) {
    PyErr_NoMemory();
  }
  PyMem_Free(tensors);
  PyMem_Free(text);
  return result;
}

const char lk_tally_doc[] =
    "tally(address, reals, width) -> (sum of squares, largest magnitude, NaNs, infinities, place)\n"
    "\n"
    "Of reals of 4 or 8 bytes that lie without gaps in this process's memory; the first two of "
    "those\n"
    "that are finite, `place` of the first that is not, -1 where all are.";

typedef struct {
  double squares;
  double largest;
  unsigned long long nans;
  unsigned long long infinities;
  long long place;
} Tally;

static double real_at(const void* reals, size_t at, int width) {
  return width == 8 ? ((const double*)reals)[at] : (double)((const float*)reals)[at];
}

static void add_one(Tally* tally, double value, size_t at) {
  if (isfinite(value)) {
    const double size = fabs(value);
    tally->squares += value * value;
    tally->largest = size > tally->largest ? size : tally->largest;
    return;
  }
  tally->nans += isnan(value) ? 1 : 0;
  tally->infinities += isnan(value) ? 0 : 1;
  if (tally->place < 0) {
    tally->place = (long long)at;
  }
}

/* In blocks, of which most are finite throughout: their sum says so, and they need no branch. */
static Tally tally_of(const void* reals, size_t count, int width) {
  enum { kBlock = 512 };
  Tally all = {0, 0, 0, 0, -1};
  for (size_t from = 0; from < count; from += kBlock) {
    const size_t until = from + kBlock < count ? from + kBlock : count;
    double squares = 0;
    double largest = 0;
    for (size_t at = from; at < until; ++at) {
      const double size = fabs(real_at(reals, at, width));
      squares += size * size;
      largest = size > largest ? size : largest;
    }
    if (isfinite(squares)) {
      all.squares += squares;
      all.largest = largest > all.largest ? largest : all.largest;
      continue;
    }
    for (size_t at = from; at < until; ++at) {
      add_one(&all, real_at(reals, at, width), at);
    }
  }
  return all;
}

PyObject* lk_tally(PyObject* module, PyObject* args) {
  (void)module;
  unsigned long long address = 0;
  unsigned long long reals = 0;
  int width = 0;
  if (!PyArg_ParseTuple(args, "KKi", &address, &reals, &width)) {
    return NULL;
  }
  Tally tally;
  Py_BEGIN_ALLOW_THREADS;
  tally = tally_of((const void*)(uintptr_t)address, (size_t)reals, width);
  Py_END_ALLOW_THREADS;
  return Py_BuildValue("(ddKKL)", tally.squares, tally.largest, tally.nans, tally.infinities,
                       tally.place);
}
