// The cost of the loop-shaped families: elements per work item, vectors side by side, cycles of one vector.
#include "codegen/cost/Cost.h"
#include "codegen/cost/LoopRuns.h"
#include "codegen/space/LoopFacts.h"

#include <algorithm>
#include <cmath>

namespace lathe {

LoopRuns runsOf(const LoopShape &shape, int64_t grain) {
  int64_t perItem = std::max<int64_t>(1, grain / std::max<int64_t>(1, shape.divisor));
  Units units = cutUnits(shape.extents, perItem, shape.granule, shape.limit);
  LoopRuns runs;
  runs.units = valueOf(units.count);
  if (shape.limit == 0)
    return runs;
  int64_t before = 1;
  for (size_t i = 0; i < units.axis; ++i)
    before *= std::max<int64_t>(1, int64_t(valueOf(shape.extents[i])));
  runs.items = {WorkAxis{before},
                WorkAxis::cut(int64_t(valueOf(shape.extents[units.axis])), std::max<int64_t>(1, units.chunk))};
  double all = 1;
  for (size_t i = 0; i < shape.limit; ++i)
    all *= std::max(1.0, valueOf(shape.extents[i]));
  size_t last = shape.limit - 1;
  double inner = std::max(1.0, valueOf(shape.extents[last]));
  runs.length = units.axis == last ? std::min(inner, std::max(1.0, double(units.chunk))) : inner; // 0 without elements
  runs.runs = std::max(1.0, all / runs.length);
  return runs;
}

LoopRuns runsOf(const ReduceFacts &facts, const Schedule &schedule) {
  LoopShape cut = facts.shape; // runs of vectors are not cut shorter than the vectors side by side
  int64_t grain = std::max<int64_t>(1, schedule.number("grain") / std::max<int64_t>(1, cut.divisor));
  if (facts.vectorLoop)
    grain = std::max(grain, schedule.number("interleave") * facts.lanes);
  cut.divisor = 1;
  return runsOf(cut, grain);
}

namespace {

/// Cycles of a run of `vectors` vectors, `together` side by side and the rest one by one. `work(n)`: cycles of one
/// vector if n are side by side. `turn`: cycles of entering and leaving a loop.
template <class Work> double runCycles(double vectors, double together, const Work &work, double turn = turnCycles) {
  double groups = std::floor(vectors / together), rest = vectors - groups * together;
  double cycles = groups * (together * work(together) + loopCycles) + turn;
  return cycles + (together > 1 ? std::ceil(rest) * (work(1.0) + loopCycles) + (rest > 0 ? turn : 0)
                                : (rest > 0 ? work(1.0) : 0));
}

/// Cycles per vector for values that do not fit the registers: each of `together` vectors has `live` values, and
/// `common` values are shared.
double spillCycles(const Target &target, double together, double live, double common, double instructions) {
  double needed = together * live + common, room = double(target.vectorRegisters);
  return needed > room ? 0.7 * instructions * (1 - room / needed) : 0;
}

/// Instructions that combine the lanes of a vector: the steps at the end of a row.
constexpr double acrossCycles = 30;

} // namespace

Prediction GrainFacts::predict(const Schedule &schedule) const {
  Cost cost(*this);
  LoopRuns runs = runsOf(shape, schedule.number("grain"));
  double elements = 0, results = 0;
  for (const TensorFacts &tensor : outputs) {
    elements = std::max(elements, bytesOf(tensor) / (bitWidth(tensor.type) / 8.0));
    results += bytesOf(tensor);
  }
  if (family == "movement") // the rows that a gather takes of a table
    cost.passOperands(-1, results);
  else
    cost.passOperands();
  cost.compute = elements * elementCycles + runs.runs * 2 + runs.units * turnCycles;
  return cost.finish(runs.items, 0.8);
}

Prediction MapFacts::predict(const Schedule &schedule) const {
  Cost cost(*this);
  cost.passOperands();
  LoopRuns runs = runsOf(shape, schedule.number("grain"));
  double vectors = shape.limit < shape.extents.size() ? runs.length : runs.length / double(shape.granule);
  double memory = double(inputs.size() + outputs.size());
  auto work = [&](double together) {
    // Beside multiply-adds, a core starts as many other instructions per cycle; loads and stores have separate ports.
    return (body.instructions / (1.2 * target.fmaPerCycle()) + 0.4 * memory) * (1 + 0.25 / together) +
           spillCycles(target, together, body.live, body.constants, body.instructions + memory);
  };
  cost.compute = runs.runs * runCycles(vectors, double(schedule.number("interleave")), work);
  return cost.finish(runs.items, 0.7);
}

Prediction PoolFacts::predict(const Schedule &schedule) const {
  Cost cost(*this);
  cost.passOperands();
  LoopRuns runs = runsOf(shape, schedule.number("grain"));
  double rows = 1; // of the result, times vectors of channels
  for (size_t i = 0; i < shape.limit; ++i)
    rows *= std::max(1.0, valueOf(shape.extents[i]));
  double width = std::max(1.0, valueOf(shape.extents[shape.limit]));
  double kernel = double(lastKernel), outer = double(window) / kernel, combine = average ? 0.5 : 0.8;
  auto pixels = [&](double together) { // neighbouring windows share columns
    double columns = lastStride < lastKernel ? (together - 1) * double(lastStride) + kernel : together * kernel;
    double instructions = columns * (outer - 1) * combine + together * (kernel - 1) * combine + 2 * together;
    double loads = columns * outer / 2;
    double spilled = std::max(0.0, columns * outer + 2 - double(target.vectorRegisters));
    return (std::max(0.8 * instructions, loads) + 1.5 + spilled * spilled / 110) / together;
  };
  if (blocked) {
    double borders = std::min(width, std::ceil((kernel - 1) / double(lastStride)));
    constexpr double sameTurn = 4; // all rows are equally long: branches are predicted
    cost.compute = rows * (runCycles(width - borders, double(schedule.number("interleave")), pixels, sameTurn) +
                           borders * (double(window) * 2 + turnCycles) + 2 * turnCycles);
  } else { // lanes are positions; those at borders one by one, strided ones gathered
    double gather = lastStride > 1 ? double(target.lanes()) : 1;
    cost.compute = rows * (std::ceil(width / double(target.lanes())) * double(window) * gather +
                           2 * double(window) * 3 + 3 * turnCycles);
  }
  return cost.finish(runs.items, 0.7);
}

Prediction ReduceFacts::predict(const Schedule &schedule) const {
  Cost cost(*this);
  cost.passOperands();
  int64_t together = schedule.number("interleave");
  LoopRuns runs = runsOf(*this, schedule);
  double count = valueOf(terms);
  if (!lanesAreResults) {
    double vectors = std::ceil(count / double(lanes));
    cost.compute = runs.runs * runs.length * (vectors * 0.7 * operations + 10 * operations);
    return cost.finish(runs.items, 0.6);
  }
  auto column = [&](double side) { // a vector of results: a chain, four of them if there are few side by side
    double chains = side >= 4 ? side : 4 * side;
    double spilled = spillCycles(target, side, 1, 4, count * operations) / 2;
    // Rows lie apart: several vectors of each are read at once.
    return count * std::max(0.5 * operations, 3 * operations / chains) + count * loopCycles / side + turnCycles / side +
           spilled;
  };
  double results = vectorLoop ? runs.length / double(lanes) : runs.length;
  cost.compute = runs.runs * (vectorLoop ? runCycles(results, double(together), column) : results * column(1));
  if (vectorLoop && together * lanes * 4 < 512) // each row is a separate stream
    cost.compute *= 1.0 + 0.15 * std::max(0.0, 3 - std::log2(double(together)));
  return cost.finish(runs.items, 0.6);
}

Prediction SoftmaxFacts::predict(const Schedule &schedule) const {
  Cost cost(*this);
  cost.passOperands();
  LoopRuns runs = runsOf(shape, schedule.number("grain"));
  double n = valueOf(length), vectors = std::ceil(n / double(lanes));
  constexpr double exponential = 6, scale = 1; // cycles of a vector
  if (!contiguous) {
    double columns = std::ceil(runs.length / double(lanes));
    cost.compute = runs.runs * (columns * n * (4 + exponential + scale + 2) + turnCycles);
    return cost.finish(runs.items, 0.6);
  }
  auto row = [&](double together) { // a row stands alone with two partial results
    double chains = together > 1 ? together : 2;
    double greatest = vectors * std::max(0.6, 3 / chains), sum = vectors * exponential;
    bool tail = std::fmod(n, double(lanes)) > 0; // a masked vector with separate code
    // Two sums across lanes, a polynomial and a division wait for one another; the next row's vectors hide some of it.
    double waits = std::max(0.0, 45 - 3.5 * vectors) + (tail ? 30 : 0);
    return greatest + sum * (1 + 0.13 * (together - 1)) + vectors * scale + waits / together + 15;
  };
  double together = double(schedule.number("interleave"));
  cost.compute = runs.runs * runCycles(runs.length, together, row);
  return cost.finish(runs.items, 0.6);
}

Prediction NormalizeFacts::predict(const Schedule &schedule) const {
  Cost cost(*this);
  cost.passOperands();
  LoopRuns runs = runsOf(shape, schedule.number("grain"));
  double n = valueOf(length), vectors = contiguous ? std::ceil(n / double(lanes)) : n;
  double hold = double(schedule.number("hold"));
  double memory = double(std::max<size_t>(1, inputs.size()) + outputs.size());
  auto row = [&](double together) {
    bool held = contiguous && vectors * together <= hold;
    double chains = together > 1 ? together : 4, latency = target.machine.fmaLatency;
    double spilled = held ? std::max(0.0, vectors * together + 8 - double(target.vectorRegisters)) / together : 0;
    double mean = vectors * std::max(held ? 0.5 : 0.7, latency / chains);
    double deviations = vectors * std::max(held ? 1.0 : 1.2, latency / chains);
    double result = vectors * (1 + 0.3 * memory / (together > 1 ? 1.5 : 1));
    return mean + deviations + result + (acrossCycles + (held ? 0.5 : 2) * turnCycles + 15) / together + 5 +
           4 * spilled;
  };
  double together = double(schedule.number("interleave"));
  double results = contiguous ? runs.length : std::ceil(runs.length / double(std::max<int64_t>(1, shape.granule)));
  cost.compute = runs.runs * runCycles(results, together, row);
  return cost.finish(runs.items, 0.6);
}

} // namespace lathe
