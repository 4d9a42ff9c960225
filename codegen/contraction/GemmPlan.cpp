#include "codegen/contraction/GemmPlan.h"

#include "codegen/builder/OperandView.h"

#include <cstring>

namespace lathe {
namespace {

/// The axes of a stack of `all` matrices as an operand with stack extents `own`, matrices of `size` elements, walks
/// them.
ViewAxis stackWalk(const Dims &own, const Dims &all, Dim size) {
  ViewAxis walk;
  size_t missing = all.size() - own.size();
  for (size_t i = all.size(); i-- > 0;) {
    bool there = i >= missing && own[i - missing] == all[i];
    if (!there && i >= missing && !(own[i - missing] == Dim(1)))
      throw Declined{fmt::format("a stack of {} matrices meets one of {}", str(own), str(all))};
    if (!(all[i] == Dim(1)))
      walk.insert(walk.begin(), {all[i], there ? size : Dim(0)});
    if (there)
      size = size * all[i];
  }
  return walk;
}

int64_t fixed(const Dim &dim, const char *what) {
  if (!dim.isConstant())
    throw Declined{fmt::format("{} {} is not static", what, dim.str())};
  return dim.constant();
}

} // namespace

GemmGeometry gemmGeometry(const ContractionProblem &problem) {
  mlir::Operation *anchor = problem.anchor;
  auto operands = nn::operandsByRecord(anchor);
  TensorInfo a = problem.shapes.of(operands[0]), b = problem.shapes.of(operands[1]);
  GemmGeometry gemm;
  gemm.type = a.type;
  if (bitWidth(gemm.type) < 8 || gemm.type == ElementType::boolean || (!isFloat(gemm.type) && !isInteger(gemm.type)))
    throw Declined{fmt::format("no matrix product of elements of type {}", name(gemm.type))};
  gemm.result = anchor->getResult(0);
  for (mlir::Value value : {operands[0], operands[1], gemm.result})
    if (nn::layoutOf(value))
      throw Declined{"a matrix product in a blocked layout"};
  gemm.a = argumentOf(operands[0], "the left operand");
  gemm.b = argumentOf(operands[1], "the right operand");
  mlir::func::FuncOp function = problem.function();
  gemm.constantB = function.getArgAttr(gemm.b, "nn.constant") && gemm.a != gemm.b;

  if (nn::recordOf(anchor)->name == std::string_view("gemm")) {
    auto attrs = nn::attrsAs<GemmAttrs>(anchor);
    gemm.batch = 1;
    gemm.m = a.dims[attrs.trans_a ? 1 : 0];
    gemm.k = fixed(a.dims[attrs.trans_a ? 0 : 1], "the reduction extent");
    gemm.n = fixed(b.dims[attrs.trans_b ? 0 : 1], "the column count");
    gemm.aRowStride = attrs.trans_a ? 1 : gemm.k;
    gemm.aStepStride = attrs.trans_a ? fixed(gemm.m, "the row count of a transposed operand") : 1;
    gemm.transB = attrs.trans_b;
    gemm.alpha = attrs.alpha;
    gemm.beta = attrs.beta;
    gemm.addend = operands.size() > 2 ? operands[2] : mlir::Value();
  } else {
    if (b.rank() < 2)
      throw Declined{"the right operand is a vector"};
    bool row = a.rank() == 1;
    gemm.m = row ? Dim(1) : a.dims[a.rank() - 2];
    gemm.k = fixed(a.dims.back(), "the reduction extent");
    gemm.n = fixed(b.dims.back(), "the column count");
    gemm.aRowStride = gemm.k;
    gemm.aStepStride = 1;
    Dims aBatch(a.dims.begin(), a.dims.end() - std::min<size_t>(2, a.rank())), bBatch(b.dims.begin(), b.dims.end() - 2);
    Dim aCount = product(aBatch), bCount = product(bBatch);
    Dims all = problem.shapes.of(gemm.result).dims;
    all.resize(all.size() - (row ? 1 : 2));
    gemm.batch = product(all);
    if (bCount == Dim(1) && !row) {
      // One right operand for all: the outer axes of the left one are just more rows.
      gemm.m = gemm.m * aCount;
      gemm.batch = 1;
      gemm.pixelAxes = all.size() + 1;
    } else {
      if (gemm.batch == Dim(0))
        throw Declined{"a matrix product without elements"};
      CommonAxes common =
          commonAxes({stackWalk(aBatch, all, gemm.m * Dim(gemm.k)), stackWalk(bBatch, all, gemm.k * gemm.n)});
      gemm.outer = common.extents;
      gemm.aOuter = common.strides[0];
      gemm.bOuter = common.strides[1];
      gemm.constantB = gemm.constantB && bCount == Dim(1);
      if (row)
        gemm.pixelAxes = 0;
    }
  }
  gemm.bStepStride = gemm.transB ? 1 : gemm.n;
  gemm.bLaneStride = gemm.transB ? gemm.k : 1;
  if (gemm.n == 0 || gemm.k == 0)
    throw Declined{"a matrix product without elements"};
  return gemm;
}

GemmPlan makeGemmPlan(const ContractionProblem &problem, const Schedule &schedule) {
  GemmPlan plan;
  plan.gemm = gemmGeometry(problem);
  plan.lanes = problem.target().lanes(std::max(32u, bitWidth(plan.gemm.type)));
  if (bitWidth(plan.gemm.type) < 32 && !isFloat(plan.gemm.type))
    plan.lanes = problem.target().lanes(bitWidth(plan.gemm.type));
  plan.rows = schedule.number("rows");
  if (plan.gemm.m.isConstant())
    plan.rows = std::max<int64_t>(1, std::min(plan.rows, plan.gemm.m.constant()));
  plan.vectors = std::min(schedule.number("vectors"), plan.columnVectors());
  plan.unroll = schedule.number("unroll");
  plan.mc = schedule.number("mc");
  plan.kc = schedule.number("kc");
  plan.bf16 = bf16::scheduled(schedule, problem.target(), plan.gemm.type);
  if (plan.bf16 && plan.gemm.aStepStride != 1)
    throw Declined{"type=bf16 is not for transposed left operands"};
  plan.kc = plan.kc == 0 ? plan.allSteps() : std::min(plan.kc, plan.allSteps());
  plan.packB = schedule.number("packb") == 1 && !plan.gemm.constantB;
  if (plan.bf16 && !plan.gemm.constantB && !plan.packB)
    throw Declined{"type=bf16 copies a right operand that is not constant (packb=1)"};
  plan.prefetch = schedule.number("prefetch") == 1 && plan.gemm.constantB;
  if (!Microkernel::fits(problem.target(), plan.rows, plan.vectors))
    throw Declined{fmt::format("rows={} vectors={} needs more than {} registers", plan.rows, plan.vectors,
                               problem.target().vectorRegisters)};
  return plan;
}

namespace {

/// K x N (or N x K) to [pass][tile][k][lane of all vectors of the tile], columns beyond the last zero.
std::vector<char> packColumns(const nn::ConstantData &data, const GemmPlan &plan) {
  const GemmGeometry &gemm = plan.gemm;
  int64_t size = bitWidth(data.type) / 8;
  std::vector<char> packed(plan.columnVectors() * plan.lanes * gemm.k * size);
  char *to = packed.data();
  for (int64_t begin = 0; begin < gemm.k; begin += plan.kc)
    for (int64_t tile = 0; tile < plan.tiles(); ++tile) {
      int64_t first = tile * plan.vectors * plan.lanes, steps = std::min(plan.kc, gemm.k - begin);
      int64_t wide = (tile + 1 < plan.tiles() ? plan.vectors : plan.tailVectors()) * plan.lanes;
      int64_t real = std::min(wide, gemm.n - first);
      auto copy = [&](int64_t k, int64_t j, int64_t from) {
        std::memcpy(to + (k * wide + j) * size, data.bytes.data() + (data.splat ? 0 : from * size), size);
      };
      if (gemm.transB) // a row of the source at a time: it is as long as the reduction
        for (int64_t j = 0; j < real; ++j)
          for (int64_t k = 0; k < steps; ++k)
            copy(k, j, (first + j) * gemm.k + begin + k);
      else
        for (int64_t k = 0; k < steps; ++k)
          for (int64_t j = 0; j < real; ++j)
            copy(k, j, (begin + k) * gemm.n + first + j);
      to += wide * steps * size;
    }
  return packed;
}

/// K x N (or N x K) rounded, to [pass][tile][pair of steps][lane of all vectors of the tile][step of the pair].
std::vector<char> packPairs(const nn::ConstantData &data, const GemmPlan &plan) {
  const GemmGeometry &gemm = plan.gemm;
  std::vector<char> packed(plan.columnVectors() * plan.lanes * plan.allSteps() * bf16::unitBytes);
  char *to = packed.data();
  for (int64_t begin = 0; begin < plan.allSteps(); begin += plan.kc)
    for (int64_t tile = 0; tile < plan.tiles(); ++tile) {
      int64_t first = tile * plan.vectors * plan.lanes, steps = std::min(plan.kc, plan.allSteps() - begin);
      int64_t wide = (tile + 1 < plan.tiles() ? plan.vectors : plan.tailVectors()) * plan.lanes;
      int64_t real = std::min(wide, gemm.n - first), low = begin * bf16::pair,
              high = std::min(gemm.k, low + steps * bf16::pair);
      auto copy = [&](int64_t k, int64_t j) {
        int64_t from = gemm.transB ? (first + j) * gemm.k + k : k * gemm.n + first + j;
        float value;
        std::memcpy(&value, data.bytes.data() + (data.splat ? 0 : from * sizeof value), sizeof value);
        uint16_t half = bf16::rounded(value);
        std::memcpy(to + ((k - low) / bf16::pair * wide + j) * bf16::unitBytes + k % bf16::pair * sizeof half, &half,
                    sizeof half);
      };
      if (gemm.transB) // a row of the source at a time: it is as long as the reduction
        for (int64_t j = 0; j < real; ++j)
          for (int64_t k = low; k < high; ++k)
            copy(k, j);
      else
        for (int64_t k = low; k < high; ++k)
          for (int64_t j = 0; j < real; ++j)
            copy(k, j);
      to += wide * steps * bf16::unitBytes;
    }
  return packed;
}

} // namespace

Packing gemmPacking(const GemmPlan &plan) {
  return {[plan](const nn::ConstantData &data) { return plan.bf16 ? packPairs(data, plan) : packColumns(data, plan); },
          fmt::format("kn/{}x{}{}", plan.vectors, plan.lanes, plan.bf16 ? " bf16" : ""),
          plan.bf16 ? ElementType::bf16 : plan.gemm.type};
}

} // namespace lathe
