// lathe._core: what a run of the Python package costs. It binds inputs, runs and wraps outputs, over lathe/runtime.h.
// It uses Python's limited API, so one file serves Python 3.11 and later.
#ifndef LATHE_PYTHON_CORE_H
#define LATHE_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include "lathe/runtime.h"

#include <stdbool.h>

enum { MOST_AXES = 32 };

// ---- Memory of outputs ----------------------------------------------------------------------------------------------

/// Creates the type of Python objects that own memory for an output, aligned to 64 bytes. Returns null with an exception.
PyObject *makeBufferType(void);
/// Creates such an object. Returns null with an exception.
PyObject *newBuffer(PyObject *type, size_t bytes);
void *bufferData(PyObject *buffer);

// ---- Memory of inputs -----------------------------------------------------------------------------------------------

struct ManagedTensor; // of DLPack

/// Memory of another object, which stays valid until releaseMemory.
typedef struct {
  bool exported; // `view` is held
  Py_buffer view;
  struct ManagedTensor *managed; // held if not null
  int32_t type;                  // lathe_element_type
  size_t rank;
  int64_t dims[MOST_AXES];
  void *data;
  size_t bytes;
} Memory;

typedef enum {
  TAKEN,    // the memory is held
  UNSUITED, // the object offers none that can be used in place; no exception
  REFUSED,  // an exception is set
} Taking;

/// Holds the memory of `value`, which has the buffer protocol or __dlpack__, if it is dense, row-major, aligned, native
/// and of the type `wanted` (bf16: 16-bit unsigned bit patterns, too). `memory` must not be copied afterwards.
/// Refuses tensors of DLPack in other memory than the CPU's or with gaps: `error` says so of the input `name`.
Taking takeMemory(Memory *memory, PyObject *value, int32_t wanted, PyObject *error, PyObject *name);
void releaseMemory(Memory *memory);

#endif
