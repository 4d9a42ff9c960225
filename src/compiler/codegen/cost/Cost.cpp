#include "codegen/cost/Cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lathe {

double valueOf(const Dim &extent) {
  if (extent.isConstant())
    return double(extent.constant());
  try {
    return std::max(1.0, double(extent.evaluate([](const std::string &) -> int64_t { return 1; })));
  } catch (const Error &) { // a divisor such as N - 1
    return 1;
  }
}

double bytesOf(const TensorFacts &tensor) {
  double bytes = bitWidth(tensor.type) / 8.0;
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    double extent = valueOf(tensor.dims[i]);
    if (tensor.block && i == 1)
      extent = std::ceil(extent / double(tensor.block)) * double(tensor.block);
    bytes *= extent;
  }
  return bytes;
}

void Cost::passOperands(int except, double most) {
  double read = 0, written = 0, threads = std::max(1, facts.threads);
  for (size_t i = 0; i < facts.inputs.size(); ++i)
    if (int(i) == except)
      continue;
    else if (facts.inputs[i].constant)
      readFirst(std::min(bytesOf(facts.inputs[i]), most));
    else
      read += std::min(bytesOf(facts.inputs[i]), most);
  for (const TensorFacts &tensor : facts.outputs)
    written += bytesOf(tensor);
  // The kernels that wrote the operands divided them over the threads in other ways.
  double foreign = read * (1 - 1 / threads), passing = (read + written) / threads;
  pass(read - foreign, passing, 0);
  pass(written, passing, 0.5); // stores wait in buffers while later work goes on
  readFrom(std::max(levels.levelOf(passing), machine.sharedLevel()), foreign, 0);
}

void Cost::pass(double bytes, double held, double hidden) {
  levels.eachShare(held, [&](size_t level, double share) { readFrom(level, bytes * share, hidden); });
}

void Cost::readAgain(double bytes, double held, double hidden) { readFrom(levels.levelOf(held), bytes, hidden); }

void Cost::readFirst(double bytes, double hidden) { readFrom(levels.size() - 1, bytes, hidden); }

void Cost::readFrom(size_t level, double bytes, double hidden) {
  double cycles = bytes * levels[level].cyclesPerByte;
  if (level > 0)
    waits[level - 1] += cycles * (1 - hidden);
  if (level == levels.size() - 1)
    memory += cycles;
}

double busiestShare(double units, int threads) {
  units = std::max(1.0, units);
  return std::ceil(units / threads) * threads / units;
}

Prediction Cost::finish(double units, double exposed) const {
  int threads = std::max(1, facts.threads);
  return finish(units, busiestShare(units, threads) / threads, exposed);
}

Prediction Cost::finish(std::span<const WorkAxis> items, double exposed) const {
  int threads = std::max(1, facts.threads);
  double units = 1;
  for (const WorkAxis &axis : items)
    units *= double(axis.pieces);
  return finish(units, busiestShare(items, threads) / threads, exposed);
}

Prediction Cost::finish(double units, double share, double exposed) const {
  Prediction prediction;
  prediction.compute = (compute + units * callCycles) * share;
  double all = std::accumulate(waits.begin(), waits.end(), 0.0);
  double waiting = std::max(0.0, all - compute) + exposed * std::min(all, compute);
  for (double wait : waits)
    prediction.levels.push_back(all > 0 ? wait / all * waiting * share : 0);
  prediction.memory = memory * share;
  // Prefetching hides the wait for bytes behind other work, but memory delivers no faster. The rest of 0.1 keeps the
  // order of schedules that all wait for the same bytes.
  if (double shortfall = memory - (compute + waiting); shortfall > 0)
    prediction.levels.back() += 0.9 * shortfall * share;
  prediction.start = startCycles + once;
  prediction.forkJoin = forkJoinCycles(std::max(1, facts.threads));
  return prediction;
}

namespace {

/// Partial sums per result, as Microkernel::reduce chooses them.
int64_t partialSums(const Target &target, const Reduction &reduction) {
  constexpr int64_t longEnough = 64;
  int64_t sums = accumulatorChains(target, reduction.rows, std::max(reduction.vectors, reduction.widest));
  return reduction.steps < longEnough || reduction.unroll % sums ? 1 : sums;
}

} // namespace

double reductionCycles(const Target &target, const Reduction &reduction) {
  if (reduction.rows == 0)
    return 0;
  auto rows = double(reduction.rows), vectors = double(reduction.vectors), steps = double(reduction.steps);
  int64_t sums = partialSums(target, reduction);
  int64_t group = std::max<int64_t>(1, heldVectors(target, reduction.rows * sums, reduction.vectors));
  double groups = std::ceil(vectors / double(group));
  double products = rows * vectors / reduction.format.productsPerCycle(target);
  double loads = vectors == 1 ? rows + 1 : vectors + rows * groups;
  // Each addition waits for the one before, unless the core can work on other sums in the meantime.
  constexpr double lookAhead = 500; // instructions
  double instructions = reduction.calls * steps * (rows * vectors + (vectors == 1 ? 1 : loads)) + 30;
  double latency = reduction.format.latency(target) / double(sums) / std::clamp(lookAhead / instructions, 1.0, 8.0);
  double step = std::max({products, loads / 2, latency}) + 0.05 * loads;
  if (groups > 1 && vectors > 1)
    step *= 1.06;
  // Sums that fill the registers are stored and loaded again around the loops.
  double spare = double(target.vectorRegisters) - rows * vectors * double(sums) - (vectors > 1 ? vectors + 1 : 1);
  double runs = std::max(1.0, steps / double(std::max<int64_t>(1, reduction.run)));
  double perRun = std::min(steps, double(reduction.run)), iterations = std::floor(perRun / double(reduction.unroll));
  double rest = perRun - iterations * double(reduction.unroll);
  double around = runs * (iterations * loopCycles * (products < 4 ? 1 : 0.5) + (rest > 0 ? 1 : 0));
  if (spare < 0)
    around += runs * -spare * 2;
  around += runs * std::max(1.0, iterations) * reduction.lines * 0.6;
  double merging = double(sums - 1) * rows * vectors / 2 + (sums > 1 ? 8 : 0);
  bool straight = runs == 1 && iterations <= 1; // one call of several in a row, without a loop
  return steps * step + around + merging + (straight ? 2 : turnCycles * 0.7);
}

double reductionCode(const Reduction &reduction) {
  double inLoop = double(std::min({reduction.unroll, reduction.run, reduction.steps}));
  double vectors = double(reduction.vectors), rows = double(reduction.rows);
  return inLoop * (rows * vectors * 6 + (vectors > 1 ? rows * 8 : rows * 2) + vectors * 8) + 100;
}

double resultCycles(double vectors, double operators) { return vectors * (1 + 0.3 * operators); }

double bodyCycles(const Target &target, double instructions, double latency, double together) {
  // Iterations overlap as far as the core looks ahead.
  constexpr double lookAhead = 300;
  double parallel = std::max(together, lookAhead / std::max(1.0, instructions));
  return std::max(instructions / target.fmaPerCycle(), latency / parallel);
}

Prediction KernelFacts::predict(const Schedule &) const {
  Cost cost(*this);
  cost.passOperands();
  return cost.finish(threads, 1);
}

} // namespace lathe
