#include "lab/runners/onnxruntime/Network.h"

#include "lab/problems/OnnxTypes.h"
#include "support/Text.h"

#include <algorithm>
#include <cstring>

namespace lathe::ort {

static Owned<Session> openSession(const Api &api, const Env &env, const std::string &path, int threads,
                                  ExecutionMode mode) {
  auto options = make(api, api.releaseSessionOptions, api.createSessionOptions);
  check(api, api.setSessionExecutionMode(options.get(), mode));
  check(api, api.setSessionGraphOptimizationLevel(options.get(), allOptimizations));
  check(api, api.setSessionLogSeverityLevel(options.get(), errorLevel));
  check(api, api.setIntraOpNumThreads(options.get(), threads)); // the caller's thread counts as one of them
  check(api, api.setInterOpNumThreads(options.get(), mode == parallel ? threads : 1));
  return make(api, api.releaseSession, api.createSession, &env, path.c_str(),
              static_cast<const SessionOptions *>(options.get()));
}

static Allocator *defaultAllocator(const Api &api) {
  Allocator *allocator = nullptr;
  check(api, api.getAllocatorWithDefaultOptions(&allocator));
  return allocator;
}

Network::Network(const Api &api, const Env &env, const std::string &path, int threads, ExecutionMode mode)
    : api(api), allocator(defaultAllocator(api)),
      memory(make(api, api.releaseMemoryInfo, api.createCpuMemoryInfo, deviceAllocator, defaultMemory)),
      runOptions(make(api, api.releaseRunOptions, api.createRunOptions)),
      session(openSession(api, env, path, threads, mode)),
      binding(make(api, api.releaseIoBinding, api.createIoBinding, session.get())), inputPorts(portsOf(true)),
      outputPorts(portsOf(false)) {}

// Ports.

std::vector<Port> Network::portsOf(bool ofInputs) const {
  size_t count = 0;
  check(api, (ofInputs ? api.sessionGetInputCount : api.sessionGetOutputCount)(session.get(), &count));
  std::vector<Port> ports;
  for (size_t i = 0; i < count; ++i)
    ports.push_back(portOf(ofInputs, i));
  return ports;
}

/// The name of a value of ONNXType.
static const char *kindName(int kind) {
  switch (kind) {
  case 2:
    return "a sequence";
  case 3:
    return "a map";
  case 5:
    return "a sparse tensor";
  case 6:
    return "an optional";
  default:
    return "of an unknown kind";
  }
}

/// Types of arrays that runners exchange (support/Npy.h).
static bool inNpyFiles(ElementType type) {
  if (isFloat(type))
    return bitWidth(type) >= 16;
  return type == ElementType::boolean || (isInteger(type) && bitWidth(type) >= 8);
}

Port Network::portOf(bool ofInputs, size_t index) const {
  char *text = nullptr;
  check(api, (ofInputs ? api.sessionGetInputName : api.sessionGetOutputName)(session.get(), index, allocator, &text));
  Port port;
  port.name = text;
  check(api, api.allocatorFree(allocator, text));
  std::string where = fmt::format("{} '{}'", ofInputs ? "input" : "output", printable(port.name));

  auto info = make(api, api.releaseTypeInfo, ofInputs ? api.sessionGetInputTypeInfo : api.sessionGetOutputTypeInfo,
                   static_cast<const Session *>(session.get()), index);
  int kind = 0, type = 0;
  check(api, api.getOnnxTypeFromTypeInfo(info.get(), &kind));
  require(kind == tensorKind, "{} is {}, expected a tensor: runners exchange nothing else", where, kindName(kind));
  const TensorInfo *shape = nullptr; // owned by the info
  check(api, api.castTypeInfoToTensorInfo(info.get(), &shape));
  check(api, api.getTensorElementType(shape, &type));
  port.type = lab::elementTypeFromOnnx(type);
  require(inNpyFiles(port.type),
          "{} is a tensor of {}, expected numbers or booleans that .npy files hold: runners exchange nothing else",
          where, lab::onnxTypeName(type));
  size_t rank = 0;
  check(api, api.getDimensionsCount(shape, &rank));
  port.dims.resize(rank);
  std::vector<const char *> names(rank, "");
  check(api, api.getDimensions(shape, port.dims.data(), rank));
  check(api, api.getSymbolicDimensions(shape, names.data(), rank));
  port.names.assign(names.begin(), names.end());
  return port;
}

// Values.

Owned<Value> Network::valueOf(Tensor &tensor) const {
  static char none[64]; // tensors without elements have no storage
  void *data = tensor.bytes() ? tensor.data() : none;
  return make(api, api.releaseValue, api.createTensorWithData, static_cast<const MemoryInfo *>(memory.get()), data,
              size_t(tensor.bytes()), tensor.dims().data(), tensor.rank(), lab::onnxNumber(tensor.type()));
}

Tensor Network::copyOf(Value &value, const Port &port) const {
  auto shape = make(api, api.releaseTensorInfo, api.getTensorTypeAndShape, static_cast<const Value *>(&value));
  size_t rank = 0;
  check(api, api.getDimensionsCount(shape.get(), &rank));
  std::vector<int64_t> dims(rank);
  check(api, api.getDimensions(shape.get(), dims.data(), rank));
  Tensor tensor(port.type, dims);
  void *data = nullptr;
  check(api, api.getTensorMutableData(&value, &data));
  if (tensor.bytes())
    std::memcpy(tensor.data(), data, size_t(tensor.bytes()));
  return tensor;
}

void Network::bind(const std::string &input, Tensor tensor) {
  auto port = std::find_if(inputPorts.begin(), inputPorts.end(), [&](auto &port) { return port.name == input; });
  require(port != inputPorts.end(), "no input '{}'", printable(input));
  require(port->type == tensor.type(), "input '{}': an array of {}, expected {}", printable(input), name(tensor.type()),
          name(port->type));
  Owned<Value> value = valueOf(tensor);
  check(api, api.bindInput(binding.get(), input.c_str(), value.get()));
  tensors.insert_or_assign(input, std::move(tensor));
  inputValues.insert_or_assign(input, std::move(value));
  prepared = false; // the outputs' extents may depend on it
}

// Runs.

void Network::bindOutputsToSession() {
  api.clearBoundOutputs(binding.get());
  for (const Port &port : outputPorts)
    check(api, api.bindOutputToDevice(binding.get(), port.name.c_str(), memory.get()));
}

std::vector<Tensor> Network::copyOutputs() const {
  Value **values = nullptr;
  size_t count = 0;
  check(api, api.getBoundOutputValues(binding.get(), allocator, &values, &count));
  std::vector<Owned<Value>> owned;
  for (size_t i = 0; i < count; ++i)
    owned.emplace_back(values[i], api.releaseValue);
  if (values)
    check(api, api.allocatorFree(allocator, values));
  require(count == outputPorts.size(), "ONNX Runtime gives {} of {}", counted(int64_t(count), "output"),
          outputPorts.size());
  std::vector<Tensor> copies;
  for (size_t i = 0; i < count; ++i)
    copies.push_back(copyOf(*owned[i], outputPorts[i]));
  return copies;
}

bool Network::prepare() {
  if (prepared)
    return false;
  for (const Port &port : inputPorts) // the library notices this only when a node reads it
    require(tensors.contains(port.name), "input '{}' has no array", printable(port.name));
  bindOutputsToSession();
  check(api, api.runWithBinding(session.get(), runOptions.get(), binding.get()));
  outputTensors = copyOutputs();
  api.clearBoundOutputs(binding.get());
  outputValues.clear();
  for (size_t i = 0; i < outputPorts.size(); ++i) {
    outputValues.push_back(valueOf(outputTensors[i]));
    check(api, api.bindOutput(binding.get(), outputPorts[i].name.c_str(), outputValues.back().get()));
  }
  varying = false;
  prepared = true;
  return true;
}

void Network::run() {
  if (!varying) {
    Status *status = api.runWithBinding(session.get(), runOptions.get(), binding.get());
    if (!status)
      return;
    if (api.getErrorCode(status) != invalidArgument)
      check(api, status);
    // The inputs were right in `prepare`, so an output now has other extents.
    api.releaseStatus(status);
    varying = true;
  }
  bindOutputsToSession();
  check(api, api.runWithBinding(session.get(), runOptions.get(), binding.get()));
}

} // namespace lathe::ort
