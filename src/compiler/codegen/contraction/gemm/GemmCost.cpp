// The cost of `gemm` as a function of its plan.
#include "codegen/contraction/common/ContractionCost.h"
#include "codegen/contraction/gemm/GemmPlan.h"

#include <numeric>

namespace lathe {
namespace {

/// Cycles to convert a vector of codes to numbers: a shift and a look-up, or an extension and a conversion.
constexpr double decodeCycles = 1.5;

class GemmCost {
public:
  GemmCost(Cost &cost, const GemmPlan &plan, double operators)
      : cost(cost), plan(plan), gemm(plan.gemm), operators(operators), batch(valueOf(gemm.batch)), m(valueOf(gemm.m)),
        unit(double(plan.format.unitBytes())) {
    auto all = std::max<int64_t>(1, int64_t(m));
    pieces = evenPieces(all, plan.rows);
    chunks = std::ceil(double(pieces.count) / double(plan.mc));
  }

  /// Returns the axes of the work items.
  auto add() {
    cost.compute += batch * (blocksOf(plan.vectors) * double(plan.tiles() - 1) + blocksOf(plan.tailVectors()));
    addCopies();
    addRight();
    addLeft();
    return std::array{WorkAxis{int64_t(batch)}, WorkAxis::cut(pieces.count, plan.mc),
                      WorkAxis::cut(plan.columnVectors(), plan.vectors)};
  }

private:
  Cost &cost;
  const GemmPlan &plan;
  const GemmGeometry &gemm;
  double operators, batch, m, unit, chunks = 1;
  EvenPieces pieces{};

  double panel() const { return double(plan.kc * plan.vectors * plan.lanes) * unit; }
  /// Bytes of the right operand in memory.
  double right() const {
    double elements = double(plan.allSteps() * plan.columnVectors() * plan.lanes);
    if (!gemm.packed)
      return elements * unit;
    double parameters = double(gemm.packed->scale.argument.has_value() + gemm.packed->zero.argument.has_value());
    return elements * (double(bitWidth(gemm.packed->codes)) / 8 + parameters * unit / double(gemm.packed->steps));
  }
  double chunkRows() const { return std::min(m, double(plan.mc * plan.rows)); }
  bool walksB() const { return !gemm.constantB && !plan.packB; }

  double block(int64_t rows, int64_t vectors, int64_t steps) const {
    Reduction reduction{rows, vectors, steps, steps, plan.unroll, plan.format};
    reduction.widest = plan.vectors;
    double iterations = std::max(1.0, double(steps / plan.unroll));
    if (plan.prefetch)
      reduction.lines = std::ceil(panel() / 64 / (std::min(double(plan.mc), double(pieces.count)) * iterations));
    double cycles = reductionCycles(cost.facts.target, reduction);
    // Rows that map to the same set of the innermost cache evict one another.
    int64_t bytes = gemm.aRowStride * int64_t(unit), way = 4096;
    int64_t sets = plan.format.converts || bytes == 0 ? way : std::max<int64_t>(1, way / std::gcd(bytes, way));
    if ((rows + sets - 1) / sets > 10)
      cycles *= 1.25;
    if (plan.readsCodes())
      cycles += double(steps * vectors) * decodeCycles;
    if (walksB() && gemm.bLaneStride != 1) // element by element
      cycles += double(steps * vectors * plan.lanes) * 1.2;
    return cycles;
  }

  /// All register blocks for one tile of columns of one matrix.
  double blocksOf(int64_t vectors) const {
    double cycles = 0;
    for (auto [rows, count] :
         {std::pair(pieces.small + 1, pieces.large), std::pair(pieces.small, pieces.count - pieces.large)}) {
      if (count == 0)
        continue;
      double sums = double(rows * vectors);
      double passes = double(plan.passes() - 1) * (block(rows, vectors, plan.steps(false)) + sums * 1.5) +
                      block(rows, vectors, plan.steps(true));
      cycles += double(count) * (passes + resultCycles(sums, operators) + turnCycles);
    }
    return cycles;
  }

