// Convolutions and matrix products as plain data, and the algorithms that compute them.
//
//   direct     dense and grouped convolutions on the microkernel, blocked or row-major activations
//   winograd   dense 3x3 convolutions of stride 1 with fewer multiplications, blocked activations
//   lanewise   depthwise convolutions, and groups that are not whole channel blocks: one lane, one output channel
//   separable  a depthwise convolution and the pointwise one behind it, one range of rows after the other
//   gemm       gemm and matmul on the microkernel
//   amx        convolutions and matrix products of bytes, or of operands rounded to bf16, on AMX tile registers
#pragma once

#include "codegen/space/ContractionFormat.h"
#include "codegen/space/KernelFacts.h"
#include "codegen/space/WorkItems.h"

#include <array>

namespace lathe {

// What the rows of algorithms (codegen/contraction/ContractionPlan.h) return.
class Cost;
struct ContractionProblem;
struct GeneratedKernel;
struct Packing;

/// Spatial extents of a convolution that only a run knows, on the axes of ConvGeometry.
struct OpenExtents {
  std::array<Dim, 3> in, out;
  std::array<int64_t, 3> padEnd;
  /// Positions by which windows begin behind the place that padBegin states (ops/WindowPads.h), and the largest
  /// possible number of them.
  std::array<Dim, 3> shift = {};
  std::array<int64_t, 3> mostShift = {};

  /// True if the padding of an axis depends on its extent.
  bool padsFollow() const { return mostShift != std::array<int64_t, 3>{}; }
};

/// A convolution of rank 1 to 3 with three spatial axes: depth, height, width. Missing axes have extent 1.
struct ConvGeometry {
  using Axes = std::array<int64_t, 3>;
  ElementType type;      // type of the sums that the epilogue reads
  ElementType inputType; // type of the input in memory
  ElementType weightsType;
  Dim images;
  int64_t groups, inChannels, outChannels; // groups: number of groups; inChannels, outChannels: channels of one group
  Axes in, out, kernel, stride, dilation, padBegin;
  int64_t inBlock;  // channels per block of the input; 0: row-major
  int64_t outBlock; // channels per block of the result; 0: row-major
  unsigned input, weights;
  std::optional<unsigned> bias; // argument with the bias, which has the type of the sums
  /// Arguments with the zero points, one value each of inputType and weightsType.
  std::optional<unsigned> inputZero, weightsZero;
  /// Given if spatial extents are open: the code takes these extents, and `in` and `out` are the values that costs
  /// assume.
  std::optional<OpenExtents> open = {};
  /// Channels last (builder/ChannelLayout.h): elements from one input position to the next. 0: blocks of channels have
  /// planes of their own. Open extents always have 0.
  int64_t inLast = 0;

  ContractionTypes types() const { return {inputType, weightsType, type}; }
  int64_t inPixels() const { return in[0] * in[1] * in[2]; }
  int64_t outPixels() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// Number of pairs of a position and a tap along one axis for which the tap reads inside the input.
  double reached(int axis) const;
  /// True if output position i reads input position i and no other.
  bool pointwise() const;
  /// True if there is one plane, which reads no other plane. In a volume of depth 1, taps of the depth axis may be
  /// padding.
  bool planar() const;
  /// True for one tap without padding: adjacent output rows can then be treated as one row.
  bool mergesRows() const;
  /// Strides of the input in elements: from image to image, from pixel to pixel, and, below, from channel to channel.
  int64_t inImageStride() const;
  int64_t inPixelStride() const { return inLast ? inLast : inBlock ? inBlock : 1; }
  /// The plane of channel `c` begins at c times this stride; for a blocked input `c` must be a multiple of the block.
  int64_t inChannelStride() const { return inLast ? 1 : inPixels(); }
  /// True for open extents if all positions can be treated as one row: a pointwise convolution of a blocked input.
  bool mergesOpenRows() const { return open && inBlock && pointwise(); }
  /// True if an axis has padding at its beginning or, where extents are open, at its end.
  bool padded() const;
  /// Extents as the code has them: numbers, or expressions of symbols.
  Dim inExtent(int axis) const { return open ? open->in[axis] : Dim(in[axis]); }
  Dim outExtent(int axis) const { return open ? open->out[axis] : Dim(out[axis]); }
  Dim inPlane() const { return inExtent(0) * inExtent(1) * inExtent(2); }
  Dim outPlane() const { return outExtent(0) * outExtent(1) * outExtent(2); }
  /// Number of channels of an image in memory, with the channels that fill up the last block.
  int64_t storedChannels() const;
};

/// A constant right operand stored as integers (codes) of 4 or 8 bits (ir/PackedWeights.h): number j of step i of block
/// c is (code - zero) * scale, where zero and scale belong to (c, j). GemmGeometry::b is the argument with the codes.
struct PackedColumnsFacts {
  /// A scale or zero point: an argument with a value for each block and column, at these strides, or one number for
  /// all.
  struct Parameter {
    std::optional<unsigned> argument;
    int64_t blockStride = 0, columnStride = 0;
    double number = 0;
  };
  ElementType codes;
  int64_t blocks, steps; // number of blocks, and reduction steps in each block
  Parameter scale, zero; // zero: belongs to the codes as signed integers, so it is smaller by signedBias()
  /// Number that is subtracted from unsigned codes, so that they can be stored as signed ones.
  int64_t signedBias() const { return isUnsignedInteger(codes) ? int64_t(1) << (bitWidth(codes) - 1) : 0; }
  /// Number of steps that one stored unit of a lane holds (8 codes of 4 bits, or one byte), and number of units in a
  /// block.
  int64_t unitSteps() const { return bitWidth(codes) == 4 ? 8 : 1; }
  int64_t blockUnits() const { return (steps + unitSteps() - 1) / unitSteps(); }
};

/// A matrix product: for each of `batch` matrices, `m` rows of a left operand times a right operand of n columns.
struct GemmGeometry {
  ElementType type;                // type of the sums that the epilogue reads
  ElementType leftType, rightType; // types of the operands in memory
  Dim batch, m;
  int64_t n, k;
  unsigned a, b;
  bool constantB;
  /// Arguments with the zero points of the operands, one value each of their types.
  std::optional<unsigned> leftZero, rightZero;
  int64_t aRowStride, aStepStride, bStepStride, bLaneStride;
  Dims outer, aOuter, bOuter; // axes that count stacked matrices, and the strides of the operands along them
  double alpha = 1, beta = 1;
  unsigned pixelAxes = 1;
  bool transB = false;
  std::optional<PackedColumnsFacts> packed = {}; // given if the right operand is stored as small integers

