#include "stage/ProgramMaker.h"

#include "ir/Bodies.h"
#include "ir/Main.h"
#include "stage/RepeatedCalls.h"
#include "stage/Replay.h"
#include "stage/Units.h"
#include "support/Text.h"

namespace lathe::staging {
namespace {

constexpr size_t longestName = 24; // of a variable that is named after a scope

/// The name of a model without folders and without "zoo:".
std::string shortName(const std::string &source) {
  // A SavedModel is named after its folder, because this file has the same name in every SavedModel.
  for (std::string_view file : {"/saved_model.pb", "/saved_model.pbtxt"})
    if (source.ends_with(file)) {
      std::string folder = source.substr(0, source.size() - file.size());
      std::string name = folder.substr(folder.find_last_of('/') + 1); // npos + 1 is 0
      if (!name.empty() && name != "." && name != "..")
        return name;
    }
  size_t begin = source.starts_with("zoo:") ? 4 : source.find_last_of('/') + 1; // npos + 1 is 0
  return begin < source.size() ? source.substr(begin) : "net";
}

class ProgramMaker {
public:
  ProgramMaker(mlir::ModuleOp module, bool blocks) : module(module), blocks(blocks) {}

  StagedModel make() {
    state.types = typesToState(module);
    auto source = module->getAttrOfType<mlir::StringAttr>("nn.source");
    model.program.name = shortName(source ? source.str() : "net");
    addGraph(mainFunction(module), "build", true);
    model.weights = state.weights.all();
    return std::move(model);
  }

private:
  mlir::ModuleOp module;
  bool blocks;
  ProgramState state;
  StagedModel model;

  /// Adds the function of @main of the model or of a body, after the functions that it calls. Returns its name.
  std::string addGraph(mlir::func::FuncOp main, const std::string &name, bool outermost);

  friend class GraphMaker;
};

/// Makes the function of one graph.
class GraphMaker {
public:
  GraphMaker(ProgramMaker &owner, mlir::func::FuncOp main) : owner(owner), state(owner.state), main(main) {}

  Function make(const std::string &name) {
    function.name = name;
    function.isGraph = true;
    for (mlir::Operation &op : main.getBody().front())
      for (const nn::BodyRef &body : nn::bodiesOf(&op))
        bodyFunction(body);
    std::vector<Group> groups;
    if (owner.blocks)
      for (Block &block : findBlocks(main))
        groups.push_back({block.name, std::move(block.occurrences)});
    std::vector<Unit> units = unitsInOrder(main, groups);
    std::vector<std::optional<GroupFunction>> functions = makeFunctions(groups);
    dropRefused(units, groups, functions);
    addScopes(units, groups, functions);
    names.avoid(state.functions);
    addInputs();
    for (const Unit &unit : units)
      if (unit.operation)
        addOperation(unit.operation);
      else
        addCall(functions[unit.group]->function, functions[unit.group]->calls[unit.occurrence]);
    addOutputs();
    repeatCalls(function);
    return std::move(function);
  }

private:
  ProgramMaker &owner;
  ProgramState &state;
  mlir::func::FuncOp main;
  Function function;
  NameTable names;
  NodeNames nodes;
  llvm::DenseMap<mlir::Value, std::string> variables;

  void addInputs() {
    std::vector<std::string> inputs = inputNames(main);
    for (mlir::BlockArgument argument : main.getArguments()) {
      unsigned index = argument.getArgNumber();
      auto type = llvm::cast<mlir::TensorType>(argument.getType());
      Statement statement;
      statement.kind = Statement::Kind::input;
      statement.name = inputs[index];
      statement.results = {variables[argument] = names.take(identifier(inputs[index], "x"))};
      if (nn::infoOf(argument).isTensor()) {
        statement.type = name(nn::toElementType(type.getElementType()));
        statement.dims = extentTexts(main, index);
      } else {
        llvm::raw_string_ostream(statement.type) << type.getElementType();
      }
      if (auto text = main.getArgAttrOfType<mlir::StringAttr>(index, "nn.quantization"))
        statement.quantization = text.str();
      function.statements.push_back(std::move(statement));
    }
  }

  std::vector<std::optional<GroupFunction>> makeFunctions(const std::vector<Group> &groups) {
    std::vector<std::optional<GroupFunction>> functions;
    for (const Group &group : groups)
      functions.push_back(groupFunction(group, state));
    return functions;
  }

  /// Replaces each group that has no function by its operations, each a unit of its own.
  static void dropRefused(std::vector<Unit> &units, const std::vector<Group> &groups,
                          const std::vector<std::optional<GroupFunction>> &functions) {
    std::vector<Unit> all;
    for (const Unit &unit : units)
      if (unit.operation || functions[unit.group])
        all.push_back(unit);
      else
        for (mlir::Operation *op : groups[unit.group].occurrences[unit.occurrence].operations)
          all.push_back({op});
    units = std::move(all);
  }

