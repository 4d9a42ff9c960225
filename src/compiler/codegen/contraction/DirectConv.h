// Generates the loops of the algorithm `direct`; `separable` uses them, too.
#pragma once

#include "codegen/contraction/Contraction.h"
#include "codegen/contraction/FormatCode.h"
#include "codegen/space/DirectPlan.h"

namespace lathe {

/// Emits the loops of a plan into an existing kernel.
class DirectGenerator {
public:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;
  /// Stores the rows [first, last) of an image's input in scratch, in blocks of heldBlockUnits(). Given if the kernel
  /// computes the input itself.
  using ComputeRows = std::function<void(Value image, Value first, Value last)>;
  DirectGenerator(KernelBuilder &k, const DirectPlan &plan, const Epilogue &epilogue, const RunTimeDims &dims,
                  bool paddedBias, ComputeRows computeRows = {})
      : k(k), plan(plan), conv(plan.conv), epilogue(epilogue), dims(dims),
        micro(k, plan.format, plan.lanes, plan.unroll), paddedBias(paddedBias),
        wholeVectors(epilogue.wholeVectors() && (!plan.conv.bias || paddedBias)), computeRows(std::move(computeRows)) {}

  void emit();

private:
  KernelBuilder &k;
  const DirectPlan &plan;
  const ConvGeometry &conv;
  const Epilogue &epilogue;
  const RunTimeDims &dims;
  Microkernel micro;
  bool paddedBias, wholeVectors;
  ComputeRows computeRows;
  // Which part of the result the current work item computes.
  Value image, group, tileOfGroup, firstRow, lastRow, tileOfPanel;
  Value firstHeld;                        // number of the first input row in scratch
  Value zeroPoint;                        // zero point of the input, in all lanes; null: none
  Value correction;                       // result of units::correction() for the input
  int64_t vectors = 1, validChannels = 0; // vectors and valid channels in the current tile of channels

  /// The places where the taps of a register block begin to read.
  struct TileOrigin {
    Value source;         // where the input is read: scratch or the argument
    Value input, weights; // offsets in elements: of the input of the group and pass, and of the first panel of weights
    Value sums;           // offset in scratch of the corrections; null: sums are not corrected
    Value depth, height, column; // input position that the first tap reads; negative in padding
    /// By output position: offset of its input from the input of the first position, in elements.
    llvm::SmallVector<int64_t> offsets;
    PanelPrefetch share; // the part of the next panel to prefetch
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
  PanelPrefetch nextPanel(Value panel, Value tileOfPanel);
  Values initial(int64_t width, Value channel, Value partial, Value pass);
  TileOrigin originOf(const TileClass &tile, Value depth, Value height, Value column, Value pass);
  Values corrected(Values sums, llvm::ArrayRef<int64_t> rows, Value at);
  Values withPositions(Values sums, llvm::ArrayRef<int64_t> rows, const TileOrigin &from, Value position);
  Values reduceTaps(const TileClass &tile, Values acc, Value row, Value column, Value pass);
};

/// Makes the function that computes input rows. It is called after the code of the kernel has begun.
using RowsComputer = std::function<DirectGenerator::ComputeRows(KernelBuilder &k, const RunTimeDims &dims)>;
/// Generates the kernel of a plan. `dims` are the run-time extents that `rowsComputer` needs.
GeneratedKernel directKernel(const ContractionProblem &problem, const DirectPlan &plan, const Schedule &schedule,
                             RunTimeDims dims = {}, const RowsComputer &rowsComputer = {});

} // namespace lathe
