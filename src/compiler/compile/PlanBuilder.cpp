#include "compile/PlanBuilder.h"

#include "codegen/cost/Cost.h"
#include "compile/PlanGrowths.h"
#include "compile/PlanLiveness.h"
#include "compile/PlanParts.h"
#include "compile/PlanRules.h"
#include "ir/Bodies.h"
#include "ir/Main.h"
#include "passes/Rewrite.h"
#include "passes/kernels/ShareStorage.h"
#include "support/Quantization.h"

#include "mlir/IR/SymbolTable.h"

#include <tuple>

namespace lathe {
namespace {

/// Builds one block of the plan, from the model's @main or from a body.
class PlanBuilder {
public:
  PlanBuilder(PlanParts &parts, mlir::ModuleOp module, uint32_t blockIndex)
      : symbols(module), parts(parts), blockIndex(blockIndex), main(mainFunction(module)),
        shapes(nn::shapesWithRules(main, rules)), live(liveOperations(main, shapes)) {}

  void buildMain() {
    namePorts();
    addInputs();
    placeOutputs();
    fill();
    addRules(plan(), rules);
    addGrowths(plan(), returned(), symbols, shapes);
  }

  /// Builds the body of a branch: its arguments are values of the plan, and it writes its results into other values.
  void buildBranch(llvm::ArrayRef<uint32_t> arguments, llvm::ArrayRef<uint32_t> results) {
    bind(arguments);
    for (auto [value, target] : llvm::zip(returned(), results))
      placeResult(value, target);
    fill();
    addBlockRules(plan(), blockIndex, rules);
  }

  /// Builds the body of a loop. Returns the values of its results.
  std::vector<uint32_t> buildBody(llvm::ArrayRef<uint32_t> arguments) {
    bind(arguments);
    fill();
    addBlockRules(plan(), blockIndex, rules);
    std::vector<uint32_t> results;
    for (mlir::Value value : returned())
      results.push_back(valueOf(value));
    return results;
  }

private:
  mlir::SymbolTable symbols;
  PlanParts &parts;
  uint32_t blockIndex;
  mlir::func::FuncOp main;
  std::vector<nn::NodeRule> rules; // over the symbols of `shapes`
  nn::SymbolicShapes shapes;
  llvm::DenseMap<mlir::Value, uint32_t> values; // row-major or activation form
  llvm::DenseSet<mlir::Operation *> live;
  std::vector<std::string> inputNames,
      outputNames; // in the model; an input that is returned has two names
  struct Copy {
    mlir::Value from;
    uint32_t output;
  };
  std::vector<Copy> copies; // outputs that no instruction writes directly

  plan::PlanT &plan() { return *parts.built.plan; }
  plan::ValueT &row(uint32_t value) { return parts.row(value); }
  mlir::OperandRange returned() { return main.getBody().front().getTerminator()->getOperands(); }

  void bind(llvm::ArrayRef<uint32_t> arguments) {
    for (auto [argument, value] : llvm::zip(main.getArguments(), arguments))
      values[argument] = value;
  }

  /// Adds all instructions of the block.
  void fill() {
    placeParts();
    for (mlir::Operation &op : main.getBody().front())
      if (live.contains(&op))
        visit(op);
    finishOutputs();
  }

  /// Inputs and outputs keep the model's names, each kind separately; inner values with the same name get other names.
  void namePorts() {
    inputNames = lathe::inputNames(main);
    outputNames = lathe::outputNames(main);
    for (const auto *kind : {&inputNames, &outputNames})
      llvm::for_each(*kind, [&](const std::string &name) { parts.names.reserve(name); });
  }

  uint32_t addValue(mlir::Value value, std::string name, plan::Storage storage) {
    return values[value] = parts.addValue(std::move(name), shapes.of(value), nn::layoutOf(value), storage);
  }

  void addInputs() {
    for (mlir::BlockArgument argument : main.getArguments()) {
      const std::string &name = inputNames[argument.getArgNumber()];
      plan().inputs.push_back(addValue(argument, name, plan::Storage::Input));
      if (auto how = main.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), "nn.quantization"))
        noteQuantization(plan().inputs.back(), how);
    }
  }

