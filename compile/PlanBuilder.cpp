#include "compile/PlanBuilder.h"
#include "compile/PlanRules.h"

#include "ir/Main.h"
#include "passes/Rewrite.h"
#include "passes/kernels/ShareStorage.h"
#include "support/UniqueNames.h"

#include "mlir/IR/SymbolTable.h"

#include <tuple>

namespace lathe {
namespace {

/// True when no formula over the inputs' extents gives the shape.
bool hasUnknown(const TensorInfo &info) { return llvm::any_of(info.dims, isUnknown); }

class PlanBuilder {
public:
  PlanBuilder(mlir::ModuleOp module, KernelLibrary &library, package::Constants &constants)
      : symbols(module), library(library), constants(constants), main(mainFunction(module)),
        shapes(nn::shapesWithRules(main, rules)) {}

  BuiltPlan build() {
    built.plan = std::make_unique<plan::PlanT>();
    built.plan->blocks.push_back(std::make_unique<plan::BlockT>());
    findLive();
    namePorts();
    addInputs();
    placeOutputs();
    placeParts();
    for (mlir::Operation &op : main.getBody().front())
      if (live.contains(&op))
        visit(op);
    finishOutputs();
    addRules(*built.plan, rules);
    return std::move(built);
  }

private:
  mlir::SymbolTable symbols;
  KernelLibrary &library;
  package::Constants &constants;
  mlir::func::FuncOp main;
  std::vector<nn::NodeRule> rules; // over the symbols of `shapes`
  nn::SymbolicShapes shapes;
  BuiltPlan built;
  llvm::DenseMap<mlir::Value, uint32_t> values;                    // row-major or activation form
  std::map<std::pair<const void *, std::string>, uint32_t> packed; // constant and packing text -> value
  llvm::DenseSet<mlir::Operation *> live;
  UniqueNames names{":"}; // of ports and of values inside
  std::vector<std::string> inputNames,
      outputNames; // as callers know them: an input that is returned has its name twice
  struct Copy {
    mlir::Value from;
    uint32_t output;
  };
  std::vector<Copy> copies; // outputs that no instruction writes in place

  /// The same bytes under other extents, or in a layout that orders them alike (the passes leave only such conversions
  /// outside kernels).
  static bool isView(mlir::Operation *op) {
    if (llvm::isa<nn::ConvertLayoutOp>(op))
      return true;
    const OpRecord *record = nn::recordOf(op);
    return record && std::string_view(record->lowering) == "view";
  }

  plan::BlockT &block() { return *built.plan->blocks[0]; }

  /// Operations that outputs depend on. A view only needs what it looks at: its shape is in the plan already.
  void findLive() {
    llvm::DenseSet<mlir::Value> needed;
    mlir::Block &body = main.getBody().front();
    needed.insert(body.getTerminator()->operand_begin(), body.getTerminator()->operand_end());
    for (mlir::Operation &op : llvm::reverse(body.without_terminator())) {
      if (llvm::none_of(op.getResults(), [&](mlir::Value result) { return needed.contains(result); }))
        continue;
      live.insert(&op);
      if (computesNothing(&op, shapes))
        continue;
      if (isView(&op) && !hasUnknown(shapes.of(op.getResult(0))))
        needed.insert(op.getOperand(0));
      else
        needed.insert(op.operand_begin(), op.operand_end());
    }
  }

  /// Inputs and outputs keep the model's names, each kind on its own; values inside get out of their way.
  void namePorts() {
    inputNames = lathe::inputNames(main);
    outputNames = lathe::outputNames(main);
    for (const auto *kind : {&inputNames, &outputNames})
      llvm::for_each(*kind, [&](const std::string &name) { names.reserve(name); });
  }

  /// A value named after the last of its source nodes: after fusion that is the one whose result it is.
  std::string nameInside(mlir::Value value) {
    std::vector<std::string> nodes;
    if (mlir::Operation *op = value.getDefiningOp())
      nodes = nn::nodeNames(op->getLoc());
    return names.take(nodes.empty() ? "value" : nodes.back());
  }

  uint32_t addValue(std::string name, const TensorInfo &info, nn::BlockedAttr layout, plan::Storage storage) {
    auto value = std::make_unique<plan::ValueT>();
    value->name = std::move(name);
    value->type = static_cast<uint8_t>(info.type);
    for (const Dim &dim : info.dims)
      value->dims.push_back(dim.str());
    if (layout) {
      value->block_axis = static_cast<int>(layout.getAxis());
      value->block = static_cast<int>(layout.getSize());
    }
    value->storage = storage;
    if (storage != plan::Storage::Dynamic)
      value->bytes = physicalBytes(info, layout).str();
    built.plan->values.push_back(std::move(value));
    return static_cast<uint32_t>(built.plan->values.size() - 1);
  }
  uint32_t addValue(mlir::Value value, std::string name, plan::Storage storage) {
    return values[value] = addValue(std::move(name), shapes.of(value), nn::layoutOf(value), storage);
  }
  plan::ValueT &row(uint32_t value) { return *built.plan->values[value]; }

