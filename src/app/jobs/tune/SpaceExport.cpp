#include "jobs/tune/SpaceExport.h"

#include "codegen/space/ContractionFormat.h"
#include "codegen/space/SpaceSize.h"
#include "tune/model/TaskOfKernel.h"

#include <algorithm>
#include <set>

namespace lathe::jobs {

using nlohmann::json;

namespace {

/// Legal points of the space of one algorithm.
struct PointList {
  SpaceSize size;
  std::vector<std::string> schedules;
};

/// Moves to the next point of the algorithm, the first knob fastest. Returns false after the last point.
bool advance(const tune::Subspace &subspace, tune::Point &point) {
  for (size_t knob = 0; knob < point.values.size(); ++knob) {
    if (++point.values[knob] < subspace.values(knob))
      return true;
    point.values[knob] = 0;
  }
  return false;
}

/// All legal points of a small space, else different legal ones among random points.
PointList listPoints(const tune::Space &space, size_t algorithm, const SpaceOptions &flags) {
  constexpr int64_t small = 2000, most = 100000; // points of a small space; random points of a large one
  const tune::Subspace &subspace = space.algorithms()[algorithm];
  PointList list;
  SpaceSize &size = list.size;
  size.points = subspace.points();
  size.sampled = size.points > double(small);
  tune::Point point{algorithm, std::vector<uint32_t>(subspace.knobs.size())};
  std::set<tune::Point> known;
  auto visit = [&] {
    ++size.tried;
    if (!space.isLegal(point))
      return;
    ++size.legal;
    if (!size.sampled || (list.schedules.size() < flags.points && known.insert(point).second))
      list.schedules.push_back(space.schedule(point).str());
  };
  if (!size.sampled) {
    do
      visit();
    while (advance(subspace, point));
    return list;
  }
  tune::Random random(flags.seed);
  while (size.tried < small || (size.legal && list.schedules.size() < flags.points && size.tried < most)) {
    for (size_t knob = 0; knob < point.values.size(); ++knob)
      point.values[knob] = static_cast<uint32_t>(tune::drawn(random, subspace.values(knob)));
    visit();
  }
  return list;
}

json toJson(const Knob &knob, bool mayBeAbsent) {
  const Parameter &parameter = *knob.parameter;
  json document = {{"name", parameter.name}, {"meaning", parameter.description()}, {"may_be_left_out", mayBeAbsent}};
  if (parameter.kind == Parameter::Kind::word) {
    document["values"] = knob.words;
    document["default"] = parameter.words.front();
  } else {
    document["values"] = knob.numbers;
    if (parameter.defaultNumber)
      document["default"] = *parameter.defaultNumber;
    else
      document["default"] = parameter.defaultText;
  }
  return document;
}

json toJson(const Algorithm &algorithm, json knobs, const PointList &list) {
  json constraints = json::array();
  for (const Constraint &constraint : algorithm.constraints)
    constraints.push_back({{"id", constraint.id}, {"text", constraint.text}});
  return {{"algorithm", algorithm.str()},
          {"computes", algorithm.summary},
          {"knobs", std::move(knobs)},
          {"constraints", std::move(constraints)},
          {"points", list.size.points},
          {"tried", list.size.tried},
          {"sampled", list.size.sampled},
          {"legal", list.size.legal},
          {"legal_points", list.size.legalPoints()},
          {"schedules", list.schedules}};
}

/// An algorithm of the family that is missing in the space, because it does not compute the kernel.
json notSearched(const KernelFacts &facts, const Algorithm &algorithm) {
  std::vector<Knob> knobs = facts.knobs(algorithm);
  json values = json::array();
  for (const Knob &knob : knobs)
    values.push_back(toJson(knob, false));
  PointList list;
  list.size = visitSpace(facts, algorithm, knobs, {}, [&](const Schedule &schedule, const Legality &legality) {
    return legality && allows(facts.precision, schedule);
  });
  return toJson(algorithm, std::move(values), list);
}

json algorithmsJson(const tune::Space &space, const SpaceOptions &flags) {
  json all = json::array();
  for (const Algorithm &algorithm : algorithms()) {
    if (algorithm.family != space.kernel().family)
      continue;
    auto searched = std::find_if(space.algorithms().begin(), space.algorithms().end(),
                                 [&](const tune::Subspace &subspace) { return subspace.algorithm == &algorithm; });
    if (searched == space.algorithms().end()) {
      all.push_back(notSearched(space.kernel(), algorithm));
      continue;
    }
    json knobs = json::array();
    for (size_t i = 0; i < searched->knobs.size(); ++i)
      knobs.push_back(toJson(searched->knobs[i], searched->mayBeAbsent[i]));
    auto number = static_cast<size_t>(searched - space.algorithms().begin());
    all.push_back(toJson(algorithm, std::move(knobs), listPoints(space, number, flags)));
  }
  return all;
}

json toJson(const ExportedKernel &kernel, const SpaceOptions &flags) {
  json document = {{"nodes", kernel.nodes},
                   {"task", kernel.task},
                   {"family", kernel.space.kernel().family},
                   {"prior", kernel.prior},
                   {"algorithms", algorithmsJson(kernel.space, flags)}};
  if (!kernel.kernels.empty())
    document["kernels"] = kernel.kernels;
  return document;
}

ExportedSpace countsOf(const json &kernels, const std::string &path) {
  ExportedSpace result{.file = path, .kernels = kernels.size()};
  for (const json &kernel : kernels)
    for (const json &algorithm : kernel.at("algorithms")) {
      ++result.algorithms;
      result.points += algorithm.at("points").get<double>();
      result.legal += algorithm.at("legal_points").get<double>();
      result.written += algorithm.at("schedules").size();
    }
  return result;
}

} // namespace

ExportedKernel exported(const KernelTask &kernel) {
  constexpr double anyClock = 1; // GHz: no predicted time is exported
  Outcome<tune::TaskToTune> task = tune::taskToTune(kernel, anyClock);
  if (!task)
    return {kernel.kernels, kernel.nodes, kernel.task, "", tune::Space(*kernel.facts)};
  ExportedKernel result = exported(*task);
  result.kernels = kernel.kernels;
  return result;
}

ExportedKernel exported(const tune::TaskToTune &task) {
  return {{}, task.task.nodes, task.task.key, task.prior, spaceOf(task)};
}

ExportedSpace exportSpaces(json document, const std::vector<ExportedKernel> &kernels, const SpaceOptions &flags) {
  json &all = document["kernels"] = json::array();
  for (const ExportedKernel &kernel : kernels)
    all.push_back(toJson(kernel, flags));
  document["seed"] = flags.seed;
  writeFile(flags.file, document.dump(1) + "\n");
  return countsOf(all, flags.file);
}

} // namespace lathe::jobs
