// Contraction kernels on the side of MLIR: the anchors of a kernel function, how the facts about them
// (codegen/space/ContractionFacts.h) are read, and the code of every algorithm.
#pragma once

#include "codegen/Generate.h"
#include "codegen/contraction/Epilogue.h"
#include "codegen/contraction/Microkernel.h"
#include "codegen/space/ContractionFacts.h"

namespace lathe {

/// The contractions of a kernel: one, or two where the second reads what the first computes; throws Declined otherwise.
std::vector<mlir::Operation *> anchorsOf(mlir::func::FuncOp function);
/// The argument behind an operand; throws Declined when it is computed inside the kernel.
unsigned argumentOf(mlir::Value operand, const char *what);

/// What the code of every algorithm starts from.
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

/// The facts about a kernel; throws Declined for what no algorithm computes.
std::unique_ptr<ContractionFacts> readContraction(const ContractionProblem &problem);

/// Where the elements of a convolution's result lie.
PointSpace convSpace(const ContractionProblem &problem, mlir::Operation *conv);
/// What follows the anchor: of a convolution, or of a matrix product.
Epilogue convEpilogue(const ContractionProblem &problem, const ConvGeometry &conv, RunTimeDims &dims);
Epilogue gemmEpilogue(const ContractionProblem &problem, const GemmGeometry &gemm, RunTimeDims &dims);
/// What stands between two convolutions.
Epilogue separableEpilogue(const ContractionProblem &problem, const SeparableGeometry &pair, RunTimeDims &dims);

/// Taps [low, high) of spatial axis `axis` that fall into the input for output position `position`; low may exceed
/// high.
std::pair<mlir::Value, mlir::Value> tapRange(KernelBuilder &k, const ConvGeometry &conv, int axis,
                                             mlir::Value position);

// The schedule is legal for the facts.
GeneratedKernel generateDirect(const ContractionProblem &problem, const ContractionFacts &facts,
                               const Schedule &schedule);
GeneratedKernel generateWinograd(const ContractionProblem &problem, const ContractionFacts &facts,
                                 const Schedule &schedule);
GeneratedKernel generateLanewise(const ContractionProblem &problem, const ContractionFacts &facts,
                                 const Schedule &schedule);
GeneratedKernel generateSeparable(const ContractionProblem &problem, const ContractionFacts &facts,
                                  const Schedule &schedule);
GeneratedKernel generateGemm(const ContractionProblem &problem, const ContractionFacts &facts,
                             const Schedule &schedule);
GeneratedKernel generateTiles(const ContractionProblem &problem, const ContractionFacts &facts,
                              const Schedule &schedule);

} // namespace lathe
