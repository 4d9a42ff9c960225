// Contraction kernels at the level of MLIR: finds the anchors of a kernel function, reads the facts
// (codegen/space/ContractionFacts.h), and generates the code of every algorithm.
#pragma once

#include "codegen/Generate.h"
#include "codegen/contraction/Epilogue.h"
#include "codegen/contraction/Microkernel.h"
#include "codegen/space/ContractionFacts.h"

namespace lathe {

/// Returns the contractions of a kernel: one, or two if the second reads the result of the first.
/// Throws Declined otherwise.
std::vector<mlir::Operation *> anchorsOf(mlir::func::FuncOp function);
/// Returns the index of the kernel argument that an operand is. Throws Declined if the kernel computes the operand.
unsigned argumentOf(mlir::Value operand, const char *what);

/// A contraction kernel, as the code of every algorithm reads it.
struct ContractionProblem {
  const KernelProblem &kernel;
  mlir::Operation *anchor, *before; // before: the convolution that computes the input of the anchor, or null
  nn::SymbolicShapes shapes;
  explicit ContractionProblem(const KernelProblem &kernel) : kernel(kernel), shapes(kernel.function) {
    std::vector<mlir::Operation *> anchors = anchorsOf(kernel.function);
    anchor = anchors.back();
    before = anchors.size() > 1 ? anchors.front() : nullptr;
  }
  mlir::func::FuncOp function() const { return kernel.function; }
  const Target &target() const { return kernel.target; }
};

/// Reads the facts about a kernel. Throws Declined if no algorithm computes it.
std::unique_ptr<ContractionFacts> readContraction(const ContractionProblem &problem);

/// Returns how the result of a convolution divides into images, pixels and channels.
PointSpace convSpace(const ContractionProblem &problem, mlir::Operation *conv);
/// Return the element-wise operators behind a convolution, or behind a matrix product.
Epilogue convEpilogue(const ContractionProblem &problem, const ConvGeometry &conv, RunTimeDims &dims);
Epilogue gemmEpilogue(const ContractionProblem &problem, const GemmGeometry &gemm, RunTimeDims &dims);
/// Returns the element-wise operators between two convolutions.
Epilogue separableEpilogue(const ContractionProblem &problem, const SeparableGeometry &pair, RunTimeDims &dims);

/// Returns the taps [low, high) of spatial axis `axis` that are inside the input for output position `position`. If
/// there are none, low may exceed high.
std::pair<mlir::Value, mlir::Value> tapRange(KernelBuilder &k, const ConvGeometry &conv, int axis,
                                             mlir::Value position);

/// Adds the run-time extents of a convolution to `dims`: its images, and its open spatial extents.
void needExtents(RunTimeDims &dims, const ConvGeometry &conv);

// Generate the code of one algorithm each. The schedule must be legal for the facts.
GeneratedKernel generateDirect(const ContractionProblem &problem, const ContractionFacts &facts,
                               const Schedule &schedule);
GeneratedKernel generateWinograd(const ContractionProblem &problem, const ContractionFacts &facts,
                                 const Schedule &schedule);
GeneratedKernel generateLanewise(const ContractionProblem &problem, const ContractionFacts &facts,
                                 const Schedule &schedule);
/// Generate the code for convolutions with open spatial extents.
GeneratedKernel generateOpenDirect(const ContractionProblem &problem, const ContractionFacts &facts,
                                   const Schedule &schedule);
GeneratedKernel generateOpenLanewise(const ContractionProblem &problem, const ContractionFacts &facts,
                                     const Schedule &schedule);
GeneratedKernel generateSeparable(const ContractionProblem &problem, const ContractionFacts &facts,
                                  const Schedule &schedule);
GeneratedKernel generateGemm(const ContractionProblem &problem, const ContractionFacts &facts,
                             const Schedule &schedule);
GeneratedKernel generateTiles(const ContractionProblem &problem, const ContractionFacts &facts,
                              const Schedule &schedule);

} // namespace lathe
