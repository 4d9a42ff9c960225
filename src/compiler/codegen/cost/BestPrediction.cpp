#include "codegen/cost/BestPrediction.h"

#include "codegen/space/ContractionFormat.h"

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

/// The margin for `model` to choose instead of `rule`.
double marginOver(const Schedule &rule, const Schedule &model) {
  const Margins &one = validate(rule).margins, &other = validate(model).margins;
  return rule.algorithm == model.algorithm ? one.own : std::min(one.change, other.change);
}

/// A change of one knob counts if it is predicted to save this share. Smaller differences are below the model's
/// accuracy, and the lowest of many such predictions is often too low.
constexpr double leastGain = 0.02;

/// Maximum number of predictions for one kernel; and how far the predicted cost of a rule's schedule may exceed the
/// best one's for a descent to start there.
constexpr int mostPredictions = 400;
constexpr double nearEnough = 1.25;

bool hasOpenExtents(const KernelFacts &facts) {
  for (const auto *tensors : {&facts.inputs, &facts.outputs})
    for (const TensorFacts &tensor : *tensors)
      for (const Dim &dim : tensor.dims)
        if (!dim.isConstant())
          return true;
  return false;
}

bool cheaper(const PredictedSchedule &a, const PredictedSchedule &b) {
  return a.cycles != b.cycles ? a.cycles < b.cycles : a.schedule.str() < b.schedule.str();
}

PredictedSchedule predicted(const KernelFacts &facts, Schedule schedule) {
  Prediction prediction = facts.predict(schedule);
  return {std::move(schedule), prediction.total(), prediction.memory};
}

/// Descends from a schedule until no change of a knob improves it. The two sizes of a register block change together,
/// because they share the registers.
class Descent {
public:
  Descent(const KernelFacts &facts, int &left) : facts(facts), left(left) {}

  PredictedSchedule from(PredictedSchedule start) {
    best = std::move(start);
    std::vector<Knob> knobs = varied();
    // Varies one knob after the other, until no knob has a better value.
    size_t settled = 0;
    for (size_t at = 0; settled < knobs.size() && left > 0; at = (at + 1) % knobs.size())
      settled = vary(knobs[at], pairOf(knobs[at], knobs)) ? 1 : settled + 1;
    return best;
  }

private:
  const KernelFacts &facts;
  int &left; // predictions
  PredictedSchedule best;

  /// The algorithm's knobs, without knobs that change the computed result and knobs that divide work items: a package
  /// planned for one thread may run on two, for which the rules leave enough work items and a prediction does not.
  std::vector<Knob> varied() const {
    std::vector<Knob> knobs = facts.knobs(validate(best.schedule));
    std::erase_if(knobs, [](const Knob &knob) {
      return knob.size() < 2 || knob.parameter->is(Parameter::cutsItems) ||
             knob.parameter->is(Parameter::changesResults);
    });
    return knobs;
  }

  /// The knob of a register block's vectors if `knob` is the knob of its rows; null for other knobs.
  static const Knob *pairOf(const Knob &knob, const std::vector<Knob> &knobs) {
    if (knob.parameter->is(Parameter::registerRows))
      for (const Knob &other : knobs)
        if (other.parameter->is(Parameter::registerVectors))
          return &other;
    return nullptr;
  }

  /// Takes the best value of the knob. Returns false if that is the current value.
  bool vary(const Knob &knob, const Knob *pair) {
    PredictedSchedule found = best;
    bool tooLarge = false; // the least block of this value needs too many registers, so all later values do, too
    for (size_t i = 0; i < knob.size() && left > 0 && !tooLarge; ++i)
      for (size_t j = 0; j < (pair ? pair->size() : 1) && left > 0; ++j) {
        Schedule schedule = best.schedule;
        knob.apply(schedule, i);
        if (pair)
          pair->apply(schedule, j);
        Legality legality = legal(facts, schedule);
        if (pair && !legality && std::string_view(legality.broken->id) == "registers") {
          tooLarge = j == 0;
          break;
        }
        if (!legality)
          continue;
        --left;
        if (PredictedSchedule next = predicted(facts, std::move(schedule)); next.cycles < found.cycles)
          found = std::move(next);
      }
    if (found.cycles >= best.cycles * (1 - leastGain))
      return false;
    best = std::move(found);
    return true;
  }
};

void add(const KernelFacts &facts, const AlgorithmChoice &choice, std::vector<PredictedSchedule> &found) {
  try {
    Schedule schedule = facts.priorOf(choice);
    if (legal(facts, schedule) && allows(facts.precision, schedule))
      found.push_back(predicted(facts, std::move(schedule)));
  } catch (const Illegal &) { // the algorithm does not compute the kernel
  } catch (const Error &) {   // the rule needs a value that schedules do not allow
  }
}

} // namespace

std::vector<PredictedSchedule> ruleSchedules(const KernelFacts &facts, const PredictedSchedule &rule) {
  std::vector<PredictedSchedule> found = {rule};
  for (const Algorithm &algorithm : algorithms())
    if (algorithm.family == facts.family && algorithm.name != rule.schedule.algorithm)
      add(facts, {algorithm.name}, found);
  std::sort(found.begin(), found.end(), cheaper);
  return found;
}

ScheduleChoice bestPrediction(const KernelFacts &facts, const std::optional<AlgorithmChoice> &only) {
  Schedule rule = only ? facts.priorOf(*only) : facts.prior();
  if (Legality legality = legal(facts, rule); !legality) // too large for any schedule, or for this schedule
    throw Illegal{legality.broken->id, legality.reason};
  ScheduleChoice choice;
  choice.rule = choice.model = predicted(facts, rule);
  if (hasOpenExtents(facts))
    return choice;
  std::vector<PredictedSchedule> starts = only ? std::vector{choice.rule} : ruleSchedules(facts, choice.rule);
  int left = mostPredictions;
  double most = starts.front().cycles * nearEnough;
  for (const PredictedSchedule &start : starts)
    if (start.cycles <= most)
      if (PredictedSchedule reached = Descent(facts, left).from(start);
          reached.cycles < choice.rule.cycles && cheaper(reached, choice.model))
        choice.model = std::move(reached);
  // Memory rates are the least certain fact, because other cores use a share. Reading more must gain twice.
  double more = std::max(0.0, choice.model.memory - choice.rule.memory);
  choice.byModel = choice.model.cycles + more < choice.rule.cycles * marginOver(rule, choice.model.schedule);
  return choice;
}

} // namespace lathe
