// What runners written in C++ have in common: the conversation of docs/runner-protocol.md and the timed loop.
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

/// One framework. Whatever it throws becomes an answer with "error"; it is asked further afterwards.
class ServedRunner {
public:
  virtual ~ServedRunner() = default;
  /// "name", "version", "formats", "settings".
  virtual nlohmann::json hello() = 0;
  /// Replaces the model loaded before and forgets its inputs. When this throws, no model is loaded.
  virtual void load(const std::string &path, int threads) = 0;
  /// "inputs", "outputs" and what else it says of the loaded model.
  virtual nlohmann::json describe() = 0;
  /// Inputs stay bound. When this throws, no model is loaded.
  virtual void setThreads(int threads) = 0;
  /// Keeps `tensor` bound for all runs that follow.
  virtual void bind(const std::string &input, Tensor tensor) = 0;
  /// Does what only the first run after load, bind or setThreads needs, untimed. True if that included a run.
  virtual bool prepare() { return false; }
  /// The framework's own call, and nothing else: this is what is timed.
  virtual void run() = 0;
  /// Of the last run.
  virtual std::vector<NamedTensor> outputs() = 0;
};

/// Answers requests on standard input until it ends or one of them is "quit". The exit code.
int serveRunner(ServedRunner &runner);

} // namespace lathe::lab
