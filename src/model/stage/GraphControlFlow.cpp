// Bodies, branches and loops of GraphBuilder.
#include "ir/Bodies.h"
#include "stage/GraphBuilderParts.h"

namespace lathe {
namespace {

/// The type of a value that has type `a` or type `b`, depending on the run.
mlir::Type commonType(mlir::Type a, mlir::Type b) {
  auto first = llvm::dyn_cast<mlir::RankedTensorType>(a), second = llvm::dyn_cast<mlir::RankedTensorType>(b);
  if (!first || !second || first.getRank() != second.getRank() || first.getElementType() != second.getElementType())
    return a; // the verifier reports what is wrong
  llvm::SmallVector<int64_t> shape;
  for (auto [x, y] : llvm::zip(first.getShape(), second.getShape()))
    shape.push_back(x == y ? x : mlir::ShapedType::kDynamic);
  return mlir::RankedTensorType::get(shape, first.getElementType());
}

} // namespace

GraphBuilder &GraphBuilder::body(const std::string &bodyName) {
  bodies.push_back(std::unique_ptr<GraphBuilder>(new GraphBuilder(*this, bodyName)));
  return *bodies.back();
}

std::string GraphBuilder::bodySymbol(GraphBuilder &body) {
  bool own = llvm::any_of(bodies, [&](const auto &each) { return each.get() == &body; });
  require(own, "{}: the body is none of this graph's: make it with its `body`", name);
  return body.finish().getSymName()->str();
}

std::vector<GraphBuilder::Value> GraphBuilder::addControlFlow(mlir::OperationState &state,
                                                              std::vector<mlir::Type> types, const OperatorNote &note) {
  state.addTypes(types);
  mlir::Operation *op = builder().create(state);
  std::string said;
  mlir::SymbolTableCollection symbols;
  bool fine = mlir::succeeded(listening(
      shared->context, said, [&] { return llvm::cast<mlir::SymbolUserOpInterface>(op).verifySymbolUses(symbols); }));
  if (!fine) {
    op->erase();
    fail("{}: {}", nn::describe(state.location), said);
  }
  return finishOperator(op, note);
}

std::vector<GraphBuilder::Value> GraphBuilder::branch(Value condition, const std::vector<Value> &captured,
                                                      GraphBuilder &thenBody, GraphBuilder &elseBody,
                                                      const OperatorNote &note) {
  mlir::OperationState state(nodeLocation("if", note.name), nn::IfOp::getOperationName());
  state.operands.push_back(checked(condition, "the condition"));
  for (Value value : captured)
    state.operands.push_back(checked(value, "a captured value"));
  mlir::Builder b(shared->context);
  state.addAttribute("then_body", mlir::FlatSymbolRefAttr::get(b.getContext(), bodySymbol(thenBody)));
  state.addAttribute("else_body", mlir::FlatSymbolRefAttr::get(b.getContext(), bodySymbol(elseBody)));
  auto first = thenBody.main.getResultTypes(), second = elseBody.main.getResultTypes();
  require(first.size() == second.size(), "{}: its bodies return {} and {} values, expected equally many",
          nn::describe(state.location), first.size(), second.size());
  std::vector<mlir::Type> types;
  for (auto [a, c] : llvm::zip(first, second))
    types.push_back(commonType(a, c));
  return addControlFlow(state, types, note);
}

std::vector<GraphBuilder::Value> GraphBuilder::loop(Value tripCount, Value condition, const std::vector<Value> &values,
                                                    int64_t carried, GraphBuilder &body, const OperatorNote &note) {
  mlir::OperationState state(nodeLocation("loop", note.name), nn::LoopOp::getOperationName());
  state.operands = {checked(tripCount, "the trip count"), checked(condition, "the condition")};
  for (Value value : values)
    state.operands.push_back(checked(value, "a value of the loop"));
  mlir::Builder b(shared->context);
  state.addAttribute("body", mlir::FlatSymbolRefAttr::get(b.getContext(), bodySymbol(body)));
  state.addAttribute("carried", b.getI64IntegerAttr(carried));
  auto returned = body.main.getResultTypes();
  auto count = static_cast<size_t>(carried);
  require(
      carried >= 0 && count <= values.size() && count + 1 <= returned.size() &&
          body.main.getNumArguments() == values.size() + nn::loopHeader,
      "{}: carries {} of {} values, but its body takes {} and returns {}: expected the number of the iteration, the "
      "condition and all values, and the condition and all carried values",
      nn::describe(state.location), carried, values.size(), body.main.getNumArguments(), returned.size());
  std::vector<mlir::Type> types;
  for (size_t i = 1; i < returned.size(); ++i) {
    auto ranked = llvm::dyn_cast<mlir::RankedTensorType>(returned[i]);
    if (i <= count) {
      types.push_back(commonType(commonType(returned[i], state.operands[1 + i].getType()),
                                 body.main.getArgumentTypes()[nn::loopHeader + i - 1]));
    } else if (ranked) {
      llvm::SmallVector<int64_t> shape{mlir::ShapedType::kDynamic};
      llvm::append_range(shape, ranked.getShape());
      types.push_back(mlir::RankedTensorType::get(shape, ranked.getElementType()));
    } else {
      types.push_back(returned[i]);
    }
  }
  return addControlFlow(state, types, note);
}

} // namespace lathe
