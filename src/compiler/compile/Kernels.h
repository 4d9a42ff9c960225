// The kernels of one compilation. Each distinct kernel is scheduled, generated and compiled to
// machine code once.
#pragma once

#include "codegen/Generate.h"
#include "codegen/target/Emit.h"
#include "compile/Extents.h"
#include "compile/KernelCache.h"
#include "compile/ScheduleBook.h"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace lathe {

/// A compiled kernel, as the plan needs it.
struct CompiledKernel {
  /// `dim`, an extent of this kernel, in terms of the symbols of another function with the same code.
  Dim inTermsOf(const std::vector<std::string> &others, const Dim &dim) const;

  std::string name;           // name of the first function with this kernel
  Schedule schedule;          // with all parameters
  double predictedCycles = 0; // Prediction::total() of the schedule
  Dim units = 1;
  Dim scratchBytes = 0;
  Dim images = 1, stages = 1, firstOperandUnits = 0; // as in GeneratedKernel
  Dims dims;
  std::vector<std::optional<Packing>> packings; // one per kernel argument
  std::vector<std::string> symbols;             // of these extents: kernelSymbols of the function it was generated from
  size_t code = 0;                              // index into CodeImage::entries
};

/// A library of kernels. Functions with equal bodies, types, open extents and schedules share code. Not thread-safe.
class KernelLibrary {
public:
  /// The schedule of a kernel is taken from the first of these that has one: `schedules`, the
  /// attribute nn.schedule, each of `others` in order, the prior. All arguments but `options` and `measured` must outlive
  /// the library.
  KernelLibrary(const Target &target, const KernelOptions &options, ScheduleBook &schedules,
                const std::vector<std::shared_ptr<const ScheduleSource>> &others = {}, MeasuredTimes measured = {});

  /// Returns "" if code can be generated for `kernel`, else the reason. Changes nothing; the answer
  /// and the code are cached for `compiled`. Throws Error if a given schedule is illegal for the
  /// kernel.
  std::string declines(mlir::func::FuncOp kernel);

  /// Predicted cycles of `kernel` with the schedule that the user gives for it, else with the prior's schedule, or the
  /// reason why no schedule is legal. Other sources of schedules are not asked, so a prediction does not depend
  /// on records. Generates no code and changes nothing; equal kernels are predicted once.
  Outcome<double> predictCycles(mlir::func::FuncOp kernel) const;

  /// Measured seconds of `kernel` with the schedule that predictCycles takes, or why there are none. Other sources are
  /// not asked here, either: a kernel that is tuned later keeps the times by which its graph was chosen.
  Outcome<double> measuredSeconds(mlir::func::FuncOp kernel, BatchOrder order = BatchOrder::call) const;
  /// Measured seconds of a kernel that can pass its images alone: in one call, and image by image. Zeros if one of them was
  /// not measured.
  std::pair<double, double> secondsByOrder(mlir::func::FuncOp kernel) const;

  /// Says whether a kernel of two anchors stays one kernel instead of the kernels `parts`: by the schedules given for
  /// it or its parts; else by the measured times of all three kernels, where they differ enough (measuredDoubt); else
  /// by prediction. Changes nothing.
  WholeChoice staysWhole(mlir::func::FuncOp kernel, const std::vector<mlir::func::FuncOp> &parts) const;

  /// Marks the kernel as used by the program and returns it. Throws Error with its nodes if no code
  /// can be generated.
  const CompiledKernel &compiled(mlir::func::FuncOp kernel);

  /// Source of the kernel's schedule: "mine.txt, line 3", "nn.schedule of the kernel",
  /// "the prior's rule", "the prior's model"; "" if there is no code for the kernel.
  std::string originOf(mlir::func::FuncOp kernel) { return lookUp(kernel).origin; }

  /// Schedules of sources that were not used, with the reasons.
  std::vector<std::string> notes() const;

  size_t size() const { return used.size(); }

  /// Notes symbols that are heights and widths of images: unless a value is given, schedules are chosen for the extent
  /// of a typical image.
  void assumeImages(const std::vector<std::string> &symbols);

  /// Returns the machine code of all kernels requested with `compiled`, in the order of
  /// CompiledKernel::code; their modules are consumed. Kernels in `cache` are not lowered again,
  /// others are stored in it. Calls `progress(done, total)` after each kernel. With `jobs` > 1, as
  /// many threads lower kernels, each in its own context.
  CodeImage emit(int jobs, KernelCache &cache, const std::function<void(size_t done, size_t total)> &progress);

  /// Text of a stage of every requested kernel, each after a comment with name and schedule.
  std::string text(EmitStage stage);

private:
  struct Entry {
    Outcome<CompiledKernel> outcome;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    bool inProgram = false;
  };
  struct Found {
    Entry *entry;
    std::string origin; // of the schedule; kernels that share an entry may differ in it
  };
  const Target &target;
  KernelOptions options;
  ScheduleBook &schedules;
  WrittenSchedules written;
  PriorSchedules prior;
  MeasuredTimes measured;                                // may be empty
  std::vector<const ScheduleSource *> sources;           // in the order in which they are asked; the prior is last
  std::set<std::string> illegal;                         // notes about schedules that were found
  std::map<std::string, std::unique_ptr<Entry>> entries; // by identity and schedule
  std::vector<Entry *> used;
  mutable std::map<std::string, Outcome<double>> predictions; // by identity and schedule
  struct TypicalKernel {
    mlir::OwningOpRef<mlir::func::FuncOp> function;
    std::unique_ptr<ScheduleTask> task;
  };
  mutable std::map<std::string, TypicalKernel> typicalKernels; // by identity; null: as the kernel itself

  /// Object code of the kernels of `used`, by index.
  struct Objects {
    std::vector<std::vector<char>> code;
    std::vector<std::string> texts; // generic text of each kernel; "" where nothing needs it
    std::vector<size_t> missing;    // kernels that are not in the cache
  };
  /// Both lower the missing kernels, consume their modules, and call `lowered` after each kernel, one
  /// call at a time.
  void lowerHere(Objects &objects, const std::function<void(size_t)> &lowered);
  void lowerInThreads(Objects &objects, int jobs, const std::function<void(size_t)> &lowered);

  /// The user's sources and the prior, by which passes decide.
  std::array<const ScheduleSource *, 3> askedByPasses() const { return {&schedules, &written, &prior}; }
  /// The same kernel with the extents of KernelOptions::typical; null if it has none of these symbols.
  const ScheduleTask *typicalOf(const ScheduleTask &task) const;
  /// True if the facts have the typical extents themselves.
  static bool assumes(const ScheduleTask &task) { return task.facts() && !(*task.facts())->assumed.empty(); }
  /// What the source has for the typical extents where that is legal for all extents, else for the kernel itself.
  Outcome<FoundSchedule> ask(const ScheduleSource &source, const ScheduleTask &task) const;
  Outcome<double> predictOne(const ScheduleTask &task, const Schedule &schedule) const;
  Found lookUp(mlir::func::FuncOp kernel);
  Entry &entryOf(const ScheduleTask &task, const Schedule &schedule);
};

} // namespace lathe
