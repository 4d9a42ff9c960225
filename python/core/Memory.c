// Memory of inputs: of objects with the buffer protocol, and of tensors that DLPack passes.
#include "python/core/Core.h"

#include <string.h>

// DLPack's interface of version 0, as dlpack.h states it.
typedef struct {
  int32_t kind, index;
} Device;
typedef struct {
  uint8_t code, bits;
  uint16_t lanes;
} DataType;
typedef struct {
  void *data;
  Device device;
  int32_t rank;
  DataType type;
  int64_t *dims, *strides; // strides in elements; null: dense and row-major
  uint64_t offset;         // in bytes
} DlTensor;
struct ManagedTensor {
  DlTensor tensor;
  void *context;
  void (*deleter)(struct ManagedTensor *self);
};
enum { CPU = 1, PINNED = 3 }; // devices whose memory the CPU reads
enum { SIGNED = 0, UNSIGNED = 1, REAL = 2, BRAIN = 4, BOOLEAN = 6 };

static const char *typeText(int32_t type) {
  static const char *const texts[] = {"?",   "f32", "f64", "f16", "bf16", "i8",  "i16",
                                      "i32", "i64", "u8",  "u16", "u32",  "u64", "bool"};
  return type > 0 && type <= LATHE_BOOL ? texts[type] : texts[0];
}

static int32_t typeOfInteger(bool isSigned, size_t bytes) {
  switch (bytes) {
  case 1:
    return isSigned ? LATHE_I8 : LATHE_U8;
  case 2:
    return isSigned ? LATHE_I16 : LATHE_U16;
  case 4:
    return isSigned ? LATHE_I32 : LATHE_U32;
  case 8:
    return isSigned ? LATHE_I64 : LATHE_U64;
  default:
    return LATHE_INVALID_TYPE;
  }
}

static int32_t typeOfReal(size_t bytes) {
  return bytes == 4 ? LATHE_F32 : bytes == 8 ? LATHE_F64 : bytes == 2 ? LATHE_F16 : LATHE_INVALID_TYPE;
}

/// The element type of a format of the module `struct`, for elements in this machine's byte order.
static int32_t typeOfFormat(const char *format, size_t bytes) {
  if (!format)
    return LATHE_U8;
  if (*format == '@' || *format == '=' || *format == '<') // every machine that Lathe supports is little-endian
    ++format;
  if (!*format || format[1])
    return LATHE_INVALID_TYPE;
  if (strchr("bhilqn", *format))
    return typeOfInteger(true, bytes);
  if (strchr("BHILQN", *format))
    return typeOfInteger(false, bytes);
  if (strchr("efd", *format))
    return typeOfReal(bytes);
  return *format == '?' ? LATHE_BOOL : LATHE_INVALID_TYPE;
}

static int32_t typeOfDlPack(DataType type) {
  if (type.lanes != 1 || type.bits % 8)
    return LATHE_INVALID_TYPE;
  switch (type.code) {
  case SIGNED:
  case UNSIGNED:
    return typeOfInteger(type.code == SIGNED, type.bits / 8);
  case REAL:
    return typeOfReal(type.bits / 8);
  case BRAIN:
    return type.bits == 16 ? LATHE_BF16 : LATHE_INVALID_TYPE;
  case BOOLEAN:
    return type.bits == 8 ? LATHE_BOOL : LATHE_INVALID_TYPE;
  default:
    return LATHE_INVALID_TYPE;
  }
}

static bool suits(int32_t type, int32_t wanted) {
  return type == wanted || (type == LATHE_U16 && wanted == LATHE_BF16);
}

