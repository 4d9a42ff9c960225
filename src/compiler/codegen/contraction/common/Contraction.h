// Contraction kernels at the level of MLIR: the anchors of a kernel function, its epilogues and extents.
#pragma once

#include "codegen/Generate.h"
#include "codegen/contraction/common/ContractionFacts.h"
#include "codegen/contraction/common/Epilogue.h"
#include "codegen/contraction/common/Microkernel.h"

namespace lathe {

/// Returns the contractions of a kernel function: one, or two if the second reads the result of the first. Throws
/// Declined otherwise.
std::vector<mlir::Operation *> anchorsOf(mlir::func::FuncOp function);
/// Returns the number of the kernel argument that `operand` is. Throws Declined, with `what`, if the kernel computes
/// the operand.
unsigned argumentOf(mlir::Value operand, const char *what);

/// A contraction kernel to be generated: the input that the code of every algorithm gets.
struct ContractionProblem {
  const KernelProblem &kernel;
  mlir::Operation *anchor, *before; // before: convolution that computes the input of the anchor, or null
  nn::SymbolicShapes shapes;
  explicit ContractionProblem(const KernelProblem &kernel) : kernel(kernel), shapes(kernel.function) {
    std::vector<mlir::Operation *> anchors = anchorsOf(kernel.function);
    anchor = anchors.back();
    before = anchors.size() > 1 ? anchors.front() : nullptr;
  }
  mlir::func::FuncOp function() const { return kernel.function; }
  const Target &target() const { return kernel.target; }
};

/// The index space (images, pixels, channels) of the result of a convolution.
PointSpace convSpace(const ContractionProblem &problem, mlir::Operation *conv);
/// Makes the epilogue of a convolution or of a matrix product.
Epilogue convEpilogue(const ContractionProblem &problem, const ConvGeometry &conv, RunTimeDims &dims);
Epilogue gemmEpilogue(const ContractionProblem &problem, const GemmGeometry &gemm, RunTimeDims &dims);
/// Makes the epilogue of the first of two convolutions: the element-wise operators between them.
Epilogue separableEpilogue(const ContractionProblem &problem, const SeparableGeometry &pair, RunTimeDims &dims);

/// Registers the run-time extents of a convolution: its number of images, and those of its spatial extents that are
/// open.
void needExtents(RunTimeDims &dims, const ConvGeometry &conv);

} // namespace lathe
