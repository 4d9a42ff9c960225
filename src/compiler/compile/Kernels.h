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
  /// Rewrites `dim`, an extent of this kernel, with the symbols `others` of another kernel function that has the same
  /// code.
  Dim inTermsOf(const std::vector<std::string> &others, const Dim &dim) const;

  std::string name;           // name of the first kernel function with this code
  Schedule schedule;          // the schedule, with all its parameters
  double predictedCycles = 0; // Prediction::total() for the schedule
  Dim units = 1;
  Dim scratchBytes = 0;
  /// Numbers of images and stages, and of work items that copy the first operand, as in GeneratedKernel.
  Dim images = 1, stages = 1, firstOperandUnits = 0;
  Dims dims;
  /// Form in which each argument of the kernel is stored if it is a constant; nothing for other arguments.
  std::vector<std::optional<Packing>> packings;
  /// Symbols in the extents above, as kernelSymbols returns them for the function from which the code was generated.
  std::vector<std::string> symbols;
  size_t code = 0; // index of the kernel's code in CodeImage::entries
};

/// The compiled kernels of a package. Functions with equal bodies, types, open extents and schedules share code. Not
/// thread-safe.
class KernelLibrary {
public:
  /// Makes an empty library. Each kernel will take its schedule from the first of these sources that has one:
  /// `schedules`, the attribute nn.schedule, each of `others` in order, the prior. All arguments but `options` and
  /// `measured` must outlive the library.
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

  /// Predicted cycles of a kernel that `compiled` has returned, on `threads` threads, with its schedule.
  KernelCycles cyclesOn(int threads, mlir::func::FuncOp kernel);
  /// What `times` has for such a kernel on `threads` threads.
  std::optional<double> secondsOn(int threads, mlir::func::FuncOp kernel, const MeasuredTimes &times);

  /// Measured seconds of `kernel` with the schedule that predictCycles uses, or why there are none. As in
  /// predictCycles, sources of tuning records are not asked, so tuning a kernel later does not change the times that
  /// chose its graph.
  Outcome<double> measuredSeconds(mlir::func::FuncOp kernel, BatchOrder order = BatchOrder::call) const;
  /// Measured seconds of a kernel that can compute images one by one: for all images in one call, and image by image.
  /// Both are 0 unless both were measured.
  std::pair<double, double> secondsByOrder(mlir::func::FuncOp kernel) const;

  /// Decides whether a kernel of two anchors (contractions) stays one kernel or is divided into the kernels `parts`.
  /// Schedules that the user gives for the kernel or its parts decide first; else the measured times of all three
  /// kernels, if they differ enough (measuredDoubt); else predictions. Changes nothing.
  WholeChoice staysWhole(mlir::func::FuncOp kernel, const std::vector<mlir::func::FuncOp> &parts) const;

  /// Returns the compiled form of a kernel and marks the kernel as used by the program. Throws Error with the kernel's
  /// nodes if no code can be generated.
  const CompiledKernel &compiled(mlir::func::FuncOp kernel);

  /// Source of a kernel's schedule, such as "mine.txt, line 3", "nn.schedule of the kernel", "the prior's rule" or
  /// "the prior's model"; "" if there is no code for the kernel.
  std::string originOf(mlir::func::FuncOp kernel) { return lookUp(kernel).origin; }

  /// Notes about schedules that a source had but that were not used, one line each with the reason.
  std::vector<std::string> notes() const;

  size_t size() const { return used.size(); }

  /// Declares that `symbols` are heights and widths of images. If such a symbol is given no value, schedules are
  /// chosen for a typical image.
  void assumeImages(const std::vector<std::string> &symbols);

  /// Returns the machine code of all kernels requested with `compiled`, in the order of CompiledKernel::code. Consumes
  /// the modules of these kernels. Takes code from `cache` where it has some, and stores new code there. Calls
  /// `progress(done, total)` after each kernel. With `jobs` > 1, as many threads lower kernels, each in its own
  /// context.
  CodeImage emit(int jobs, KernelCache &cache, const std::function<void(size_t done, size_t total)> &progress);

  /// Returns the code of every requested kernel at one stage of the lowering, as text, each after a comment with name
  /// and schedule.
  std::string text(EmitStage stage);

private:
  struct Entry {
    Outcome<CompiledKernel> outcome;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    bool inProgram = false;
  };
  struct Found {
    Entry *entry;
    std::string origin; // source of the schedule; kernels that share an entry may have different origins
  };
  const Target &target;
  KernelOptions options;
  ScheduleBook &schedules;
  WrittenSchedules written;
  PriorSchedules prior;
  MeasuredTimes measured;                      // measured times of kernels; empty: there are none
  std::vector<const ScheduleSource *> sources; // sources in the order in which they are asked; the prior is last
  std::set<std::string> illegal;               // notes about schedules that were found but are illegal
  /// Outcomes of code generation, by identity of the kernel and schedule.
  std::map<std::string, std::unique_ptr<Entry>> entries;
  std::vector<Entry *> used;
  /// Predicted cycles of kernels, by identity of the kernel and schedule.
  mutable std::map<std::string, Outcome<double>> predictions;
  /// By kernel and number of threads: predicted cycles.
  std::map<std::pair<const CompiledKernel *, int>, KernelCycles> cyclesByThreads;
  struct TypicalKernel {
    mlir::OwningOpRef<mlir::func::FuncOp> function;
    std::unique_ptr<ScheduleTask> task;
  };
  /// Kernels with typical extents (see typicalOf), by identity of the kernel; null members: there is no such kernel.
  mutable std::map<std::string, TypicalKernel> typicalKernels;

  /// Object code of the kernels in `used`, by their index there.
  struct Objects {
    std::vector<std::vector<char>> code;
    std::vector<std::string> texts; // text of each kernel in generic form; "" where no text is needed
    std::vector<size_t> missing;    // indices of kernels that are not in the cache
  };
  /// Lower the missing kernels of `objects` on this thread, or on `jobs` threads. Both functions consume the modules
  /// of the kernels and call `lowered` after each kernel, never at the same time.
  void lowerHere(Objects &objects, const std::function<void(size_t)> &lowered);
  void lowerInThreads(Objects &objects, int jobs, const std::function<void(size_t)> &lowered);

  /// Sources of schedules that passes may ask when they compare kernels: the user's schedules and the prior.
  std::array<const ScheduleSource *, 3> askedByPasses() const { return {&schedules, &written, &prior}; }
  /// Returns the kernel of `task` with the extents of KernelOptions::typical; null if the kernel has none of these
  /// symbols.
  const ScheduleTask *typicalOf(const ScheduleTask &task) const;
  /// True if the facts of the task's kernel already assume typical extents.
  static bool assumes(const ScheduleTask &task) { return task.facts() && !(*task.facts())->assumed.empty(); }
  /// Returns the schedule that `source` has for the kernel with typical extents, if that schedule is legal for all
  /// extents; else the schedule that `source` has for the kernel itself.
  Outcome<FoundSchedule> ask(const ScheduleSource &source, const ScheduleTask &task) const;
  Outcome<double> predictOne(const ScheduleTask &task, const Schedule &schedule) const;
  ScheduleTask taskOn(int threads, mlir::func::FuncOp kernel) const;
  Found lookUp(mlir::func::FuncOp kernel);
  Entry &entryOf(const ScheduleTask &task, const Schedule &schedule);
};

} // namespace lathe
