#include "lab/runners/tflite/TfliteApi.h"

#include "support/Error.h"
#include "support/Text.h"

#include <dlfcn.h>

namespace lathe::tflite_native {

Api openTflite(const std::string &path) {
  void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    fail("{}: cannot be loaded: {}", path, printable(::dlerror()));
  Api api;
  auto bind = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    require(function, "{}: has no {}, so it is not TensorFlow Lite's C library (libtensorflowlite_c.so)", path, name);
  };
  bind(api.version, "TfLiteVersion");
  bind(api.modelCreateFromFile, "TfLiteModelCreateFromFile");
  bind(api.modelDelete, "TfLiteModelDelete");
  bind(api.optionsCreate, "TfLiteInterpreterOptionsCreate");
  bind(api.optionsDelete, "TfLiteInterpreterOptionsDelete");
  bind(api.optionsSetNumThreads, "TfLiteInterpreterOptionsSetNumThreads");
  bind(api.optionsSetErrorReporter, "TfLiteInterpreterOptionsSetErrorReporter");
  bind(api.interpreterCreate, "TfLiteInterpreterCreate");
  bind(api.interpreterDelete, "TfLiteInterpreterDelete");
  bind(api.inputCount, "TfLiteInterpreterGetInputTensorCount");
  bind(api.input, "TfLiteInterpreterGetInputTensor");
  bind(api.resizeInput, "TfLiteInterpreterResizeInputTensor");
  bind(api.allocateTensors, "TfLiteInterpreterAllocateTensors");
  bind(api.invoke, "TfLiteInterpreterInvoke");
  bind(api.outputCount, "TfLiteInterpreterGetOutputTensorCount");
  bind(api.output, "TfLiteInterpreterGetOutputTensor");
  bind(api.tensorType, "TfLiteTensorType");
  bind(api.tensorRank, "TfLiteTensorNumDims");
  bind(api.tensorDim, "TfLiteTensorDim");
  bind(api.tensorBytes, "TfLiteTensorByteSize");
  bind(api.tensorData, "TfLiteTensorData");
  return api;
}

ElementType elementTypeOf(int type, const std::string &where) {
  switch (type) { // TfLiteType
  case 1:
    return ElementType::f32;
  case 2:
    return ElementType::i32;
  case 3:
    return ElementType::u8;
  case 4:
    return ElementType::i64;
  case 6:
    return ElementType::boolean;
  case 7:
    return ElementType::i16;
  case 9:
    return ElementType::i8;
  case 10:
    return ElementType::f16;
  case 11:
    return ElementType::f64;
  case 13:
    return ElementType::u64;
  case 16:
    return ElementType::u32;
  case 17:
    return ElementType::u16;
  case 19:
    return ElementType::bf16;
  default:
    fail("{}: has type {} of TfLiteType, expected numbers of 8 bits or more", where, type);
  }
}

} // namespace lathe::tflite_native
