// The cost of `recurrent` as a function of its plan.
#include "codegen/cost/Cost.h"
#include "codegen/space/RecurrentPlan.h"

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

/// Cycles of one step of one block of rows: products of the state and all gates' weights, and the gates' functions.
double stepCycles(const Target &target, const RecurrentPlan &plan) {
  double cycles = 0;
  for (const RecurrentPhase &phase : plan.phases) {
    auto gates = int64_t(phase.gates.size());
    Reduction reduction{plan.rows, gates * plan.vectors, plan.hidden, plan.hidden, plan.unroll};
    // If sums and weights of a step fill the registers, LLVM keeps some of them in memory.
    bool tight = (plan.rows + 1) * gates * plan.vectors + 2 > int64_t(target.vectorRegisters);
    cycles += double(plan.tiles()) * ((tight ? 1.4 : 1.0) * reductionCycles(target, reduction) +
                                      resultCycles(double(plan.rows * gates * plan.vectors), 1) + 2 * turnCycles);
  }
  // An activation is one polynomial, a long chain: computing several vectors side by side hides its latency.
  double vectors = double(plan.rows * plan.tiles() * plan.vectors),
         functions = double(plan.form.gates()) + (plan.form.cell == Cell::lstm ? 1 : 0);
  double together = double(plan.vectors * plan.rows);
  cycles += vectors * functions * std::max(9.0, 15 / std::max(1.0, together)) + vectors * 6;
  cycles += double(plan.rows) * turnCycles;
  return cycles;
}

} // namespace

Prediction RecurrentFacts::predict(const Schedule &schedule) const {
  RecurrentPlan plan(*this, schedule);
  Cost cost(*this);
  cost.passOperands(plan.constantR ? int(plan.r) : -1);
  double steps = valueOf(plan.steps), directions = double(plan.form.directions()),
         blocks = directions * std::max(1.0, valueOf(plan.chunks()));
  cost.compute = steps * blocks * stepCycles(target, plan);
  double weights = double(plan.packedSize() * plan.elementBytes());
  double readers = plan.split ? std::min<double>(threads, valueOf(plan.stageUnits())) : 1;
  if (plan.constantR)
    cost.readFirst(weights * directions, 0.3);
  else
    cost.compute += blocks * weights / double(plan.elementBytes()) * 1.2; // packed by each work item
  cost.readAgain((steps * blocks - 1) * weights, weights / readers, 0.2);
  double units = blocks;
  if (plan.split) {
    units = valueOf(plan.stageUnits());
    cost.once += valueOf(plan.stages()) * (forkJoinCycles(threads) + callCycles);
    cost.compute += valueOf(plan.stages()) * valueOf(plan.stageUnits()) * callCycles;
  }
  return cost.finish(units, 0.4);
}

} // namespace lathe
