// The kernels of one compilation: each distinct one is scheduled, generated and turned into machine code once.
#pragma once

#include "codegen/Generate.h"
#include "codegen/target/Emit.h"
#include "compile/KernelCache.h"
#include "compile/ScheduleBook.h"

#include <functional>
#include <map>
#include <memory>

namespace lathe {

/// What all kernels of a compilation have in common beside the target.
struct KernelOptions {
  int threads = 1;
  bool exactMath = false;
  bool smallMemory = false;
  Precision precision = Precision::fp32;
};

/// What the plan needs to know of a kernel's code.
struct CompiledKernel {
  std::string name;  // of the first function that asked for it
  Schedule schedule; // complete
  Dim units = 1;
  Dim scratchBytes = 0;
  Dim images = 1, stages = 1; // GeneratedKernel's
  Dims dims;
  std::vector<std::optional<Packing>> packings; // by kernel argument
  size_t code = 0;                              // index into CodeImage::entries
};

/// Functions with equal bodies, types, symbolic extents and schedules share code. Not thread-safe.
class KernelLibrary {
public:
  KernelLibrary(const Target &target, const KernelOptions &options, ScheduleBook &schedules)
      : target(target), options(options), schedules(schedules) {}

  /// A pure question: "" when code can be made for `kernel`, otherwise why not. The answer and the code are remembered
  /// for `compiled`. Throws Error where a schedule was given for the kernel that is not legal.
  std::string declines(mlir::func::FuncOp kernel);

  /// A pure question: whether a kernel of two anchors should be one and not the kernels `parts`, as schedules given for
  /// it or for one of them say, otherwise as predicted.
  bool staysWhole(mlir::func::FuncOp kernel, const std::vector<std::string> &parts) const;

  /// Marks the kernel as used by the program. Throws Error naming its nodes when no code can be made.
  const CompiledKernel &compiled(mlir::func::FuncOp kernel);

  size_t size() const { return used.size(); }

  /// Machine code of all kernels asked for with `compiled`, in the order of CompiledKernel::code; consumes their
  /// modules. What `cache` holds is not lowered again, what it lacks is stored. `progress(done, total)` after each.
  /// With `jobs` > 1 kernels are lowered by that many threads, each in a context of its own.
  CodeImage emit(int jobs, KernelCache &cache, const std::function<void(size_t done, size_t total)> &progress);

  /// Text of a stage of every kernel asked for, each under a comment with its name and schedule.
  std::string text(EmitStage stage);

private:
  struct Entry {
    Outcome<CompiledKernel> outcome;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    bool inProgram = false;
  };
  const Target &target;
  KernelOptions options;
  ScheduleBook &schedules;
  std::map<std::string, std::unique_ptr<Entry>> entries; // by identity
  std::vector<Entry *> used;

  Entry &lookUp(mlir::func::FuncOp kernel);
};

/// The text that tells kernels apart: the function without its name and locations.
std::string kernelIdentity(mlir::func::FuncOp kernel);

} // namespace lathe
