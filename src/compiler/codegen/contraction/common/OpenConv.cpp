#include "codegen/contraction/common/OpenConv.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {
namespace {

int64_t typicalOf(const std::map<std::string, int64_t> &typical, const std::string &symbol) {
  auto found = typical.find(symbol);
  return found == typical.end() ? typicalImage : found->second;
}

} // namespace

void setStatic(ConvGeometry &conv, const OpenExtents &extents) {
  auto fixed = [](const Dim &extent) {
    if (!extent.isConstant())
      throw Declined{fmt::format("a spatial extent {} is not static", extent.str())};
    return extent.constant();
  };
  for (int axis = 0; axis < 3; ++axis) {
    conv.in[axis] = fixed(extents.in[axis]);
    conv.out[axis] = fixed(extents.out[axis]);
    conv.padBegin[axis] -= fixed(extents.shift[axis]);
  }
}

void setOpen(ConvGeometry &conv, OpenExtents open, const std::map<std::string, int64_t> &typical) {
  if (isFloat(conv.type) && (conv.inputType != conv.type || conv.weightsType != conv.type))
    throw Declined{fmt::format("a spatial extent of a convolution of {} by {} is not static", name(conv.inputType),
                               name(conv.weightsType))};
  if (llvm::any_of(open.in, isUnknown) || llvm::any_of(open.out, isUnknown))
    throw Declined{"a spatial extent is not known before the kernel runs"};
  auto value = [&](const Dim &extent) {
    return std::max<int64_t>(1, extent.evaluate([&](const std::string &symbol) { return typicalOf(typical, symbol); }));
  };
  for (int axis = 0; axis < 3; ++axis) {
    conv.in[axis] = value(open.in[axis]);
    conv.out[axis] = value(open.out[axis]);
  }
  conv.open = std::move(open);
  if (!conv.planar() && !conv.open->padsFollow()) // open-convolution makes a matrix product of it
    throw Declined{"a spatial extent of a volume with stated padding is not static"};
}

std::map<std::string, int64_t> assumedExtents(const KernelProblem &problem) {
  std::vector<std::string> symbols;
  mlir::func::FuncOp function = problem.function;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    Dims dims = nn::argumentDims(function, i);
    for (size_t axis = 2; axis < dims.size(); ++axis)
      dims[axis].collectSymbols(symbols);
  }
  std::map<std::string, int64_t> assumed;
  for (const std::string &symbol : symbols)
    assumed[symbol] = typicalOf(problem.typical, symbol);
  return assumed;
}

mlir::Value quotient(KernelBuilder &k, mlir::Value x, mlir::Value y) {
  return k.b.createOrFold<mlir::arith::DivUIOp>(k.loc, x, y);
}

mlir::Value remainder(KernelBuilder &k, mlir::Value x, mlir::Value y) {
  return k.b.createOrFold<mlir::arith::RemUIOp>(k.loc, x, y);
}

mlir::Value quotientUp(KernelBuilder &k, mlir::Value x, int64_t y) { return k.div(k.add(x, y - 1), y); }

void forBestWidth(KernelBuilder &k, llvm::ArrayRef<TileWidth> widths, const std::function<void(int64_t)> &body) {
  mlir::Value least = widths.front().time;
  for (const TileWidth &width : widths.drop_front())
    least = k.min(least, width.time);
  std::function<void(size_t)> branch = [&](size_t number) {
    if (number + 1 == widths.size())
      return body(widths[number].positions);
    k.ifThen(
        k.less(widths[number].time, k.add(least, 1)), [&] { body(widths[number].positions); },
        [&] { branch(number + 1); });
  };
  branch(0);
}

std::pair<mlir::Value, mlir::Value> pieceOf(KernelBuilder &k, mlir::Value extent, mlir::Value piece,
                                            mlir::Value pieces) {
  auto bound = [&](mlir::Value number) { return quotient(k, k.mul(number, extent), pieces); };
  return {bound(piece), bound(k.add(piece, 1))};
}

mlir::Value windowAt(KernelBuilder &k, const ConvGeometry &conv, const RunTimeDims &dims, int axis,
                     mlir::Value position) {
  mlir::Value at = k.mul(position, conv.stride[axis]);
  return conv.open ? k.add(at, dims.value(k, conv.open->shift[axis])) : at;
}

std::pair<mlir::Value, mlir::Value> tapRange(KernelBuilder &k, const ConvGeometry &conv, const RunTimeDims &dims,
                                             int axis, mlir::Value position) {
  int64_t kernel = conv.kernel[axis], dilation = conv.dilation[axis], pad = conv.padBegin[axis];
  int64_t last = (conv.out[axis] - 1) * conv.stride[axis] - pad + (kernel - 1) * dilation; // input position of a tap
  mlir::Value low = k.constant(0), high = k.constant(kernel), at = windowAt(k, conv, dims, axis, position);
  if (pad > 0)
    low = quotientUp(k, k.max(k.sub(k.constant(pad), at), k.constant(0)), dilation);
  if (conv.open ? conv.open->padEnd[axis] > 0 : last >= conv.in[axis]) {
    mlir::Value room = k.max(k.sub(k.add(dims.value(k, conv.inExtent(axis)), pad), at), k.constant(0));
    high = k.min(quotientUp(k, room, dilation), high);
  }
  return {low, high};
}

} // namespace lathe
