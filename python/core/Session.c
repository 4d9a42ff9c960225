// lathe._core.Session: runs, and what else the package calls.
#include "python/core/Session.h"

#include <time.h>

bool failSession(Session *self) {
  PyErr_SetString(self->error, lathe_last_error());
  return false;
}

// ---- One caller at a time -------------------------------------------------------------------------------------------

/// Fails in a handler of a signal that interrupts a run of this session.
static bool enter(Session *self) {
  unsigned long me = PyThread_get_thread_ident();
  if (self->depth && self->owner == me) {
    if (self->run) {
      PyErr_SetString(self->error, "the context is running");
      return false;
    }
    ++self->depth;
    return true;
  }
  if (!PyThread_acquire_lock(self->lock, NOWAIT_LOCK)) {
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(self->lock, WAIT_LOCK);
    Py_END_ALLOW_THREADS
  }
  self->owner = me;
  self->depth = 1;
  return true;
}

static void leave(Session *self) {
  if (--self->depth == 0)
    PyThread_release_lock(self->lock);
}

static bool isOpen(Session *self) {
  if (!self->context)
    PyErr_SetString(self->error, "the context is closed");
  return self->context != NULL;
}

// ---- Runs -----------------------------------------------------------------------------------------------------------

static bool runBound(Session *self, PyObject *wanted, bool profile) {
  if (!provideOutputs(self, wanted))
    return false;
  Run run;
  if (!beginRun(self, &run))
    return false;
  run.thread = PyEval_SaveThread();
  lathe_status status = profile ? lathe_context_run_profiled(self->context) : lathe_context_run(self->context);
  PyEval_RestoreThread(run.thread);
  endRun(self);
  if (status == LATHE_CANCELLED && !PyErr_Occurred())
    PyErr_SetString(self->cancelled, lathe_last_error());
  else if (status != LATHE_OK && status != LATHE_CANCELLED)
    failSession(self);
  return status == LATHE_OK;
}

/// run(caller, inputs, wanted, profile): a dict of the wanted outputs; NotImplemented for unusual `inputs`.
static PyObject *run(PyObject *object, PyObject *const *arguments, Py_ssize_t count) {
  Session *self = (Session *)object;
  if (count != 4 ||
      (arguments[2] != Py_None && (!PyTuple_Check(arguments[2]) || PyTuple_Size(arguments[2]) != self->outputCount))) {
    PyErr_SetString(PyExc_TypeError, "run(caller, inputs, wanted, profile)");
    return NULL;
  }
  PyObject *caller = arguments[0], *inputs = arguments[1], *wanted = arguments[2], *result = NULL;
  if (!enter(self))
    return NULL;
  if (isOpen(self)) {
    Binding binding = inputs == Py_None ? BOUND : bindInputs(self, caller, inputs);
    if (binding == UNUSUAL) {
      result = Py_NotImplemented;
      Py_INCREF(result);
    } else if (binding == BOUND && runBound(self, wanted, PyObject_IsTrue(arguments[3]) == 1)) {
      result = outputsOf(self, caller, wanted);
    }
  }
  leave(self);
  return result;
}

