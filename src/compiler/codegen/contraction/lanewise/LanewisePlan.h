// Plan of a convolution by the algorithm `lanewise`: the sizes that follow from a schedule. The algorithm `separable`
// computes its first convolution with such a plan.
#pragma once

#include "codegen/contraction/common/ContractionFacts.h"
#include "codegen/space/ContractionFormat.h"

namespace lathe {

/// Which input the lanes of a vector of output channels read: the same lane (depthwise), a permutation of the input
/// block (groups of one size that fill a block), or gathered elements (all other groups).
enum class Lanes { same, permuted, gathered };

struct LanewisePlan {
  ConvGeometry conv;
  /// Format in which products are computed; a format of bytes if the input has another type than the sums.
  ContractionFormat format;
  int64_t lanes, px, rows;
  Lanes access;
  std::vector<TileClass> classes;
  bool joined = false; // true: the bytes of a unit are adjacent columns of the kernel, and each lane is a channel

  int64_t channels() const { return conv.groups * conv.outChannels; }
  int64_t blocks() const { return (channels() + lanes - 1) / lanes; }
  int64_t allRows() const { return conv.out[0] * conv.out[1]; }
  int64_t chunks() const { return (allRows() + rows - 1) / rows; }
  /// rowVectors: number of vectors of weights in one kernel row. blockStride: distance between the weights of two
  /// blocks of channels. Joined columns fill whole units: missing columns come before the first one.
  int64_t rowVectors() const { return joined ? format.unitsOf(conv.kernel[2]) : conv.kernel[2] * conv.inChannels; }
  int64_t blockStride() const { return conv.kernel[0] * conv.kernel[1] * rowVectors() * lanes; }
  /// For joined columns: offset of the sums of each kernel row, which follow the packed weights in the order
  /// [block][row][lane].
  int64_t sumsAt() const { return blocks() * blockStride(); }
  bool convertsBytes() const { return conv.inputType != conv.type; }
};

/// Makes the plan for a schedule of `lanewise`. Throws Illegal for an illegal schedule.
LanewisePlan makeLanewisePlan(const Target &target, const ConvGeometry &conv, const Schedule &schedule);

/// True for convolutions that only `lanewise` computes well: those with open volumes, and those whose groups are
/// narrower than a block of channels or do not end at the end of a block.
bool needsLanewise(const Target &target, const ConvGeometry &conv);
Schedule lanewisePrior(const KernelFacts &facts, const ConvGeometry &conv);

/// Returns the predicted cycles for all results of one image.
double lanewiseCycles(const Target &target, const LanewisePlan &plan, double operators);

Prediction predict(const ContractionFacts &facts, const LanewisePlan &plan);
std::vector<LoopNest> nestsOf(const LanewisePlan &plan);
Packing packingOf(const LanewisePlan &plan);
GeneratedKernel generateFrom(const ContractionProblem &problem, const LanewisePlan &plan, const Schedule &schedule);

} // namespace lathe
