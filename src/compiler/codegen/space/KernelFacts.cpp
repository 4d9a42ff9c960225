#include "codegen/space/KernelFacts.h"

#include "support/Text.h"

#include <algorithm>

namespace lathe {

extern const Constraint ofItsFamily{"family", "the algorithm is one of the kernel's family"};

void Knob::apply(Schedule &schedule, size_t index) const {
  if (parameter->kind == Parameter::Kind::word)
    schedule.words[parameter->name] = words[index];
  else
    schedule.numbers[parameter->name] = numbers[index];
}

Schedule KernelFacts::priorOf(const AlgorithmChoice &choice) const {
  Schedule schedule = prior();
  if (schedule.algorithm != choice.algorithm)
    illegal(ofItsFamily.id, "the prior of the family '{}' chooses {}, not {}", family, schedule.algorithm,
            choice.algorithm);
  return schedule;
}

std::vector<Knob> KernelFacts::knobs(const Algorithm &algorithm) const {
  std::vector<Knob> result;
  for (const Parameter &parameter : algorithm.parameters) {
    Knob knob{&parameter, {}, parameter.words};
    if (parameter.kind == Parameter::Kind::number) {
      knob.numbers = candidates(algorithm, parameter);
      if (knob.numbers.empty())
        for (int64_t value = parameter.least; value <= parameter.most; ++value)
          knob.numbers.push_back(value);
      std::erase_if(knob.numbers, [&](int64_t value) { return !parameter.allows(value); });
      std::sort(knob.numbers.begin(), knob.numbers.end());
      knob.numbers.erase(std::unique(knob.numbers.begin(), knob.numbers.end()), knob.numbers.end());
    } else {
      std::erase_if(knob.words, [&](const char *value) { return !allowsWord(parameter, value); });
      if (knob.words.empty()) // no schedule of the algorithm is legal
        knob.words = parameter.words;
    }
    result.push_back(std::move(knob));
  }
  return result;
}

Legality legal(const KernelFacts &facts, const Schedule &schedule) {
  const Algorithm &algorithm = validate(schedule);
  if (algorithm.family != facts.family) {
    std::vector<std::string> own;
    for (const Algorithm &candidate : algorithms())
      if (candidate.family == facts.family)
        own.push_back(candidate.str());
    return {&ofItsFamily, fmt::format("{} is no algorithm of the family '{}', expected {}", algorithm.str(),
                                      facts.family, listed(own, "or"))};
  }
  try {
    facts.require(schedule);
  } catch (const Illegal &broken) {
    return {&algorithm.constraint(broken.constraint), broken.reason};
  }
  return {};
}

std::vector<int64_t> powersOfTwo(int64_t most) {
  std::vector<int64_t> values;
  for (int64_t value = 1; value <= most; value *= 2)
    values.push_back(value);
  return values;
}

std::vector<int64_t> upTo(int64_t most) {
  std::vector<int64_t> values;
  for (int64_t value = 1; value <= most; ++value)
    values.push_back(value);
  return values;
}

std::vector<int64_t> evenSizes(int64_t extent, int64_t count) {
  std::vector<int64_t> values;
  for (int64_t pieces = 1; pieces <= extent && static_cast<int64_t>(values.size()) < count;) {
    int64_t size = (extent + pieces - 1) / pieces;
    values.push_back(size);
    pieces = size > 1 ? std::max(pieces + 1, (extent + size - 2) / (size - 1)) : extent + 1;
    if (pieces > 8) // then by halves: small pieces differ little
      pieces = std::max(pieces, (extent + size / 2 - 1) / std::max<int64_t>(1, size / 2));
  }
  return values;
}

std::vector<int64_t> divisors(int64_t value, int64_t most) {
  std::vector<int64_t> values;
  for (int64_t candidate = 1; candidate <= most && candidate * candidate <= value; ++candidate)
    if (value % candidate == 0) {
      values.push_back(candidate);
      if (value / candidate <= most)
        values.push_back(value / candidate);
    }
  return values;
}

std::vector<int64_t> blockRows(const Target &target, int64_t rows) {
  return upTo(std::min<int64_t>(rows, int64_t(target.vectorRegisters) - 2));
}

} // namespace lathe
