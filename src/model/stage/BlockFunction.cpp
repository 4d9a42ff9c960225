#include "stage/BlockFunction.h"

#include "ir/Bodies.h"
#include "stage/Replay.h"
#include "support/Text.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include "llvm/Support/JSON.h"

#include <algorithm>

namespace lathe::staging {

std::string nodeName(mlir::Operation *op) {
  std::vector<std::string> names = nn::nodeNames(op->getLoc());
  std::string name = names.empty() ? "" : names.front();
  if (!llvm::json::isUTF8(name))
    name = printable(name);
  std::replace(name.begin(), name.end(), '\0', '_');
  return name;
}

std::string NodeNames::take(mlir::Operation *op, const std::string &wanted) {
  if (llvm::isa<mlir::UnknownLoc>(op->getLoc()))
    return used.takeText(wanted);
  auto [found, added] = names.try_emplace(op->getLoc(), "");
  if (added)
    found->second = used.takeText(wanted);
  return found->second;
}

std::string constantName(nn::ConstantOp constant) {
  std::string name = nodeName(constant);
  if (auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(constant.getValue()); resource && name.empty())
    name = resource.getRawHandle().getKey().str();
  return name;
}

Expression weightExpression(const std::string &name, mlir::ElementsAttr elements) {
  auto type = elements.getShapedType();
  Expression weight{Expression::Kind::weight, name};
  if (ElementType element = nn::toElementType(type.getElementType()); !Safetensors::hasType(element))
    weight.constant = {element, {type.getShape().begin(), type.getShape().end()}, {}, {}};
  return weight;
}

llvm::SmallVector<mlir::Value> operandsOf(mlir::Operation *op) {
  return nn::recordOf(op) ? nn::operandsByRecord(op) : llvm::SmallVector<mlir::Value>(op->getOperands());
}

std::vector<Expression> operandExpressions(mlir::Operation *op,
                                           llvm::function_ref<Expression(size_t, const std::string &)> expression) {
  const OpRecord *record = nn::recordOf(op);
  bool variadic = record && !record->operands.empty() && record->operands.back().variadic;
  std::vector<Expression> operands;
  Expression list{Expression::Kind::list, ""};
  for (size_t k = 0, count = operandsOf(op).size(); k < count; ++k) {
    std::string name = record && k < record->operands.size() ? record->operands[k].name : fmt::format("{}", k);
    bool inList = variadic && k + 1 >= record->operands.size();
    (inList ? list.items : operands).push_back(expression(k, name));
  }
  if (variadic)
    operands.push_back(list);
  return operands;
}

Statement operationStatement(mlir::Operation *op, const ProgramState &state) {
  Statement statement;
  statement.callee = op->getName().stripDialect().str();
  if (nn::recordOf(op))
    for (const AttributeLiteral &literal : attributeLiterals(op))
      if (!literal.isDefault)
        statement.arguments.push_back({literal.name, literal.value});
  if (auto types = state.types.find(op); types != state.types.end())
    statement.types = types->second;
  statement.extents = extentsOf(op);
  return statement;
}

namespace {

constexpr size_t longestName = 32; // of a function name

/// The values of one operand in all occurrences.
using Tuple = std::vector<mlir::Value>;

/// An operand, for choosing names.
struct OperandPlace {
  std::string operand, variable, node;
};

class GroupMaker {
public:
  GroupMaker(const Group &group, ProgramState &state)
      : group(group), state(state), first(group.occurrences.front().operations), count(group.occurrences.size()) {}

  std::optional<GroupFunction> make() {
    if (!isUniform())
      return std::nullopt;
    result.calls.resize(count);
    choosePrefixes();
    findOutputs();
    std::string name = identifier(group.name, "block");
    result.function.name = state.functions.take(name.size() > longestName ? "block" : name);
    for (size_t j = 0; j < first.size(); ++j)
      addOperation(j);
    for (mlir::Value output : result.calls.front().outputs)
      result.function.returned.push_back(variables.lookup(output));
    describe();
    return std::move(result);
  }

private:
  const Group &group;
  ProgramState &state;
  const std::vector<mlir::Operation *> &first;
  size_t count;
  GroupFunction result;
  NameTable names;
  NodeNames nodes;
  bool scoped = false;                                   // prefixes are scopes: names in the model begin with them
  bool layered = false;                                  // prefixes are names of layers
  std::map<std::vector<const void *>, Expression> outer; // by tuple
  llvm::DenseMap<mlir::Value, std::string> variables;    // results in the first occurrence
  std::map<std::vector<size_t>, std::string> parameters; // by attribute and values, as indices of `kinds`
  std::vector<std::pair<std::string, std::vector<Literal>>> kinds;

