// Outputs of a session.
#include "python/core/Session.h"

#include <string.h>

bool readOutputs(Session *self, PyObject *ports) {
  self->outputs = PyMem_Calloc((size_t)PyTuple_Size(ports) + 1, sizeof(Output));
  for (Py_ssize_t i = 0; self->outputs && i < PyTuple_Size(ports); ++i) {
    Output *output = &self->outputs[self->outputCount];
    int plain;
    if (!PyArg_ParseTuple(PyTuple_GetItem(ports, i), "UipO", &output->name, &output->type, &plain, &output->dtype))
      return false;
    Py_INCREF(output->name);
    Py_INCREF(output->dtype);
    output->plain = plain;
    output->bound = -1;
    ++self->outputCount;
  }
  return self->outputs || PyErr_NoMemory();
}

bool unbindOutput(Session *self, Py_ssize_t index) {
  Output *output = &self->outputs[index];
  if (output->bound >= 0 && lathe_context_set_output(self->context, (size_t)index, NULL) != LATHE_OK)
    return failSession(self);
  output->bound = -1;
  return true;
}

static PyObject *shapeTuple(const int64_t *dims, size_t rank) {
  PyObject *shape = PyTuple_New((Py_ssize_t)rank);
  for (size_t i = 0; shape && i < rank; ++i)
    PyTuple_SetItem(shape, (Py_ssize_t)i, PyLong_FromLongLong(dims[i]));
  return shape;
}

static void dropBuffers(Output *output) {
  for (int i = 0; i < POOL; ++i)
    Py_CLEAR(output->pool[i]);
  Py_CLEAR(output->shape);
}

/// Finds out the extents of an output for the inputs that are bound.
static bool prepare(Session *self, Py_ssize_t index) {
  Output *output = &self->outputs[index];
  size_t rank = 0;
  int64_t dims[MOST_AXES];
  bool known = output->plain && !self->hasStates && !output->isLate &&
               lathe_context_output_dims(self->context, (size_t)index, dims, MOST_AXES, &rank) == LATHE_OK &&
               rank <= MOST_AXES;
  if (known && output->isKnown && rank == output->rank && memcmp(dims, output->dims, rank * sizeof(int64_t)) == 0)
    return true;
  if (!unbindOutput(self, index))
    return false;
  dropBuffers(output);
  output->isKnown = known;
  if (!known)
    return true;
  output->rank = rank;
  output->bytes = lathe_element_bits(output->type) / 8;
  for (size_t i = 0; i < rank; ++i) {
    output->dims[i] = dims[i];
    output->bytes *= (size_t)dims[i];
  }
  output->shape = shapeTuple(dims, rank);
  return output->shape != NULL;
}

/// Lets the next run write an output to a new buffer; to the runtime's memory if it is not wanted.
static bool provide(Session *self, Py_ssize_t index, bool wanted) {
  Output *output = &self->outputs[index];
  if (!output->isKnown)
    return true;
  if (!wanted)
    return unbindOutput(self, index);
  int free = -1;
  for (int i = POOL - 1; i >= 0; --i)
    if (output->pool[i] && Py_REFCNT(output->pool[i]) == 1 && (free < 0 || i == output->bound))
      free = i;
  if (free >= 0 && free == output->bound)
    return true;
  if (free < 0) {
    free = !output->pool[0] ? 0 : !output->pool[1] ? 1 : output->bound == 0;
    PyObject *buffer = newBuffer(self->bufferType, output->bytes);
    if (!buffer || !unbindOutput(self, index)) { // a buffer is not freed while the runtime may write to it
      Py_XDECREF(buffer);
      return false;
    }
    Py_XDECREF(output->pool[free]);
    output->pool[free] = buffer;
  }
  lathe_tensor tensor = {sizeof(lathe_tensor),           output->type, LATHE_HOST, output->rank, output->dims,
                         bufferData(output->pool[free]), output->bytes};
  if (lathe_context_set_output(self->context, (size_t)index, &tensor) != LATHE_OK)
    return failSession(self);
  output->bound = free;
  return true;
}

/// A copy of an output that the runtime has in its memory.
static PyObject *copied(Session *self, Py_ssize_t index) {
  Output *output = &self->outputs[index];
  lathe_tensor tensor = {.struct_size = sizeof(lathe_tensor)};
  if (lathe_context_output(self->context, (size_t)index, &tensor) != LATHE_OK) {
    failSession(self);
    return NULL;
  }
  PyObject *shape = shapeTuple(tensor.dims, tensor.rank), *buffer = newBuffer(self->bufferType, tensor.bytes),
           *result = NULL;
  if (shape && buffer) {
    if (tensor.bytes)
      memcpy(bufferData(buffer), tensor.data, tensor.bytes);
    result = PyObject_CallFunctionObjArgs(self->array, shape, output->dtype, buffer, NULL);
  }
  Py_XDECREF(shape);
  Py_XDECREF(buffer);
  return result;
}

static PyObject *resultOf(Session *self, PyObject *caller, Py_ssize_t index) {
  Output *output = &self->outputs[index];
  if (!output->plain)
    return PyObject_CallMethod(caller, "output", "n", index);
  if (output->isKnown && output->bound >= 0)
    return PyObject_CallFunctionObjArgs(self->array, output->shape, output->dtype, output->pool[output->bound], NULL);
  return copied(self, index);
}

static bool isWanted(PyObject *wanted, Py_ssize_t index) {
  return wanted == Py_None || PyObject_IsTrue(PyTuple_GetItem(wanted, index)) == 1;
}

bool provideOutputs(Session *self, PyObject *wanted) {
  bool changed = self->changed;
  for (Py_ssize_t i = 0; i < self->outputCount; ++i)
    if ((changed && !prepare(self, i)) || !provide(self, i, isWanted(wanted, i)))
      return false;
  self->changed = false;
  return true;
}

PyObject *outputsOf(Session *self, PyObject *caller, PyObject *wanted) {
  PyObject *dict = PyDict_New();
  for (Py_ssize_t i = 0; dict && i < self->outputCount; ++i) {
    Output *output = &self->outputs[i];
    output->isLate |= output->plain && !self->hasStates && !output->isKnown;
    if (!isWanted(wanted, i))
      continue;
    PyObject *result = resultOf(self, caller, i);
    if (!result || PyDict_SetItem(dict, self->outputs[i].name, result) != 0)
      Py_CLEAR(dict);
    Py_XDECREF(result);
  }
  return dict;
}

void dropOutputs(Session *self) {
  for (Py_ssize_t i = 0; i < self->outputCount; ++i) {
    dropBuffers(&self->outputs[i]);
    self->outputs[i].bound = -1;
  }
}
