// Schedules and graph choices by kernel or node name, as `--schedule FILE` reads and `compile --emit schedule` writes
// them.
#pragma once

#include "compile/ScheduleSource.h"
#include "compile/streams/Streams.h"
#include "passes/Pipeline.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

/// The choices in a schedule file. The file has one choice per line, `name: schedule`; `#` starts a comment. A line is
/// the schedule of a kernel, given by its name or by any of its source nodes:
///
///   conv1_relu1: direct/1 px=14 oc=2 unroll=8
///
/// or a choice that concerns more than one kernel, for one operator, given by a source node:
///
///   conv1: layout/1 in=row out=blocked      layouts of its input and result; either may be left out
///   relu1: fuse/1 with=conv1                computed in the kernel of conv1; with=relu1: in a kernel of its own
///   conv2: merge/1 into=conv1               one convolution with conv1, which reads the same value
///   conv1: stream/1 order=3 first=0 slots=1 place in the order of the plan, and the slots on which the kernel runs
class ScheduleBook : public ScheduleSource {
public:
  ScheduleBook() = default;
  /// Parses the text of a schedule file. Throws Error with `fileName` and line for invalid text.
  ScheduleBook(const std::string &text, const std::string &fileName);

  /// Finds the schedule of a kernel in the file by the kernel's name, else by one of its source nodes. Marks no line
  /// as used.
  Outcome<FoundSchedule> find(const ScheduleTask &task) const override;
  /// The schedule in the file's line for `name`; nothing if there is no such line.
  std::optional<Schedule> scheduleOf(const std::string &name) const;

  /// Declares that kernel `name` is part of the program: marks the lines for its name and nodes as used.
  void use(const std::string &name, const std::vector<std::string> &nodes);

  /// Returns the choices of layout and fusion for the operator made of `nodes`. Tries the last node first, because
  /// choices are listed under it. Marks the lines as used.
  GraphChoice graphChoice(const std::vector<std::string> &nodes);
  bool hasGraphChoices() const { return !lines[layout].empty() || !lines[fuse].empty(); }

  /// The node with whose convolution that of `nodes` is merged; nothing if there is no line. Marks the line as used.
  std::optional<std::string> mergedInto(const std::vector<std::string> &nodes);
  bool hasMerges() const { return !lines[merge].empty(); }

  /// The line for an instruction with these names, of which the first counts most; nothing if there is none. Marks the
  /// line as used.
  std::optional<StreamLine> streamOf(const std::vector<std::string> &names);

  /// Declares that the operators of kernel `name` are computed together with others in the kernel `kernel`.
  void noteInside(const std::string &name, const std::string &kernel) { inside[name] = kernel; }

  /// Throws Error if a line of the schedule file was not used; the message names the line.
  void requireAllUsed() const;

private:
  struct Line {
    std::string schedule;
    int number = 0;
    bool used = false;
  };
  enum Kind { kernel, layout, fuse, merge, stream };
  std::string fileName;
  std::array<std::map<std::string, Line>, 5> lines;
  // by the name given to noteInside: the kernel that computes its operators
  std::map<std::string, std::string> inside;

  static Kind checked(const std::string &schedule);
  const Line *lineOf(const std::string &name, const std::vector<std::string> &nodes) const;
  Line *take(Kind kind, const std::string &name);
  /// The line for the last of `nodes` that has one, because choices are listed under the last node.
  Line *takeLast(Kind kind, const std::vector<std::string> &nodes);
};

/// Text of the layouts, fusions and merges that the passes chose, in the form of a schedule file. Leaves out a node
/// name whose operators have different choices.
std::string graphScheduleText(const std::vector<PipelineReport::Layouts> &layouts,
                              const std::vector<PipelineReport::Fusion> &fusions,
                              const std::vector<PipelineReport::Merge> &merges);

} // namespace lathe