  const std::vector<mlir::Operation *> &operations(size_t i) const { return group.occurrences[i].operations; }

  /// Index of the operation of occurrence i that computes `value`; -1 if it is outside.
  int64_t inside(size_t i, mlir::Value value) const {
    const auto &ops = operations(i);
    auto found = std::find(ops.begin(), ops.end(), value.getDefiningOp());
    return value.getDefiningOp() && found != ops.end() ? found - ops.begin() : -1;
  }

  /// True if all occurrences have the same operators and connections, and equal properties except attributes.
  bool isUniform() const {
    for (size_t i = 0; i < count; ++i) {
      if (operations(i).size() != first.size())
        return false;
      for (size_t j = 0; j < first.size(); ++j)
        if (!alike(i, first[j], operations(i)[j]))
          return false;
    }
    return true;
  }

  bool alike(size_t i, mlir::Operation *a, mlir::Operation *b) const {
    auto typesOf = [&](mlir::Operation *op) {
      auto found = state.types.find(op);
      return found == state.types.end() ? std::vector<std::string>() : found->second;
    };
    if (!nn::bodiesOf(b).empty() || a->getName() != b->getName() || a->getNumResults() != b->getNumResults() ||
        typesOf(a) != typesOf(b) || extentsOf(a) != extentsOf(b))
      return false;
    auto read = operandsOf(a), other = operandsOf(b);
    if (read.size() != other.size())
      return false;
    for (auto [x, y] : llvm::zip(read, other)) {
      if (!x || !y) {
        if (x || y)
          return false;
        continue;
      }
      int64_t at = inside(0, x);
      if (at != inside(i, y) || (at >= 0 && llvm::cast<mlir::OpResult>(x).getResultNumber() !=
                                                llvm::cast<mlir::OpResult>(y).getResultNumber()))
        return false;
    }
    return true;
  }

  /// The layer of an occurrence, if its operators are named after layers of several operators each: the first layer
  /// with a weight, or else the first layer. "" for other names.
  std::string layerOf(size_t i) const {
    auto operatorsOf = [&](const std::string &name) {
      return llvm::count_if(operations(i), [&](mlir::Operation *op) { return nodeName(op) == name; });
    };
    auto hasWeight = [](mlir::Operation *op) {
      return llvm::any_of(op->getOperands(), [](mlir::Value value) { return value.getDefiningOp<nn::ConstantOp>(); });
    };
    auto found = llvm::find_if(operations(i), hasWeight);
    std::string name = nodeName(found == operations(i).end() ? operations(i).front() : *found);
    return operatorsOf(name) > 1 ? name : "";
  }

  /// Chooses the scope of every occurrence (with separator) as its prefix, if all names begin with it and no other call
  /// has it; otherwise numbers.
  void choosePrefixes() {
    scoped = true;
    std::set<std::string> chosen;
    for (size_t i = 0; i < count && scoped; ++i) {
      const std::string &scope = group.occurrences[i].scope;
      std::string node = nodeName(operations(i).front());
      std::string prefix = scope.empty() || node.size() <= scope.size() ? "" : node.substr(0, scope.size() + 1);
      scoped = !prefix.empty() && prefix.starts_with(scope) && !state.prefixes.contains(prefix) &&
               chosen.insert(prefix).second && llvm::all_of(operations(i), [&](mlir::Operation *op) {
                 return nodeName(op).starts_with(prefix) && nodeName(op).size() > prefix.size();
               });
      result.calls[i].prefix = prefix;
    }
    for (GroupCall &call : result.calls)
      call.prefix = scoped ? call.prefix : "";
    for (size_t i = 0, next = 0; i < count; ++i) {
      if (std::string layer = scoped ? "" : layerOf(i); !layer.empty() && !state.prefixes.contains(layer + ".")) {
        layered = true;
        result.calls[i].prefix = layer + ".";
      }
      while (!scoped && result.calls[i].prefix.empty()) {
        std::string prefix = fmt::format("{}_{}.", identifier(group.name, "block"), next++);
        if (!state.prefixes.contains(prefix))
          result.calls[i].prefix = prefix;
      }
      state.prefixes.insert(result.calls[i].prefix);
    }
  }

