// A group of operations as a function of the source: a block with its occurrences, or one scope.
#pragma once

#include "stage/Blocks.h"
#include "stage/FunctionNames.h"
#include "stage/Literals.h"
#include "stage/Program.h"
#include "stage/WeightNames.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <optional>
#include <set>

namespace lathe::staging {

/// What functions of one program share.
struct ProgramState {
  NameTable functions;
  WeightNames weights;
  std::set<std::string> prefixes; // that functions are called with
  llvm::DenseMap<mlir::Operation *, std::vector<std::string>> types;
  std::map<mlir::Operation *, std::string> bodies; // functions of the modules of bodies
};

/// Names of nodes in a function: one for all operations of one node of the model, and none for two nodes.
class NodeNames {
public:
  /// `wanted`, or the name that the node of `op` has already, or `wanted` with a number.
  std::string take(mlir::Operation *op, const std::string &wanted);

private:
  llvm::DenseMap<mlir::Location, std::string> names;
  NameTable used;
};

/// Name of the source node of an operation; "" where it has none.
std::string nodeName(mlir::Operation *op);
/// Name of a constant in the model, or of its resource; "" where it has none.
std::string constantName(nn::ConstantOp constant);
/// A weight as an operand. `name`: as the function that reads it says.
Expression weightExpression(const std::string &name, mlir::ElementsAttr elements);
/// Operands of an operation, by its record if it has one.
llvm::SmallVector<mlir::Value> operandsOf(mlir::Operation *op);
/// Operands of a statement: `expression` makes each one of its position and name. A variadic operand is a list.
std::vector<Expression> operandExpressions(mlir::Operation *op,
                                           llvm::function_ref<Expression(size_t, const std::string &)> expression);
/// An operation without bodies as a statement: attributes that are not the default, types, extents. No operands.
Statement operationStatement(mlir::Operation *op, const ProgramState &state);

/// How an occurrence of a group calls its function.
struct GroupCall {
  std::string prefix;
  std::vector<mlir::Value> inputs, outputs;
  std::vector<Argument> arguments;
};

struct Group {
  std::string name; // wanted for the function
  std::vector<BlockOccurrence> occurrences;
};

/// A group as a function, and its calls in the order of the occurrences. Nothing where occurrences differ in more than a call
/// can say. Weights get names of `state`.
struct GroupFunction {
  Function function;
  std::vector<GroupCall> calls;
};
std::optional<GroupFunction> groupFunction(const Group &group, ProgramState &state);

} // namespace lathe::staging