  static std::string attrText(mlir::Attribute attr, const std::string &fallback) {
    auto text = llvm::dyn_cast_if_present<mlir::StringAttr>(attr);
    return text ? text.str() : fallback;
  }

  void addInputs() {
    for (mlir::BlockArgument argument : main.getArguments()) {
      const std::string &name = inputNames[argument.getArgNumber()];
      built.plan->inputs.push_back(addValue(argument, name, plan::Storage::Input));
    }
  }

  /// Gives every result a value before anything is computed, so that its producer writes straight into it. A view at
  /// the end makes what it looks at an alias of the output.
  void placeOutputs() {
    mlir::Operation *end = main.getBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(end->getOperands())) {
      const std::string &name = outputNames[i];
      TensorInfo info = shapes.of(value);
      require(!nn::layoutOf(value), "internal: output '{}' is left in a blocked layout", name);
      mlir::Operation *maker = value.getDefiningOp();
      bool dynamic = hasUnknown(info);
      bool inPlace = maker && !llvm::isa<nn::ConstantOp>(maker) && !values.contains(value) && !dynamic;
      if (dynamic && maker && !values.contains(value)) { // the reference that makes it allocates it
        built.plan->outputs.push_back(addValue(value, name, plan::Storage::Dynamic));
        continue;
      }
      if (!inPlace) {
        uint32_t output = addValue(name, info, {}, plan::Storage::Output);
        built.plan->outputs.push_back(output);
        copies.push_back({value, output});
        continue;
      }
      // What a chain of views ends in.
      mlir::Value root = value;
      llvm::SmallVector<mlir::Value> chain;
      while (root.getDefiningOp() && isView(root.getDefiningOp())) {
        root = root.getDefiningOp()->getOperand(0);
        chain.push_back(root);
      }
      bool ownRoot = chain.empty() || (root.getDefiningOp() && !llvm::isa<nn::ConstantOp>(root.getDefiningOp()) &&
                                       llvm::none_of(chain, [&](mlir::Value v) { return values.contains(v); }) &&
                                       !hasUnknown(shapes.of(root)));
      if (!ownRoot) {
        uint32_t output = addValue(name, info, {}, plan::Storage::Output);
        built.plan->outputs.push_back(output);
        copies.push_back({value, output});
        continue;
      }
      uint32_t output = addValue(value, name, plan::Storage::Output);
      built.plan->outputs.push_back(output);
      for (mlir::Value viewed : chain)
        addAlias(viewed, output);
    }
  }

