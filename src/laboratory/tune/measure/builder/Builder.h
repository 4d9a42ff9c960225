// Builds candidates of one task: machine code and packed constants for a schedule.
#pragma once

#include "codegen/Generate.h"
#include "tune/measure/builder/KernelTensors.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>

namespace lathe::tune {

/// Target and options of compilation; the message "options" (docs/notes/tuning-measurement.md).
struct BuildOptions {
  Target target;
  KernelOptions kernel;
  std::string packedFolder; // for packed constants

  explicit BuildOptions(const nlohmann::json &message);
};

class Builder {
public:
  explicit Builder(BuildOptions options) : options(std::move(options)) {}

  /// Takes the task of the message "task". Answers with the runner's message "task" if the request has "data",
  /// otherwise with an empty object. Answers {"declined"} for a task that cannot be measured. Throws Error for a wrong
  /// message.
  nlohmann::json setTask(const nlohmann::json &request);
  /// Answers {"status", "reason"} or {"status": "passed", "candidate", "generate", "lower", "pack"} with seconds.
  nlohmann::json build(const std::string &schedule);

private:
  /// The kernel function and its facts, in a separate MLIR context.
  struct Kernel {
    std::unique_ptr<mlir::MLIRContext> context;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    mlir::func::FuncOp function;
    std::unique_ptr<KernelFacts> facts;
  };

  BuildOptions options;
  std::string key, text, prefix; // prefix: of the names of the task's files
  Extents extents;
  std::unique_ptr<Kernel> kernel;
  KernelTensors tensors;
  std::vector<std::optional<Tensor>> constants; // row-major, by operand; read when first packed
  int builds = 0;                               // in this context

  Outcome<std::unique_ptr<Kernel>> readKernel() const;
  KernelProblem problem(mlir::func::FuncOp function) const;
  nlohmann::json candidateOf(const GeneratedKernel &generated);
  nlohmann::json packed(size_t operand, const Packing &packing);
};

} // namespace lathe::tune
