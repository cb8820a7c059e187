/* What a hook says and takes beside its buckets: whether it lets replicas drift, what it has to
 * know of the optimizer, live parameters. */

#include <string.h>

#include "hook_calls.h"

const void* lk_extension_of(lockstep_hook* hook, const char* id) {
  return hook->extension == NULL ? NULL : hook->extension(hook, id);
}

/* Asks a Host's hook, where it has one, what is so or not. */
static PyObject* whether(PyObject* host, int (*is_so)(lockstep_hook*)) {
  lockstep_hook* hook = lk_hook_of(host);
  return hook == NULL ? NULL : PyBool_FromLong(is_so(hook));
}

/* around() -> names of the calls around a step that the hook has */
PyObject* lk_host_around(PyObject* object, PyObject* unused) {
  (void)unused;
  lockstep_hook* hook = lk_hook_of(object);
  if (hook == NULL) {
    return NULL;
  }
  const lockstep_ext_step* step = lk_extension_of(hook, "lockstep.step/1");
  const int before = step != NULL && step->before_forward != NULL;
  const int after = step != NULL && step->after_optimizer != NULL;
  const int end = step != NULL && step->end_of_run != NULL;
  return Py_BuildValue("(NNN)", PyBool_FromLong(before), PyBool_FromLong(after),
                       PyBool_FromLong(end));
}

static int drifts(lockstep_hook* hook) {
  const lockstep_ext_replicas* table = lk_extension_of(hook, "lockstep.replicas/1");
  return table != NULL && table->drift != NULL && table->drift(hook) != 0;
}

PyObject* lk_host_drifts(PyObject* object, PyObject* unused) {
  (void)unused;
  return whether(object, drifts);
}

static const lockstep_ext_optimizer* optimizer_of(lockstep_hook* hook) {
  return lk_extension_of(hook, "lockstep.optimizer/1");
}

static int has_update(lockstep_hook* hook) {
  const lockstep_ext_optimizer* table = optimizer_of(hook);
  return table != NULL && table->update != NULL;
}

static int wants_optimizer(lockstep_hook* hook) {
  const lockstep_ext_optimizer* table = optimizer_of(hook);
  return has_update(hook) || (table != NULL && table->configure != NULL);
}

static int owns_update(lockstep_hook* hook) {
  const lockstep_ext_optimizer* table = optimizer_of(hook);
  return has_update(hook) && table->owns_update != NULL && table->owns_update(hook) != 0;
}

PyObject* lk_host_wants_optimizer(PyObject* object, PyObject* unused) {
  (void)unused;
  return whether(object, wants_optimizer);
}

PyObject* lk_host_owns_update(PyObject* object, PyObject* unused) {
  (void)unused;
  return whether(object, owns_update);
}

PyObject* lk_host_has_update(PyObject* object, PyObject* unused) {
  (void)unused;
  return whether(object, has_update);
}

/* configure(kind, rate, decay, momentum, dampening, nesterov, beta1, beta2, epsilon) -> status */
PyObject* lk_host_configure(PyObject* object, PyObject* args) {
  lockstep_optimizer_info info;
  memset(&info, 0, sizeof(info));
  info.struct_size = sizeof(info);
  int kind = 0;
  int nesterov = 0;
  if (!PyArg_ParseTuple(args, "iddddpddd", &kind, &info.learning_rate, &info.weight_decay,
                        &info.momentum, &info.dampening, &nesterov, &info.beta1, &info.beta2,
                        &info.epsilon)) {
    return NULL;
  }
  info.kind = kind;
  info.nesterov = nesterov;
  lockstep_hook* hook = lk_hook_of(object);
  if (hook == NULL) {
    return NULL;
  }
  const lockstep_ext_optimizer* table = optimizer_of(hook);
  lockstep_status status = LOCKSTEP_OK;
  if (table != NULL && table->configure != NULL) {
    Py_BEGIN_ALLOW_THREADS;
    status = table->configure(hook, &info);
    Py_END_ALLOW_THREADS;
  }
  return PyLong_FromLong(status);
}

/* set(key, type, number, text) -> status, or None where nothing can be changed */
PyObject* lk_host_set(PyObject* object, PyObject* args) {
  lockstep_value value;
  int type = 0;
  if (!PyArg_ParseTuple(args, "sidz", &value.key, &type, &value.number, &value.text)) {
    return NULL;
  }
  value.type = type;
  lockstep_hook* hook = lk_hook_of(object);
  if (hook == NULL) {
    return NULL;
  }
  const lockstep_ext_live_params* table = lk_extension_of(hook, "lockstep.live-params/1");
  if (table == NULL || table->set == NULL) {
    Py_RETURN_NONE;
  }
  lockstep_status status = LOCKSTEP_OK;
  Py_BEGIN_ALLOW_THREADS;
  status = table->set(hook, &value);
  Py_END_ALLOW_THREADS;
  return PyLong_FromLong(status);
}
