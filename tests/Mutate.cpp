// mutate NETWORK KIND OUT.lathe: compiles a zoo network with one mistake in it, for the test that such a package fails
// `lathe verify`.
//
// KIND: weight:LAYER:PERCENT with LAYER first, middle or last (the weight that lies so far into the tensor moves by a
// tenth of the root of the mean square of all; layers are convolutions, products and recurrent layers with constant
// weights), pad (one convolution's padding moves by a pixel, extents unchanged), stride (a strided operator loses its stride).
// Says what was changed. Exit code 0: written; 3: the mistake makes the network invalid, which says so; 2: any other
// error.
#include "compile/Compile.h"
#include "ir/Bridge.h"
#include "ir/Context.h"
#include "zoo/Zoo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace lathe;

namespace {

std::vector<mlir::Operation *> convolutions(mlir::ModuleOp module) {
  std::vector<mlir::Operation *> result;
  module.walk([&](nn::ConvOp conv) { result.push_back(conv); });
  return result;
}

/// Constant weights of the layers, in the order of the network.
std::vector<std::pair<mlir::Operation *, nn::ConstantOp>> layers(mlir::ModuleOp module) {
  std::vector<std::pair<mlir::Operation *, nn::ConstantOp>> result;
  module.walk([&](mlir::Operation *op) {
    llvm::StringRef name = op->getName().stripDialect();
    bool weighs = name == "conv" || name == "lstm" || name == "matmul" || name == "gemm";
    if (nn::recordOf(op) && weighs)
      if (auto constant = op->getOperand(1).getDefiningOp<nn::ConstantOp>())
        result.emplace_back(op, constant);
  });
  return result;
}

void changeWeight(mlir::ModuleOp module, const std::string &place) {
  std::string which = place.substr(0, place.find(':'));
  size_t percent = std::stoul(place.substr(place.find(':') + 1));
  auto all = layers(module);
  require(!all.empty(), "no layer has weights");
  require(which == "first" || which == "middle" || which == "last", "'{}': expected first, middle or last", which);
  auto [layer, constant] = which == "first" ? all.front() : which == "last" ? all.back() : all[all.size() / 2];
  nn::ConstantData data = nn::constantData(constant.getValue());
  std::vector<char> bytes(data.bytes.begin(), data.bytes.end());
  auto *values = reinterpret_cast<float *>(bytes.data());
  size_t count = bytes.size() / sizeof(float);
  double squares = 0;
  for (size_t i = 0; i < count; ++i)
    squares += static_cast<double>(values[i]) * values[i];
  double change = 0.1 * std::sqrt(squares / static_cast<double>(count));
  size_t index = (count * percent / 100 + 7 * percent) % count; // in another row and column for each percentage
  values[index] += static_cast<float>(change);
  constant.setValueAttr(nn::makeConstant(module.getContext(), data.type, data.dims, bytes, "mutated"));
  std::printf("weight %zu of %zu of %s by %g\n", index, count, nn::describe(layer->getLoc()).c_str(), change);
}

void changePad(mlir::ModuleOp module) {
  for (mlir::Operation *op : convolutions(module)) {
    auto attrs = nn::attrsAs<ConvAttrs>(op);
    size_t spatial = attrs.pads.size() / 2;
    if (attrs.pads[0] == 0)
      continue;
    --attrs.pads[0];
    ++attrs.pads[spatial];
    nn::setAttrs(op, attrs);
    return;
  }
  fail("no padded convolution");
}

/// Takes the stride from the first strided operator, then infers all shapes anew.
void changeStride(mlir::ModuleOp module) {
  bool changed = false;
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  mlir::OpBuilder builder(module.getContext());
  mlir::IRMapping map;
  mlir::func::FuncOp copy = mlir::func::FuncOp::create(main.getLoc(), "main", main.getFunctionType());
  mlir::Block *block = copy.addEntryBlock();
  map.map(main.getArguments(), copy.getArguments());
  builder.setInsertionPointToEnd(block);
  for (mlir::Operation &op : main.getBody().front()) {
    if (!nn::recordOf(&op)) {
      builder.clone(op, map);
      continue;
    }
    auto attrs = nn::attrsOf(&op);
    if (auto *conv = dynamic_cast<ConvAttrs *>(attrs.get()); conv && !changed && conv->strides[0] > 1) {
      conv->strides[0] = conv->strides[1] = 1;
      changed = true;
    }
    llvm::SmallVector<mlir::Value> operands;
    for (mlir::Value operand : nn::operandsByRecord(&op))
      operands.push_back(operand ? map.lookup(operand) : mlir::Value());
    mlir::Operation *made = nn::build(builder, op.getLoc(), op.getName().stripDialect(), operands, *attrs);
    map.map(op.getResults(), made->getResults());
  }
  require(changed, "no strided convolution");
  mlir::Operation *end = block->getTerminator();
  copy.setFunctionType(builder.getFunctionType(copy.getArgumentTypes(), end->getOperandTypes()));
  copy.setAllArgAttrs(main.getAllArgAttrs());
  copy.setAllResultAttrs(main.getAllResultAttrs());
  main.erase();
  module.push_back(copy);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: mutate NETWORK weight:first|middle|last:PERCENT|pad|stride OUT.lathe\n");
    return 2;
  }
  try {
    auto context = makeContext();
    auto module = buildZoo(*context, argv[1]);
    std::string kind = argv[2];
    if (kind.starts_with("weight:"))
      changeWeight(*module, kind.substr(7));
    else if (kind == "pad")
      changePad(*module);
    else if (kind == "stride") {
      try {
        changeStride(*module);
      } catch (const Error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 3;
      }
    } else {
      fail("'{}' is no kind of mistake", kind);
    }
    compile(*module, {}, argv[3]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
