// Streams of a plan: which instructions run beside each other, as chosen by search or given by a schedule file.
#pragma once

#include "codegen/space/Prediction.h"
#include "package/Writer.h"
#include "schedule/Schedule.h"
#include "support/BatchOrder.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lathe {

/// A user's choice of streams: "off", "auto" (what is predicted to be faster), or a number of teams.
struct StreamsOption {
  bool search = false;
  uint32_t teams = 0; // 0: as many as are predicted to be best
};
/// Throws Error for a text that is none of these, and for more teams than threads.
StreamsOption streamsOption(const std::string &text, int threads);

/// When and where an instruction runs, by a line of a schedule file.
struct StreamLine {
  int64_t order = -1;           // its place among the instructions; -1: none is asked for
  int64_t first = 0, slots = 0; // slots 0: on all slots
  std::string origin;           // "mine.txt: line 3"
};
/// The line for an instruction with these names, of which the first counts most; nothing if there is none.
using GivenStreams = std::function<std::optional<StreamLine>(const std::vector<std::string> &names)>;

class ScheduleTask; // compile/ScheduleSource.h

/// What was measured about streams before. Functions may be empty.
struct MeasuredStreams {
  /// The choice for a plan that was compared with a sequence by running whole packages, as textOf it ("": no choice was
  /// faster), and where that is from in words; nothing: none was compared. `plan`: StreamsReport::plan.
  std::function<std::optional<std::pair<std::string, std::string>>(const std::string &plan)> decision;
  /// Seconds of a kernel on a team: the task's number of threads. Also for kernels that cannot run beside others.
  std::function<std::optional<double>(const ScheduleTask &task, const Schedule &schedule, BatchOrder order)> times;
  /// A phase must be predicted, or measured kernel by kernel, to be faster than a sequence by this share.
  double margin = 0.05;
};

/// What was chosen for one plan.
struct StreamsReport {
  size_t instructions = 0;               // instructions that run beside others
  size_t phases = 0;                     // phases in which they do
  size_t alone = 0;                      // instructions that run alone on some of the slots
  double cycles = 0, sequenceCycles = 0; // predicted, of all kernels together; both 0 if nothing was searched
  size_t measured = 0;                   // instructions whose costs on teams were measured
  std::string plan;                      // hash of the plan and its schedules; "": nothing was searched
  std::string choice;                    // textOf the choice of the search; "": nothing was searched
  std::string decision;                  // where the choice is from, if MeasuredStreams::decision had one
};

/// What the search for streams knows about the instructions of a plan's entry block, by position.
struct StreamFacts {
  std::function<KernelCycles(size_t position, int slots)> cycles;           // predicted on a team of `slots` slots
  std::function<std::optional<double>(size_t position, int slots)> seconds; // measured
  std::function<std::string(size_t position)> identity; // equal for kernels with equal code and schedules
};

/// Gives the instructions of the plan's entry block places and waits, and changes their order as far as their operands
/// allow. Lines that are `given` decide if there are any; else a decision by measurements; else the search. The last
/// two only if `option` asks for it.
StreamsReport placeStreams(plan::PlanT &plan, const GivenStreams &given, const StreamsOption &option, int threads,
                           const StreamFacts &facts, const MeasuredStreams &measured);

/// The plan's streams as lines of a schedule file: "conv1: stream/1 order=3 first=0 slots=2".
std::string streamsText(const plan::PlanT &plan);

} // namespace lathe
