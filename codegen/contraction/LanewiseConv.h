// lanewise/1's plan and code, for kernels that are made with it: itself, and separable/1.
#pragma once

#include "codegen/contraction/Contraction.h"

namespace lathe {

enum class Lanes { same, permuted, gathered };

struct LanewisePlan {
  ConvGeometry conv;
  int64_t lanes, px, rows;
  Lanes access;
  std::vector<TileClass> classes;
  int64_t channels() const { return conv.groups * conv.outChannels; }
  int64_t blocks() const { return (channels() + lanes - 1) / lanes; }
  int64_t allRows() const { return conv.out[0] * conv.out[1]; }
  int64_t chunks() const { return (allRows() + rows - 1) / rows; }
  int64_t blockStride() const { return conv.taps() * conv.inChannels * lanes; }
};

/// Throws Declined for what is not legal.
LanewisePlan makeLanewisePlan(const ContractionProblem &problem, const ConvGeometry &conv, const Schedule &schedule);
/// How the weights are stored.
Packing lanewisePacking(const LanewisePlan &plan);

/// With `sink` results go there and not to the kernel's.
class LanewiseGenerator {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;
  LanewiseGenerator(KernelBuilder &k, const LanewisePlan &plan, const Epilogue &epilogue, const RunTimeDims &dims,
                    bool paddedBias, Epilogue::Sink sink = {})
      : k(k), plan(plan), conv(plan.conv), epilogue(epilogue), dims(dims), paddedBias(paddedBias),
        wholeVectors(epilogue.wholeVectors() && (!conv.bias || paddedBias) && plan.access != Lanes::gathered),
        sink(std::move(sink)) {}

  /// The units [begin, end) of the kernel: (image, block, chunk of rows).
  void emit();
  /// Rows [first, last) of one block of an image.
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
  int64_t validChannels = 0;
  Values laneOffsets; // gathered: where each lane's group begins

  void emitRowsOf(int64_t valid);
  void emitTile(const TileClass &tile, Value row, Value column);
  Values initial(int64_t width);
  Value loadInput(Value offset, int64_t channel);
  Value gatherInput(Value offset, Value channel);
  Values taps(const TileClass &tile, mlir::ValueRange accumulators, Value inRow, Value weightRow, Value inColumn);
  Value multiplyAdd(Value x, Value y, Value z);
};

} // namespace lathe
