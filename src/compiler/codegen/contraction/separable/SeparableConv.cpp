// separable/1: a depthwise convolution, what follows it element-wise, and the pointwise convolution that reads that, in
// one kernel. A slot computes a range of rows of all channels of the first into its scratch, from where direct/1's code
// for the second reads them: a position of the second needs that one position of the first only, so no row is computed
// twice but where two slots share a range.
#include "codegen/contraction/common/ContractionKernel.h"
#include "codegen/contraction/direct/DirectConv.h"
#include "codegen/contraction/lanewise/LanewiseConv.h"
#include "codegen/contraction/separable/SeparablePlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {

GeneratedKernel generateFrom(const ContractionProblem &problem, const SeparablePlan &both, const Schedule &schedule) {
  const SeparableGeometry &pair = both.pair;
  const ConvGeometry &conv = pair.depthwise;
  const DirectPlan &plan = both.pointwise;
  const LanewisePlan &rowsPlan = both.depthwise;
  int64_t rowsOfOne = both.mergedRows();

  RunTimeDims dims;
  Epilogue epilogue = separableEpilogue(problem, pair, dims);
  bool paddedBias = hasPaddedBias(problem, conv);

  auto rowsComputer = [&](KernelBuilder &k, const RunTimeDims &allDims) -> DirectGenerator::ComputeRows {
    return [&](mlir::Value image, mlir::Value firstRow, mlir::Value lastRow) {
      mlir::Value from = k.mul(firstRow, rowsOfOne), to = k.mul(lastRow, rowsOfOne);
      k.loop(k.constant(0), k.constant(pair.blocks()), 1, [&](mlir::Value block) {
        mlir::Value start = k.sub(k.mul(block, plan.heldBlockUnits()), k.mul(from, conv.out[2] * plan.pixelStride()));
        auto keep = [&](const Epilogue::Tile &tile, size_t row, int64_t, mlir::Value result) {
          mlir::Value first = k.add(start, k.mul(tile.pixel, plan.pixelStride()));
          mlir::Value at = k.add(first, tile.pixels[row] * plan.pixelStride());
          if (pair.channels() % plan.format.group) {
            // Lanes of the last unit without a channel may be anything, and zero times that is not always zero.
            mlir::Value valid = k.min(k.sub(k.constant(pair.channels()), tile.channel), k.constant(pair.lanes));
            result = k.b.create<mlir::arith::SelectOp>(k.loc, k.prefixMask(valid, pair.lanes), result,
                                                       k.zero(result.getType()));
          }
          units::storeNeighbours(k, plan.format, result, k.scratch(), at);
        };
        LanewiseGenerator(k, rowsPlan, epilogue, allDims, paddedBias, keep).emitRows(image, block, from, to);
      });
    };
  };
  GeneratedKernel result = directKernel(problem, plan, schedule, dims, rowsComputer);
  addConvPackings(result, problem, conv, packingOf(rowsPlan), epilogue);
  return result;
}

} // namespace lathe
