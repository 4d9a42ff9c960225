#include "quantize/ObservedModel.h"

#include "ir/Main.h"

#include "mlir/IR/IRMapping.h"

#include <algorithm>
#include <chrono>

namespace lathe::quantize {

ObservedModel::ObservedModel(mlir::ModuleOp module, llvm::ArrayRef<mlir::Value> observed,
                             const CompileOptions &options) {
  mlir::IRMapping map;
  mlir::OwningOpRef<mlir::ModuleOp> copy = llvm::cast<mlir::ModuleOp>(module->clone(map));
  mlir::func::FuncOp main = mainFunction(*copy);
  mlir::Operation *end = main.getBody().front().getTerminator();
  results = end->getNumOperands();
  for (mlir::Value value : observed) {
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
      outputIndex.push_back(-1 - static_cast<int64_t>(argument.getArgNumber()));
      continue;
    }
    mlir::Value inCopy = map.lookup(value);
    unsigned index = end->getNumOperands();
    end->insertOperands(index, inCopy);
    mlir::Builder b(main.getContext());
    auto name = b.getNamedAttr("nn.name", b.getStringAttr("observed:" + std::to_string(index)));
    main.insertResult(index, inCopy.getType(), b.getDictionaryAttr(name));
    outputIndex.push_back(index);
  }
  auto bytes = std::make_shared<std::vector<char>>();
  compileToBytes(*copy, options, *bytes);
  running = std::make_unique<runtime::Context>(
      runtime::Model::fromBytes(*bytes, "the model", bytes, {.checkConstants = false}),
      runtime::ContextOptions{.threads = options.threads});
}

std::vector<Tensor> ObservedModel::run(const Sample &sample, const std::function<void(size_t, const Tensor &)> &see) {
  for (size_t i = 0; i < sample.size(); ++i)
    running->setInput(i, sample[i]);
  running->run();
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < results; ++i)
    if (running->output(i).isTensor())
      outputs.push_back(running->output(i).tensor().clone());
  if (see)
    for (size_t i = 0; i < outputIndex.size(); ++i)
      see(i, outputIndex[i] < 0 ? sample[static_cast<size_t>(-1 - outputIndex[i])].tensor()
                                : running->output(static_cast<size_t>(outputIndex[i])).tensor());
  return outputs;
}

double ObservedModel::seconds(const Sample &sample, size_t runs) {
  using Clock = std::chrono::steady_clock;
  for (size_t i = 0; i < sample.size(); ++i)
    running->setInput(i, sample[i]);
  running->run();
  running->run();
  std::vector<double> times;
  for (size_t i = 0; i < runs; ++i) {
    auto begin = Clock::now();
    running->run();
    times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

} // namespace lathe::quantize
