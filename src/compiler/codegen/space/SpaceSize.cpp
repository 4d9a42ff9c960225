#include "codegen/space/SpaceSize.h"

#include <random>

namespace lathe {

SpaceSize visitSpace(const KernelFacts &facts, const Algorithm &algorithm, const std::vector<Knob> &knobs,
                     const Sampling &sampling, const std::function<bool(const Schedule &, const Legality &)> &visit) {
  SpaceSize size;
  for (const Knob &knob : knobs)
    size.points *= static_cast<double>(knob.size());
  size.sampled = size.points > static_cast<double>(sampling.tried);
  std::mt19937_64 random(1);
  auto goesOn = [&] {
    if (!size.sampled)
      return static_cast<double>(size.tried) < size.points;
    return size.tried < sampling.tried || (size.legal && size.legal < sampling.legal && size.tried < sampling.most);
  };
  for (; goesOn(); ++size.tried) {
    Schedule schedule = emptySchedule(algorithm.name);
    auto rest = static_cast<uint64_t>(size.tried);
    for (const Knob &knob : knobs) {
      knob.apply(schedule, size.sampled ? random() % knob.size() : rest % knob.size());
      rest /= knob.size();
    }
    size.legal += visit(schedule, legal(facts, schedule));
  }
  return size;
}

SpaceSize spaceSize(const KernelFacts &facts, const Algorithm &algorithm, const std::vector<Knob> &knobs) {
  return visitSpace(facts, algorithm, knobs, {}, [](const Schedule &, const Legality &legality) { return !!legality; });
}

} // namespace lathe
