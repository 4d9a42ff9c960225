// The beginning and the end of a contraction kernel, which all algorithms share.
#pragma once

#include "codegen/contraction/common/Contraction.h"

namespace lathe {

/// A contraction kernel while its code is made.
class ContractionKernel {
public:
  /// Begins the function. `dims` holds all run-time extents of the code.
  ContractionKernel(const ContractionProblem &problem, const RunTimeDims &dims);

  KernelBuilder k;

  /// Ends the function. The result has no packings; the number of work items and the scratch are the
  /// caller's to set.
  GeneratedKernel finish(const Schedule &schedule);

private:
  size_t arguments;
  Dims extents;
};

/// True if the bias of a convolution is a constant, which is stored with one vector of padding.
bool hasPaddedBias(const ContractionProblem &problem, const ConvGeometry &conv);
/// Address of a bias with one value per channel. `padded`: see hasPaddedBias.
PointAccess biasAccess(unsigned buffer, ElementType type, bool padded);
/// The bias of `vectors` vectors of channels from `channel` on; zeros after the first `channels` of them. The
/// convolution has a bias. `zero` makes a vector of zeros.
KernelBuilder::Values biasVectors(KernelBuilder &k, const ConvGeometry &conv, bool padded, mlir::Value channel,
                                  int64_t vectors, int64_t lanes, int64_t channels,
                                  llvm::function_ref<mlir::Value()> zero);
/// Adds the packings of a convolution: `weights` for its weights, those of a constant bias and of the
/// constants in its epilogue.
void addConvPackings(GeneratedKernel &kernel, const ContractionProblem &problem, const ConvGeometry &conv,
                     Packing weights, const Epilogue &epilogue);

} // namespace lathe