  uint32_t addAlias(mlir::Value value, uint32_t of, const Dim &offset = 0) {
    uint32_t alias = addValue(value, nameInside(value), plan::Storage::Alias);
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

  /// Concatenations in place: what makes a part, before views, writes into the result. Outer ones come first, as a part
  /// may be a concatenation itself.
  void placeParts() {
    for (mlir::Operation &op : llvm::reverse(main.getBody().front())) {
      if (!live.contains(&op) || !isInPlace(&op) || !llvm::isa<nn::ConcatOp>(op))
        continue;
      mlir::Value result = op.getResult(0);
      Dims places = partsOf(&op);
      if (!values.contains(result))
        addValue(result, nameInside(result), plan::Storage::Temporary);
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

  /// Results that are an input, a constant, or returned twice: copied by the reference of `reshape`.
  void finishOutputs() {
    for (const Copy &copy : copies) {
      ReshapeAttrs attrs;
      attrs.shape.assign(shapes.of(copy.from).dims.size(), 0); // 0: the input's extent
      auto call = std::make_unique<plan::CallReferenceT>();
      call->op = "reshape";
      call->attrs = encodeAttrs(attrs);
      call->inputs = {static_cast<int32_t>(valueOf(copy.from))};
      call->outputs = {copy.output};
      call->nodes = {row(copy.output).name};
      push(std::move(call));
    }
  }

  template <class T> void push(std::unique_ptr<T> operation) {
    auto instruction = std::make_unique<plan::InstructionT>();
    instruction->operation.Set(std::move(*operation));
    block().instructions.push_back(std::move(instruction));
  }

  /// The constant's bytes, row-major, one element for each element of its shape.
  static nn::ConstantData expanded(nn::ConstantOp constant, std::vector<char> &storage) {
    nn::ConstantData data = nn::constantData(constant.getValue());
    if (!data.splat)
      return data;
    int64_t count = 1;
    for (int64_t extent : data.dims)
      count *= extent;
    storage.reserve(count * data.bytes.size());
    for (int64_t i = 0; i < count; ++i)
      storage.insert(storage.end(), data.bytes.begin(), data.bytes.end());
    data.bytes = storage;
    data.splat = false;
    return data;
  }

  uint32_t constantValue(nn::ConstantOp constant, const Packing *packing) {
    auto key = std::make_pair(constant.getValue().getAsOpaquePointer(), packing ? packing->text : std::string());
    if (auto found = packed.find(key); found != packed.end())
      return found->second;
    std::vector<char> storage;
    nn::ConstantData data = expanded(constant, storage);
    std::vector<char> bytes = packing ? packing->pack(data) : std::vector<char>(data.bytes.begin(), data.bytes.end());
    bool converted = packing && packing->stored != ElementType::invalid;
    TensorInfo info{converted ? packing->stored : data.type, toDims(data.dims), std::nullopt};
    uint32_t value =
        addValue(nameInside(constant.getOutput()), info, nn::layoutOf(constant.getOutput()), plan::Storage::Constant);
    row(value).bytes = std::to_string(bytes.size());
    row(value).offset = constants.add(std::move(bytes));
    return packed[key] = value;
  }

  uint32_t valueOf(mlir::Value value) {
    if (auto constant = value.getDefiningOp<nn::ConstantOp>())
      return constantValue(constant, nullptr);
    auto found = values.find(value);
    require(found != values.end(), "internal: a value of {} is used before it is made", nn::describe(value.getLoc()));
    return found->second;
  }

  /// The value an instruction writes: an output placed before, or a temporary.
  uint32_t resultOf(mlir::Value value) {
    if (auto found = values.find(value); found != values.end())
      return found->second;
    bool dynamic = hasUnknown(shapes.of(value));
    return addValue(value, nameInside(value), dynamic ? plan::Storage::Dynamic : plan::Storage::Temporary);
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
      return; // an output: what it looks at writes there
    addAlias(result, valueOf(operand));
  }

  /// A concatenation was placed before; the parts of a slice or split are seen from here on.
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
    built.referenceFlops += static_cast<double>(flops.evaluate([](const std::string &) -> int64_t { return 1; }));
    auto reason = op.getAttrOfType<mlir::StringAttr>("nn.reason");
    built.references.push_back({nn::describe(op.getLoc()), nn::recordOf(&op)->name,
                                std::string(name(shapes.of(op.getResult(0)).type)),
                                reason                          ? reason.str()
                                : nn::recordOf(&op)->compiled() ? "left outside the kernels"
                                                                : "the operator has no compiled form"});
  }

  void callKernel(mlir::func::CallOp call) {
    auto function = symbols.lookup<mlir::func::FuncOp>(call.getCallee());
    require(function && !function.isExternal(), "@{} is called but not defined", call.getCallee().str());
    const CompiledKernel &kernel = library.compiled(function);

    auto instruction = std::make_unique<plan::CallKernelT>();
    instruction->kernel = static_cast<uint32_t>(built.plan->kernels.size());
    for (auto [i, operand] : llvm::enumerate(call.getOperands())) {
      const Packing *packing = i < kernel.packings.size() && kernel.packings[i] ? &*kernel.packings[i] : nullptr;
      if (packing && !packing->pack)
        packing = nullptr;
      auto constant = operand.getDefiningOp<nn::ConstantOp>();
      require(constant || !packing, "{}: kernel @{} expects a constant as argument {}", nn::describe(call.getLoc()),
              kernel.name, i);
      instruction->buffers.push_back(constant ? constantValue(constant, packing) : valueOf(operand));
    }
    for (mlir::Value result : call.getResults()) {
      require(!hasUnknown(shapes.of(result)), "{}: kernel @{} makes a value of unknown extents",
              nn::describe(call.getLoc()), kernel.name);
      instruction->buffers.push_back(resultOf(result));
    }
    for (const Dim &dim : kernel.dims)
      instruction->dims.push_back(dim.str());
    instruction->units = kernel.units.str();
    instruction->scratch_bytes = kernel.scratchBytes.str();
    instruction->element_ranges = elementRanges(function, call, shapes);
    if (instruction->element_ranges.empty() && !(kernel.images == Dim(1)) && byImages(call, kernel.images))
      instruction->images = kernel.images.str();
    if (!(kernel.stages == Dim(1)))
      instruction->stages = kernel.stages.str();
    else if (!instruction->images.empty() && kernel.images.isConstant()) {
      std::tie(instruction->call_seconds, instruction->images_seconds) = library.secondsByOrder(function);
      built.timedBatches += instruction->call_seconds > 0;
    }
    push(std::move(instruction));
    addKernelRow(call, function, kernel);
  }

  /// The first axis of everything the kernel computes with, constants aside, counts images.
  bool byImages(mlir::func::CallOp call, const Dim &images) const {
    size_t rank = shapes.of(call.getResult(0)).rank();
    auto counts = [&](mlir::Value value) {
      TensorInfo info = shapes.of(value);
      return value.getDefiningOp<nn::ConstantOp>() || (info.rank() == rank && rank > 0 && info.dims[0] == images);
    };
    return llvm::all_of(call.getOperands(), counts) && llvm::all_of(call.getResults(), counts);
  }

  void addKernelRow(mlir::func::CallOp call, mlir::func::FuncOp function, const CompiledKernel &kernel) {
    auto row = std::make_unique<plan::KernelT>();
    row->name = function.getName().str();
    row->family = attrText(function->getAttr("nn.family"), "");
    row->nodes = nn::nodeNames(function.getLoc());
    if (row->nodes.empty())
      row->nodes = nn::nodeNames(call.getLoc());
    row->schedule = kernel.schedule.str();
    row->origin = library.originOf(function);
    row->predicted_cycles = kernel.predictedCycles;

    std::vector<TensorInfo> arguments;
    Dim bytes = 0;
    std::string operands, results;
    // What a slice or gather reads of its operand is as large as what it writes.
    Dim written = 0;
    for (mlir::Value result : call.getResults())
      written = written + physicalBytes(shapes.of(result), nn::layoutOf(result));
    for (mlir::Value operand : call.getOperands()) {
      arguments.push_back(shapes.of(operand));
      Dim whole = physicalBytes(arguments.back(), nn::layoutOf(operand));
      bool part = row->family == "movement" && whole.isConstant() && written.isConstant() &&
                  written.constant() < whole.constant();
      bytes = bytes + (part ? written : whole);
      operands += (operands.empty() ? "" : " * ") + str(arguments.back().dims);
    }
    bytes = bytes + written;
    for (mlir::Value result : call.getResults()) {
      results += (results.empty() ? "" : ", ") + str(shapes.of(result).dims);
    }
    row->shapes = operands + " -> " + results;
    row->bytes = bytes.str();

    Dim flops = 0;
    nn::SymbolicShapes inside(function, arguments);
    bool onlyConverts = true;
    function.walk([&](mlir::Operation *op) {
      flops = flops + flopsOf(op, inside);
      onlyConverts &= nn::recordOf(op) == nullptr;
    });
    row->flops = flops.str();
    built.layoutConversions += onlyConverts;
    built.plan->kernels.push_back(std::move(row));
    built.code.push_back(kernel.code);
  }
};

} // namespace

Dim physicalBytes(const TensorInfo &info, nn::BlockedAttr layout) {
  Dims dims = info.dims;
  if (layout)
    dims[layout.getAxis()] = ceilDiv(dims[layout.getAxis()], layout.getSize()) * layout.getSize();
  Dim bits = product(dims) * static_cast<int64_t>(bitWidth(info.type));
  return bitWidth(info.type) % 8 == 0 ? product(dims) * static_cast<int64_t>(bitWidth(info.type) / 8)
                                      : ceilDiv(bits, 8);
}

Dim flopsOf(mlir::Operation *op, const nn::SymbolicShapes &shapes) {
  const OpRecord *record = nn::recordOf(op);
  if (!record)
    return 0;
  auto operands = nn::operandsByRecord(op);
  std::vector<TensorInfo> in(std::max(operands.size(), record->operands.size())), out;
  InferInputs inPointers(in.size(), nullptr), outPointers;
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i]) {
      in[i] = shapes.of(operands[i]);
      inPointers[i] = &in[i];
    }
  for (mlir::Value result : op->getResults())
    out.push_back(shapes.of(result));
  for (TensorInfo &info : out)
    outPointers.push_back(&info);
  try {
    return record->flops(*nn::attrsOf(op), inPointers, outPointers);
  } catch (const Error &error) {
    fail("{}: its operations cannot be counted: {}", nn::describe(op->getLoc()), error.what());
  }
}

BuiltPlan buildPlan(mlir::ModuleOp module, KernelLibrary &library, package::Constants &constants) {
  return PlanBuilder(module, library, constants).build();
}

} // namespace lathe
