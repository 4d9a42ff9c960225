// The interface between the compiler and the places where schedules are kept.
//
// Sources are asked in order until one has a legal schedule: the schedule file (compile/ScheduleBook.h),
// the attribute nn.schedule of the kernel, the sources of CompileOptions, and the prior, which comes last.
// The compiler knows nothing else about where schedules are kept.
#pragma once

#include "codegen/Generate.h"
#include "support/BatchOrder.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lathe {

/// A kernel for which a source shall find a schedule. Expensive members are computed on first use. Not thread-safe.
class ScheduleTask {
public:
  explicit ScheduleTask(const KernelProblem &problem);

  const KernelProblem problem;
  const std::string kernel;             // name of the kernel function
  const std::vector<std::string> nodes; // source nodes that the kernel computes
  /// Text of the kernel function without its name and locations; equal for kernels with the same code.
  const std::string identity;

  /// Text of the tuning task: the key of tuning records (codegen/Task.h).
  const std::string &text() const;
  /// Facts of the kernel; declined if its family has no schedule that computes it.
  const Outcome<std::unique_ptr<KernelFacts>> &facts() const;

private:
  mutable std::optional<std::string> taskText;
  mutable std::optional<Outcome<std::unique_ptr<KernelFacts>>> read;
};

struct FoundSchedule {
  Schedule schedule;
  std::string origin; // source of the schedule in words: "mine.txt, line 3", "the prior's rule", "the prior's model"
  /// true: the user asks for this schedule, so an illegal one is an Error; false: if it is illegal, the next source is
  /// asked.
  bool required = false;
};

class ScheduleSource {
public:
  virtual ~ScheduleSource() = default;
  /// Returns the schedule that the source has for the task, or declines with the reason. Equal tasks get equal answers.
  /// Throws Error for a schedule that schedule/Algorithms.h does not declare.
  virtual Outcome<FoundSchedule> find(const ScheduleTask &task) const = 0;
  /// Notes about schedules that the source had but did not return, one line each with the reason, without duplicates.
  virtual std::vector<std::string> notes() const { return {}; }
};

/// The source of schedules that stand in the text of a kernel function itself (attribute nn.schedule).
class WrittenSchedules : public ScheduleSource {
public:
  Outcome<FoundSchedule> find(const ScheduleTask &task) const override;
};

/// A source that finds schedules by the text of the task, such as tuning records. Declines a schedule that this version
/// does not declare, and adds a note.
class TaskSchedules : public ScheduleSource {
public:
  struct Entry {
    std::string schedule; // text of the schedule
    std::string origin;   // source of the schedule in words, as in FoundSchedule
  };
  /// A function that returns the schedule for the text of a task, or nothing.
  using Lookup = std::function<std::optional<Entry>(const std::string &task)>;
  /// `name` is the source's name in reasons. `keepsPrecision`: for kernels whose precision is fp32, declines schedules
  /// that round operands, and adds a note.
  TaskSchedules(std::string name, Lookup entryOf, bool keepsPrecision = false)
      : name(std::move(name)), entryOf(std::move(entryOf)), keepsPrecision(keepsPrecision) {}
  Outcome<FoundSchedule> find(const ScheduleTask &task) const override;
  std::vector<std::string> notes() const override { return {refused.begin(), refused.end()}; }

private:
  std::string name;
  Lookup entryOf;
  bool keepsPrecision;
  mutable std::set<std::string> refused; // notes about declined schedules
};

/// The last source of schedules to be asked: the choices of the prior (codegen/cost/BestPrediction.h), made once for
/// each distinct kernel.
class PriorSchedules : public ScheduleSource {
public:
  Outcome<FoundSchedule> find(const ScheduleTask &task) const override;

private:
  mutable std::map<std::string, Outcome<ScheduleChoice>> known; // choices made so far, by identity of the kernel
};

/// Returns the measured seconds of one run of a kernel with a schedule; nothing if it was not measured. All times come
/// from the target's machine and the same method, so that they can be added and compared. Equal questions get equal
/// answers.
using MeasuredTimes =
    std::function<std::optional<double>(const ScheduleTask &task, const Schedule &schedule, BatchOrder order)>;

/// Identity of a kernel: the text of its function without name and locations.
std::string kernelIdentity(mlir::func::FuncOp kernel);
/// Symbols in the extents of the kernel's arguments, in order. Kernels of equal identity have equally many symbols:
/// symbol i of one kernel corresponds to symbol i of the other.
std::vector<std::string> kernelSymbols(mlir::func::FuncOp kernel);
/// Text of an operation in generic form, without locations.
std::string genericText(mlir::Operation *op);

} // namespace lathe
