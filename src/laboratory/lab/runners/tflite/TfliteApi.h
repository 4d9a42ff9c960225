// The part of TensorFlow Lite's C API that the runner uses, bound when the program runs.
//
// Source: tensorflow/lite/c/c_api.h and c_api_types.h. The functions exist in libtensorflowlite_c.so since TensorFlow 2.3,
// and in libLiteRt of later releases.
#pragma once

#include "support/ElementType.h"

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lathe::tflite_native {

// Types of handles.
struct Model;
struct Options;
struct Interpreter;
struct NativeTensor;

using Reporter = void (*)(void *data, const char *format, va_list arguments);

/// Functions of the library, as pointers. A status of 0 means success.
struct Api {
  const char *(*version)();
  Model *(*modelCreateFromFile)(const char *path); // null: the file cannot be read
  void (*modelDelete)(Model *);
  Options *(*optionsCreate)();
  void (*optionsDelete)(Options *);
  void (*optionsSetNumThreads)(Options *, int32_t threads);
  void (*optionsSetErrorReporter)(Options *, Reporter, void *data);
  Interpreter *(*interpreterCreate)(const Model *, const Options *); // null: the runtime lacks an operator of the model
  void (*interpreterDelete)(Interpreter *);
  int32_t (*inputCount)(const Interpreter *);
  NativeTensor *(*input)(const Interpreter *, int32_t index);
  int (*resizeInput)(Interpreter *, int32_t index, const int *dims, int32_t rank);
  int (*allocateTensors)(Interpreter *);
  int (*invoke)(Interpreter *);
  int32_t (*outputCount)(const Interpreter *);
  const NativeTensor *(*output)(const Interpreter *, int32_t index);
  int (*tensorType)(const NativeTensor *);
  int32_t (*tensorRank)(const NativeTensor *);
  int32_t (*tensorDim)(const NativeTensor *, int32_t axis);
  size_t (*tensorBytes)(const NativeTensor *);
  void *(*tensorData)(const NativeTensor *); // memory of a tensor; null before allocateTensors
};

/// Loads the library. Throws Error with the file if it cannot be loaded or lacks a function.
Api openTflite(const std::string &path);

/// The element type of a number of TfLiteType. Throws Error that begins with `where` for strings, resources and complex
/// numbers.
ElementType elementTypeOf(int type, const std::string &where);

template <class Handle> using Owned = std::unique_ptr<Handle, void (*)(Handle *)>;

} // namespace lathe::tflite_native
