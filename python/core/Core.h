// lathe._core: the part of the Python package in C, so that a run costs little. It binds inputs, runs the model and
// wraps outputs, over lathe/runtime.h. It uses Python's limited API, so one file serves Python 3.11 and later.
#ifndef LATHE_PYTHON_CORE_H
#define LATHE_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include "lathe/runtime.h"

#include <stdbool.h>

enum { MOST_AXES = 32 };

// ---- Memory of outputs ----------------------------------------------------------------------------------------------

/// Creates the type of Python objects that own memory for an output, aligned to 64 bytes. Returns null and sets an
/// exception if that fails.
PyObject *makeBufferType(void);
/// Creates an object of the type `type` that owns `bytes` bytes. Returns null and sets an exception if that fails.
PyObject *newBuffer(PyObject *type, size_t bytes);
void *bufferData(PyObject *buffer);

// ---- Memory of inputs -----------------------------------------------------------------------------------------------

struct ManagedTensor; // a tensor as DLPack passes it

/// Memory of another Python object, which stays valid until releaseMemory.
typedef struct {
  bool exported; // true: `view` is held and must be released
  Py_buffer view;
  struct ManagedTensor *managed; // tensor from DLPack that is held; null: none
  int32_t type;                  // a value of lathe_element_type
  size_t rank;
  int64_t dims[MOST_AXES];
  void *data;
  size_t bytes;
} Memory;

typedef enum {
  TAKEN,    // the memory is held
  UNSUITED, // the object has no memory that can be used in place; no exception is set
  REFUSED,  // an exception is set
} Taking;

/// Holds the memory of `value`, which has the buffer protocol or __dlpack__, if it is dense, row-major, aligned, of
/// native byte order and of the type `wanted` (for bf16 also 16-bit unsigned bit patterns). `memory` must not be
/// copied afterwards. Refuses tensors of DLPack that have gaps or are not in the CPU's memory: sets the exception
/// `error`, with the input's name `name`.
Taking takeMemory(Memory *memory, PyObject *value, int32_t wanted, PyObject *error, PyObject *name);
void releaseMemory(Memory *memory);

#endif
