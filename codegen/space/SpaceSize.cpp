#include "codegen/space/SpaceSize.h"

#include <random>

namespace lathe {

SpaceSize visitSpace(const KernelFacts &facts, const Algorithm &algorithm, const std::vector<Knob> &knobs, int64_t most,
                     const std::function<void(const Schedule &, const Legality &)> &visit) {
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
    Legality legality = legal(facts, schedule);
    size.legal += bool(legality);
    visit(schedule, legality);
  }
  return size;
}

SpaceSize spaceSize(const KernelFacts &facts, const Algorithm &algorithm, const std::vector<Knob> &knobs,
                    int64_t most) {
  return visitSpace(facts, algorithm, knobs, most, [](const Schedule &, const Legality &) {});
}

} // namespace lathe