  ContractionTypes types() const {
    bool narrow = isFloat(rightType) || constantB;
    return {leftType, narrow ? rightType : ElementType::i16, type};
  }
};

/// A depthwise convolution, its element-wise epilogue, and the pointwise convolution that reads the result of the
/// epilogue.
struct SeparableGeometry {
  ConvGeometry depthwise, pointwise; // the pointwise one has the rows of the depthwise one, counted over all planes
  int64_t lanes;

  int64_t rows() const { return pointwise.out[1]; }
  int64_t channels() const { return pointwise.inChannels; }
  int64_t blocks() const { return (channels() + lanes - 1) / lanes; }
};

/// Consecutive tiles of one row that read alike: for every column of the kernel, the same positions of each tile are
/// inside the input.
struct TileClass {
  /// First output column of the first tile; number of tiles; columns of each tile.
  int64_t start = 0, count = 0, width = 0;
  /// By column of the kernel: the positions [first, second) of a tile that read inside the input.
  std::vector<std::pair<int64_t, int64_t>> reach;
};
/// Divides a row of output positions into tiles of at most `px`.
std::vector<TileClass> tileClasses(const ConvGeometry &conv, int64_t px);

/// Facts about a contraction kernel. It has exactly one of the three geometries.
class ContractionFacts : public KernelFacts {
public:
  std::optional<ConvGeometry> conv;
  std::optional<GemmGeometry> gemm;
  std::optional<SeparableGeometry> separable;
  bool blockedResults = false; // true if every result is blocked with the channels of one vector
  int64_t operators = 0;       // number of element-wise operators besides the contraction

  /// The element types; of a pair of convolutions those of the pointwise one, whose format schedules choose.
  ContractionTypes types() const { return gemm ? gemm->types() : conv ? conv->types() : separable->pointwise.types(); }
  Schedule prior() const override;
  Schedule priorOf(const AlgorithmChoice &choice) const override;
  void require(const Schedule &schedule) const override;
  Prediction predict(const Schedule &schedule) const override;
  std::vector<LoopNest> loopNests(const Schedule &schedule) const override;
  std::array<double, 5> problemExtents() const override;

protected:
  std::vector<int64_t> candidates(const Algorithm &algorithm, const Parameter &parameter) const override;
  bool allowsWord(const Parameter &parameter, std::string_view word) const override;
};

/// Number of lanes of a vector of output channels.
int64_t convLanes(const Target &target, const ConvGeometry &conv);

/// Cycles between two register blocks of a pointwise convolution, if they have several vectors each. Blocks of one
/// vector take their scalars from memory operands and follow one another without a wait (Zen 4,
/// docs/notes/predicting.md).
inline constexpr double wideTileCycles = 30;

/// Cycles of one reduction step (a unit) of a register block. The model has products with the rate and latency that the
/// format states, two loads per cycle, and 32 bytes per cycle for weights beyond the first-level cache.
double stepCycles(const Target &target, int64_t rows, int64_t vectors, bool weightsFar,
                  const ContractionFormat &format = plainFormat(ElementType::f32));
/// True if the first-level cache has lost the weights of so many reduction steps before the next register block reads
/// them.
bool panelIsFar(const Target &target, int64_t steps, int64_t vectors);

/// Returns `value` of parameter `name`. Throws Illegal if it exceeds `most`, the limit of the
/// problem or target.
int64_t atMost(const char *constraint, const char *name, int64_t value, int64_t most);

} // namespace lathe