/// time_runs(count, whole): the nanoseconds that `count` runs take in C; `whole`: each binds all inputs and reads all outputs.
static PyObject *timeRuns(PyObject *object, PyObject *arguments) {
  Session *self = (Session *)object;
  Py_ssize_t count;
  int whole;
  if (!PyArg_ParseTuple(arguments, "np", &count, &whole))
    return NULL;
  struct timespec begin, end;
  lathe_status status = LATHE_OK;
  if (!enter(self))
    return NULL;
  if (!isOpen(self)) {
    leave(self);
    return NULL;
  }
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (Py_ssize_t n = 0; n < count && status == LATHE_OK; ++n) {
    for (Py_ssize_t i = 0; whole && i < self->inputCount && status == LATHE_OK; ++i)
      if (self->inputs[i].isSet) {
        lathe_tensor tensor = tensorOf(&self->inputs[i].memory[self->inputs[i].current]);
        status = lathe_context_set_input(self->context, (size_t)i, &tensor);
      }
    if (status == LATHE_OK)
      status = lathe_context_run(self->context);
    for (Py_ssize_t i = 0; whole && i < self->outputCount && status == LATHE_OK; ++i) {
      lathe_tensor tensor = {.struct_size = sizeof(lathe_tensor)};
      status = lathe_context_output(self->context, (size_t)i, &tensor);
    }
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  leave(self);
  if (status != LATHE_OK) {
    failSession(self);
    return NULL;
  }
  return PyLong_FromLongLong((end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec);
}

// ---- Other methods --------------------------------------------------------------------------------------------------

static bool validIndex(Session *self, Py_ssize_t index, Py_ssize_t count) {
  if (isOpen(self) && (index < 0 || index >= count))
    PyErr_SetString(PyExc_IndexError, "no such port");
  return !PyErr_Occurred();
}

/// set_input(caller, index, value): binds one input.
static PyObject *setInput(PyObject *object, PyObject *arguments) {
  Session *self = (Session *)object;
  PyObject *caller, *value;
  Py_ssize_t index;
  if (!PyArg_ParseTuple(arguments, "OnO", &caller, &index, &value))
    return NULL;
  if (!enter(self))
    return NULL;
  bool done = validIndex(self, index, self->inputCount) && bindInput(self, caller, index, value);
  leave(self);
  if (!done)
    return NULL;
  Py_RETURN_NONE;
}

/// forget(index): the caller has bound this input otherwise.
static PyObject *forget(PyObject *object, PyObject *arguments) {
  Session *self = (Session *)object;
  Py_ssize_t index;
  if (!PyArg_ParseTuple(arguments, "n", &index) || !validIndex(self, index, self->inputCount))
    return NULL;
  forgetInput(self, index);
  self->changed = true;
  Py_RETURN_NONE;
}

/// keep(input, output, max_extent): both are a state from now on.
static PyObject *keep(PyObject *object, PyObject *arguments) {
  Session *self = (Session *)object;
  Py_ssize_t input, output;
  long long most;
  if (!PyArg_ParseTuple(arguments, "nnL", &input, &output, &most) || !validIndex(self, input, self->inputCount) ||
      !validIndex(self, output, self->outputCount) || !unbindOutput(self, output))
    return NULL;
  if (lathe_context_keep_state(self->context, (size_t)input, (size_t)output, most) != LATHE_OK) {
    failSession(self);
    return NULL;
  }
  self->inputs[input].isKept = self->hasStates = true;
  self->changed = true;
  Py_RETURN_NONE;
}

static void releaseAll(Session *self) {
  if (self->context)
    lathe_context_free(self->context);
  self->context = NULL;
  for (Py_ssize_t i = 0; i < self->inputCount; ++i)
    forgetInput(self, i);
  dropOutputs(self);
}

static PyObject *closeSession(PyObject *object, PyObject *unused) {
  (void)unused;
  if (!enter((Session *)object))
    return NULL;
  releaseAll((Session *)object);
  leave((Session *)object);
  Py_RETURN_NONE;
}

static PyObject *enterMethod(PyObject *object, PyObject *unused) {
  (void)unused;
  if (!enter((Session *)object))
    return NULL;
  Py_INCREF(object);
  return object;
}

static PyObject *exitMethod(PyObject *object, PyObject *unused) {
  (void)unused;
  leave((Session *)object);
  Py_RETURN_NONE;
}

/// cancel(): ends the run in progress, else the next one. From any thread, without waiting for the run.
static PyObject *cancel(PyObject *object, PyObject *unused) {
  (void)unused;
  Session *self = (Session *)object;
  if (!isOpen(self))
    return NULL;
  atomic_store(&self->isCancelled, true);
  lathe_context_cancel(self->context);
  Py_RETURN_NONE;
}

static PyObject *handle(PyObject *object, void *unused) {
  (void)unused;
  return PyLong_FromVoidPtr(((Session *)object)->context);
}

// ---- The type -------------------------------------------------------------------------------------------------------

static PyObject *newSession(PyTypeObject *type, PyObject *arguments, PyObject *keywords);

static void freeSession(PyObject *object) {
  Session *self = (Session *)object;
  PyTypeObject *type = Py_TYPE(object);
  releaseAll(self);
  for (Py_ssize_t i = 0; i < self->inputCount; ++i)
    Py_XDECREF(self->inputs[i].name);
  for (Py_ssize_t i = 0; i < self->outputCount; ++i) {
    Py_XDECREF(self->outputs[i].name);
    Py_XDECREF(self->outputs[i].dtype);
  }
  PyMem_Free(self->inputs);
  PyMem_Free(self->outputs);
  Py_XDECREF(self->error);
  Py_XDECREF(self->cancelled);
  Py_XDECREF(self->array);
  Py_XDECREF(self->bufferType);
  if (self->lock)
    PyThread_free_lock(self->lock);
  PyObject_Free(object);
  Py_DECREF(type);
}

static PyMethodDef methods[] = {{"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL, NULL},
                                {"set_input", setInput, METH_VARARGS, NULL},
                                {"forget", forget, METH_VARARGS, NULL},
                                {"keep", keep, METH_VARARGS, NULL},
                                {"time_runs", timeRuns, METH_VARARGS, NULL},
                                {"cancel", cancel, METH_NOARGS, NULL},
                                {"close", closeSession, METH_NOARGS, NULL},
                                {"__enter__", enterMethod, METH_NOARGS, NULL},
                                {"__exit__", exitMethod, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyGetSetDef members[] = {{"handle", handle, NULL, "Address of the lathe_context", NULL},
                                {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot slots[] = {
    {Py_tp_new, (void *)newSession},
    {Py_tp_dealloc, (void *)freeSession},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {Py_tp_doc, "Session(context, inputs, outputs, error, cancelled, array): owns the context"},
    {0, NULL}};
static PyType_Spec spec = {
    .name = "lathe._core.Session", .basicsize = sizeof(Session), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};

/// Session(context, inputs, outputs, error, cancelled, array): `context` is an address, which the session owns; `inputs` are
/// tuples (name, element type, is a tensor of numbers), `outputs` have the dtype as well; `error` is the class of exceptions,
/// `cancelled` is the class for runs that cancel() has ended; `array` makes an array of (shape, dtype, buffer).
static PyObject *newSession(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  (void)keywords;
  PyObject *context, *inputs, *outputs, *error, *cancelled, *array;
  if (!PyArg_ParseTuple(arguments, "OO!O!OOO", &context, &PyTuple_Type, &inputs, &PyTuple_Type, &outputs, &error,
                        &cancelled, &array))
    return NULL;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  Session *self = (Session *)allocate(type, 0); // zeros
  if (!self)
    return NULL;
  self->error = error;
  self->cancelled = cancelled;
  self->array = array;
  Py_INCREF(error);
  Py_INCREF(cancelled);
  Py_INCREF(array);
  self->changed = true;
  self->lock = PyThread_allocate_lock();
  self->bufferType = makeBufferType();
  if (!self->lock || !self->bufferType || !readInputs(self, inputs) || !readOutputs(self, outputs)) {
    if (!PyErr_Occurred())
      PyErr_NoMemory();
    Py_DECREF(self);
    return NULL;
  }
  self->context = PyLong_AsVoidPtr(context); // last: from here on it is ours
  lathe_context_set_cancel_check(self->context, endsRun, self);
  return (PyObject *)self;
}

static int execute(PyObject *module) {
  watchForks();
  PyObject *type = PyType_FromSpec(&spec);
  int failed = !type || PyModule_AddObjectRef(module, "Session", type) != 0;
  Py_XDECREF(type);
  return failed ? -1 : 0;
}

PyMODINIT_FUNC PyInit__core(void) {
  static PyModuleDef_Slot parts[] = {{Py_mod_exec, (void *)execute}, {0, NULL}};
  static struct PyModuleDef module = {PyModuleDef_HEAD_INIT,
                                      "lathe._core",
                                      "What a run of a package costs in Python",
                                      0,
                                      NULL,
                                      parts,
                                      NULL,
                                      NULL,
                                      NULL};
  return PyModuleDef_Init(&module);
}
