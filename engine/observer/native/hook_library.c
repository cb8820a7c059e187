/* A library of hooks: its entry, checked, and what it says of itself as Python has it. Python opens the
 * file: the C library's functions that do need a newer one than clusters have. */

#include "hook_host.h"

#include <stddef.h>
#include <string.h>

typedef struct {
  PyObject_HEAD lockstep_plugin entry;
} Library;

static PyObject* library_type;

enum { kMostHooks = 256, kMostParams = 256 };

static int refuse(const char* text) {
  PyErr_SetString(PyExc_ValueError, text);
  return 0;
}

/* Copies a struct that begins with its size; what lies behind that stays zero. */
static int copy_struct(void* to, size_t to_size, const void* from, size_t smallest,
                       const char* what) {
  if (from == NULL) {
    PyErr_Format(PyExc_ValueError, "%s is null", what);
    return 0;
  }
  uint32_t size = 0;
  memcpy(&size, from, sizeof(size));
  if (size < smallest) {
    PyErr_Format(PyExc_ValueError, "%s says that it is %u bytes long, %zu are needed", what, size,
                 smallest);
    return 0;
  }
  memset(to, 0, to_size);
  memcpy(to, from, size < to_size ? size : to_size);
  return 1;
}

static int check_entry(lockstep_plugin* entry, const void* symbol, const char* path) {
  if (!copy_struct(entry, sizeof(*entry), symbol, offsetof(lockstep_plugin, create) + sizeof(void*),
                   "its entry")) {
    return 0;
  }
  if (entry->hook_count == NULL || entry->hook_info == NULL || entry->create == NULL) {
    return refuse(entry->hook_count == NULL  ? "its entry has no function hook_count"
                  : entry->hook_info == NULL ? "its entry has no function hook_info"
                                             : "its entry has no function create");
  }
  if (entry->init != NULL) {
    lockstep_status status = LOCKSTEP_OK;
    Py_BEGIN_ALLOW_THREADS;
    status = entry->init(path);
    Py_END_ALLOW_THREADS;
    if (status != LOCKSTEP_OK) {
      entry->deinit = NULL;
      PyErr_Format(PyExc_ValueError, "its init() refused with status %d", (int)status);
      return 0;
    }
  }
  return 1;
}

static PyObject* library_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)kwargs;
  unsigned long long address = 0;
  const char* path = NULL;
  if (!PyArg_ParseTuple(args, "Ks", &address, &path)) {
    return NULL;
  }
  lockstep_plugin entry = {0};
  if (!check_entry(&entry, (const void*)(uintptr_t)address, path)) {
    return NULL;
  }
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Library* self = (Library*)allocate(type, 0);
  if (self != NULL) {
    self->entry = entry;
  }
  return (PyObject*)self;
}

static PyObject* choices_of(const lockstep_param* param) {
  PyObject* list = PyList_New(0);
  for (const char* const* at = param->choices; list != NULL && at != NULL && *at != NULL; ++at) {
    PyObject* choice = PyUnicode_FromString(*at);
    if (choice == NULL || PyList_Append(list, choice) != 0) {
      Py_CLEAR(list);
    }
    Py_XDECREF(choice);
  }
  return list;
}

static PyObject* param_of(const lockstep_param* given) {
  lockstep_param raw;
  if (!copy_struct(&raw, sizeof(raw), given, offsetof(lockstep_param, choices) + sizeof(void*),
                   "a parameter of a hook")) {
    return NULL;
  }
  if (raw.key == NULL || raw.type < LOCKSTEP_BOOL || raw.type > LOCKSTEP_TEXT) {
    PyErr_Format(PyExc_ValueError, "a parameter '%s' is of type %d, which is none",
                 raw.key == NULL ? "" : raw.key, (int)raw.type);
    return NULL;
  }
  PyObject* choices = raw.type == LOCKSTEP_CHOICE ? choices_of(&raw) : PyList_New(0);
  if (choices == NULL) {
    return NULL;
  }
  return Py_BuildValue("{s:s,s:i,s:N,s:d,s:d,s:d,s:z,s:N}", "key", raw.key, "type", (int)raw.type,
                       "live", PyBool_FromLong((long)(raw.flags & LOCKSTEP_PARAM_LIVE)), "min",
                       raw.min, "max", raw.max, "initial", raw.initial, "initial_text",
                       raw.initial_text, "choices", choices);
}

static PyObject* hook_of(const lockstep_hook_info* given) {
  lockstep_hook_info raw;
  if (!copy_struct(&raw, sizeof(raw), given, offsetof(lockstep_hook_info, params) + sizeof(void*),
                   "the description of a hook")) {
    return NULL;
  }
  if (raw.id == NULL || raw.param_count > kMostParams ||
      (raw.param_count > 0 && raw.params == NULL)) {
    PyErr_Format(PyExc_ValueError, "hook '%s' says that it has %u parameters",
                 raw.id == NULL ? "" : raw.id, raw.param_count);
    return NULL;
  }
  PyObject* params = PyList_New(0);
  for (uint32_t i = 0; params != NULL && i < raw.param_count; ++i) {
    PyObject* param = param_of(raw.params[i]);
    if (param == NULL || PyList_Append(params, param) != 0) {
      Py_CLEAR(params);
    }
    Py_XDECREF(param);
  }
  if (params == NULL) {
    return NULL;
  }
  return Py_BuildValue("{s:s,s:I,s:I,s:I,s:N}", "id", raw.id, "caps", raw.caps, "dtypes",
                       raw.dtypes, "devices", raw.devices, "params", params);
}

static PyObject* library_hooks(PyObject* object, PyObject* unused) {
  (void)unused;
  const lockstep_plugin* entry = &((Library*)object)->entry;
  const uint32_t count = entry->hook_count();
  if (count == 0 || count > kMostHooks) {
    return PyErr_Format(PyExc_ValueError, "says that it has %u hooks", count);
  }
  PyObject* hooks = PyList_New(0);
  for (uint32_t i = 0; hooks != NULL && i < count; ++i) {
    PyObject* hook = hook_of(entry->hook_info(i));
    if (hook == NULL || PyList_Append(hooks, hook) != 0) {
      Py_CLEAR(hooks);
    }
    Py_XDECREF(hook);
  }
  return hooks;
}

static PyObject* library_close(PyObject* object, PyObject* unused) {
  (void)unused;
  lockstep_plugin* entry = &((Library*)object)->entry;
  void (*deinit)(void) = entry->deinit;
  entry->deinit = NULL;
  if (deinit != NULL) {
    Py_BEGIN_ALLOW_THREADS;
    deinit();
    Py_END_ALLOW_THREADS;
  }
  Py_RETURN_NONE;
}

const lockstep_plugin* lk_plugin_of(PyObject* library) {
  if (!PyObject_TypeCheck(library, (PyTypeObject*)library_type)) {
    PyErr_SetString(PyExc_TypeError, "this is no library of hooks");
    return NULL;
  }
  return &((Library*)library)->entry;
}

static PyMethodDef methods[] = {
    {"hooks", library_hooks, METH_NOARGS, "hooks() -> what it says of each of its hooks"},
    {"close", library_close, METH_NOARGS, "close(): no hook of it is left"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Library(address of the entry, path): ValueError with what is wrong with it"},
    {Py_tp_new, library_new},
    {Py_tp_methods, methods},
    {0, NULL}};

static PyType_Spec spec = {"lockstep._hook_host.Library", sizeof(Library), 0, Py_TPFLAGS_DEFAULT,
                           slots};

PyObject* lk_library_type(void) {
  library_type = PyType_FromSpec(&spec);
  return library_type;
}
