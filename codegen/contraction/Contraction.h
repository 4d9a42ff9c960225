// Convolutions and matrix products: what the anchor of a contraction kernel computes, and the algorithms that compute
// it.
//
//   direct/1     dense and grouped convolutions on the microkernel, blocked or row-major activations
//   winograd/1   dense 3x3 convolutions of stride 1 with fewer multiplications, blocked activations
//   lanewise/1   depthwise convolutions, and groups that are not whole channel blocks: one lane, one output channel
//   separable/1  a depthwise convolution and the pointwise one behind it, range of rows by range of rows
//   gemm/1       gemm and matmul on the microkernel
//   amx/1        both on AMX's tile registers, operands rounded to bf16
#pragma once

#include "codegen/Generate.h"
#include "codegen/contraction/Epilogue.h"
#include "codegen/contraction/Microkernel.h"

#include <array>

namespace lathe {

/// A convolution of rank 1 to 3 as three spatial axes (depth, height, width; missing ones have extent 1).
struct ConvGeometry {
  using Axes = std::array<int64_t, 3>;
  ElementType type;
  Dim images;
  int64_t groups, inChannels, outChannels; // channels of one group
  Axes in, out, kernel, stride, dilation, padBegin;
  int64_t inBlock;  // channels a block of the input's layout; 0: row-major
  int64_t outBlock; // likewise for the result
  unsigned input, weights;
  std::optional<unsigned> bias;
  mlir::Value result;

