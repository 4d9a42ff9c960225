#include "cli/print/SearchSpaceJson.h"

namespace lathe::cli {
namespace {

nlohmann::json toJson(const Knob &knob) {
  const Parameter &parameter = *knob.parameter;
  nlohmann::json json = {{"name", parameter.name}, {"meaning", parameter.description()}};
  if (parameter.kind == Parameter::Kind::word) {
    json["values"] = knob.words;
    json["default"] = parameter.words.front();
  } else {
    json["values"] = knob.numbers;
    if (parameter.defaultNumber)
      json["default"] = *parameter.defaultNumber;
    else
      json["default"] = parameter.defaultText;
  }
  return json;
}

nlohmann::json toJson(const AlgorithmSpace &space) {
  nlohmann::json knobs = nlohmann::json::array(), constraints = nlohmann::json::array();
  for (const Knob &knob : space.knobs)
    knobs.push_back(toJson(knob));
  for (const Constraint &constraint : space.algorithm->constraints)
    constraints.push_back({{"id", constraint.id}, {"text", constraint.text}});
  return {{"algorithm", space.algorithm->str()},
          {"computes", space.algorithm->summary},
          {"knobs", knobs},
          {"constraints", constraints},
          {"points", space.size.points},
          {"tried", space.size.tried},
          {"sampled", space.size.sampled},
          {"legal", space.size.legal},
          {"legal_points", space.size.legalPoints()}};
}

} // namespace

nlohmann::json spacesJson(const std::vector<KernelSpace> &spaces) {
  nlohmann::json all = nlohmann::json::array();
  for (const KernelSpace &space : spaces) {
    nlohmann::json own = nlohmann::json::array();
    for (const AlgorithmSpace &algorithm : space.algorithms)
      own.push_back(toJson(algorithm));
    all.push_back({{"kernels", space.kernels},
                   {"task", space.task},
                   {"family", space.family},
                   {"prior", space.prior},
                   {"algorithms", own}});
  }
  return all;
}

} // namespace lathe::cli
