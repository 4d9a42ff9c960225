#include "codegen/contraction/common/ContractionKernel.h"

namespace lathe {

namespace {

/// By buffer: the arguments are read, the results written.
std::vector<bool> writableBuffers(mlir::func::FuncOp function) {
  std::vector<bool> writable(function.getNumArguments(), false);
  writable.resize(writable.size() + function.getNumResults(), true);
  return writable;
}

} // namespace

ContractionKernel::ContractionKernel(const ContractionProblem &problem, const RunTimeDims &dims)
    : k(problem.kernel, "kernel", writableBuffers(problem.function()), dims.list().size()),
      arguments(problem.function().getNumArguments()), extents(dims.list()) {}

GeneratedKernel ContractionKernel::finish(const Schedule &schedule) {
  GeneratedKernel result;
  result.module = k.finish();
  result.dims = extents;
  result.packings.resize(arguments);
  result.schedule = schedule;
  return result;
}

bool hasPaddedBias(const ContractionProblem &problem, const ConvGeometry &conv) {
  return conv.bias && problem.function().getArgAttr(*conv.bias, "nn.constant");
}

PointAccess biasAccess(unsigned buffer, ElementType type, bool padded) {
  PointAccess access;
  access.buffer = buffer;
  access.type = type;
  access.laneStride = 1;
  access.wholeBlocks = padded;
  return access;
}

KernelBuilder::Values biasVectors(KernelBuilder &k, const ConvGeometry &conv, bool padded, mlir::Value channel,
                                  int64_t vectors, int64_t lanes, int64_t channels,
                                  llvm::function_ref<mlir::Value()> zero) {
  PointAccess access = biasAccess(*conv.bias, conv.type, padded);
  KernelBuilder::Values bias;
  for (int64_t v = 0; v < vectors; ++v) {
    int64_t real = std::min(lanes, channels - v * lanes);
    bias.push_back(real > 0 ? Epilogue::loadLanes(k, access, k.add(channel, v * lanes), lanes, real) : zero());
  }
  return bias;
}

void addConvPackings(GeneratedKernel &kernel, const ContractionProblem &problem, const ConvGeometry &conv,
                     Packing weights, const Epilogue &epilogue) {
  kernel.packings[conv.weights] = std::move(weights);
  if (hasPaddedBias(problem, conv))
    kernel.packings[*conv.bias] = paddedChannels(convLanes(problem.target(), conv));
  epilogue.addPackings(kernel.packings);
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

} // namespace lathe
