// separable/1: a depthwise convolution, what follows it element-wise, and the pointwise convolution that reads that, in
// one kernel. A slot computes a range of rows of all channels of the first into its scratch, from where direct/1's code
// for the second reads them: a position of the second needs that one position of the first only, so no row is computed
// twice but where two slots share a range.
#include "codegen/contraction/DirectConv.h"
#include "codegen/contraction/LanewiseConv.h"
#include "codegen/contraction/Separable.h"
#include "codegen/target/Caches.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/DenseSet.h"

#include <cmath>

namespace lathe {
namespace {

/// What a kernel of two convolutions computes.
struct Separable {
  ConvGeometry depthwise, pointwise; // rows of the pointwise one are the depthwise one's, planes taken for one
  mlir::Value between;               // what the second reads
  int64_t lanes;

  int64_t rows() const { return pointwise.out[1]; }
  int64_t channels() const { return pointwise.inChannels; }
  int64_t blocks() const { return (channels() + lanes - 1) / lanes; }
  double betweenBytes() const {
    return double(blocks()) * lanes * pointwise.outPixels() * bitWidth(pointwise.type) / 8;
  }
};

/// Nothing but the second convolution may use what leads from the first to it.
void requireInside(const ContractionProblem &problem, mlir::Value between) {
  llvm::DenseSet<mlir::Operation *> inside;
  llvm::SmallVector<mlir::Value> pending = {between};
  while (!pending.empty())
    if (mlir::Operation *op = pending.pop_back_val().getDefiningOp(); op && inside.insert(op).second)
      pending.append(op->operand_begin(), op->operand_end());
  if (!inside.contains(problem.before))
    throw Declined{"the second convolution does not read what the first computes"};
  for (mlir::Operation *op : inside)
    for (mlir::Operation *user : op->getUsers())
      if (!inside.contains(user) && (user != problem.anchor || op != between.getDefiningOp()) &&
          !llvm::isa<nn::ConstantOp>(op))
        throw Declined{"what leads from the first convolution to the second is used elsewhere"};
}

Separable readSeparable(const ContractionProblem &problem) {
  auto isConv = [](mlir::Operation *op) { return op && nn::recordOf(op)->name == std::string_view("conv"); };
  if (!isConv(problem.before) || !isConv(problem.anchor))
    throw Declined{"separable/1 is for a depthwise convolution and a pointwise one behind it"};
  Separable pair;
  pair.between = problem.anchor->getOperand(0);
  requireInside(problem, pair.between);
  pair.depthwise = convGeometry(problem.function(), problem.before, problem.shapes);
  pair.pointwise = convGeometry(problem.function(), problem.anchor, problem.shapes, /*computedInput=*/true);
  const ConvGeometry &first = pair.depthwise;
  ConvGeometry &second = pair.pointwise;
  pair.lanes = problem.target().lanes(32);
  if (first.type != ElementType::f32 || second.type != ElementType::f32)
    throw Declined{fmt::format("separable/1 computes elements of type f32, these are {}", name(first.type))};
  if (first.inChannels != 1 || first.outChannels != 1)
    throw Declined{"the first of two convolutions is not depthwise"};
  if (!second.pointwise() || second.groups != 1)
    throw Declined{"the second of two convolutions is not pointwise"};
  if (first.inBlock != pair.lanes || first.outBlock != pair.lanes || second.inBlock != pair.lanes)
    throw Declined{fmt::format("separable/1 hands on blocks of {} channels", pair.lanes)};
  second.out = second.in = {1, second.out[0] * second.out[1], second.out[2]};
  return pair;
}

int64_t depthwisePositions(const Target &target, const ConvGeometry &conv) {
  return evenPieces(conv.out[2], std::max<int64_t>(2, int64_t(target.vectorRegisters) / 2 - 2)).size(0);
}

/// Cycles of a row of the depthwise convolution: two multiply-adds and two loads a cycle, inputs loaded once a kernel
/// row.
double depthwiseCycles(const Separable &pair) {
  const ConvGeometry &conv = pair.depthwise;
  double perTapRow = std::max<double>(conv.kernel[2], conv.stride[2] + 1) / 2;
  return 1.3 * double(pair.blocks()) * conv.out[2] * conv.kernel[0] * conv.kernel[1] * perTapRow;
}

/// What one kernel saves of the time of two, as predicted for the slot that works longest. Two hand on what lies
/// between them: where the second level holds it no more it is written to and read from farther away, which other work
/// hides but for a part; and with several threads a slot reads what others wrote, since the first kernel is cut by
/// channels and the second by rows. One kernel reads the second one's weights again for each range of rows, and is cut
/// less evenly.
double predictedSaving(const ContractionProblem &problem, const Separable &pair) {
  constexpr double exposed = 1.0 / 6; // of the time that reading takes: measured (docs/notes/separable.md)
  const Caches caches = cachesOf(problem.target());
  double threads = problem.kernel.threads, bytes = pair.betweenBytes();
  RowsBefore before{pair.depthwise, depthwiseCycles(pair)};
  DirectChoice one = chooseDirect(problem, pair.pointwise, &before), two = chooseDirect(problem, pair.pointwise);
  double first = before.cycles * double(pair.rows()), both = first + two.cycles;
  double far = bytes / threads > caches.secondLevel / 2 ? bytes : 0, foreign = (bytes - far) * (1 - 1 / threads);
  double handedOn = exposed * (far + foreign) / caches.fromMemory;
  double ranges =
      std::ceil(double(pair.pointwise.outPixels()) /
                double(one.schedule.number("rows", 1) * one.schedule.number("width", pair.pointwise.out[2])));
  double weights = double(pair.channels()) * pair.pointwise.outChannels * bitWidth(pair.pointwise.type) / 8;
  double again = 0.5 * caches.read(weights) * (ranges - 1);
  double uneven = (one.waste - 1) * (one.cycles + first) - (two.waste - 1) * two.cycles;
  return (handedOn - again - uneven) / both;
}

/// Less than this is lost again where ranges of rows begin and end: measured.
constexpr double leastSaving = 1.0 / 16;

} // namespace

GeneratedKernel generateSeparable(const ContractionProblem &problem, const Schedule &schedule) {
  if (!isSeparable(schedule))
    throw Declined{fmt::format("algorithm '{}' does not compute two convolutions", schedule.algorithm)};
  Separable pair = readSeparable(problem);
  const ConvGeometry &conv = pair.depthwise;
  if (int64_t width = schedule.number("width", conv.out[2]); width % conv.out[2])
    throw Declined{fmt::format("width={} is no multiple of the {} positions of a row", width, conv.out[2])};
  Schedule second = schedule; // separable/1 has parameters of direct/1 beside its own
  second.algorithm = "direct";
  second.numbers.erase("depthwise");
  DirectPlan plan = makeDirectPlan(problem, pair.pointwise, second, /*computed=*/true);
  int64_t px = atMost("depthwise", schedule.number("depthwise"), int64_t(problem.target().vectorRegisters) - 2);
  Schedule first{"lanewise", 1, {{"px", px}}, {}};
  LanewisePlan rowsPlan = makeLanewisePlan(problem, conv, first);
  int64_t rowsOfOne = plan.conv.out[2] / conv.out[2]; // rows merged for the pointwise convolution

  RunTimeDims dims;
  Epilogue epilogue(problem.function(), conv.result, convSpace(problem, conv), pair.lanes, problem.shapes, dims,
                    pair.between);
  bool paddedBias = conv.bias && problem.function().getArgAttr(*conv.bias, "nn.constant");

  auto rowsComputer = [&](KernelBuilder &k, const RunTimeDims &allDims) -> DirectGenerator::ComputeRows {
    return [&](mlir::Value image, mlir::Value firstRow, mlir::Value lastRow) {
      mlir::Value from = k.mul(firstRow, rowsOfOne), to = k.mul(lastRow, rowsOfOne);
      k.loop(k.constant(0), k.constant(pair.blocks()), 1, [&](mlir::Value block) {
        mlir::Value start = k.sub(k.mul(block, plan.heldBlockUnits()), k.mul(from, conv.out[2] * plan.pixelStride()));
        auto keep = [&](const Epilogue::Tile &tile, size_t row, int64_t, mlir::Value result) {
          mlir::Value first = k.add(start, k.mul(tile.pixel, plan.pixelStride()));
          mlir::Value at = k.add(first, tile.pixels[row] * plan.pixelStride());
          if (!plan.bf16)
            return k.store(result, k.scratch(), at, ElementType::f32);
          if (pair.channels() %
              bf16::pair) { // the last channel's partner may be anything, and zero times that is not always zero
            mlir::Value valid = k.min(k.sub(k.constant(pair.channels()), tile.channel), k.constant(pair.lanes));
            result = k.b.create<mlir::arith::SelectOp>(k.loc, k.prefixMask(valid, pair.lanes), result,
                                                       k.zero(result.getType()));
          }
          bf16::storeNeighbours(k, result, k.scratch(), at);
        };
        LanewiseGenerator(k, rowsPlan, epilogue, allDims, paddedBias, keep).emitRows(image, block, from, to);
      });
    };
  };
  GeneratedKernel result = directKernel(problem, plan, schedule, dims, rowsComputer);
  result.packings[conv.weights] = lanewisePacking(rowsPlan);
  if (paddedBias)
    result.packings[*conv.bias] = paddedChannels(pair.lanes);
  epilogue.addPackings(result.packings);
  return result;
}

Schedule separablePrior(const ContractionProblem &problem) {
  Separable pair = readSeparable(problem);
  RowsBefore before{pair.depthwise, depthwiseCycles(pair)};
  Schedule schedule = chooseDirect(problem, pair.pointwise, &before).schedule;
  schedule.algorithm = "separable";
  schedule.numbers.erase("kc");
  schedule.words.erase("outer");
  schedule.numbers["depthwise"] = depthwisePositions(problem.target(), pair.depthwise);
  return schedule;
}

bool separablePays(const KernelProblem &kernel) {
  try {
    ContractionProblem problem(kernel);
    Separable pair = readSeparable(problem);
    return predictedSaving(problem, pair) > leastSaving;
  } catch (const Declined &) {
    return false;
  }
}

} // namespace lathe
