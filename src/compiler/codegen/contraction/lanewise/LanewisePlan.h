// The plan of a schedule of `lanewise`; `separable` computes its first convolution with it.
#pragma once

#include "codegen/contraction/common/ContractionFacts.h"
#include "codegen/space/ContractionFormat.h"

namespace lathe {

/// Input of the lanes of a vector of output channels: the same lane (depthwise), a permutation of
/// the input block (groups of one size that fill a block), or gathered elements (all others).
enum class Lanes { same, permuted, gathered };

struct LanewisePlan {
  ConvGeometry conv;
  ContractionFormat format; // of products: of bytes where the input has another type than the sums
  int64_t lanes, px, rows;
  Lanes access;
  std::vector<TileClass> classes;
  bool joined = false; // a unit holds adjacent columns of the kernel in its bytes, in a lane a channel

  int64_t channels() const { return conv.groups * conv.outChannels; }
  int64_t blocks() const { return (channels() + lanes - 1) / lanes; }
  int64_t allRows() const { return conv.out[0] * conv.out[1]; }
  int64_t chunks() const { return (allRows() + rows - 1) / rows; }
  /// Vectors of weights of a kernel row, and of a block of channels. Joined columns end with a whole unit: missing
  /// columns come before the first one.
  int64_t rowVectors() const { return joined ? format.unitsOf(conv.kernel[2]) : conv.kernel[2] * conv.inChannels; }
  int64_t blockStride() const { return conv.kernel[0] * conv.kernel[1] * rowVectors() * lanes; }
  /// Of joined columns packed weights end with the sums of each kernel row: [block][row][lane].
  int64_t sumsAt() const { return blocks() * blockStride(); }
  bool convertsBytes() const { return conv.inputType != conv.type; }
};

/// Makes the plan. Throws Illegal for an illegal schedule.
LanewisePlan makeLanewisePlan(const Target &target, const ConvGeometry &conv, const Schedule &schedule);

/// True for convolutions that only `lanewise` computes well: of groups that are narrower than a block or do not end where
/// blocks do, and of open volumes.
bool needsLanewise(const Target &target, const ConvGeometry &conv);
Schedule lanewisePrior(const KernelFacts &facts, const ConvGeometry &conv);

/// Cycles of all results of one image.
double lanewiseCycles(const Target &target, const LanewisePlan &plan, double operators);

Prediction predict(const ContractionFacts &facts, const LanewisePlan &plan);
std::vector<LoopNest> nestsOf(const LanewisePlan &plan);
Packing packingOf(const LanewisePlan &plan);
GeneratedKernel generateFrom(const ContractionProblem &problem, const LanewisePlan &plan, const Schedule &schedule);

} // namespace lathe
