// Emits the beginning and the end of contraction kernels, which are equal for all algorithms.
#pragma once

#include "codegen/contraction/common/Contraction.h"

namespace lathe {

/// A contraction kernel whose code is being generated.
class ContractionKernel {
public:
  /// Begins the kernel function. `dims` holds all run-time extents of the code.
  ContractionKernel(const ContractionProblem &problem, const RunTimeDims &dims);

  KernelBuilder k;

  /// Ends the kernel function. The result has no packings; the caller sets them, the number of work items and the
  /// bytes of scratch.
  GeneratedKernel finish(const Schedule &schedule);

private:
  size_t arguments;
  Dims extents;
};

/// True if the bias of a convolution is a constant. It is then stored with one vector of padding at the end.
bool hasPaddedBias(const ContractionProblem &problem, const ConvGeometry &conv);
/// Describes how a bias with one value per channel is read. `padded`: see hasPaddedBias.
PointAccess biasAccess(unsigned buffer, ElementType type, bool padded);
/// Emits the loads of `vectors` vectors of the bias from `channel` on; they are zero after the first `channels`
/// channels. The convolution must have a bias. `zero` makes a vector of zeros.
KernelBuilder::Values biasVectors(KernelBuilder &k, const ConvGeometry &conv, bool padded, mlir::Value channel,
                                  int64_t vectors, int64_t lanes, int64_t channels,
                                  llvm::function_ref<mlir::Value()> zero);
/// Adds the packings (forms in which constants are stored) of a convolution to its kernel: `weights` for its weights,
/// and packings for a constant bias and for the constants in its epilogue.
void addConvPackings(GeneratedKernel &kernel, const ContractionProblem &problem, const ConvGeometry &conv,
                     Packing weights, const Epilogue &epilogue);

} // namespace lathe
