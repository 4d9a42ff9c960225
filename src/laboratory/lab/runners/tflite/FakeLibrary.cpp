// A library for tests with the functions of TensorFlow Lite's C API that runs one kind of model: a float32 or int8
// input, and an output with the same extents that is its relu (int8: the greater of the element and the zero point 0).
// It ignores the content of the file. $FAKE_TFLITE gives "SHAPE TYPE" of the input and the output ("1x4 f32"); if
// "fails" follows, every run fails with a message.
#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Tensor {
  bool isFloat = true;
  std::vector<int32_t> dims;
  std::vector<float> floats;
  std::vector<int8_t> bytes;

  void resize() {
    size_t count = 1;
    for (int32_t dim : dims)
      count *= size_t(dim);
    floats.resize(isFloat ? count : 0);
    bytes.resize(isFloat ? 0 : count);
  }
};

struct Model {};
struct Options {
  void (*reporter)(void *, const char *, va_list) = nullptr;
  void *data = nullptr;
};
struct Interpreter {
  Options options;
  Tensor input, output;
  bool fails = false;
};

void say(const Options &options, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (options.reporter)
    options.reporter(options.data, format, arguments);
  va_end(arguments);
}

} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED const char *TfLiteVersion() { return "2.0-fake"; }
EXPORTED Model *TfLiteModelCreateFromFile(const char *) { return new Model; }
EXPORTED void TfLiteModelDelete(Model *model) { delete model; }
EXPORTED Options *TfLiteInterpreterOptionsCreate() { return new Options; }
EXPORTED void TfLiteInterpreterOptionsDelete(Options *options) { delete options; }
EXPORTED void TfLiteInterpreterOptionsSetNumThreads(Options *, int32_t) {}
EXPORTED void TfLiteInterpreterOptionsSetErrorReporter(Options *options,
                                                       void (*reporter)(void *, const char *, va_list), void *data) {
  options->reporter = reporter;
  options->data = data;
}
EXPORTED Interpreter *TfLiteInterpreterCreate(const Model *, const Options *options) {
  const char *stated = std::getenv("FAKE_TFLITE");
  if (!stated)
    return nullptr;
  auto *made = new Interpreter{*options, {}, {}};
  std::istringstream words(stated);
  std::string shape, type, fails;
  words >> shape >> type >> fails;
  made->fails = fails == "fails";
  made->input.isFloat = type == "f32";
  std::istringstream extents(shape);
  for (std::string extent; std::getline(extents, extent, 'x');)
    made->input.dims.push_back(std::atoi(extent.c_str()));
  made->output = made->input;
  return made;
}
EXPORTED void TfLiteInterpreterDelete(Interpreter *interpreter) { delete interpreter; }
EXPORTED int32_t TfLiteInterpreterGetInputTensorCount(const Interpreter *) { return 1; }
EXPORTED Tensor *TfLiteInterpreterGetInputTensor(const Interpreter *interpreter, int32_t) {
  return &const_cast<Interpreter *>(interpreter)->input;
}
EXPORTED int TfLiteInterpreterResizeInputTensor(Interpreter *interpreter, int32_t, const int *dims, int32_t rank) {
  if (size_t(rank) != interpreter->input.dims.size()) {
    say(interpreter->options, "rank %d is not %d", rank, int(interpreter->input.dims.size()));
    return 1;
  }
  interpreter->input.dims.assign(dims, dims + rank);
  interpreter->output.dims = interpreter->input.dims;
  return 0;
}
EXPORTED int TfLiteInterpreterAllocateTensors(Interpreter *interpreter) {
  interpreter->input.resize();
  interpreter->output.resize();
  return 0;
}
EXPORTED int TfLiteInterpreterInvoke(Interpreter *interpreter) {
  if (interpreter->fails) {
    say(interpreter->options, "node %d does not run", 7);
    return 1;
  }
  for (size_t i = 0; i < interpreter->input.floats.size(); ++i)
    interpreter->output.floats[i] = std::max(interpreter->input.floats[i], 0.0F);
  for (size_t i = 0; i < interpreter->input.bytes.size(); ++i)
    interpreter->output.bytes[i] = std::max<int8_t>(interpreter->input.bytes[i], 0);
  return 0;
}
EXPORTED int32_t TfLiteInterpreterGetOutputTensorCount(const Interpreter *) { return 1; }
EXPORTED const Tensor *TfLiteInterpreterGetOutputTensor(const Interpreter *interpreter, int32_t) {
  return &interpreter->output;
}
EXPORTED int TfLiteTensorType(const Tensor *tensor) { return tensor->isFloat ? 1 : 9; }
EXPORTED int32_t TfLiteTensorNumDims(const Tensor *tensor) { return int32_t(tensor->dims.size()); }
EXPORTED int32_t TfLiteTensorDim(const Tensor *tensor, int32_t axis) { return tensor->dims[size_t(axis)]; }
EXPORTED size_t TfLiteTensorByteSize(const Tensor *tensor) {
  return tensor->isFloat ? tensor->floats.size() * sizeof(float) : tensor->bytes.size();
}
EXPORTED void *TfLiteTensorData(const Tensor *tensor) {
  auto *here = const_cast<Tensor *>(tensor);
  return tensor->isFloat ? static_cast<void *>(here->floats.data()) : here->bytes.data();
}
