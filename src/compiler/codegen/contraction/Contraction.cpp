#include "codegen/contraction/Contraction.h"

namespace lathe {

std::pair<mlir::Value, mlir::Value> tapRange(KernelBuilder &k, const ConvGeometry &conv, int axis,
                                             mlir::Value position) {
  int64_t kernel = conv.kernel[axis], stride = conv.stride[axis], dilation = conv.dilation[axis],
          pad = conv.padBegin[axis];
  mlir::Value low = k.constant(0), high = k.constant(kernel);
  if (pad > 0) {
    mlir::Value missing = k.max(k.sub(k.constant(pad), k.mul(position, stride)), k.constant(0));
    low = k.div(k.add(missing, dilation - 1), dilation);
  }
  int64_t last = (conv.out[axis] - 1) * stride - pad + (kernel - 1) * dilation;
  if (last >= conv.in[axis]) {
    mlir::Value room = k.max(k.sub(k.constant(conv.in[axis] + pad), k.mul(position, stride)), k.constant(0));
    high = k.min(k.div(k.add(room, dilation - 1), dilation), high);
  }
  return {low, high};
}

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
