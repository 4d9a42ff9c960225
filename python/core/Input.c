// Inputs of a session.
#include "python/core/Session.h"

#include <string.h>

bool readInputs(Session *self, PyObject *ports) {
  self->inputs = PyMem_Calloc((size_t)PyTuple_Size(ports) + 1, sizeof(Input));
  for (Py_ssize_t i = 0; self->inputs && i < PyTuple_Size(ports); ++i) {
    Input *input = &self->inputs[self->inputCount];
    int plain;
    if (!PyArg_ParseTuple(PyTuple_GetItem(ports, i), "Uip", &input->name, &input->type, &plain))
      return false;
    Py_INCREF(input->name);
    input->plain = plain;
    ++self->inputCount;
  }
  return self->inputs || PyErr_NoMemory();
}

static bool sameTensor(const Memory *a, const Memory *b) {
  return a->data == b->data && a->bytes == b->bytes && a->rank == b->rank &&
         memcmp(a->dims, b->dims, a->rank * sizeof(int64_t)) == 0;
}
static bool sameExtents(const Memory *a, const Memory *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof(int64_t)) == 0;
}

lathe_tensor tensorOf(Memory *memory) {
  return (lathe_tensor){sizeof(lathe_tensor), memory->type, LATHE_HOST,   memory->rank,
                        memory->dims,         memory->data, memory->bytes};
}

bool bindInput(Session *self, PyObject *caller, Py_ssize_t index, PyObject *value) {
  Input *input = &self->inputs[index];
  Memory *next = &input->memory[!input->current], *last = &input->memory[input->current];
  Taking taking = input->plain ? takeMemory(next, value, input->type, self->error, input->name) : UNSUITED;
  if (taking == REFUSED)
    return false;
  if (taking == UNSUITED) {
    PyObject *done = PyObject_CallMethod(caller, "_bind", "nO", index, value);
    Py_XDECREF(done);
    return done != NULL;
  }
  if (!input->isSet || input->isKept || !sameTensor(last, next)) {
    lathe_tensor tensor = tensorOf(next);
    if (lathe_context_set_input(self->context, (size_t)index, &tensor) != LATHE_OK) {
      releaseMemory(next);
      return failSession(self);
    }
    self->changed |= !input->isSet || !sameExtents(last, next);
  }
  if (input->isSet)
    releaseMemory(last);
  input->current = !input->current;
  input->isSet = true;
  return true;
}

Binding bindInputs(Session *self, PyObject *caller, PyObject *inputs) {
  bool isDict = PyDict_Check(inputs), isList = PyList_Check(inputs);
  if (!isDict && !isList && !PyTuple_Check(inputs))
    return UNUSUAL;
  Py_ssize_t given = isDict ? PyDict_Size(inputs) : isList ? PyList_Size(inputs) : PyTuple_Size(inputs), found = 0;
  if (!isDict && given != self->inputCount)
    return UNUSUAL;
  for (Py_ssize_t i = 0; isDict && i < self->inputCount; ++i) {
    bool isGiven = PyDict_GetItemWithError(inputs, self->inputs[i].name) != NULL;
    if (PyErr_Occurred())
      return FAILED;
    if (!isGiven && !self->inputs[i].isKept)
      return UNUSUAL;
    found += isGiven;
  }
  if (isDict && found != given)
    return UNUSUAL;
  for (Py_ssize_t i = 0; i < self->inputCount; ++i) {
    PyObject *value = isDict   ? PyDict_GetItemWithError(inputs, self->inputs[i].name)
                      : isList ? PyList_GetItem(inputs, i)
                               : PyTuple_GetItem(inputs, i);
    if (!value && (!isDict || PyErr_Occurred()))
      return FAILED;
    if (!value)
      continue;       // a state
    Py_INCREF(value); // code of __dlpack__ may change the dict
    bool done = bindInput(self, caller, i, value);
    Py_DECREF(value);
    if (!done)
      return FAILED;
  }
  return BOUND;
}

void forgetInput(Session *self, Py_ssize_t index) {
  Input *input = &self->inputs[index];
  if (input->isSet)
    releaseMemory(&input->memory[input->current]);
  input->isSet = false;
}
