#include "codegen/space/SpaceSize.h"

#include <random>

namespace lathe {

SpaceSize spaceSize(const KernelFacts &facts, const Algorithm &algorithm, const std::vector<Knob> &knobs,
                    int64_t most) {
  SpaceSize size;
  for (const Knob &knob : knobs)
    size.points *= static_cast<double>(knob.size());
  size.sampled = size.points > static_cast<double>(most);
  size.tried = size.sampled ? most : static_cast<int64_t>(size.points);
  std::mt19937_64 random(1);
  for (int64_t point = 0; point < size.tried; ++point) {
    Schedule schedule = emptySchedule(algorithm.name);
    auto rest = static_cast<uint64_t>(point);
    for (const Knob &knob : knobs) {
      knob.apply(schedule, size.sampled ? random() % knob.size() : rest % knob.size());
      rest /= knob.size();
    }
    size.legal += bool(legal(facts, schedule));
  }
  return size;
}

} // namespace lathe
