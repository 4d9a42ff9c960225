#include "codegen/space/RecurrentPlan.h"

#include "codegen/space/RegisterBlock.h"

#include <algorithm>

namespace lathe {

/// Slots meet within a microsecond, in which one reads 128 KiB of weights from its second-level cache and multiplies a
/// row with them.
static constexpr int64_t worthSplitting = int64_t(1) << 18;

RecurrentPlan::RecurrentPlan(const RecurrentFacts &facts, const Schedule &schedule)
    : RecurrentGeometry(facts.geometry) {
  rows = schedule.number("mr");
  if (batch.isConstant())
    rows = std::max<int64_t>(1, std::min(rows, batch.constant()));
  vectors = std::min(schedule.number("vectors"), (hidden + lanes - 1) / lanes);
  unroll = schedule.number("unroll");
  split = schedule.number("stages") == 1;
  if (split && !constantR)
    illegal("constant", "stages=1 with recurrent weights that are not constant");
  if (!fitsRegisters(facts.target, rows, mostGates() * vectors))
    illegal("registers", "mr={} vectors={} needs more than {} registers", rows, vectors, facts.target.vectorRegisters);
}

int64_t RecurrentGeometry::mostGates() const {
  size_t most = 0;
  for (const RecurrentPhase &phase : phases)
    most = std::max<size_t>(most, phase.gates.size());
  return static_cast<int64_t>(most);
}

int64_t RecurrentPlan::packedOffset(size_t phase) const {
  int64_t gates = 0;
  for (size_t i = 0; i < phase; ++i)
    gates += static_cast<int64_t>(phases[i].gates.size());
  return gates * padded() * hidden;
}

void RecurrentFacts::require(const Schedule &schedule) const { RecurrentPlan(*this, schedule); }

Schedule RecurrentFacts::prior() const {
  Schedule schedule = emptySchedule("recurrent");
  RecurrentPlan plan(*this, schedule);
  int64_t gates = plan.mostGates(), columns = (plan.hidden + plan.lanes - 1) / plan.lanes;
  // As many rows as the registers hold beside one vector of every gate, because each block reads all weights once.
  int64_t rows = 1;
  while (fitsRegisters(target, rows + 1, gates) && rows < 12)
    ++rows;
  int64_t rowBytes = plan.form.gates() * plan.hidden * plan.hidden * plan.elementBytes();
  bool splits = !plan.batch.isConstant() && plan.constantR && rowBytes >= worthSplitting;
  if (plan.batch.isConstant()) {
    int64_t batch = std::max<int64_t>(1, plan.batch.constant());
    // Blocks of one size, and a unit for every thread.
    rows = std::min(rows, std::max<int64_t>(1, batch * plan.form.directions() / threads));
    int64_t blocks = (batch + rows - 1) / rows;
    rows = (batch + blocks - 1) / blocks;
  } else if (splits) {
    // Every block reads all weights, and threads share the columns of any number of blocks: as many rows as LLVM can
    // keep sums in registers.
    while (rows > 1 && (rows + 1) * gates + 2 > int64_t(target.vectorRegisters))
      --rows;
  } else {
    // Blocks of few rows divide most batches evenly over the threads: 8 sequences in blocks of 7 took half as long again
    // as in blocks of 4 on two threads of Zen 4.
    rows = std::min<int64_t>(rows, 4);
  }
  // Eight sums in flight hide the latency of the multiplications; more only pay while nothing spills.
  int64_t vectors = 1;
  for (int64_t v = 2; v <= 8; ++v)
    if (columns % v == 0 && rows * gates * (v / 2) < 8 && fitsRegisters(target, rows, gates * v))
      vectors = v;
  // Loads a kibibyte apart from one iteration to the next are still foreseen by the hardware; at two, half the
  // bandwidth was lost.
  int64_t unroll = std::max<int64_t>(1, 1024 / (gates * vectors * plan.lanes * plan.elementBytes()));
  schedule.numbers = {{"mr", rows}, {"vectors", vectors}, {"unroll", std::min<int64_t>(unroll, 8)}};
  // Fewer blocks than slots: the slots share the columns of a step, where that saves more than meeting after it costs.
  if (plan.constantR && plan.batch.isConstant()) {
    int64_t batch = std::max<int64_t>(1, plan.batch.constant());
    int64_t blocks = plan.form.directions() * ((batch + rows - 1) / rows);
    if (blocks < threads && rows * rowBytes >= worthSplitting)
      schedule.numbers["stages"] = 1;
  } else if (splits) { // a batch of 1 must not leave threads idle, and with one thread nothing is lost
    schedule.numbers["stages"] = 1;
  }
  return schedule;
}

} // namespace lathe
