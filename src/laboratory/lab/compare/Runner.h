// A runner: a program that runs whole models with some framework (protocol:
// docs/runner-protocol.md).
//
// Failures: see lab/judging/TimingWorker.h.
#pragma once

#include "lab/judging/TimingWorker.h"
#include "support/ElementType.h"

#include <filesystem>
#include <map>

namespace lathe::lab {

/// How to start a runner, and the formats that it loads.
struct RunnerSpec {
  std::string name; // name of the runner, such as "onnxruntime"
  process::Command command;
  std::vector<std::string> formats; // formats of model files that the runner loads (docs/runner-protocol.md)

  bool reads(std::string_view format) const;
};

/// Environment variable with the path of a native library of TensorFlow Lite's C API; unset: there is none.
inline constexpr const char *tfliteLibraryVariable = "LATHE_TFLITE_LIBRARY";

/// Returns the runner called `name`: a program beside this one ("onnxruntime", "onnxruntime-parallel", "opencv",
/// "lathe", "reference"), or a script under Node.js ("tflite", "tensorflowjs") or Python ("tensorflow"). "tflite" is
/// the program lathe-runner-tflite with the library in $LATHE_TFLITE_LIBRARY, or the command in $LATHE_TFLITE_RUNNER,
/// if one of them is set. Declines with instructions if the program, or its requirements
/// (lab/compare/OnnxRuntimePlace.h), are not installed.
Outcome<RunnerSpec> findRunner(const std::string &name);
/// Returns the runner called `name` like findRunner, but throws Error that begins with `where` instead of declining.
RunnerSpec runnerNamed(const std::string &name, const std::string &where);

struct RunnerPort {
  std::string name;
  std::string type;              // name of an ElementType; "": not known
  std::vector<std::string> dims; // extents: numbers such as "224", or symbols for open extents
  bool ranked = true;            // false: the port takes tensors of any rank
};

/// A part of a model, from the tensors `from` to the tensors `to`. Empty lists mean the inputs and the outputs of the
/// model.
struct ModelPart {
  std::vector<std::string> from, to;
};

struct RunnerModel {
  double loadSeconds = 0;
  std::vector<RunnerPort> inputs, outputs;
};

struct RunnerTimeouts {
  double start = 120, load = 600, run = 600; // limits of each request, in seconds
};

class Runner : public TimingWorker {
public:
  static process::Result<Runner> start(const RunnerSpec &spec, const process::Limits &limits = {},
                                       const RunnerTimeouts &timeouts = {});

  process::Result<RunnerModel> load(const std::string &path, int threads, const ModelPart &part = {});
  /// Binds inputs for all later runs; `files` has the path of a .npy file by name of the input.
  process::Result<bool> setInputs(const std::map<std::string, std::string> &files);
  /// Runs the model once and writes its outputs below `directory`. Returns the path of a .npy file by name of the
  /// output.
  process::Result<std::map<std::string, std::string>> run(const std::string &directory);
  process::Result<bool> setThreads(int threads);

private:
  Runner(process::Worker worker, const RunnerSpec &spec, const RunnerTimeouts &timeouts)
      : TimingWorker(std::move(worker), spec.name, timeouts.run), timeouts(timeouts) {}

  RunnerTimeouts timeouts;
};

/// Copies a package to `folder`, which is created, and returns the path of the copy. Each process start gets such a
/// copy: a package is mapped in place, and the pages of the page cache in which it lies change its times by a few
/// percent and stay the same over all starts.
std::string copiedPackage(const std::string &package, const std::filesystem::path &folder);

} // namespace lathe::lab
