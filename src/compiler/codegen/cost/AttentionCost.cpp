// The cost of `attention` as a function of its plan.
#include "codegen/cost/Cost.h"
#include "codegen/space/AttentionPlan.h"

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

class AttentionCost {
public:
  AttentionCost(Cost &cost, const AttentionPlan &plan)
      : cost(cost), target(cost.facts.target), plan(plan), queries(std::max(1.0, valueOf(plan.queries))),
        keys(std::max(1.0, valueOf(plan.keys))), seen(keys), lanes(double(plan.lanes)) {
    block = plan.single() ? keys : std::min(keys, double(plan.kc));
    pieces = evenPieces(int64_t(queries), plan.rows);
    if (plan.causal) // the queries of a block see keys up to the last query's last key
      seen = std::min(keys, keys / 2 + double(plan.rows) / 2);
  }

  double add() {
    double heads = valueOf(plan.heads()), chunks = std::ceil(double(pieces.count) / double(plan.mc));
    double blocksOfKeys = std::ceil(seen / block);
    double packed = plan.single() ? 1 : chunks * (seen / keys); // how often the keys of a head are packed
    if (plan.packs)
      cost.compute += heads * packed * packing();
    for (auto [rows, count] :
         {std::pair(pieces.small + 1, pieces.large), std::pair(pieces.small, pieces.count - pieces.large)})
      if (count)
        cost.compute += heads * double(count) * registerBlock(rows, blocksOfKeys);
    addTraffic(heads, chunks);
    return heads * chunks;
  }

private:
  Cost &cost;
  const Target &target;
  const AttentionPlan &plan;
  double queries, keys, seen, lanes, block;
  EvenPieces pieces{};

  double wide() const { return double(plan.widthVectors()); }

  double packing() const {
    double k = keys * double(plan.depth) / lanes, v = keys * wide();
    return k * (plan.format.converts ? 4 : 3) + v * (plan.format.converts ? 3 : 1.5) + 4 * turnCycles;
  }

  /// Cycles of one query with all keys in place: products, sums across lanes, softmax, and the values.
  double line(double blocksOfKeys) const {
    double depth = std::ceil(double(plan.depth) / lanes), changed = plan.bias || plan.mask || plan.causal ? 2.5 : 0;
    changed += plan.softcap > 0 ? 12 : 0;
    double products = seen * depth + seen * 3, softmax = seen / lanes * (7.5 + changed) + 60 + 3 * turnCycles;
    return products + softmax + seen * std::max(4.0, wide()) + blocksOfKeys * (25 + 12 * wide()) + depth * 2;
  }

  double registerBlock(int64_t rows, double blocksOfKeys) const {
    if (!plan.packs)
      return double(rows) * line(blocksOfKeys) + turnCycles;
    double count = double(rows), perBlock = seen / blocksOfKeys;
    double panels = std::ceil(perBlock / double(plan.panel()));
    Reduction scores{rows, plan.vectors, plan.depthSteps(), plan.depthSteps(), plan.unroll, plan.format};
    double cycles =
        panels * (reductionCycles(target, scores) + resultCycles(count * double(plan.vectors), 0) + turnCycles);
    double vectors = perBlock / lanes, changed = plan.bias || plan.mask || plan.causal ? 2.5 : 0;
    changed += plan.softcap > 0 ? 12 : 0;
    cycles += count * vectors * (1 + changed + 6.5) + std::ceil(count / 4) * (60 + 3 * turnCycles) + count * 12;
    int64_t steps = std::max<int64_t>(1, int64_t(perBlock) / plan.ofStep());
    for (double left = wide(); left > 0; left -= double(plan.vectors)) {
      auto tile = int64_t(std::min(left, double(plan.vectors)));
      // Where the number of keys is not known, a vector of them at a time.
      int64_t run = plan.single() && !plan.causal ? steps : std::min<int64_t>(steps, plan.lanes / plan.ofStep());
      Reduction values{rows, tile, steps, run, std::min(plan.unroll, run), plan.format};
      cycles += reductionCycles(target, values) + resultCycles(count * double(tile), plan.single() ? 1 : 3);
    }
    if (!plan.single())
      cycles += count * 25;
    cycles += count * (double(plan.depth) / lanes * 2 + 6); // queries
    return blocksOfKeys * cycles + turnCycles;
  }

  void addTraffic(double heads, double chunks) {
    double unit = double(bitWidth(plan.compute)) / 8;
    double held = (double(plan.keyCapacity() * plan.depthSteps()) +
                   double(plan.keyCapacity()) / double(plan.ofStep()) * wide() * lanes) *
                  unit;
    double scores = double(plan.rows * plan.scorePitch()) * unit;
    if (!plan.packs)
      held = keys * double(plan.depth + plan.width) * unit;
    double passes = plan.packs ? double(pieces.count) * std::ceil(seen / block) : queries - 1;
    cost.readAgain(heads * passes * held, held + scores, 0.3);
    cost.readAgain(heads * double(pieces.count) * 3 * scores * std::ceil(seen / block), scores, 0.3);
    if (!plan.single() && plan.packs) {
      double matrices = keys * double(plan.depth + plan.width) * unit;
      cost.readAgain(heads * (chunks - 1) * matrices, matrices, 0.3);
      double results = double(plan.mc * plan.rows) * wide() * lanes * unit;
      cost.readAgain(heads * chunks * 2 * results * std::ceil(seen / block), results + held, 0.3);
    }
  }
};

} // namespace

Prediction AttentionFacts::predict(const Schedule &schedule) const {
  AttentionPlan plan(*this, schedule);
  Cost cost(*this);
  cost.passOperands();
  double units = AttentionCost(cost, plan).add();
  return cost.finish(units, 0.3);
}

} // namespace lathe