  /// Finds results that are read outside in any occurrence.
  void findOutputs() {
    for (size_t j = 0; j < first.size(); ++j)
      for (unsigned r = 0; r < first[j]->getNumResults(); ++r) {
        bool isRead = false;
        for (size_t i = 0; i < count; ++i)
          isRead |= llvm::any_of(operations(i)[j]->getResult(r).getUsers(), [&](mlir::Operation *user) {
            return llvm::find(operations(i), user) == operations(i).end();
          });
        for (size_t i = 0; isRead && i < count; ++i)
          result.calls[i].outputs.push_back(operations(i)[j]->getResult(r));
      }
  }

  /// The part of a name after the prefix, if it is equal in all occurrences; else "".
  template <class NameOf> std::string commonEnd(NameOf nameOf) const {
    std::string end;
    for (size_t i = 0; scoped && i < count; ++i) {
      std::string name = nameOf(i);
      const std::string &prefix = result.calls[i].prefix;
      if (!name.starts_with(prefix) || name.size() == prefix.size() || (i && name.substr(prefix.size()) != end))
        return "";
      end = name.substr(prefix.size());
    }
    return end;
  }

  /// The name of the layer of operation j without its number ("conv2d_3"), if it is equal in all occurrences; else "".
  std::string commonLayer(size_t j) const {
    std::string common;
    for (size_t i = 0; i < count; ++i) {
      std::string name = nodeName(operations(i)[j]);
      std::string stem = name.substr(0, name.find_last_not_of("_0123456789") + 1);
      if (name.substr(stem.size()).find('_') == std::string::npos)
        stem = name; // "conv2d": a number of its own
      if (stem.empty() || (i && stem != common))
        return "";
      common = stem;
    }
    return common;
  }

  void addOperation(size_t j) {
    Statement statement = operationStatement(first[j], state);
    for (mlir::Value value : first[j]->getResults()) {
      statement.results.push_back(names.number(statement.callee));
      variables[value] = statement.results.back();
    }
    statement.name = commonEnd([&](size_t i) { return nodeName(operations(i)[j]); });
    if (statement.name.empty() && layered)
      statement.name = commonLayer(j);
    if (statement.name.empty())
      statement.name = statement.results.empty() ? statement.callee : statement.results.front();
    statement.name = nodes.take(first[j], statement.name);
    statement.operands = operandExpressions(first[j], [&](size_t k, const std::string &name) {
      return operand(j, k, {name, statement.results.empty() ? "" : statement.results.front(), statement.name});
    });
    if (nn::recordOf(first[j]))
      mergeAttributes(j, statement);
    result.function.statements.push_back(std::move(statement));
  }

  Expression operand(size_t j, size_t k, const OperandPlace &place) {
    mlir::Value value = operandsOf(first[j])[k];
    if (!value)
      return {};
    if (inside(0, value) >= 0)
      return {Expression::Kind::variable, variables.lookup(value)};
    Tuple tuple;
    std::vector<const void *> key;
    for (size_t i = 0; i < count; ++i) {
      tuple.push_back(operandsOf(operations(i)[j])[k]);
      key.push_back(tuple.back().getAsOpaquePointer());
    }
    auto [at, added] = outer.emplace(key, Expression());
    if (added)
      at->second = outside(tuple, place);
    return at->second;
  }

  /// An operand from outside: a literal, elements of a parameter, a weight below the prefix, or an input.
  Expression outside(const Tuple &tuple, const OperandPlace &place) {
    std::vector<nn::ConstantOp> constants;
    for (mlir::Value value : tuple)
      constants.push_back(value.getDefiningOp<nn::ConstantOp>());
    if (!llvm::all_of(constants, [](nn::ConstantOp constant) { return bool(constant); }))
      return input(tuple);
    if (std::optional<Expression> literal = literalOf(constants, place))
      return *literal;
    for (size_t i = 0; i < count; ++i)
      if (llvm::any_of(constants[i]->getUsers(),
                       [&](mlir::Operation *user) { return llvm::find(operations(i), user) == operations(i).end(); }))
        return input(tuple); // a weight that other operations read, too
    auto shape = constants.front().getValue().getShapedType();
    for (nn::ConstantOp constant : constants)
      if (!Safetensors::hasType(nn::toElementType(shape.getElementType())) &&
          constant.getValue().getShapedType() != shape)
        return input(tuple); // the function states the extents
    return weight(constants, place.node + "." + place.operand);
  }

  Expression input(const Tuple &tuple) {
    static const char *const usual[] = {"x", "y", "z"};
    auto &inputs = result.function.inputs;
    inputs.push_back(names.take(inputs.size() < 3 ? usual[inputs.size()] : fmt::format("x{}", inputs.size() + 1)));
    for (size_t i = 0; i < count; ++i)
      result.calls[i].inputs.push_back(tuple[i]);
    return {Expression::Kind::variable, inputs.back()};
  }

