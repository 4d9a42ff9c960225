// The part of TensorFlow Lite's C API that the runner uses, loaded from the library when the program runs.
//
// Source: tensorflow/lite/c/c_api.h and c_api_types.h. The functions exist in libtensorflowlite_c.so since TensorFlow
// 2.3, and in libLiteRt of later releases.
#pragma once

#include "support/ElementType.h"

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lathe::tflite_native {

// Types of objects to which the API gives pointers.
struct Model;
struct Options;
struct Interpreter;
struct NativeTensor;

using Reporter = void (*)(void *data, const char *format, va_list arguments);

/// Pointers to functions of the library. A returned status of 0 means success.
struct Api {
  const char *(*version)();
  Model *(*modelCreateFromFile)(const char *path); // returns null if the file cannot be read
  void (*modelDelete)(Model *);
  Options *(*optionsCreate)();
  void (*optionsDelete)(Options *);
  void (*optionsSetNumThreads)(Options *, int32_t threads);
  void (*optionsSetErrorReporter)(Options *, Reporter, void *data);
  // returns null if the runtime lacks an operator of the model
  Interpreter *(*interpreterCreate)(const Model *, const Options *);
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
  void *(*tensorData)(const NativeTensor *); // returns the memory of a tensor; null before allocateTensors
};

/// Loads the library. Throws Error with the library's path if it cannot be loaded or lacks a function.
Api openTflite(const std::string &path);

/// Returns the element type for a number of the C enum TfLiteType. Throws Error that begins with `where` for strings,
/// resources and complex numbers.
ElementType elementTypeOf(int type, const std::string &where);

template <class Handle> using Owned = std::unique_ptr<Handle, void (*)(Handle *)>;

} // namespace lathe::tflite_native
