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

/// Spatial extents of a convolution that are known only at run time, on the axes of ConvGeometry.
struct OpenExtents {
  std::array<Dim, 3> in, out;
  std::array<int64_t, 3> padEnd;
  /// Number of positions by which windows begin after the position that padBegin states (ops/WindowPads.h), and the
  /// largest possible value of this number.
  std::array<Dim, 3> shift = {};
  std::array<int64_t, 3> mostShift = {};

  /// True if the padding of some axis depends on the extent of the axis.
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
  std::optional<unsigned> bias; // number of the argument with the bias, which has the type of the sums
  /// Numbers of the arguments with the zero points, one value each of inputType and weightsType.
  std::optional<unsigned> inputZero, weightsZero;
  /// Present if spatial extents are open: the code takes these extents, and `in` and `out` are the values that cost
  /// predictions assume.
  std::optional<OpenExtents> open = {};
  /// For channels last (builder/ChannelLayout.h): elements from one input position to the next. 0: blocks of channels
  /// have planes of their own. With open extents always 0.
  int64_t inLast = 0;

  ContractionTypes types() const { return {inputType, weightsType, type}; }
  int64_t inPixels() const { return in[0] * in[1] * in[2]; }
  int64_t outPixels() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// Number of pairs of a position and a tap along one axis for which the tap reads inside the input.
  double reached(int axis) const;
  /// True if output position i reads input position i and no other position.
  bool pointwise() const;
  /// True if the output has one plane, which reads one input plane. In a volume of depth 1, taps of the depth axis may
  /// be padding.
  bool planar() const;
  /// True for a kernel with one tap and no padding: adjacent output rows can then be treated as one row.
  bool mergesRows() const;
  /// Strides of the input in elements: from image to image, from pixel to pixel, and (see below) from channel to
  /// channel.
  int64_t inImageStride() const;
  int64_t inPixelStride() const { return inLast ? inLast : inBlock ? inBlock : 1; }
  /// The plane of channel `c` begins at c times this stride; for a blocked input `c` must be a multiple of the block.
  int64_t inChannelStride() const { return inLast ? 1 : inPixels(); }
  /// True for open extents if all positions of the output can be treated as one row: a pointwise convolution of a
  /// blocked input.
  bool mergesOpenRows() const { return open && inBlock && pointwise(); }
  /// True if an axis of the input has padding at its beginning or, with open extents, at its end.
  bool padded() const;
  /// Extents as the code has them: numbers, or expressions of symbols.
  Dim inExtent(int axis) const { return open ? open->in[axis] : Dim(in[axis]); }
  Dim outExtent(int axis) const { return open ? open->out[axis] : Dim(out[axis]); }
  Dim inPlane() const { return inExtent(0) * inExtent(1) * inExtent(2); }
  Dim outPlane() const { return outExtent(0) * outExtent(1) * outExtent(2); }
  /// Number of channels of an input image in memory, including the channels that fill up the last block.
  int64_t storedChannels() const;
};

/// A constant right operand stored as integers (codes) of 4 or 8 bits (ir/PackedWeights.h): number j of step i of block
/// c is (code - zero) * scale, where zero and scale belong to (c, j). GemmGeometry::b is the argument with the codes.
struct PackedColumnsFacts {
  /// The scale or the zero point of a quantised operand. It is either an argument of the kernel, which holds a value
  /// for each block and column at the strides below, or one number for the whole operand.
  struct Parameter {
    std::optional<unsigned> argument;
    int64_t blockStride = 0, columnStride = 0;
    double number = 0;
  };
  ElementType codes;
  int64_t blocks, steps; // number of blocks; reduction steps in each block
  // the zero point belongs to the codes as signed integers, so it is smaller by signedBias()
  Parameter scale, zero;
  /// Number that is subtracted from unsigned codes, so that they can be stored as signed codes.
  int64_t signedBias() const { return isUnsignedInteger(codes) ? int64_t(1) << (bitWidth(codes) - 1) : 0; }
  /// unitSteps: number of steps that one stored unit of a lane holds (8 codes of 4 bits, or one byte); blockUnits:
  /// number of units in a block.
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
  /// Numbers of the arguments with the zero points of the operands, one value each of the operands' types.
  std::optional<unsigned> leftZero, rightZero;
  int64_t aRowStride, aStepStride, bStepStride, bLaneStride;
  Dims outer, aOuter, bOuter; // axes that count stacked matrices, and the strides of the operands along them
  double alpha = 1, beta = 1;
  unsigned pixelAxes = 1;
  bool transB = false;
  std::optional<PackedColumnsFacts> packed = {}; // present if the right operand is stored as small integers

  ContractionTypes types() const {
    bool narrow = isFloat(rightType) || constantB;
    return {leftType, narrow ? rightType : ElementType::i16, type};
  }
};

/// A depthwise convolution, its element-wise epilogue, and the pointwise convolution that reads the result of the
/// epilogue.
struct SeparableGeometry {
  // the pointwise convolution has the rows of the depthwise one, counted over all planes
  ConvGeometry depthwise, pointwise;
  int64_t lanes;

  int64_t rows() const { return pointwise.out[1]; }
  int64_t channels() const { return pointwise.inChannels; }
  int64_t blocks() const { return (channels() + lanes - 1) / lanes; }
};

/// A group of consecutive tiles of one output row that read alike: for every column of the kernel, the same positions
/// of each tile are inside the input.
struct TileClass {
  /// First output column of the first tile of the group; number of tiles; columns of each tile.
  int64_t start = 0, count = 0, width = 0;
  /// By column of the kernel: the positions [first, second) of a tile that read inside the input.
  std::vector<std::pair<int64_t, int64_t>> reach;
};
/// Divides a row of output positions into tiles of at most `px` positions.
std::vector<TileClass> tileClasses(const ConvGeometry &conv, int64_t px);

/// Facts about a contraction kernel. It has exactly one of the three geometries.
class ContractionFacts : public KernelFacts {
public:
  std::optional<ConvGeometry> conv;
  std::optional<GemmGeometry> gemm;
  std::optional<SeparableGeometry> separable;
  bool blockedResults = false; // true if every result is blocked with the channels of one vector
  int64_t operators = 0;       // number of element-wise operators besides the contraction

  /// The element types of the contraction; of a pair of convolutions those of the pointwise one, whose format
  /// schedules choose.
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

/// Number of lanes in a vector of output channels of a convolution.
int64_t convLanes(const Target &target, const ConvGeometry &conv);

/// Cycles between two register blocks of a pointwise convolution, if the blocks have several vectors each. Blocks of
/// one vector take their scalars from memory operands and follow one another without a wait (Zen 4,
/// docs/notes/predicting.md).
inline constexpr double wideTileCycles = 30;

/// Predicted cycles of one reduction step (a unit) of a register block. The prediction assumes the rate and latency of
/// products that the format states, two loads per cycle, and 32 bytes per cycle for weights beyond the first-level
/// cache.
double stepCycles(const Target &target, int64_t rows, int64_t vectors, bool weightsFar,
                  const ContractionFormat &format = plainFormat(ElementType::f32));
/// True if the first-level cache loses the weights of `steps` reduction steps before the next register block reads
/// them again.
bool panelIsFar(const Target &target, int64_t steps, int64_t vectors);

/// Returns `value`, which a schedule gives the parameter `name`. Throws Illegal if it exceeds `most`, the limit of the
/// problem or target.
int64_t atMost(const char *constraint, const char *name, int64_t value, int64_t most);

} // namespace lathe
