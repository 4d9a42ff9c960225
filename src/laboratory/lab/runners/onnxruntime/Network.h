// A model in an ONNX Runtime session, with inputs and outputs bound to memory of this program.
//
// The first run after load or bind determines the extents of the outputs and allocates them; later
// runs write to the same memory. A timed run therefore allocates and copies nothing outside the
// session.
#pragma once

#include "lab/runners/ServeRunner.h"
#include "lab/runners/onnxruntime/OrtApi.h"

#include <map>

namespace lathe::ort {

/// An input or output of the model. Only tensors of types that .npy files can hold are accepted.
struct Port {
  std::string name;
  ElementType type;
  std::vector<int64_t> dims;      // extents; -1: an open extent
  std::vector<std::string> names; // symbols of open extents; "" for other extents
};

class Network {
public:
  /// Loads a model into a session. In the mode `parallel`, `threads` threads start nodes and as many share the work of
  /// a node. Throws Error with ONNX Runtime's message on failure.
  Network(const Api &api, const Env &env, const std::string &path, int threads, ExecutionMode mode);

  const std::vector<Port> &inputs() const { return inputPorts; }
  const std::vector<Port> &outputs() const { return outputPorts; }

  /// Binds an input; the tensor's memory is used until another tensor is bound. The next run checks its extents.
  void bind(const std::string &input, Tensor tensor);
  /// The tensors bound to inputs so far, by name.
  const std::map<std::string, Tensor> &bound() const { return tensors; }

  /// Runs the model once and allocates the outputs. Returns false and does nothing if they exist already. Throws Error
  /// if an input is not bound.
  bool prepare();
  /// Runs the model. Call `prepare` before. If an output gets other extents than in the first run, the session
  /// allocates the outputs in every run from then on.
  void run();
  /// The outputs of the last run, in the order of the ports. The next run may overwrite them.
  std::vector<Tensor> results() const { return varying ? copyOutputs() : outputTensors; }

private:
  std::vector<Port> portsOf(bool ofInputs) const;
  Port portOf(bool ofInputs, size_t index) const;
  Owned<Value> valueOf(Tensor &tensor) const;
  void bindOutputsToSession();
  std::vector<Tensor> copyOutputs() const;
  /// A copy of an output that the session has allocated.
  Tensor copyOf(Value &value, const Port &port) const;

  const Api &api;
  Allocator *allocator = nullptr; // owned by the library
  Owned<MemoryInfo> memory;
  Owned<RunOptions> runOptions;
  Owned<Session> session;
  Owned<IoBinding> binding;
  std::vector<Port> inputPorts, outputPorts;
  std::map<std::string, Tensor> tensors; // tensors bound to inputs, by name
  std::map<std::string, Owned<Value>> inputValues;
  bool prepared = false; // true: outputs are bound to outputTensors
  bool varying = false;  // true: extents of outputs vary, so the session allocates outputs
  std::vector<Tensor> outputTensors;
  std::vector<Owned<Value>> outputValues;
};

} // namespace lathe::ort
