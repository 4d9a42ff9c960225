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

/// A compiled kernel in the form that the plan needs.
struct CompiledKernel {
  /// `dim`, an extent of this kernel, in the symbols of another function with the same code.
  Dim inTermsOf(const std::vector<std::string> &others, const Dim &dim) const;

  std::string name;           // name of the first function with this kernel
  Schedule schedule;          // with all parameters
  double predictedCycles = 0; // Prediction::total() of the schedule
  Dim units = 1;
  Dim scratchBytes = 0;
  Dim images = 1, stages = 1, firstOperandUnits = 0; // as in GeneratedKernel
  Dims dims;
  std::vector<std::optional<Packing>> packings; // one per kernel argument
  std::vector<std::string> symbols;             // in these extents: kernelSymbols of the generated function
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

  /// Predicted cycles of `kernel` with the schedule that the user gives for it, else with the prior's schedule;
  /// declines if no schedule is legal. Other sources are not asked, so predictions do not depend on tuning records.
  /// Generates no code and changes nothing; equal kernels are predicted once.
  Outcome<double> predictCycles(mlir::func::FuncOp kernel) const;

  /// Measured seconds of `kernel` with the schedule that predictCycles uses, or why there are none. Other sources are
  /// not asked here either, so tuning a kernel later does not change the times that chose its graph.
  Outcome<double> measuredSeconds(mlir::func::FuncOp kernel, BatchOrder order = BatchOrder::call) const;
  /// Measured seconds of a kernel that can pass images one by one: for all images in one call, and image by image. Both
  /// are 0 if one was not measured.
  std::pair<double, double> secondsByOrder(mlir::func::FuncOp kernel) const;

  /// Decides whether a kernel of two anchors stays one kernel or becomes the kernels `parts`: by the schedules given
  /// for it or its parts; else by the measured times of all three kernels, if they differ enough (measuredDoubt); else
  /// by predictions. Changes nothing.
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

  /// Notes symbols that are heights and widths of images. Without a given value, schedules for them are chosen for a
  /// typical image.
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
    std::string origin; // of the schedule; kernels with a common entry may have different origins
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

  /// Object code of the kernels in `used`, by index.
  struct Objects {
    std::vector<std::vector<char>> code;
    std::vector<std::string> texts; // generic text of each kernel; "" where nothing needs it
    std::vector<size_t> missing;    // kernels that are not in the cache
  };
  /// Both functions lower the missing kernels, consume their modules, and call `lowered` after each kernel, never at
  /// the same time.
  void lowerHere(Objects &objects, const std::function<void(size_t)> &lowered);
  void lowerInThreads(Objects &objects, int jobs, const std::function<void(size_t)> &lowered);

  /// The sources that passes decide by: the user's schedules and the prior.
  std::array<const ScheduleSource *, 3> askedByPasses() const { return {&schedules, &written, &prior}; }
  /// The same kernel with the extents of KernelOptions::typical; null if it has none of these symbols.
  const ScheduleTask *typicalOf(const ScheduleTask &task) const;
  /// True if the facts have the typical extents themselves.
  static bool assumes(const ScheduleTask &task) { return task.facts() && !(*task.facts())->assumed.empty(); }
  /// The source's schedule for the typical extents if it is legal for all extents, else its schedule for the kernel.
  Outcome<FoundSchedule> ask(const ScheduleSource &source, const ScheduleTask &task) const;
  Outcome<double> predictOne(const ScheduleTask &task, const Schedule &schedule) const;
  Found lookUp(mlir::func::FuncOp kernel);
  Entry &entryOf(const ScheduleTask &task, const Schedule &schedule);
};

} // namespace lathe