  int64_t inPixels() const { return in[0] * in[1] * in[2]; }
  int64_t outPixels() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// Output position i reads exactly input position i.
  bool pointwise() const;
  /// One tap without padding, so that neighbouring rows of outputs can be taken for one.
  bool mergesRows() const;
  /// Elements between images, channels (of one block, or row-major) and neighbouring pixels of the input.
  int64_t inImageStride() const;
  int64_t inPixelStride() const { return inBlock ? inBlock : 1; }
  /// Offset of channel `c`'s plane; blocked: of its block, `c` a multiple of the block.
  int64_t inChannelStride() const { return inPixels(); }
};

/// A matrix product as `m` rows of a left operand (of each of `batch` matrices) times a right operand of n columns.
struct GemmGeometry {
  ElementType type;
  Dim batch, m;
  int64_t n, k;
  unsigned a, b;
  bool constantB;
  int64_t aRowStride, aStepStride, bStepStride, bLaneStride;
  Dims outer, aOuter, bOuter; // stacked matrices: axes with one stride each in both operands
  mlir::Value result, addend;
  double alpha = 1, beta = 1;
  unsigned pixelAxes = 1;
  bool transB = false;
};

struct ContractionProblem;
/// Where the elements of a convolution's result lie.
PointSpace convSpace(const ContractionProblem &problem, const ConvGeometry &conv);

/// Tiles of one row that reach the same positions of their width with every kernel column.
struct TileClass {
  int64_t start = 0, count = 0, width = 0;              // first output column, consecutive tiles, columns a tile
  llvm::SmallVector<std::pair<int64_t, int64_t>> reach; // by kernel column: positions [first, second) inside the input
};
/// One row of output positions cut into tiles of at most `px`.
std::vector<TileClass> tileClasses(const ConvGeometry &conv, int64_t px);
/// Taps [low, high) of spatial axis `axis` that fall into the input for output position `position`; low may exceed
/// high.
std::pair<mlir::Value, mlir::Value> tapRange(KernelBuilder &k, const ConvGeometry &conv, int axis,
                                             mlir::Value position);

/// The contractions of a kernel: one, or two where the second reads what the first computes; throws Declined otherwise.
std::vector<mlir::Operation *> anchorsOf(mlir::func::FuncOp function);
/// Reads a conv anchor; throws Declined for what no algorithm computes. `computedInput`: the kernel makes the input
/// itself, so that `input` is no argument.
ConvGeometry convGeometry(mlir::func::FuncOp function, mlir::Operation *anchor, const nn::SymbolicShapes &shapes,
                          bool computedInput = false);
/// The argument behind an operand; throws Declined when it is computed inside the kernel.
unsigned argumentOf(mlir::Value operand, const char *what);

/// What every algorithm starts from.
struct ContractionProblem {
  const KernelProblem &kernel;
  mlir::Operation *anchor, *before; // before: of a first convolution that computes the anchor's input, or null
  nn::SymbolicShapes shapes;
  explicit ContractionProblem(const KernelProblem &kernel) : kernel(kernel), shapes(kernel.function) {
    std::vector<mlir::Operation *> anchors = anchorsOf(kernel.function);
    anchor = anchors.back();
    before = anchors.size() > 1 ? anchors.front() : nullptr;
  }
  mlir::func::FuncOp function() const { return kernel.function; }
  const Target &target() const { return kernel.target; }
};

/// Cycles of one reduction step of a register block: two multiply-adds (products of pairs: bf16::productsACycle) and
/// two loads a cycle, four cycles (six) until a sum can be added to again, and weights beyond the first level arriving
/// at 32 bytes a cycle.
double stepCycles(const Target &target, int64_t rows, int64_t vectors, bool weightsFar, bool pairs = false);
/// Whether the weights of so many reduction steps are beyond the first level when the next register block reads them.
bool panelIsFar(const Target &target, int64_t steps, int64_t vectors);

/// A convolution that computes the input of another row by row in the same kernel, and the cycles of one row.
struct RowsBefore {
  const ConvGeometry &conv;
  double cycles;
};
/// What the prior of direct/1 chooses, the cycles it predicts for one image on one thread, caches aside, and the work
/// of the busiest slot over an equal share of all, `before`'s included.
struct DirectChoice {
  Schedule schedule;
  double cycles, waste;
};
DirectChoice chooseDirect(const ContractionProblem &problem, const ConvGeometry &conv,
                          const RowsBefore *before = nullptr);
Schedule directPrior(const ContractionProblem &problem, const ConvGeometry &conv);
/// Cycles predicted for one image, caches aside, with what directPrior chooses when rows are neither merged nor split.
double directCycles(const ContractionProblem &problem, const ConvGeometry &conv);
GeneratedKernel generateDirect(const ContractionProblem &problem, const ConvGeometry &conv, const Schedule &schedule);

/// Nothing when direct/1 is predicted to be faster, or cannot be done.
std::optional<Schedule> winogradPrior(const ContractionProblem &problem, const ConvGeometry &conv);
GeneratedKernel generateWinograd(const ContractionProblem &problem, const ConvGeometry &conv, const Schedule &schedule);

Schedule lanewisePrior(const ContractionProblem &problem, const ConvGeometry &conv);
GeneratedKernel generateLanewise(const ContractionProblem &problem, const ConvGeometry &conv, const Schedule &schedule);

/// A kernel of two convolutions: of problem.before and problem.anchor.
Schedule separablePrior(const ContractionProblem &problem);
GeneratedKernel generateSeparable(const ContractionProblem &problem, const Schedule &schedule);

/// Reads a gemm or matmul anchor; throws Declined for what gemm/1 does not compute.
GemmGeometry gemmGeometry(const ContractionProblem &problem);
Schedule gemmPrior(const ContractionProblem &problem);
GeneratedKernel generateGemm(const ContractionProblem &problem, const Schedule &schedule);

/// Nothing when no bf16 was asked for or amx/1 cannot be had.
std::optional<Schedule> tilePrior(const ContractionProblem &problem, const ConvGeometry &conv);
std::optional<Schedule> tilePrior(const ContractionProblem &problem, const GemmGeometry &gemm);
GeneratedKernel generateTiles(const ContractionProblem &problem, const ConvGeometry &conv, const Schedule &schedule);
GeneratedKernel generateTiles(const ContractionProblem &problem, const GemmGeometry &gemm, const Schedule &schedule);

/// `value` of parameter `name`; throws Declined where the problem or the target allows less, `most`.
int64_t atMost(const char *name, int64_t value, int64_t most);

/// A static partition of an extent: `large` pieces of `small` + 1, then pieces of `small`, `count` in all. Never a list
/// of the pieces: there may be billions.
struct EvenPieces {
  int64_t count, small, large;

  int64_t size(int64_t piece) const { return small + (piece < large); }
  int64_t start(int64_t piece) const { return piece * small + std::min(piece, large); }
};
/// `extent` in the fewest pieces of at most `most`.
EvenPieces evenPieces(int64_t extent, int64_t most);

} // namespace lathe
