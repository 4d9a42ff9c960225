// Builds candidate kernels of one tuning task: machine code and packed constants for a schedule.
#pragma once

#include "codegen/Generate.h"
#include "tune/measure/builder/KernelTensors.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>

namespace lathe::tune {

/// Target and options of the compilation, read from the message "options" (docs/notes/tuning-measurement.md).
struct BuildOptions {
  Target target;
  KernelOptions kernel;
  std::string packedFolder; // folder for packed constants

  explicit BuildOptions(const nlohmann::json &message);
};

class Builder {
public:
  explicit Builder(BuildOptions options) : options(std::move(options)) {}

  /// Sets the task from the message "task". Returns the message "task" for the runner if the request has "data",
  /// otherwise an empty object. Returns {"declined"} for a task that cannot be measured. Throws Error for a malformed
  /// message.
  nlohmann::json setTask(const nlohmann::json &request);
  /// Builds the candidate kernel of `schedule`. Returns {"status": "passed", "candidate", "generate", "lower",
  /// "pack"}, the last three in seconds, or {"status", "reason"}.
  nlohmann::json build(const std::string &schedule);

private:
  /// The kernel function and the facts about it, in a separate MLIR context.
  struct Kernel {
    std::unique_ptr<mlir::MLIRContext> context;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    mlir::func::FuncOp function;
    std::unique_ptr<KernelFacts> facts;
  };

  BuildOptions options;
  std::string key, text, prefix; // text of the task; text of the kernel; prefix of the names of the task's files
  Extents extents;
  std::unique_ptr<Kernel> kernel;
  KernelTensors tensors;
  std::vector<std::optional<Tensor>> constants; // row-major; an entry for each operand, read when it is first packed
  int builds = 0;                               // number of candidates built in this MLIR context

  Outcome<std::unique_ptr<Kernel>> readKernel() const;
  KernelProblem problem(mlir::func::FuncOp function) const;
  nlohmann::json candidateOf(const GeneratedKernel &generated);
  nlohmann::json packed(size_t operand, const Packing &packing);
};

} // namespace lathe::tune
