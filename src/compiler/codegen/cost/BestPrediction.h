// Chooses the schedule of a kernel without measuring: the lowest predicted cost over a pruned space, or the schedule of
// the hand rules (KernelFacts::prior) if the predicted gain is too small.
#pragma once

#include "codegen/space/KernelFacts.h"

namespace lathe {

struct PredictedSchedule {
  Schedule schedule;
  double cycles = 0; // predicted cycles, Prediction::total()
  double memory = 0; // the part of the cycles that the transfers from memory take, Prediction::memory
};

/// The two candidate schedules for a kernel, and which of them the prior chooses.
struct ScheduleChoice {
  PredictedSchedule rule; // schedule of the hand rules
  /// Schedule with the lowest predicted cost; equal to `rule` if no other schedule is predicted to be faster.
  PredictedSchedule model;
  bool byModel = false; // true: `model` is chosen, because its predicted gain over `rule` exceeds the margin

  const Schedule &schedule() const { return byModel ? model.schedule : rule.schedule; }
};

/// Chooses the schedule of a kernel. The pruned space contains the hand rules' schedule of every algorithm that
/// computes the kernel, and all schedules that a descent over KernelFacts::knobs reaches from the best of them within a
/// few hundred predictions. Equal facts get equal choices: if predictions are equal, the rule's schedule is chosen,
/// then the schedule with the smaller text. Kernels with open extents keep the rule's schedule, because predictions
/// count these extents as 1. With `only`, chooses among schedules of that algorithm. Throws Illegal if no schedule is
/// legal.
ScheduleChoice bestPrediction(const KernelFacts &facts, const std::optional<AlgorithmChoice> &only = {});

/// Returns `rule` (the schedule of the hand rules for the kernel) and the legal schedules that the hand rules choose
/// for the family's other algorithms, lowest predicted cost first. Schedules that round operands are included only if
/// the precision asks for them.
std::vector<PredictedSchedule> ruleSchedules(const KernelFacts &facts, const PredictedSchedule &rule);

} // namespace lathe
