#include "tune/GainingChanges.h"

#include <bit>

namespace lathe::tune {
namespace {

class Bisection {
public:
  explicit Bisection(const JudgeChanges &judge) : judge(judge) {}

  /// Judges the halves of a group that does not gain.
  void halve(const std::vector<size_t> &group) {
    if (group.size() < 2)
      return;
    auto middle = group.begin() + static_cast<ptrdiff_t>(group.size() / 2);
    visit({group.begin(), middle});
    visit({middle, group.end()});
  }

  std::vector<size_t> kept;

private:
  const JudgeChanges &judge;
  bool isOver = false;

  void visit(const std::vector<size_t> &group) {
    if (isOver)
      return;
    std::optional<bool> gains = judge(kept, group);
    if (!gains)
      isOver = true;
    else if (*gains)
      kept.insert(kept.end(), group.begin(), group.end());
    else
      halve(group);
  }
};

} // namespace

std::vector<size_t> gainingChanges(size_t count, const JudgeChanges &judge) {
  std::vector<size_t> all(count);
  for (size_t i = 0; i < count; ++i)
    all[i] = i;
  Bisection bisection(judge);
  bisection.halve(all);
  return std::move(bisection.kept);
}

size_t usualJudgements(size_t count) { return count < 2 ? 0 : 2 * std::bit_width(count - 1); }

} // namespace lathe::tune
