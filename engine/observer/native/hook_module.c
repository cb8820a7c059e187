/* lockstep._hook_host, by the stable ABI of Python 3.9. */

#include "hook_host.h"

/* PyBUF_WRITE, which the headers of 3.9's stable ABI leave out. */
enum { kWritable = 0x200 };

/* memory(address, bytes) -> a view of memory that somebody else keeps */
static PyObject* memory(PyObject* module, PyObject* args) {
  (void)module;
  unsigned long long address = 0;
  Py_ssize_t bytes = 0;
  if (!PyArg_ParseTuple(args, "Kn", &address, &bytes)) {
    return NULL;
  }
  return PyMemoryView_FromMemory((char*)(uintptr_t)address, bytes, kWritable);
}

static PyMethodDef functions[] = {
    {"memory", memory, METH_VARARGS, "memory(address, bytes) -> a view of it"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "lockstep._hook_host",
                                        "The host's side of Lockstep's plugin border.",
                                        -1,
                                        functions,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

static int add(PyObject* module, const char* name, PyObject* type) {
  if (type == NULL || PyModule_AddObject(module, name, type) != 0) {
    Py_XDECREF(type);
    return 0;
  }
  return 1;
}

PyMODINIT_FUNC PyInit__hook_host(void) {
  PyObject* module = PyModule_Create(&definition);
  if (module == NULL) {
    return NULL;
  }
  if (!add(module, "Library", lk_library_type()) || !add(module, "Bucket", lk_bucket_type()) ||
      !add(module, "Run", lk_run_type()) || !add(module, "Host", lk_host_type()) ||
      PyModule_AddIntConstant(module, "BORDER", LOCKSTEP_ABI_MAJOR) != 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