static Taking takeBuffer(Memory *memory, PyObject *value, int32_t wanted) {
  Py_buffer *view = &memory->view;
  if (PyObject_GetBuffer(value, view, PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();
    return UNSUITED;
  }
  size_t size = (size_t)view->itemsize;
  if (!suits(typeOfFormat(view->format, size), wanted) || view->ndim > MOST_AXES || !PyBuffer_IsContiguous(view, 'C') ||
      (uintptr_t)view->buf % size != 0) {
    PyBuffer_Release(view);
    return UNSUITED;
  }
  memory->exported = true;
  memory->type = wanted;
  memory->rank = (size_t)view->ndim;
  for (size_t i = 0; i < memory->rank; ++i)
    memory->dims[i] = view->shape[i];
  memory->data = view->buf;
  memory->bytes = (size_t)view->len;
  return TAKEN;
}

static bool isDense(const DlTensor *tensor) {
  int64_t step = 1;
  bool dense = true;
  for (int32_t i = tensor->rank - 1; i >= 0; --i) {
    if (tensor->dims[i] == 0)
      return true;
    dense &= !tensor->strides || tensor->dims[i] == 1 || tensor->strides[i] == step;
    step *= tensor->dims[i];
  }
  return dense;
}

/// The tuple of `count` integers as text, a new reference.
static PyObject *numbersText(const int64_t *numbers, int32_t count) {
  PyObject *tuple = PyTuple_New(count);
  for (int32_t i = 0; tuple && i < count; ++i)
    PyTuple_SetItem(tuple, i, PyLong_FromLongLong(numbers[i]));
  PyObject *text = tuple ? PyObject_Str(tuple) : NULL;
  Py_XDECREF(tuple);
  return text;
}

static void refuseStrides(const DlTensor *tensor, PyObject *error, PyObject *name) {
  PyObject *dims = numbersText(tensor->dims, tensor->rank), *strides = numbersText(tensor->strides, tensor->rank);
  if (dims && strides)
    PyErr_Format(
        error, "input '%U': expected a contiguous tensor, got one of shape %U with strides %U: pass a contiguous copy",
        name, dims, strides);
  Py_XDECREF(dims);
  Py_XDECREF(strides);
}

/// Describes a tensor that `memory` owns from now on.
static Taking describe(Memory *memory, int32_t wanted, PyObject *error, PyObject *name) {
  const DlTensor *tensor = &memory->managed->tensor;
  memory->type = typeOfDlPack(tensor->type);
  if (tensor->device.kind != CPU && tensor->device.kind != PINNED) {
    PyErr_Format(error, "input '%U': expected a tensor in the CPU's memory, got DLPack's device %i", name,
                 (int)tensor->device.kind);
    return REFUSED;
  }
  if (tensor->rank < 0 || tensor->rank > MOST_AXES) {
    PyErr_Format(error, "input '%U': expected at most %i axes, got %i", name, MOST_AXES, (int)tensor->rank);
    return REFUSED;
  }
  if (!suits(memory->type, wanted)) {
    if (memory->type >= LATHE_F32 && memory->type <= LATHE_BF16 && wanted >= LATHE_I8)
      return UNSUITED; // real numbers that the caller may quantise
    PyErr_Format(error, "input '%U': expected %s, got %s", name, typeText(wanted), typeText(memory->type));
    return REFUSED;
  }
  if (!isDense(tensor)) {
    refuseStrides(tensor, error, name);
    return REFUSED;
  }
  memory->type = wanted;
  memory->rank = (size_t)tensor->rank;
  memory->bytes = tensor->type.bits / 8u;
  for (size_t i = 0; i < memory->rank; ++i) {
    memory->dims[i] = tensor->dims[i];
    memory->bytes *= (size_t)tensor->dims[i];
  }
  memory->data = (char *)tensor->data + tensor->offset;
  return TAKEN;
}

static Taking takeDlPack(Memory *memory, PyObject *value, int32_t wanted, PyObject *error, PyObject *name) {
  PyObject *capsule = PyObject_CallMethod(value, "__dlpack__", NULL);
  if (!capsule) { // such as PyTorch's tensors of booleans or with gradients
    if (!PyErr_ExceptionMatches(PyExc_Exception))
      return REFUSED; // KeyboardInterrupt
    PyErr_Clear();
    return UNSUITED;
  }
  struct ManagedTensor *managed =
      PyCapsule_IsValid(capsule, "dltensor") ? PyCapsule_GetPointer(capsule, "dltensor") : NULL;
  if (!managed || PyCapsule_SetName(capsule, "used_dltensor") != 0) { // the name says that the tensor has been taken
    PyErr_Clear();
    PyErr_Format(error, "input '%U': expected a tensor of DLPack that nobody has taken yet", name);
    Py_DECREF(capsule);
    return REFUSED;
  }
  Py_DECREF(capsule);
  memory->managed = managed;
  Taking taking = describe(memory, wanted, error, name);
  if (taking != TAKEN)
    releaseMemory(memory);
  return taking;
}

Taking takeMemory(Memory *memory, PyObject *value, int32_t wanted, PyObject *error, PyObject *name) {
  if (PyObject_CheckBuffer(value))
    return takeBuffer(memory, value, wanted);
  PyObject *method = PyObject_GetAttrString(value, "__dlpack__");
  if (!method) {
    PyErr_Clear();
    return UNSUITED;
  }
  Py_DECREF(method);
  return takeDlPack(memory, value, wanted, error, name);
}

void releaseMemory(Memory *memory) {
  if (memory->exported)
    PyBuffer_Release(&memory->view);
  memory->exported = false;
  struct ManagedTensor *managed = memory->managed;
  memory->managed = NULL;
  if (!managed || !managed->deleter)
    return;
  PyObject *type, *value, *traceback; // the deleter may run Python, which must not see our exception
  PyErr_Fetch(&type, &value, &traceback);
  managed->deleter(managed);
  PyErr_Restore(type, value, traceback);
}