  /// Records the quantisation of a port. The text comes from a model file and may be invalid.
  void noteQuantization(uint32_t value, mlir::StringAttr how) {
    plan::ValueT &port = row(value);
    Quantization parsed;
    try {
      parsed = Quantization::parse(how.str());
    } catch (const Error &error) {
      fail("'{}': nn.quantization: {}", port.name, error.what());
    }
    bool fits = !parsed.perChannel() || (size_t(parsed.axis) < port.dims.size() &&
                                         port.dims[size_t(parsed.axis)] == std::to_string(parsed.scales.size()));
    require(port.kind == plan::Kind::Tensor && isInteger(ElementType(port.type)) && fits,
            "'{}': nn.quantization is '{}', expected a tensor of integers with as many channels", port.name, how.str());
    port.quantization = how.str();
  }
  void noteOutput(size_t index) {
    if (auto how = main.getResultAttrOfType<mlir::StringAttr>(static_cast<unsigned>(index), "nn.quantization"))
      noteQuantization(plan().outputs.back(), how);
  }

  /// Gives every result a value before anything is computed, so that its producer writes directly into it.
  void placeOutputs() {
    for (auto [i, value] : llvm::enumerate(returned())) {
      const std::string &name = outputNames[i];
      TensorInfo info = shapes.of(value);
      require(!nn::layoutOf(value), "internal: output '{}' is left in a blocked layout", name);
      if (isDynamic(value) && value.getDefiningOp() &&
          !values.contains(value)) { // the reference that computes it allocates it
        plan().outputs.push_back(addValue(value, name, plan::Storage::Dynamic));
        noteOutput(i);
        continue;
      }
      uint32_t output = parts.addValue(name, info, {}, plan::Storage::Output);
      plan().outputs.push_back(output);
      noteOutput(i);
      if (std::optional<GrowingValue> growing = growingValue(value, symbols, shapes))
        row(output).bytes = physicalBytes({info.type, growing->stored, {}}, {}).str();
      placeResult(value, output);
    }
  }

  /// Makes `target` the place of a returned value. A value that lies elsewhere (an argument, a constant, a value
  /// returned before, or a value whose extents only its producer knows) is copied to `target`. For a view, the viewed
  /// value becomes an alias of the target.
  void placeResult(mlir::Value value, uint32_t target) {
    // The value at the beginning of a chain of views.
    mlir::Value root = value;
    llvm::SmallVector<mlir::Value> chain;
    while (root.getDefiningOp() && isView(root.getDefiningOp()) && !hasUnknown(shapes.of(root))) {
      root = root.getDefiningOp()->getOperand(0);
      chain.push_back(root);
    }
    auto placed = [&](mlir::Value v) { return values.contains(v); };
    bool own = !isDynamic(value) && !isDynamic(root) && row(target).storage != plan::Storage::Dynamic &&
               root.getDefiningOp() && !llvm::isa<nn::ConstantOp, nn::BindExtentsOp>(root.getDefiningOp()) &&
               !placed(value) && llvm::none_of(chain, placed) && knowsExtents(root.getDefiningOp(), value);
    if (!own) {
      copies.push_back({value, target});
      return;
    }
    values[value] = target;
    for (mlir::Value viewed : chain)
      addAlias(viewed, target);
  }

  /// True if all symbols in the extents of `value`, a view of a result of `op`, are bound before `op` runs. Only then
  /// can `op` write into the place of `value`.
  bool knowsExtents(mlir::Operation *op, mlir::Value value) const {
    std::vector<std::string> symbols;
    for (const Dim &dim : shapes.of(value).dims)
      dim.collectSymbols(symbols);
    auto needed = [&](const std::string &symbol) { return llvm::is_contained(symbols, symbol); };
    for (mlir::Operation *next = op->getNextNode(); next && !symbols.empty(); next = next->getNextNode()) {
      if (auto binding = llvm::dyn_cast<nn::BindExtentsOp>(next);
          binding && llvm::any_of(boundBy(binding, shapes), needed))
        return false;
      for (mlir::Value result : next->getResults())
        if (llvm::any_of(ownExtents(result, shapes), needed))
          return false;
    }
    return true;
  }

  /// True if only the operation that computes the value knows its extents.
  bool isDynamic(mlir::Value value) const { return hasUnknown(shapes.of(value)) || !ownExtents(value, shapes).empty(); }

  uint32_t addAlias(mlir::Value value, uint32_t of, const Dim &offset = 0) {
    uint32_t alias = addValue(value, parts.nameInside(value), plan::Storage::Alias);
    row(alias).alias_of = static_cast<int>(of);
    if (!(offset == Dim(0)))
      row(alias).alias_offset = offset.str();
    return alias;
  }

  Dims partsOf(mlir::Operation *op) {
    std::optional<Dims> places = placesInWhole(op, shapes);
    require(places.has_value(), "{}: 'nn.in_place' on parts that are not contiguous in the whole",
            nn::describe(op->getLoc()));
    return *places;
  }

