// Generates the loops of the algorithm `lanewise`, which the algorithm `separable` also uses.
#pragma once

#include "codegen/contraction/common/Contraction.h"
#include "codegen/contraction/common/FormatCode.h"
#include "codegen/contraction/lanewise/LanewisePlan.h"

namespace lathe {

/// Code for a block of channels, one channel in each vector lane. The loops over static and over open spatial extents
/// share it.
class LanewiseCode {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

protected:
  /// For each column of the convolution's kernel: the positions [first, second) of a tile at which this column reads
  /// inside the input.
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
  Value inPlane, outColumns; // extents of the input plane and number of output columns; the generator sets them
  Value image, block, firstRow, lastRow;
  Value zeroPoint; // zero point of inputs of 8 bits; null: 0
  int64_t validChannels = 0;
  Values laneChannels; // for gathered elements: the first channel of each lane's group

  Value value(const Dim &dim) const { return dims.value(k, dim); }
  /// True if all lanes read the same input elements. Static convolutions of one group use other algorithms.
  bool oneGroup() const { return conv.open && conv.groups == 1; }
  /// Calls `rows` to emit code for a block of `validChannels` channels. The last block may have fewer channels than
  /// the others.
  void emitBlock(const std::function<void()> &rows);
  Values initial(int64_t width);
  Value converted(Value vector) { return units::operand(k, plan.format, vector, conv.inputType, zeroPoint); }
  Value loadWeights(Value at);
  Value permuted(Value vector, int64_t channel);
  Value gatherInput(Value offset, Value channel);
  Value multiplyAdd(Value x, Value y, Value z);
  Values tapsOfRow(const Reach &reach, Values acc, Value start, Value weightRow,
                   const std::function<Value(Value offset, int64_t channel)> &load);
  /// Emits code that stores a tile of one row, through `sink` if it is given.
  void finish(int64_t width, Value row, Value column, mlir::ValueRange acc, const Epilogue::Sink &sink = {});
};

/// Generates the kernel of a convolution. Results go to `sink` if it is given, otherwise to the results of the kernel.
class LanewiseGenerator : LanewiseCode {
public:
  LanewiseGenerator(KernelBuilder &k, const LanewisePlan &plan, const Epilogue &epilogue, const RunTimeDims &dims,
                    bool paddedBias, Epilogue::Sink sink = {})
      : LanewiseCode(k, plan, epilogue, dims, paddedBias), sink(std::move(sink)) {
    inPlane = value(conv.inPlane());
    outColumns = value(conv.outExtent(2));
  }

  /// Emits the work items [begin, end) of the kernel. A work item is one chunk of rows in one block of channels of one
  /// image.
  void emit();
  /// Emits the rows [first, last) of one block of channels of an image.
  void emitRows(Value image, Value block, Value first, Value last);

private:
  Epilogue::Sink sink;
  Value correction; // for joined columns: the value of units::correction()
  Value outside;    // for joined columns: the value used for bytes outside of the input

  void emitTile(const TileClass &tile, Value row, Value column);
  Value loadBlock(Value offset);
  void setOutside();
  Value corrected(Value depthLow, Value depthHigh, Value heightLow, Value heightHigh);
  Values joinedTaps(const TileClass &tile, mlir::ValueRange accumulators, Value start, Value weightRow);
  Values taps(const TileClass &tile, mlir::ValueRange accumulators, Value inRow, Value weightRow, Value inColumn);
};

/// Generates the kernel for a plan with open spatial extents.
GeneratedKernel openLanewiseKernel(const ContractionProblem &problem, const LanewisePlan &plan,
                                   const Schedule &schedule);

} // namespace lathe