  void addCopies() {
    double vectors = double(plan.allSteps() * plan.columnVectors());
    if (plan.packB) { // every chunk copies every tile of columns
      double each = gemm.packed             ? decodeCycles + 1.2
                    : gemm.bLaneStride == 1 ? (plan.format.converts ? 4 : 1.2)
                    : plan.format.converts  ? 5
                                            : 1.1 * double(plan.lanes);
      cost.compute += batch * chunks * (vectors * each + double(plan.tiles()) * turnCycles);
    }
    if (plan.format.converts)
      cost.compute += batch * m * (double(gemm.k) / double(plan.lanes) * 2 + turnCycles);
  }

  void addRight() {
    double blocks = batch * double(pieces.count);
    double held = panel();
    if (walksB()) // lines of the operand's rows, not of a packed panel
      held = std::max(held, double(plan.kc) * std::max(64.0, double(plan.vectors * plan.lanes) * unit));
    // The first block of a chunk waits for a panel, or copies it.
    cost.readAgain((blocks - batch * chunks) * right(), held, 0.3);
    if (gemm.constantB) {
      // Panels that only one register block uses are read in order, which the hardware prefetches by itself; prefetch
      // instructions disturb it (docs/notes/transformers.md).
      bool once = std::min(double(plan.mc), double(pieces.count)) < 2;
      double ahead = once ? (plan.prefetch ? 0.1 : 0.5) : plan.prefetch ? 1 - cost.machine.readAheadCost : 0.2;
      cost.readFirst(right(), ahead);
      cost.readAgain((batch * chunks - 1) * right(), right() + chunkRows() * double(plan.allSteps()) * unit, ahead);
    } else {
      cost.readAgain(batch * (chunks - 1) * right(), right() + chunkRows() * double(plan.allSteps()) * unit, 0.2);
    }
  }

  void addLeft() {
    double rows = chunkRows() * double(plan.kc) * unit;
    cost.readAgain(batch * m * double(plan.allSteps()) * unit * double(plan.tiles() - 1), rows + panel(), 0.3);
    if (plan.passes() > 1)
      cost.readAgain(2 * batch * m * double(gemm.n) * double(plan.partialBytes()) * double(plan.passes() - 1),
                     chunkRows() * double(gemm.n) * double(plan.partialBytes()));
  }
};

} // namespace

Prediction predict(const ContractionFacts &facts, const GemmPlan &plan) {
  Cost cost(facts);
  cost.passOperands(plan.gemm.constantB ? int(plan.gemm.b) : -1);
  auto items = GemmCost(cost, plan, facts.operators).add();
  return cost.finish(items, exposedOfProducts);
}

std::vector<LoopNest> nestsOf(const GemmPlan &plan) {
  using enum OperandClass;
  const GemmGeometry &gemm = plan.gemm;
  double unit = double(plan.format.unitBytes()), sum = double(plan.partialBytes());
  double m = atLeastOne(gemm.m), pieces = double(evenPieces(int64_t(m), plan.rows).count);
  double blocks = std::min(double(plan.mc), pieces), tiles = double(plan.tiles());
  // A tile of the right operand is copied, or partial sums wait, or the rows of a work item are
  // converted.
  double kept = plan.packB || plan.format.converts ? unit : plan.passes() > 1 ? sum : 0;
  LoopNest nest{{unit, unit, sum, kept}, {}};
  nest.add(LoopKind::vector, LoopAxis::columns, double(plan.lanes), {weights, output, scratch});
  nest.add(LoopKind::unrolled, LoopAxis::columns, double(plan.columnVectors()) / tiles, {weights, output, scratch});
  nest.add(LoopKind::unrolled, LoopAxis::rows, m / pieces, {input, output});
  nest.add(LoopKind::unrolled, LoopAxis::reduction, double(plan.unroll), {input, weights, scratch});
  double steps = share(plan.allSteps(), plan.passes()) / double(plan.unroll);
  nest.add(LoopKind::serial, LoopAxis::reduction, steps, {input, weights, scratch});
  nest.add(LoopKind::serial, LoopAxis::rows, blocks, {input, output});
  nest.add(LoopKind::serial, LoopAxis::reduction, double(plan.passes()), {input, weights});
  nest.add(LoopKind::parallel, LoopAxis::columns, tiles, {weights, output});
  nest.add(LoopKind::parallel, LoopAxis::rows, pieces / blocks, {input, output});
  nest.add(LoopKind::parallel, LoopAxis::batch, atLeastOne(gemm.batch), {input, weights, output});
  return {nest};
}

} // namespace lathe