  /// Places concatenations in place: the producer of a part, before views, writes into the result. Outer concatenations
  /// come first, because a part may be a concatenation itself.
  void placeParts() {
    for (mlir::Operation &op : llvm::reverse(main.getBody().front())) {
      if (!live.contains(&op) || !isInPlace(&op) || !llvm::isa<nn::ConcatOp>(op))
        continue;
      mlir::Value result = op.getResult(0);
      Dims places = partsOf(&op);
      if (!values.contains(result))
        addValue(result, parts.nameInside(result), plan::Storage::Temporary);
      for (auto [part, place] : llvm::zip(op.getOperands(), places)) {
        mlir::Value source = behindViews(part, shapes);
        mlir::Operation *maker = source.getDefiningOp();
        bool made =
            maker && (llvm::isa<mlir::func::CallOp>(maker) || (isInPlace(maker) && llvm::isa<nn::ConcatOp>(maker)));
        require(
            made && !values.contains(source) && !values.contains(part),
            "{}: 'nn.in_place' with a part that lives elsewhere: an argument, a constant, a result, or in two places",
            nn::describe(op.getLoc()));
        addAlias(part, values[result], place);
        for (mlir::Value viewed = part; viewed != source;) {
          viewed = viewed.getDefiningOp()->getOperand(0);
          if (!values.contains(viewed))
            addAlias(viewed, values[part]);
        }
      }
    }
  }

  /// Copies results that are an input, a constant, or returned twice. The reference of `reshape` copies tensors;
  /// `pass_value` passes on sequences and optionals.
  void finishOutputs() {
    for (const Copy &copy : copies) {
      ReshapeAttrs reshape;
      PassValueAttrs pass;
      bool tensor = shapes.of(copy.from).isTensor();
      reshape.shape.assign(shapes.of(copy.from).dims.size(), 0); // 0: the input's extent
      auto call = std::make_unique<plan::CallReferenceT>();
      call->op = tensor ? "reshape" : "pass_value";
      call->attrs = tensor ? encodeAttrs(reshape) : encodeAttrs(pass);
      call->inputs = {static_cast<int32_t>(valueOf(copy.from))};
      call->outputs = {copy.output};
      call->nodes = {row(copy.output).name};
      push(std::move(call));
    }
  }

  template <class T> void push(std::unique_ptr<T> operation, mlir::func::FuncOp kernel = {}) {
    parts.push(blockIndex, std::move(operation));
    if (blockIndex == 0)
      parts.built.entry.push_back(kernel);
  }

  uint32_t valueOf(mlir::Value value) {
    if (auto constant = value.getDefiningOp<nn::ConstantOp>())
      return parts.constantValue(constant, nullptr);
    auto found = values.find(value);
    require(found != values.end(), "internal: a value of {} is used before it is made", nn::describe(value.getLoc()));
    return found->second;
  }

  /// The value that an instruction writes: an output that is already placed, or a temporary.
  uint32_t resultOf(mlir::Value value) {
    if (auto found = values.find(value); found != values.end())
      return found->second;
    return addValue(value, parts.nameInside(value),
                    isDynamic(value) ? plan::Storage::Dynamic : plan::Storage::Temporary);
  }

