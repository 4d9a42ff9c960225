#include "stage/Replay.h"

#include "ir/Bodies.h"
#include "ir/Main.h"
#include "stage/Literals.h"

namespace lathe::staging {
namespace {

using Types = llvm::DenseMap<mlir::Operation *, std::vector<std::string>>;

std::string textOf(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

BuilderAttribute builderAttribute(const AttributeLiteral &literal) {
  BuilderAttribute attribute{literal.name, std::vector<int64_t>()};
  std::visit(
      [&](const auto &value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, bool>)
          attribute.value = std::vector<int64_t>{value};
        else if constexpr (std::is_same_v<T, double>)
          attribute.value = std::vector<double>{value};
        else if constexpr (std::is_same_v<T, ElementType>)
          attribute.value = std::string(name(value));
        else
          attribute.value = value;
      },
      literal.value);
  return attribute;
}

/// Rebuilds one function of the model: its @main, or the @main of a body.
class Replay {
public:
  Replay(mlir::func::FuncOp main, GraphBuilder &graph, Types &types) : main(main), graph(graph), types(types) {}

  void run() {
    for (mlir::BlockArgument argument : main.getArguments()) {
      auto type = llvm::cast<mlir::TensorType>(argument.getType());
      std::vector<std::string> dims;
      bool tensor = nn::infoOf(argument).isTensor();
      if (tensor)
        dims = extentTexts(main, argument.getArgNumber());
      std::string name = fmt::format("input{}", argument.getArgNumber());
      values[argument] = graph.input(name,
                                     tensor ? std::string(lathe::name(nn::toElementType(type.getElementType())))
                                            : textOf(type.getElementType()),
                                     dims);
    }
    mlir::Block &block = main.getBody().front();
    for (mlir::Operation &op : block.without_terminator())
      if (auto constant = llvm::dyn_cast<nn::ConstantOp>(op))
        values[constant.getOutput()] = graph.constant("constant", constant.getValue());
      else
        keep(op, add(op));
    for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands()))
      graph.output(fmt::format("output{}", i), number(value));
  }

private:
  mlir::func::FuncOp main;
  GraphBuilder &graph;
  Types &types;
  llvm::DenseMap<mlir::Value, GraphBuilder::Value> values;

  GraphBuilder::Value number(mlir::Value value) const { return value ? values.lookup(value) : GraphBuilder::absent; }
  std::vector<GraphBuilder::Value> numbers(mlir::ValueRange list) const {
    std::vector<GraphBuilder::Value> result;
    for (mlir::Value value : list)
      result.push_back(number(value));
    return result;
  }

  GraphBuilder &body(const nn::BodyRef &ref) {
    GraphBuilder &made = graph.body("body");
    Replay(ref.main, made, types).run();
    return made;
  }

  std::vector<GraphBuilder::Value> add(mlir::Operation &op) {
    OperatorNote note{nn::nodeNames(op.getLoc()).empty() ? "" : nn::nodeNames(op.getLoc()).front(), {}, extentsOf(&op)};
    if (llvm::isa<nn::ConvertLayoutOp>(op)) {
      types[&op] = note.types = {textOf(op.getResult(0).getType())};
      return graph.add("convert_layout", numbers(op.getOperands()), {}, note);
    }
    if (auto branch = llvm::dyn_cast<nn::IfOp>(op)) {
      auto bodies = nn::bodiesOf(&op);
      GraphBuilder &first = body(bodies[0]), &second = body(bodies[1]);
      return graph.branch(number(branch.getCondition()), numbers(branch.getCaptured()), first, second, note);
    }
    if (auto loop = llvm::dyn_cast<nn::LoopOp>(op))
      return graph.loop(number(loop.getTripCount()), number(loop.getCondition()), numbers(loop.getValues()),
                        static_cast<int64_t>(loop.getCarried()), body(nn::bodiesOf(&op)[0]), note);
    require(nn::recordOf(&op) != nullptr,
            "{}: '{}' is no operator of a graph; the model is at kernels level, start from the graph",
            nn::describe(op.getLoc()), op.getName().getStringRef().str());
    std::vector<BuilderAttribute> attributes;
    for (const AttributeLiteral &literal : attributeLiterals(&op))
      if (!literal.isDefault)
        attributes.push_back(builderAttribute(literal));
    return graph.add(op.getName().stripDialect().str(), numbers(nn::operandsByRecord(&op)), attributes, note);
  }

  void keep(mlir::Operation &op, const std::vector<GraphBuilder::Value> &made) {
    bool differs = false;
    for (auto [result, number] : llvm::zip(op.getResults(), made))
      differs |= graph.mlirValue(number).getType() != result.getType();
    std::vector<std::string> stated;
    for (auto [result, number] : llvm::zip(op.getResults(), made)) {
      values[result] = number;
      if (!differs)
        continue;
      stated.push_back(textOf(result.getType()));
      graph.retype(number, llvm::cast<mlir::TensorType>(result.getType()));
    }
    if (differs)
      types[&op] = std::move(stated); // repeated for a body that several operators have
  }
};

} // namespace

Types typesToState(mlir::ModuleOp module) {
  Types types;
  GraphBuilder graph("stage", module.getContext());
  Replay(mainFunction(module), graph, types).run();
  return types;
}

std::vector<std::string> extentTexts(mlir::func::FuncOp function, unsigned argument) {
  std::vector<std::string> texts;
  // otherwise an unknown extent has an invented name, which differs between runs
  bool stated = function.getArgAttr(argument, "nn.dims") != nullptr;
  for (const Dim &dim : nn::argumentDims(function, argument))
    texts.push_back(!stated && isUnknown(dim) ? "?" : dim.str());
  return texts;
}

std::vector<std::string> extentsOf(mlir::Operation *op) {
  std::vector<std::string> texts;
  if (auto extents = op->getAttrOfType<mlir::ArrayAttr>(nn::extentsAttribute))
    for (mlir::Attribute text : extents)
      texts.push_back(llvm::cast<mlir::StringAttr>(text).str());
  return texts;
}

} // namespace lathe::staging