  void addScopes(std::vector<Unit> &units, std::vector<Group> &groups,
                 std::vector<std::optional<GroupFunction>> &functions) {
    llvm::DenseMap<mlir::Operation *, size_t> grouped;
    for (Group &group : scopeGroups(units)) {
      std::optional<GroupFunction> made = groupFunction(group, state);
      if (!made)
        continue;
      for (mlir::Operation *op : group.occurrences.front().operations)
        grouped[op] = groups.size();
      groups.push_back(std::move(group));
      functions.push_back(std::move(made));
    }
    std::vector<Unit> all;
    for (const Unit &unit : units) {
      auto found = unit.operation ? grouped.find(unit.operation) : grouped.end();
      if (found == grouped.end())
        all.push_back(unit);
      else if (unit.operation == groups[found->second].occurrences.front().operations.front())
        all.push_back({nullptr, found->second, 0});
    }
    units = std::move(all);
    for (std::optional<GroupFunction> &made : functions)
      if (made)
        owner.model.program.functions.push_back(made->function);
  }

  Expression expression(mlir::Value value, const std::string &otherwise) {
    if (!value)
      return {};
    auto constant = value.getDefiningOp<nn::ConstantOp>();
    if (!constant)
      return {Expression::Kind::variable, variables.lookup(value)};
    mlir::ElementsAttr elements = constant.getValue();
    if (std::optional<ConstantLiteral> literal = constantLiteral(elements))
      return {Expression::Kind::constant, "", *literal};
    std::string wanted = constantName(constant).empty() ? otherwise : constantName(constant), name = wanted;
    for (int next = 2; !state.weights.fits(name, elements); ++next)
      name = fmt::format("{}_{}", wanted, next);
    state.weights.take(name, elements);
    return weightExpression(name, elements);
  }

  void addOperation(mlir::Operation *op) {
    auto bodies = nn::bodiesOf(op);
    Statement statement = operationStatement(op, state);
    for (mlir::Value value : op->getResults())
      statement.results.push_back(variables[value] = names.number(statement.callee));
    std::string known = nodeName(op).empty() ? statement.results.front() : nodeName(op);
    statement.name = nodes.take(op, known);
    if (!bodies.empty()) {
      statement.kind = llvm::isa<nn::LoopOp>(op) ? Statement::Kind::loop : Statement::Kind::branch;
      if (auto loop = llvm::dyn_cast<nn::LoopOp>(op))
        statement.carried = static_cast<int64_t>(loop.getCarried());
      for (nn::BodyRef &body : bodies)
        statement.bodies.push_back(bodyFunction(body));
    }
    statement.operands = operandExpressions(op, [&, operands = operandsOf(op)](size_t k, const std::string &name) {
      return expression(operands[k], known + "." + name);
    });
    function.statements.push_back(std::move(statement));
  }

  std::string bodyFunction(const nn::BodyRef &body) {
    mlir::ModuleOp bodyModule = body.module;
    auto [found, added] = state.bodies.emplace(bodyModule.getOperation(), "");
    if (added)
      found->second = owner.addGraph(body.main, bodyModule.getSymName()->str(), false);
    return found->second;
  }

  void addCall(const Function &callee, const GroupCall &call) {
    Statement statement;
    statement.kind = Statement::Kind::call;
    statement.callee = callee.name;
    statement.name = call.prefix;
    statement.arguments = call.arguments;
    for (mlir::Value input : call.inputs)
      statement.operands.push_back(expression(input, call.prefix + "input"));
    std::string place = identifier(call.prefix, "block_");
    for (mlir::Value output : call.outputs)
      statement.results.push_back(variables[output] = call.outputs.size() == 1 && place.size() <= longestName
                                                          ? names.take(place)
                                                          : names.number(callee.name));
    function.statements.push_back(std::move(statement));
  }

  void addOutputs() {
    std::vector<std::string> outputs = outputNames(main);
    mlir::Operation *end = main.getBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(end->getOperands())) {
      Statement statement;
      statement.kind = Statement::Kind::output;
      statement.name = outputs[i];
      statement.operands = {expression(value, outputs[i])};
      if (auto text = main.getResultAttrOfType<mlir::StringAttr>(unsigned(i), "nn.quantization"))
        statement.quantization = text.str();
      function.statements.push_back(std::move(statement));
    }
  }
};

std::string ProgramMaker::addGraph(mlir::func::FuncOp main, const std::string &name, bool outermost) {
  std::string taken = outermost ? name : state.functions.take(identifier(name, "body"));
  Function made = GraphMaker(*this, main).make(taken);
  made.comment = outermost ? "Builds the graph." : "A body of control flow.";
  model.program.functions.push_back(std::move(made));
  return taken;
}

} // namespace

StagedModel stageModel(mlir::ModuleOp module, bool blocks) { return ProgramMaker(module, blocks).make(); }

} // namespace lathe::staging