  void visit(mlir::Operation &op) {
    if (llvm::isa<nn::ConstantOp, mlir::func::ReturnOp>(op))
      return;
    if (computesNothing(&op, shapes)) {
      for (mlir::Value result : op.getResults())
        resultOf(result);
      return;
    }
    if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op))
      return callKernel(call);
    if (auto extents = llvm::dyn_cast<nn::BindExtentsOp>(op))
      return bindExtents(extents);
    if (auto branch = llvm::dyn_cast<nn::IfOp>(op))
      return addBranch(branch);
    if (auto loop = llvm::dyn_cast<nn::LoopOp>(op))
      return addLoop(loop);
    require(nn::recordOf(&op) != nullptr || isView(&op), "{}: '{}' is not an operation of the kernels level",
            nn::describe(op.getLoc()), op.getName().getStringRef().str());
    if (isInPlace(&op))
      return sharedParts(op);
    if (isView(&op) && !hasUnknown(shapes.of(op.getResult(0))))
      return view(op);
    callReference(op);
  }

  void view(mlir::Operation &op) {
    mlir::Value result = op.getResult(0), operand = op.getOperand(0);
    bool sameBytes = physicalBytes(shapes.of(operand), nn::layoutOf(operand)) ==
                     physicalBytes(shapes.of(result), nn::layoutOf(result));
    require(llvm::isa<nn::ConvertLayoutOp>(op) ? sameBytes : !nn::layoutOf(operand) && !nn::layoutOf(result),
            "{}: a view of a value in blocked layout", nn::describe(op.getLoc()));
    if (values.contains(result))
      return; // an output: the producer of the viewed value writes there
    addAlias(result, valueOf(operand));
  }

  /// Binds the symbols of later extents to the operand's elements.
  void bindExtents(nn::BindExtentsOp op) {
    values.try_emplace(op.getY(), valueOf(op.getX()));
    std::vector<std::string> symbols = boundBy(op, shapes);
    if (symbols.empty()) // all elements were known
      return;
    auto compute = std::make_unique<plan::ComputeShapeT>();
    compute->from = valueOf(op.getX());
    compute->symbols = std::move(symbols);
    push(std::move(compute));
  }

  /// Makes the parts of a slice or split aliases of the whole. Concatenations are already placed.
  void sharedParts(mlir::Operation &op) {
    Dims places = partsOf(&op);
    if (llvm::isa<nn::ConcatOp>(op))
      return;
    for (auto [part, place] : llvm::zip(op.getResults(), places)) {
      require(!values.contains(part), "{}: 'nn.in_place' with a result that @main returns", nn::describe(op.getLoc()));
      addAlias(part, valueOf(op.getOperand(0)), place);
    }
  }

  void callReference(mlir::Operation &op) {
    auto call = std::make_unique<plan::CallReferenceT>();
    call->op = nn::recordOf(&op)->name;
    call->attrs = encodeAttrs(*nn::attrsOf(&op));
    for (mlir::Value operand : nn::operandsByRecord(&op)) {
      require(!operand || !nn::layoutOf(operand), "internal: {}: a reference gets a value in blocked layout",
              nn::describe(op.getLoc()));
      call->inputs.push_back(operand ? static_cast<int32_t>(valueOf(operand)) : -1);
    }
    for (mlir::Value result : op.getResults())
      call->outputs.push_back(resultOf(result));
    call->nodes = nn::nodeNames(op.getLoc());
    push(std::move(call));

    Dim flops = flopsOf(&op, shapes);
    parts.built.referenceFlops += lathe::valueOf(flops);
    auto reason = op.getAttrOfType<mlir::StringAttr>("nn.reason");
    parts.built.references.push_back({nn::describe(op.getLoc()), nn::recordOf(&op)->name,
                                      std::string(name(shapes.of(op.getResult(0)).type)),
                                      reason                          ? reason.str()
                                      : nn::recordOf(&op)->compiled() ? "left outside the kernels"
                                                                      : "the operator has no compiled form"});
  }

  void callKernel(mlir::func::CallOp call) {
    auto function = symbols.lookup<mlir::func::FuncOp>(call.getCallee());
    require(function && !function.isExternal(), "@{} is called but not defined", call.getCallee().str());
    const CompiledKernel &kernel = parts.library.compiled(function);

    auto instruction = std::make_unique<plan::CallKernelT>();
    instruction->kernel = static_cast<uint32_t>(plan().kernels.size());
    for (auto [i, operand] : llvm::enumerate(call.getOperands())) {
      const Packing *packing = i < kernel.packings.size() && kernel.packings[i] ? &*kernel.packings[i] : nullptr;
      if (packing && !packing->pack)
        packing = nullptr;
      auto constant = operand.getDefiningOp<nn::ConstantOp>();
      require(constant || !packing, "{}: kernel @{} expects a constant as argument {}", nn::describe(call.getLoc()),
              kernel.name, i);
      instruction->buffers.push_back(constant ? parts.constantValue(constant, packing) : valueOf(operand));
    }
    for (mlir::Value result : call.getResults()) {
      require(!hasUnknown(shapes.of(result)), "{}: kernel @{} makes a value of unknown extents",
              nn::describe(call.getLoc()), kernel.name);
      instruction->buffers.push_back(resultOf(result));
    }
    std::vector<std::string> names = kernelSymbols(function);
    auto own = [&](const Dim &dim) { return kernel.inTermsOf(names, dim); };
    for (const Dim &dim : kernel.dims)
      instruction->dims.push_back(own(dim).str());
    instruction->units = own(kernel.units).str();
    instruction->scratch_bytes = own(kernel.scratchBytes).str();
    Dim images = own(kernel.images);
    instruction->element_ranges = elementRanges(function, call, shapes);
    std::optional<GrowingValue> growing = growingValue(call.getResult(0), symbols, shapes);
    if (growing)
      instruction->first_unit = (own(kernel.firstOperandUnits) * Dim::symbol(growing->kept)).str();
    else if (instruction->element_ranges.empty() && !(images == Dim(1)) && byImages(call, images))
      instruction->images = images.str();
    if (!(kernel.stages == Dim(1)))
      instruction->stages = own(kernel.stages).str();
    else if (!instruction->images.empty() && kernel.images.isConstant()) {
      std::tie(instruction->call_seconds, instruction->images_seconds) = parts.library.secondsByOrder(function);
      parts.built.timedBatches += instruction->call_seconds > 0;
    }
    push(std::move(instruction), function);
    parts.addKernelRow(call, function, kernel, shapes);
  }

  std::vector<uint32_t> valuesOf(mlir::ValueRange range) {
    std::vector<uint32_t> list;
    for (mlir::Value value : range)
      list.push_back(valueOf(value));
    return list;
  }
  std::vector<uint32_t> resultsOf(mlir::Operation *op) {
    std::vector<uint32_t> list;
    for (mlir::Value result : op->getResults())
      list.push_back(resultOf(result));
    return list;
  }

  void addBranch(nn::IfOp branch) {
    auto instruction = std::make_unique<plan::IfT>();
    instruction->condition = valueOf(branch.getCondition());
    std::vector<uint32_t> arguments = valuesOf(branch.getCaptured()), results = resultsOf(branch);
    uint32_t *blocks[] = {&instruction->then_block, &instruction->else_block};
    for (auto [body, block] : llvm::zip(nn::bodiesOf(branch), blocks)) {
      *block = parts.addBlock();
      PlanBuilder(parts, body.module, *block).buildBranch(arguments, results);
    }
    push(std::move(instruction));
  }

  /// The only element of a constant.
  static std::optional<int64_t> knownScalar(mlir::Value value) {
    std::optional<Tensor> tensor = constantOf(value);
    return tensor ? std::optional(tensor->asInteger(0)) : std::nullopt;
  }

  void addLoop(nn::LoopOp loop) {
    nn::BodyRef body = nn::bodiesOf(loop).front();
    auto instruction = std::make_unique<plan::LoopT>();
    bool counts = knownScalar(loop.getTripCount()) != std::numeric_limits<int64_t>::max();
    instruction->trip_count = counts ? static_cast<int32_t>(valueOf(loop.getTripCount())) : -1;
    bool asks = !knownScalar(loop.getCondition()).value_or(0);
    instruction->condition = asks ? static_cast<int32_t>(valueOf(loop.getCondition())) : -1;
    instruction->initial = valuesOf(nn::carriedBy(loop));
    instruction->results = resultsOf(loop);
    // The initial values of an iteration. Extents that change between iterations are bound like an input's.
    std::vector<uint32_t> &inputs = instruction->body_inputs;
    for (unsigned i = 0; i < nn::loopHeader + instruction->initial.size(); ++i) {
      mlir::BlockArgument argument = body.main.getArgument(i);
      TensorInfo info = nn::infoOf(argument);
      info.dims = nn::argumentDims(body.main, i);
      bool late = i >= nn::loopHeader && info.dims != shapes.of(nn::carriedBy(loop)[i - nn::loopHeader]).dims;
      inputs.push_back(
          parts.addValue(parts.nameInside(loop.getNumResults() ? loop.getResult(0) : mlir::Value(argument)), info, {},
                         late ? plan::Storage::Dynamic : plan::Storage::Temporary));
    }
    std::vector<uint32_t> arguments = inputs;
    llvm::append_range(arguments, valuesOf(nn::capturedBy(loop).values));
    instruction->body = parts.addBlock();
    instruction->body_outputs = PlanBuilder(parts, body.module, instruction->body).buildBody(arguments);
    push(std::move(instruction));
  }

  /// True if the first axis of every operand and result counts images, apart from constants.
  bool byImages(mlir::func::CallOp call, const Dim &images) const {
    size_t rank = shapes.of(call.getResult(0)).rank();
    auto counts = [&](mlir::Value value) {
      TensorInfo info = shapes.of(value);
      return value.getDefiningOp<nn::ConstantOp>() || (info.rank() == rank && rank > 0 && info.dims[0] == images);
    };
    return llvm::all_of(call.getOperands(), counts) && llvm::all_of(call.getResults(), counts);
  }
};

} // namespace

BuiltPlan buildPlan(mlir::ModuleOp module, KernelLibrary &library, package::Constants &constants) {
  PlanParts parts(library, constants);
  PlanBuilder(parts, module, 0).buildMain();
  return std::move(parts.built);
}

} // namespace lathe
