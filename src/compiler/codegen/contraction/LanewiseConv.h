// Generates the loops of the algorithm `lanewise`; `separable` uses them, too.
#pragma once

#include "codegen/contraction/Contraction.h"
#include "codegen/contraction/FormatCode.h"
#include "codegen/space/LanewisePlan.h"

namespace lathe {

/// Emits the loops of a plan into an existing kernel. Passes results to `sink` if there is one, else stores them as the
/// results of the kernel.
class LanewiseGenerator {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;
  LanewiseGenerator(KernelBuilder &k, const LanewisePlan &plan, const Epilogue &epilogue, const RunTimeDims &dims,
                    bool paddedBias, Epilogue::Sink sink = {})
      : k(k), plan(plan), conv(plan.conv), epilogue(epilogue), dims(dims), paddedBias(paddedBias),
        wholeVectors(epilogue.wholeVectors() && (!conv.bias || paddedBias) && plan.access != Lanes::gathered),
        sink(std::move(sink)) {}

  /// Emits the work items [begin, end) of the kernel. A work item is (image, block of channels, chunk of rows).
  void emit();
  /// Emits the rows [first, last) of one block of channels of an image.
  void emitRows(Value image, Value block, Value first, Value last);

private:
  KernelBuilder &k;
  const LanewisePlan &plan;
  const ConvGeometry &conv;
  const Epilogue &epilogue;
  const RunTimeDims &dims;
  bool paddedBias, wholeVectors;
  Epilogue::Sink sink;
  Value image, block, firstRow, lastRow;
  Value zeroPoint;  // zero point of an input of bytes; null: 0
  Value correction; // only for joined columns: result of units::correction()
  Value outside;    // only for joined columns: value of bytes outside the input
  int64_t validChannels = 0;
  Values laneOffsets; // only for gathered lanes: offset of each lane's group

  void emitRowsOf(int64_t valid);
  void emitTile(const TileClass &tile, Value row, Value column);
  Values initial(int64_t width);
  Value converted(Value vector) { return units::operand(k, plan.format, vector, conv.inputType, zeroPoint); }
  Value loadWeights(Value at);
  Value loadBlock(Value offset);
  Value loadInput(Value offset, int64_t channel);
  Value gatherInput(Value offset, Value channel);
  void setOutside();
  Value corrected(Value depthLow, Value depthHigh, Value heightLow, Value heightHigh);
  Values joinedTaps(const TileClass &tile, mlir::ValueRange accumulators, Value start, Value weightRow);
  Values taps(const TileClass &tile, mlir::ValueRange accumulators, Value inRow, Value weightRow, Value inColumn);
  Value multiplyAdd(Value x, Value y, Value z);
};

} // namespace lathe
