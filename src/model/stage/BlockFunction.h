// Turns a group of operations into a function of staged source. A group is a repeated block with its occurrences, or
// the operations of one scope of names.
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

/// Data that all functions of one staged program share.
struct ProgramState {
  NameTable functions;
  WeightNames weights;
  std::set<std::string> prefixes; // prefixes of node names that calls of functions use
  llvm::DenseMap<mlir::Operation *, std::vector<std::string>> types;
  std::map<mlir::Operation *, std::string> bodies; // name of the function for each body's module
};

/// Names of nodes in one function of the source: all operations of one node of the model share a name, and different
/// nodes have different names.
class NodeNames {
public:
  /// Returns the name that the node of `op` already has in the function. A new node gets `wanted`, with a number if it
  /// is taken.
  std::string take(mlir::Operation *op, const std::string &wanted);

private:
  llvm::DenseMap<mlir::Location, std::string> names;
  NameTable used;
};

/// Name of the source node to which an operation belongs; "" if it has none.
std::string nodeName(mlir::Operation *op);
/// Name of a constant in the model, or of the resource that holds its bytes; "" if it has none.
std::string constantName(nn::ConstantOp constant);
/// The expression in the source for a weight. `name` is its name in the function that reads it.
Expression weightExpression(const std::string &name, mlir::ElementsAttr elements);
/// Operands of an operation, in the order of the operator's record if it has one.
llvm::SmallVector<mlir::Value> operandsOf(mlir::Operation *op);
/// Operands of a statement in the source: `expression` makes each operand from its position and name. A variadic
/// operand is a list.
std::vector<Expression> operandExpressions(mlir::Operation *op,
                                           llvm::function_ref<Expression(size_t, const std::string &)> expression);
/// An operation without bodies as a statement of the source: attributes that differ from the default, types, extents.
/// The operands are left out.
Statement operationStatement(mlir::Operation *op, const ProgramState &state);

/// The call that computes one occurrence of a group by the function of the group.
struct GroupCall {
  std::string prefix;
  std::vector<mlir::Value> inputs, outputs;
  std::vector<Argument> arguments;
};

struct Group {
  std::string name; // name that the group's function shall get
  std::vector<BlockOccurrence> occurrences;
};

/// A group as a function of the source, with its calls in the order of the occurrences. Nothing if occurrences differ
/// in ways that a call cannot express. The weights of the group get names from `state`.
struct GroupFunction {
  Function function;
  std::vector<GroupCall> calls;
};
std::optional<GroupFunction> groupFunction(const Group &group, ProgramState &state);

} // namespace lathe::staging
