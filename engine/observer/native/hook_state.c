/* What a hook keeps from step to step, for a checkpoint. */

#include <stdlib.h>
#include <string.h>

#include "hook_calls.h"

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

/* NULL for a hook without a state; and, with an exception, where *hook is NULL */
static const lockstep_ext_state* state_of(PyObject* object, lockstep_hook** hook) {
  *hook = lk_hook_of(object);
  return *hook == NULL ? NULL : lk_extension_of(*hook, "lockstep.state/1");
}

static PyObject* without_state(const lockstep_hook* hook) {
  if (hook == NULL) {
    return NULL;
  }
  Py_RETURN_NONE;
}

/* save() -> (status, schema, bytes), or None for a hook without a state */
PyObject* lk_host_save(PyObject* object, PyObject* unused) {
  (void)unused;
  lockstep_hook* hook = NULL;
  const lockstep_ext_state* table = state_of(object, &hook);
  if (table == NULL) {
    return without_state(hook);
  }
  Saved saved = {NULL, 0, 0};
  const lockstep_writer writer = {&saved, append};
  lockstep_status status = LOCKSTEP_OK;
  Py_BEGIN_ALLOW_THREADS;
  status = table->save(hook, &writer);
  Py_END_ALLOW_THREADS;
  PyObject* result = Py_BuildValue("(iIy#)", (int)status, (unsigned)table->schema,
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
PyObject* lk_host_load(PyObject* object, PyObject* args) {
  unsigned schema = 0;
  int world_size = 0;
  const char* bytes = NULL;
  Py_ssize_t size = 0;
  if (!PyArg_ParseTuple(args, "Iiy#", &schema, &world_size, &bytes, &size)) {
    return NULL;
  }
  lockstep_hook* hook = NULL;
  const lockstep_ext_state* table = state_of(object, &hook);
  if (table == NULL) {
    return without_state(hook);
  }
  Source source = {{NULL, (uint64_t)size, take}, bytes};
  lockstep_status status = LOCKSTEP_OK;
  Py_BEGIN_ALLOW_THREADS;
  status = table->load(hook, schema, world_size, &source.table);
  Py_END_ALLOW_THREADS;
  return PyLong_FromLong(status);
}
