// Base class of the runner programs written in C++: the message loop of docs/runner-protocol.md and the timed loop.
#pragma once

#include "runtime/Tensor.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace lathe::lab {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Runs models with one framework; each runner program implements this class. If a function throws, the program
/// answers the request with "error" and then takes the next request.
class ServedRunner {
public:
  virtual ~ServedRunner() = default;
  /// Returns the answer to "hello": "name", "version", "formats" and "settings".
  virtual nlohmann::json hello() = 0;
  /// Loads a model, replacing the previous model and its inputs. If it throws, no model is loaded.
  virtual void load(const std::string &path, int threads) = 0;
  /// Returns the answer to "load": "inputs", "outputs" and other facts about the loaded model.
  virtual nlohmann::json describe() = 0;
  /// Changes the number of threads. Inputs stay bound. If it throws, no model is loaded.
  virtual void setThreads(int threads) = 0;
  /// Sets the value of the input named `input` for all later runs.
  virtual void bind(const std::string &input, Tensor tensor) = 0;
  /// Does the work that only the first run after load, bind or setThreads needs, which is not timed. Returns true if
  /// this work included a run.
  virtual bool prepare() { return false; }
  /// Runs the model. It should only call the framework, because this call is timed.
  virtual void run() = 0;
  /// Returns the outputs of the last run with their names.
  virtual std::vector<NamedTensor> outputs() = 0;
};

/// Answers requests on standard input until it ends or a request is "quit". Returns the exit code.
int serveRunner(ServedRunner &runner);

} // namespace lathe::lab
