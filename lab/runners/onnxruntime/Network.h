// A model in a session of ONNX Runtime, with all inputs and outputs bound to memory of this program.
//
// Outputs get their memory in the first run after load or bind; later runs write to the same memory. So a run allocates
// and copies nothing outside of what the session itself does.
#pragma once

#include "lab/runners/ServeRunner.h"
#include "lab/runners/onnxruntime/OrtApi.h"

#include <map>

namespace lathe::ort {

/// An input or output of the model. Only tensors of types that .npy files hold are accepted.
struct Port {
  std::string name;
  ElementType type;
  std::vector<int64_t> dims;      // -1 for a free dimension
  std::vector<std::string> names; // of free dimensions, "" for the others
};

class Network {
public:
  /// Throws Error with ONNX Runtime's own words when it cannot load the model.
  Network(const Api &api, const Env &env, const std::string &path, int threads);

  const std::vector<Port> &inputs() const { return inputPorts; }
  const std::vector<Port> &outputs() const { return outputPorts; }

  /// The tensor's storage stays in use until another one is bound. Its extents are checked by the next run.
  void bind(const std::string &input, Tensor tensor);
  /// The tensors bound so far.
  const std::map<std::string, Tensor> &bound() const { return tensors; }

  /// Runs once and makes the memory of the outputs. False, and nothing is done, where it is there. Throws Error when an
  /// input is not bound.
  bool prepare();
  /// Runs. Only after `prepare`. When an output turns out to have other extents than in the first run, from then on the
  /// session allocates the outputs in each run.
  void run();
  /// Of the last run, in the order of the ports; may be overwritten by the next one.
  std::vector<Tensor> results() const { return varying ? copyOutputs() : outputTensors; }

private:
  std::vector<Port> portsOf(bool ofInputs) const;
  Port portOf(bool ofInputs, size_t index) const;
  Owned<Value> valueOf(Tensor &tensor) const;
  void bindOutputsToSession();
  std::vector<Tensor> copyOutputs() const;
  /// A copy of what the session has allocated for an output.
  Tensor copyOf(Value &value, const Port &port) const;

  const Api &api;
  Allocator *allocator = nullptr; // the library's
  Owned<MemoryInfo> memory;
  Owned<RunOptions> runOptions;
  Owned<Session> session;
  Owned<IoBinding> binding;
  std::vector<Port> inputPorts, outputPorts;
  std::map<std::string, Tensor> tensors; // of inputs
  std::map<std::string, Owned<Value>> inputValues;
  bool prepared = false; // outputs are bound to outputTensors
  bool varying = false;  // they are not any more: each run has other extents
  std::vector<Tensor> outputTensors;
  std::vector<Owned<Value>> outputValues;
};

} // namespace lathe::ort
