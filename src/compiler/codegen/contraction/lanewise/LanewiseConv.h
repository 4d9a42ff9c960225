// Generates the loops of `lanewise`, which `separable` uses, too.
#pragma once

#include "codegen/contraction/common/Contraction.h"
#include "codegen/contraction/common/FormatCode.h"
#include "codegen/contraction/lanewise/LanewisePlan.h"

namespace lathe {

/// What the loops over static and over open spatial extents share: the code for a block of channels, a lane each.
class LanewiseCode {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

protected:
  /// By kernel column: positions [first, second) of a tile that find the tap inside.
  using Reach = std::vector<std::pair<int64_t, int64_t>>;

  LanewiseCode(KernelBuilder &k, const LanewisePlan &plan, const Epilogue &epilogue, const RunTimeDims &dims,
               bool paddedBias)
      : k(k), plan(plan), conv(plan.conv), epilogue(epilogue), dims(dims), paddedBias(paddedBias),
        wholeVectors(epilogue.wholeVectors() && (!conv.bias || paddedBias) && plan.access != Lanes::gathered) {}

  KernelBuilder &k;
  const LanewisePlan &plan;
  const ConvGeometry &conv;
  const Epilogue &epilogue;
  const RunTimeDims &dims;
  bool paddedBias, wholeVectors;
  Value inPlane, outColumns; // extents, set by the generator
  Value image, block, firstRow, lastRow;
  Value zeroPoint; // of bytes; null: 0
  int64_t validChannels = 0;
  Values laneChannels; // gathered: the first channel of each lane's group

  Value value(const Dim &dim) const { return dims.value(k, dim); }
  /// All lanes read the same elements. Static convolutions of one group are for other algorithms.
  bool oneGroup() const { return conv.open && conv.groups == 1; }
  /// Calls `rows` for a block of `validChannels` channels: the last block may have fewer.
  void emitBlock(const std::function<void()> &rows);
  Values initial(int64_t width);
  Value converted(Value vector) { return units::operand(k, plan.format, vector, conv.inputType, zeroPoint); }
  Value loadWeights(Value at);
  Value permuted(Value vector, int64_t channel);
  Value gatherInput(Value offset, Value channel);
  Value multiplyAdd(Value x, Value y, Value z);
  Values tapsOfRow(const Reach &reach, Values acc, Value start, Value weightRow,
                   const std::function<Value(Value offset, int64_t channel)> &load);
  /// Stores a tile of a row, in `sink` if it is given.
  void finish(int64_t width, Value row, Value column, mlir::ValueRange acc, const Epilogue::Sink &sink = {});
};

/// Results go to `sink` if it is given, else to the results of the kernel.
class LanewiseGenerator : LanewiseCode {
public:
  LanewiseGenerator(KernelBuilder &k, const LanewisePlan &plan, const Epilogue &epilogue, const RunTimeDims &dims,
                    bool paddedBias, Epilogue::Sink sink = {})
      : LanewiseCode(k, plan, epilogue, dims, paddedBias), sink(std::move(sink)) {
    inPlane = value(conv.inPlane());
    outColumns = value(conv.outExtent(2));
  }

  /// Emits the work items [begin, end) of the kernel: (image, block, chunk of rows).
  void emit();
  /// Emits the rows [first, last) of one block of an image.
  void emitRows(Value image, Value block, Value first, Value last);

private:
  Epilogue::Sink sink;
  Value correction; // units::correction(), of joined columns
  Value outside;    // of joined columns: what stands for bytes outside of the input

  void emitTile(const TileClass &tile, Value row, Value column);
  Value loadBlock(Value offset);
  void setOutside();
  Value corrected(Value depthLow, Value depthHigh, Value heightLow, Value heightHigh);
  Values joinedTaps(const TileClass &tile, mlir::ValueRange accumulators, Value start, Value weightRow);
  Values taps(const TileClass &tile, mlir::ValueRange accumulators, Value inRow, Value weightRow, Value inColumn);
};

/// Generates the kernel of a plan with open spatial extents.
GeneratedKernel openLanewiseKernel(const ContractionProblem &problem, const LanewisePlan &plan,
                                   const Schedule &schedule);

} // namespace lathe
