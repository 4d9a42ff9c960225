// The interface through which schedules reach the compiler.
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

/// A kernel for which a schedule is sought. What costs time is computed when it is first asked for.
/// Not thread-safe.
class ScheduleTask {
public:
  explicit ScheduleTask(const KernelProblem &problem);

  const KernelProblem problem;
  const std::string kernel;             // name of the function
  const std::vector<std::string> nodes; // source nodes
  /// Text of the function without name and locations, in which kernels with the same code agree.
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
  bool required = false; // the user asks for this schedule: an Error if it is not legal. Else the next source is asked
};

class ScheduleSource {
public:
  virtual ~ScheduleSource() = default;
  /// Returns the schedule for the task, or declines with the reason. Equal questions get equal
  /// answers. Throws Error for a schedule that schedule/Algorithms.h does not declare.
  virtual Outcome<FoundSchedule> find(const ScheduleTask &task) const = 0;
  /// Schedules that the source had for tasks and did not give, with the reasons, each once.
  virtual std::vector<std::string> notes() const { return {}; }
};

/// The schedule that a text at kernels level gives for a kernel (`nn.schedule`).
class WrittenSchedules : public ScheduleSource {
public:
  Outcome<FoundSchedule> find(const ScheduleTask &task) const override;
};

/// Schedules by the text of their task, as tuning records keep them. A schedule that is not
/// declared (any more) is declined and noted.
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

/// Seconds that one run of a kernel took with a schedule, or nothing: it was not measured. All answers were measured on the
/// machine of the target in the same way, so that they can be added and compared. Equal questions get equal answers.
using MeasuredTimes =
    std::function<std::optional<double>(const ScheduleTask &task, const Schedule &schedule, BatchOrder order)>;

/// Identity of a kernel: the text of the function without name and locations.
std::string kernelIdentity(mlir::func::FuncOp kernel);
/// Symbols of the extents of its arguments, in order. Kernels of equal identity have equally many: number i of one plays
/// the part of number i of the other.
std::vector<std::string> kernelSymbols(mlir::func::FuncOp kernel);
/// Text of an operation in generic form, without locations.
std::string genericText(mlir::Operation *op);

} // namespace lathe
