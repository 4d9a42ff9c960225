// Generates the loops of the convolution algorithm `direct`; the algorithm `separable` uses these loops, too.
#pragma once

#include "codegen/contraction/common/Contraction.h"
#include "codegen/contraction/common/FormatCode.h"
#include "codegen/contraction/direct/DirectPlan.h"

namespace lathe {

/// What the loops over static and over open spatial extents of `direct` share: the state of a work item and of its
/// tile of channels.
class DirectCode {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

protected:
  DirectCode(KernelBuilder &k, const DirectPlan &plan, const Epilogue &epilogue, const RunTimeDims &dims,
             bool paddedBias)
      : k(k), plan(plan), conv(plan.conv), epilogue(epilogue), dims(dims),
        micro(k, plan.format, plan.lanes, plan.unroll), paddedBias(paddedBias),
        wholeVectors(epilogue.wholeVectors() && (!conv.bias || paddedBias)) {}

  KernelBuilder &k;
  const DirectPlan &plan;
  const ConvGeometry &conv;
  const Epilogue &epilogue;
  const RunTimeDims &dims;
  Microkernel micro;
  bool paddedBias, wholeVectors;
  Value image, group, tileOfGroup;
  // numbers of vectors and of valid channels in the current tile of channels
  int64_t vectors = 1, validChannels = 0;
  Value correction; // result of units::correction()

  int64_t wide() const { return vectors * plan.lanes; }
  /// Number of tiles of channels in all groups: the number of work items for a range of rows.
  int64_t channelTiles() const { return conv.groups * plan.tiles.perGroup(); }
  /// Emits the loop over work items. If rows are held in scratch, `hold` prepares one range of rows after the other;
  /// `first` is the first work item of the range, else null.
  void emitUnits(const std::function<void(Value range)> &hold,
                 const std::function<void(Value unit, Value first)> &emit);
  /// Calls `positions` to emit the code for tile `tile` of the channels of all groups, once for each number of vectors
  /// and channels that a tile can have.
  void emitTileOfChannels(Value tile, const std::function<void()> &positions);
  Value channelOfTile();
  Value weightsOfTile();
  Value sumsOfTile();
  /// Emits the vectors of the bias from `channel` on. The convolution must have a bias.
  Values biasOfTile(Value channel);
  static Values repeated(const Values &vectors, int64_t positions);
  PanelPrefetch panelBehind(Value panel, Value tileOfPanel, const ReductionAxis &axis, int64_t reductions);
  /// Emits the stores of a register block of neighbouring positions, the first of which is `pixel`.
  void finish(int64_t width, Value pixel, Value channel, mlir::ValueRange acc);
};

/// Emits the loops of a plan of `direct` into an existing kernel.
class DirectGenerator : DirectCode {
public:
  using Value = mlir::Value;
  /// Function for a kernel that computes the input of the convolution itself: emits code that stores the input rows
  /// [first, last) of an image in scratch, in blocks of heldBlockUnits().
  using ComputeRows = std::function<void(Value image, Value first, Value last)>;
  DirectGenerator(KernelBuilder &k, const DirectPlan &plan, const Epilogue &epilogue, const RunTimeDims &dims,
                  bool paddedBias, ComputeRows computeRows = {})
      : DirectCode(k, plan, epilogue, dims, paddedBias), computeRows(std::move(computeRows)) {}

  void emit();

private:
  ComputeRows computeRows;
  Value firstRow, lastRow, tileOfPanel; // first and last row, and tile of channels, of the current work item
  Value firstHeld;                      // first input row in scratch
  Value zeroPoint;                      // zero point of the input, in all lanes; null: none

  /// The places where the taps of a register block begin to read.
  struct TileOrigin {
    Value source;                // where the input is read: scratch or the kernel's argument
    Value input, weights;        // offsets in elements: of the group's and pass's input; of the first panel of weights
    Value sums;                  // offset in scratch of the corrections of sums; null: sums are not corrected
    Value depth, height, column; // input position that the first tap reads; negative in padding
    /// For each output position: offset of its input from the input of the first position, in elements.
    llvm::SmallVector<int64_t> offsets;
    PanelPrefetch share; // the part of the next panel that the register block prefetches
  };

  void emitUnit(Value unit);
  void setRows(Value chunk);
  void setRange(Value range);
  void convertInput();
  void convertBlocks(Value from, Value pixels);
  void convertPlanes(Value from, Value pixels);
  void multiplyCorrections();
  Value convertPixels(Value source, Value to, Value pixels);
  void sumPositions(Value pixels);
  Value zeroPointPart(Value pixel);
  Value ofPositions(Values parts);
  Values sumsOfBlocks(Value pixel, Value ones);
  Values sumsOfPlanes(Value pixel, Value ones);
  Values productsOfBlocks(Value pixel);
  Value inAllElements();
  void emitRows();
  void emitTile(const TileClass &tile, Value row, Value column, Value pass);
  Values initial(int64_t width, Value channel, Value partial, Value pass);
  TileOrigin originOf(const TileClass &tile, Value depth, Value height, Value column, Value pass);
  Values corrected(Values sums, llvm::ArrayRef<int64_t> rows, Value at);
  Values withPositions(Values sums, llvm::ArrayRef<int64_t> rows, const TileOrigin &from, Value position);
  Values reduceTaps(const TileClass &tile, Values acc, Value row, Value column, Value pass);
};

/// Function that makes the ComputeRows of a kernel. It is called after the code of the kernel has begun.
using RowsComputer = std::function<DirectGenerator::ComputeRows(KernelBuilder &k, const RunTimeDims &dims)>;
/// Generates the kernel of a plan of `direct`. `dims` are the run-time extents that `rowsComputer` needs.
GeneratedKernel directKernel(const ContractionProblem &problem, const DirectPlan &plan, const Schedule &schedule,
                             RunTimeDims dims = {}, const RowsComputer &rowsComputer = {});
/// Generates the kernel of a plan of `direct` with open spatial extents.
GeneratedKernel openDirectKernel(const ContractionProblem &problem, const DirectPlan &plan, const Schedule &schedule);

} // namespace lathe
