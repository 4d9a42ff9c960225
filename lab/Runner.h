// A runner: a program that runs whole models with some framework, spoken to in the protocol of docs/runner-protocol.md.
//
// Everything it may do wrong is a process::Failure. An error it reports itself ({"ok": false}) is a failure of kind
// `threw` with its text, after which it can still be asked other things; all other failures end it.
#pragma once

#include "process/Worker.h"
#include "support/ElementType.h"
#include "support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace lathe::lab {

/// How to start a runner, and what it loads.
struct RunnerSpec {
  std::string name; // "onnxruntime"
  process::Command command;
  std::string format; // "onnx", "lathe"
};

/// The runner called `name` ("onnxruntime", "lathe", "reference"): looked for in $LATHE_RUNNERS, beside this program,
/// in its installation and in the source tree. Declines with what to do about it when it is not installed.
Outcome<RunnerSpec> findRunner(const std::string &name);

struct RunnerPort {
  std::string name;
  std::string type;              // ElementType's name
  std::vector<std::string> dims; // "224", or the name of a free dimension
};

struct RunnerModel {
  double loadSeconds = 0;
  std::vector<RunnerPort> inputs, outputs;
};

struct RunnerTimeouts {
  double start = 120, load = 600, run = 600; // seconds
};

class Runner {
public:
  static process::Result<Runner> start(const RunnerSpec &spec, const process::Limits &limits = {},
                                       const RunnerTimeouts &timeouts = {});

  const std::string &name() const { return runnerName; }
  const std::string &version() const { return runnerVersion; }
  const nlohmann::json &settings() const { return runnerSettings; } // as it states them

  process::Result<RunnerModel> load(const std::string &path, int threads);
  /// Input name -> .npy file. They stay bound for all runs that follow.
  process::Result<bool> setInputs(const std::map<std::string, std::string> &files);
  /// Runs once and writes the outputs below `directory`: output name -> .npy file.
  process::Result<std::map<std::string, std::string>> run(const std::string &directory);
  /// Seconds of each of `repetitions` runs after `warmup` others, measured inside the runner.
  process::Result<std::vector<double>> time(int warmup, int repetitions);
  process::Result<bool> setThreads(int threads);

  void pause() { worker.pause(); }
  void resume() { worker.resume(); }
  process::Usage usage() const { return worker.usage(); }
  /// Asks it to leave; ends it if it does not.
  void quit();

private:
  Runner(process::Worker worker, const RunnerTimeouts &timeouts) : worker(std::move(worker)), timeouts(timeouts) {}
  process::Result<nlohmann::json> ask(const nlohmann::json &request, double timeoutSeconds);
  /// Asks, and turns the answer into a value with `read`; an answer of another shape is garbage.
  template <class T, class Read>
  process::Result<T> askFor(const nlohmann::json &request, double timeoutSeconds, Read read);

  process::Worker worker;
  RunnerTimeouts timeouts;
  std::string runnerName, runnerVersion;
  nlohmann::json runnerSettings;
};

} // namespace lathe::lab
