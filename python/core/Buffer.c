// Memory that outputs are written to, as objects with the buffer protocol: an array over one keeps it alive.
#include "python/core/Core.h"

#include <stdlib.h>

typedef struct {
  PyObject_HEAD void *data;
  size_t bytes;
} Buffer;

static int exportBuffer(PyObject *self, Py_buffer *view, int flags) {
  Buffer *buffer = (Buffer *)self;
  return PyBuffer_FillInfo(view, self, buffer->data, (Py_ssize_t)buffer->bytes, 0, flags);
}

static void freeBuffer(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  free(((Buffer *)self)->data);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject *makeBufferType(void) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, (void *)exportBuffer},
                                {Py_tp_dealloc, (void *)freeBuffer},
                                {Py_tp_doc, "Memory of an output"},
                                {0, NULL}};
  static PyType_Spec spec = {.name = "lathe._core.Buffer",
                             .basicsize = sizeof(Buffer),
                             .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             .slots = slots};
  return PyType_FromSpec(&spec);
}

PyObject *newBuffer(PyObject *type, size_t bytes) {
  size_t room = (bytes + 63) / 64 * 64;
  void *data = aligned_alloc(64, room ? room : 64);
  if (!data)
    return PyErr_NoMemory();
  Buffer *buffer = PyObject_New(Buffer, (PyTypeObject *)type);
  if (!buffer) {
    free(data);
    return NULL;
  }
  buffer->data = data;
  buffer->bytes = bytes;
  return (PyObject *)buffer;
}

void *bufferData(PyObject *buffer) { return ((Buffer *)buffer)->data; }
