#include "passes/kernels/GrowInPlace.h"

#include "ir/SymbolicShapes.h"
#include "passes/Rewrite.h"

#include "mlir/IR/SymbolTable.h"

namespace lathe {
namespace {

/// The name of an extent that is a single symbol; "" for others.
std::string symbolOf(const Dim &dim) {
  std::vector<std::string> names;
  dim.collectSymbols(names);
  return names.size() == 1 && Dim::symbol(names[0]) == dim ? names[0] : "";
}

/// True for a kernel that reads rows through their strides, so that gaps may lie between them.
bool readsGaps(mlir::func::FuncOp kernel) {
  auto family = kernel->getAttrOfType<mlir::StringAttr>("nn.family");
  return family && family.getValue() == "attention";
}

class Growing {
public:
  Growing(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report)
      : options(options), report(report), symbols(module), main(mainFunction(module)), shapes(main) {}

  void run() {
    for (auto call : main.getBody().front().getOps<mlir::func::CallOp>()) {
      auto kernel = symbols.lookup<mlir::func::FuncOp>(call.getCallee());
      mlir::Operation *concat = kernel ? growingConcat(call, kernel) : nullptr;
      if (!concat || !isReturned(call.getResult(0)))
        continue;
      if (std::string reason = grow(call, kernel, concat); !reason.empty())
        report.notGrowing.push_back({nn::describe(call.getLoc()), "concat", reason});
    }
  }

private:
  const PipelineOptions &options;
  PipelineReport &report;
  mlir::SymbolTable symbols;
  mlir::func::FuncOp main;
  nn::SymbolicShapes shapes;
  std::map<std::string, Dim> grown; // by symbol of the past: its extent in the results

  static bool isReturned(mlir::Value value) {
    return llvm::count_if(value.getUsers(),
                          [](mlir::Operation *user) { return llvm::isa<mlir::func::ReturnOp>(user); }) == 1;
  }

  /// Returns "" or why the result does not grow in place.
  std::string grow(mlir::func::CallOp call, mlir::func::FuncOp kernel, mlir::Operation *concat) {
    mlir::Value past = call.getOperand(llvm::cast<mlir::BlockArgument>(concat->getOperand(0)).getArgNumber());
    mlir::Value present = call.getResult(0);
    Dims from = shapes.of(past).dims, to = shapes.of(present).dims;
    int64_t axis = nn::attrsAs<ConcatAttrs>(concat).axis;
    axis += axis < 0 ? static_cast<int64_t>(to.size()) : 0;
    if (from[axis].isConstant())
      return ""; // a static extent does not grow
    std::string symbol = symbolOf(from[axis]);
    if (symbol.empty() || llvm::any_of(to, isUnknown))
      return fmt::format("the input's extent along axis {} is {}, expected a symbol", axis, from[axis].str());
    if (auto [other, added] = grown.try_emplace(symbol, to[axis]); !(other->second == to[axis]))
      return fmt::format("'{}' grows to {} and to {}", symbol, other->second.str(), to[axis].str());
    if (std::string reason = otherReader(past, call); !reason.empty())
      return reason;
    Dims stored = to;
    stored[axis] = Dim::symbol(capacitySymbol(symbol));
    return storeWithGaps(call, kernel, stored);
  }

  /// Sets the attribute for the result and its readers. If one of them cannot have it, sets none and returns why.
  std::string storeWithGaps(mlir::func::CallOp call, mlir::func::FuncOp kernel, const Dims &stored) {
    mlir::ArrayAttr text = nn::dimsAttr(main.getContext(), stored);
    mlir::StringAttr name = mlir::StringAttr::get(main.getContext(), nn::storedAttribute);
    std::vector<std::pair<mlir::func::FuncOp, unsigned>> readers;
    std::string reason;
    kernel.setResultAttr(0, name, text);
    if (options.declines)
      reason = options.declines(kernel);
    for (mlir::OpOperand &use : call.getResult(0).getUses()) {
      if (!reason.empty())
        break;
      auto reader = llvm::dyn_cast<mlir::func::CallOp>(use.getOwner());
      if (!reader && llvm::isa<mlir::func::ReturnOp>(use.getOwner()))
        continue;
      auto function = reader ? symbols.lookup<mlir::func::FuncOp>(reader.getCallee()) : mlir::func::FuncOp();
      if (!function || !readsGaps(function)) {
        reason = fmt::format("{} reads it, which is no attention kernel", nn::describe(use.getOwner()->getLoc()));
        break;
      }
      function.setArgAttr(use.getOperandNumber(), name, text);
      readers.emplace_back(function, use.getOperandNumber());
      if (options.declines)
        reason = options.declines(function);
    }
    if (reason.empty())
      return "";
    kernel.removeResultAttr(0, name);
    for (auto [function, argument] : readers)
      function.removeArgAttr(argument, name);
    return reason;
  }

  /// Another reader than `call` that reads elements of the past, not only its extents; "" if there is none.
  std::string otherReader(mlir::Value past, mlir::func::CallOp call) {
    unsigned reads = 0;
    for (mlir::OpOperand &use : past.getUses()) {
      if (use.getOwner() == call && ++reads == 1)
        continue;
      auto reader = llvm::dyn_cast<mlir::func::CallOp>(use.getOwner());
      auto function = reader ? symbols.lookup<mlir::func::FuncOp>(reader.getCallee()) : mlir::func::FuncOp();
      if (!function || llvm::any_of(function.getArgument(use.getOperandNumber()).getUsers(),
                                    [](mlir::Operation *user) { return !isOp(user, "shape"); }))
        return fmt::format("{} reads the input, too", nn::describe(use.getOwner()->getLoc()));
    }
    return "";
  }
};

} // namespace

std::string capacitySymbol(const std::string &extent) { return extent + ".capacity"; }
std::string keptSymbol(const std::string &extent) { return extent + ".kept"; }

mlir::Operation *growingConcat(mlir::func::CallOp call, mlir::func::FuncOp kernel) {
  auto last = kernel.getBody().front().getTerminator();
  mlir::Operation *concat = last->getNumOperands() == 1 ? last->getOperand(0).getDefiningOp() : nullptr;
  if (!isOp(concat, "concat") || nn::layoutOf(concat->getResult(0)))
    return nullptr;
  auto first = llvm::dyn_cast<mlir::BlockArgument>(concat->getOperand(0));
  return first && llvm::isa<mlir::BlockArgument>(call.getOperand(first.getArgNumber())) ? concat : nullptr;
}

void growInPlace(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report) {
  Growing(module, options, report).run();
}

} // namespace lathe
