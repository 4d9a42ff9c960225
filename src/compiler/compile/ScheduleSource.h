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

/// A kernel that needs a schedule. Expensive members are computed on first use. Not thread-safe.
class ScheduleTask {
public:
  explicit ScheduleTask(const KernelProblem &problem);

  const KernelProblem problem;
  const std::string kernel;             // name of the function
  const std::vector<std::string> nodes; // source nodes
  /// Text of the function without name and locations: equal for kernels with the same code.
  const std::string identity;

  /// The key of tuning records (codegen/Task.h).
  const std::string &text() const;
  /// Facts of the kernel; declined if no schedule of its family computes it.
  const Outcome<std::unique_ptr<KernelFacts>> &facts() const;

private:
  mutable std::optional<std::string> taskText;
  mutable std::optional<Outcome<std::unique_ptr<KernelFacts>>> read;
};

struct FoundSchedule {
  Schedule schedule;
  std::string origin;    // source in words: "mine.txt, line 3", "the prior's rule", "the prior's model"
  bool required = false; // the user asks for this schedule: Error if it is illegal. Otherwise the next source is asked
};

class ScheduleSource {
public:
  virtual ~ScheduleSource() = default;
  /// Returns the schedule for the task, or declines with the reason. Equal questions get equal
  /// answers. Throws Error for a schedule that schedule/Algorithms.h does not declare.
  virtual Outcome<FoundSchedule> find(const ScheduleTask &task) const = 0;
  /// Schedules that the source had for tasks but did not return, with the reasons, each once.
  virtual std::vector<std::string> notes() const { return {}; }
};

/// The schedule that a text at kernels level gives for a kernel (`nn.schedule`).
class WrittenSchedules : public ScheduleSource {
public:
  Outcome<FoundSchedule> find(const ScheduleTask &task) const override;
};

/// Schedules by the text of their task, as tuning records keep them. A schedule that this version does not declare is
/// declined and noted.
class TaskSchedules : public ScheduleSource {
public:
  struct Entry {
    std::string schedule; // text
    std::string origin;   // FoundSchedule::origin
  };
  /// Returns the schedule for a task, or nothing.
  using Lookup = std::function<std::optional<Entry>(const std::string &task)>;
  /// `name`: of the source, in reasons. `keepsPrecision`: declines and notes schedules that round
  /// operands for kernels whose precision is fp32.
  TaskSchedules(std::string name, Lookup entryOf, bool keepsPrecision = false)
      : name(std::move(name)), entryOf(std::move(entryOf)), keepsPrecision(keepsPrecision) {}
  Outcome<FoundSchedule> find(const ScheduleTask &task) const override;
  std::vector<std::string> notes() const override { return {refused.begin(), refused.end()}; }

private:
  std::string name;
  Lookup entryOf;
  bool keepsPrecision;
  mutable std::set<std::string> refused; // notes
};

/// The choices of the prior (codegen/cost/BestPrediction.h), made once for each distinct kernel.
class PriorSchedules : public ScheduleSource {
public:
  Outcome<FoundSchedule> find(const ScheduleTask &task) const override;

private:
  mutable std::map<std::string, Outcome<ScheduleChoice>> known; // by identity
};

/// Seconds of one run of a kernel with a schedule; declines if it was not measured. All answers come from the target's
/// machine and the same method, so that they can be added and compared. Equal questions get equal answers.
using MeasuredTimes =
    std::function<std::optional<double>(const ScheduleTask &task, const Schedule &schedule, BatchOrder order)>;

/// Identity of a kernel: the text of the function without name and locations.
std::string kernelIdentity(mlir::func::FuncOp kernel);
/// Symbols in the extents of its arguments, in order. Kernels of equal identity have equally many symbols: number i of
/// one kernel corresponds to number i of the other.
std::vector<std::string> kernelSymbols(mlir::func::FuncOp kernel);
/// Text of an operation in generic form, without locations.
std::string genericText(mlir::Operation *op);

} // namespace lathe
