// Schedules given from outside, by kernel or node name: what `--schedule FILE` holds.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

/// One line a kernel, `name: schedule`, where name is the kernel's or that of any source node in it; `#` starts a comment.
///
///   conv1_relu1: direct/1 px=14 oc=2 unroll=8
class ScheduleBook {
public:
  ScheduleBook() = default;
  /// Throws Error with `fileName` and line for text of another form.
  ScheduleBook(const std::string &text, const std::string &fileName);

  /// The schedule of kernel `name` computing `nodes`: by kernel name first, then by node.
  std::optional<std::string> find(const std::string &name, const std::vector<std::string> &nodes);

  /// Throws Error naming a line that no `find` asked for.
  void requireAllUsed() const;

private:
  struct Line {
    std::string schedule;
    int number = 0;
    bool used = false;
  };
  std::string fileName;
  std::map<std::string, Line> lines;
};

} // namespace lathe
