#include "codegen/contraction/Contraction.h"

namespace lathe {

void needExtents(RunTimeDims &dims, const ConvGeometry &conv) {
  dims.need(conv.images);
  for (int axis = 0; axis < 3; ++axis) {
    dims.need(conv.inExtent(axis));
    dims.need(conv.outExtent(axis));
    if (conv.open)
      dims.need(conv.open->shift[axis]);
  }
  dims.need(conv.inPlane());
  dims.need(conv.inPlane() * Dim(conv.storedChannels()));
}

namespace {

std::unique_ptr<KernelFacts> readFacts(const KernelProblem &kernel) {
  return readContraction(ContractionProblem(kernel));
}

GeneratedKernel generateContraction(const KernelProblem &kernel, const KernelFacts &given, const Schedule &schedule) {
  return std::visit([&](const auto &plan) { return generateFrom(ContractionProblem(kernel), plan, schedule); },
                    planOf(static_cast<const ContractionFacts &>(given), schedule));
}

} // namespace

extern const KernelFamily contractionFamily = {"contraction", readFacts, generateContraction};

} // namespace lathe