  std::optional<Expression> literalOf(std::vector<nn::ConstantOp> &constants, const OperandPlace &place) {
    std::optional<ConstantLiteral> literal = constantLiteral(constants.front().getValue());
    if (!literal)
      return std::nullopt;
    bool equal = true;
    std::vector<Literal> values;
    for (nn::ConstantOp constant : constants) {
      std::optional<ConstantLiteral> other = constantLiteral(constant.getValue());
      if (!other || other->type != literal->type || other->dims != literal->dims || other->integers.empty() ||
          other->type == ElementType::boolean)
        if (!other || !(*other == *literal))
          return std::nullopt;
      equal &= *other == *literal;
      bool scalar = literal->dims.empty() && other->integers.size() == 1;
      values.push_back(scalar ? Literal(other->integers[0]) : Literal(other->integers));
    }
    Expression expression{Expression::Kind::constant, "", *literal};
    if (!equal)
      expression.text = parameter(place.operand, place.variable + "_" + place.operand, values);
    return expression;
  }

  Expression weight(std::vector<nn::ConstantOp> &constants, const std::string &otherwise) {
    std::string end = commonEnd([&](size_t i) { return constantName(constants[i]); });
    std::string wanted = end.empty() ? otherwise : end, name = wanted;
    auto fits = [&] {
      for (size_t i = 0; i < count; ++i)
        if (!state.weights.fits(result.calls[i].prefix + name, constants[i].getValue()))
          return false;
      return true;
    };
    for (int next = 2; !fits(); ++next)
      name = fmt::format("{}_{}", wanted, next);
    for (size_t i = 0; i < count; ++i)
      state.weights.take(result.calls[i].prefix + name, constants[i].getValue());
    return weightExpression(name, constants.front().getValue());
  }

  /// Turns attributes that differ between occurrences into parameters.
  void mergeAttributes(size_t j, Statement &statement) {
    std::vector<std::vector<AttributeLiteral>> all;
    for (size_t i = 0; i < count; ++i)
      all.push_back(attributeLiterals(operations(i)[j]));
    statement.arguments.clear();
    for (size_t a = 0; a < all.front().size(); ++a) {
      const AttributeLiteral &attribute = all.front()[a];
      std::vector<Literal> values;
      for (const auto &literals : all)
        values.push_back(literals[a].value);
      bool equal = llvm::all_of(values, [&](const Literal &value) { return sameLiteral(value, attribute.value); });
      if (!equal)
        statement.arguments.push_back(
            {attribute.name, attribute.value,
             parameter(attribute.name, statement.results.front() + "_" + attribute.name, values)});
      else if (!attribute.isDefault)
        statement.arguments.push_back({attribute.name, attribute.value});
    }
  }

  /// The parameter with these values in the occurrences; equal attributes with equal values share a parameter.
  std::string parameter(const std::string &attribute, const std::string &longName, const std::vector<Literal> &values) {
    for (size_t i = 0; i < kinds.size(); ++i)
      if (kinds[i].first == attribute &&
          std::equal(values.begin(), values.end(), kinds[i].second.begin(), kinds[i].second.end(), sameLiteral))
        return result.function.parameters[i].name;
    bool taken = llvm::any_of(kinds, [&](const auto &kind) { return kind.first == attribute; });
    // The operands of a list are numbers.
    std::string name = names.take(spelled(identifier(taken ? longName : attribute, "operand_")));
    kinds.emplace_back(attribute, values);
    auto usual = std::max_element(values.begin(), values.end(), [&](const Literal &a, const Literal &b) {
      auto timesOf = [&](const Literal &each) {
        return llvm::count_if(values, [&](const Literal &value) { return sameLiteral(value, each); });
      };
      return timesOf(a) < timesOf(b);
    });
    result.function.parameters.push_back({name, *usual});
    for (size_t i = 0; i < count; ++i)
      result.calls[i].arguments.push_back({name, values[i]});
    return name;
  }

  void describe() {
    auto plain = [](std::string prefix) {
      prefix.pop_back();
      return prefix;
    };
    std::string from = plain(result.calls.front().prefix), to = plain(result.calls.back().prefix);
    result.function.comment = count == 1 ? fmt::format("{}, {}.", from, counted(int64_t(first.size()), "operator"))
                                         : fmt::format("{} occurrences, from {} to {}.", count, from, to);
  }
};

} // namespace

std::optional<GroupFunction> groupFunction(const Group &group, ProgramState &state) {
  return GroupMaker(group, state).make();
}

} // namespace lathe::staging
