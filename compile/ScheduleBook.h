// Schedules given from outside, by kernel or node name: what `--schedule FILE` holds and `compile --emit schedule`
// writes.
#pragma once

#include "passes/Pipeline.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

/// One line a choice, `name: schedule`; `#` starts a comment. Of one kernel, named by itself or by any source node in
/// it:
///
///   conv1_relu1: direct/1 px=14 oc=2 unroll=8
///
/// and, of one operator, named by a source node, the choices above kernels:
///
///   conv1: layout/1 in=row out=blocked      what it reads and writes; either may be left out
///   relu1: fuse/1 with=conv1                computed in the kernel of conv1 (or a depthwise conv); with=relu1: its own
class ScheduleBook {
public:
  ScheduleBook() = default;
  /// Throws Error with `fileName` and line for text of another form.
  ScheduleBook(const std::string &text, const std::string &fileName);

  /// The schedule of kernel `name` computing `nodes`: by kernel name first, then by node.
  std::optional<std::string> find(const std::string &name, const std::vector<std::string> &nodes) const;

  /// Says that kernel `name` is part of the program, so that its line is used.
  void use(const std::string &name, const std::vector<std::string> &nodes);

  /// The choices above kernels for the operator made of `nodes`; the last of them is tried first, as that is how it is
  /// listed.
  GraphChoice graphChoice(const std::vector<std::string> &nodes);
  bool hasGraphChoices() const { return !lines[layout].empty() || !lines[fuse].empty(); }

  /// Says that what would be kernel `name` is computed in `kernel` with others.
  void noteInside(const std::string &name, const std::string &kernel) { inside[name] = kernel; }

  /// Throws Error naming a line that nothing asked for.
  void requireAllUsed() const;

private:
  struct Line {
    std::string schedule;
    int number = 0;
    bool used = false;
  };
  enum Kind { kernel, layout, fuse };
  std::string fileName;
  std::array<std::map<std::string, Line>, 3> lines;
  std::map<std::string, std::string> inside; // what is no kernel of its own, and the kernel that computes it

  static Kind checked(const std::string &schedule);
  const Line *lineOf(const std::string &name, const std::vector<std::string> &nodes) const;
  Line *take(Kind kind, const std::string &name);
};

/// The lines for what the passes chose. Operators that share a name and were treated differently are left out: they
/// follow from the rest.
std::string graphScheduleText(const std::vector<PipelineReport::Layouts> &layouts,
                              const std::vector<PipelineReport::Fusion> &fusions);

} // namespace lathe
