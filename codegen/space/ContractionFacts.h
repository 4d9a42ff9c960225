// Convolutions and matrix products as plain data: what the anchor of a contraction kernel computes, and which
// algorithms compute it.
//
//   direct     dense and grouped convolutions on the microkernel, blocked or row-major activations
//   winograd   dense 3x3 convolutions of stride 1 with fewer multiplications, blocked activations
//   lanewise   depthwise convolutions, and groups that are not whole channel blocks: one lane, one output channel
//   separable  a depthwise convolution and the pointwise one behind it, range of rows by range of rows
//   gemm       gemm and matmul on the microkernel
//   amx        both on AMX's tile registers, operands rounded to bf16
#pragma once

#include "codegen/space/KernelFacts.h"

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
  double alpha = 1, beta = 1;
  unsigned pixelAxes = 1;
  bool transB = false;
};

/// A depthwise convolution, what follows it element-wise, and the pointwise convolution that reads that.
struct SeparableGeometry {
  ConvGeometry depthwise, pointwise; // rows of the pointwise one are the depthwise one's, planes taken for one
  int64_t lanes;

  int64_t rows() const { return pointwise.out[1]; }
  int64_t channels() const { return pointwise.inChannels; }
  int64_t blocks() const { return (channels() + lanes - 1) / lanes; }
  double betweenBytes() const {
    return double(blocks()) * lanes * pointwise.outPixels() * bitWidth(pointwise.type) / 8;
  }
};

/// Tiles of one row that reach the same positions of their width with every kernel column.
struct TileClass {
  int64_t start = 0, count = 0, width = 0;        // first output column, consecutive tiles, columns a tile
  std::vector<std::pair<int64_t, int64_t>> reach; // by kernel column: positions [first, second) inside the input
};
/// One row of output positions cut into tiles of at most `px`.
std::vector<TileClass> tileClasses(const ConvGeometry &conv, int64_t px);

/// What a contraction kernel computes: one of the three.
class ContractionFacts : public KernelFacts {
public:
  std::optional<ConvGeometry> conv;
  std::optional<GemmGeometry> gemm;
  std::optional<SeparableGeometry> separable;
  bool blockedResults = false; // every result lies in blocks of one vector of channels

  Schedule prior() const override;
  void require(const Schedule &schedule) const override;

protected:
  std::vector<int64_t> candidates(const Algorithm &algorithm, const Parameter &parameter) const override;
};

/// Lanes of a vector of output channels.
int64_t convLanes(const Target &target, const ConvGeometry &conv);

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
/// What the prior of `direct` chooses, the cycles it predicts for one image on one thread, caches aside, and the work
/// of the busiest slot over an equal share of all, `before`'s included.
struct DirectChoice {
  Schedule schedule;
  double cycles, waste;
};
DirectChoice chooseDirect(const KernelFacts &facts, const ConvGeometry &conv, const RowsBefore *before = nullptr);
Schedule directPrior(const KernelFacts &facts, const ConvGeometry &conv);
/// Cycles predicted for one image, caches aside, with what directPrior chooses when rows are neither merged nor split.
double directCycles(const KernelFacts &facts, const ConvGeometry &conv);

/// Nothing when `direct` is predicted to be faster, or `winograd` cannot be had.
std::optional<Schedule> winogradPrior(const KernelFacts &facts, const ConvGeometry &conv);
Schedule lanewisePrior(const KernelFacts &facts, const ConvGeometry &conv);
Schedule separablePrior(const KernelFacts &facts, const SeparableGeometry &pair);
/// Whether one kernel of both convolutions is predicted to take less time than a kernel for each.
bool separablePays(const KernelFacts &facts, const SeparableGeometry &pair);
Schedule gemmPrior(const KernelFacts &facts, const GemmGeometry &gemm);
/// Nothing when no bf16 was asked for or `amx` cannot be had.
std::optional<Schedule> tilePrior(const KernelFacts &facts, const ConvGeometry &conv);
std::optional<Schedule> tilePrior(const KernelFacts &facts, const GemmGeometry &gemm);

/// `value` of parameter `name`; throws Illegal where the problem or the target allows less, `most`.
int64_t atMost(const char *constraint, const char *name, int64_t value, int64_t most);

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
