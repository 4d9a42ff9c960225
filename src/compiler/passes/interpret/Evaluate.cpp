#include "passes/interpret/Evaluate.h"

#include "ir/Bodies.h"
#include "ir/SymbolicShapes.h"

#include "mlir/IR/SymbolTable.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <thread>

namespace lathe {

// ---- Constants -----------------------------------------------------------------------------------------------------

Tensor toTensor(mlir::ElementsAttr constant) {
  nn::ConstantData data = nn::constantData(constant);
  if (!data.splat)
    return Tensor::borrow(data.type, data.dims, const_cast<char *>(data.bytes.data()));
  Tensor tensor(data.type, data.dims);
  require(bitWidth(data.type) >= 8, "a splat of {} cannot be expanded", name(data.type));
  size_t width = bitWidth(data.type) / 8;
  for (int64_t i = 0, n = tensor.elements(); i < n; ++i)
    std::memcpy(tensor.as<char>() + i * width, data.bytes.data(), width);
  return tensor;
}

mlir::ElementsAttr toConstant(mlir::MLIRContext *context, const Tensor &tensor, llvm::StringRef name) {
  llvm::ArrayRef<char> bytes(static_cast<const char *>(tensor.data()), tensor.bytes());
  int64_t count = tensor.elements();
  size_t width = bitWidth(tensor.type()) / 8;
  if (count > 1 && width > 0) {
    bool splat =
        std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0; // every element equals the next
    auto type = mlir::RankedTensorType::get(tensor.dims(), nn::toMlir(context, tensor.type()));
    if (splat && tensor.type() == ElementType::boolean)
      return mlir::DenseElementsAttr::get(type, bytes[0] != 0);
    if (splat)
      return mlir::DenseElementsAttr::getFromRawBuffer(type, bytes.take_front(width));
  }
  return nn::makeConstant(context, tensor.type(), tensor.dims(), bytes, name);
}

// ---- Operators -----------------------------------------------------------------------------------------------------

namespace {

class SetField : public AttrVisitor {
public:
  SetField(std::string_view wanted, const Tensor &value) : wanted(wanted), value(value) {}
  void field(const char *name, int64_t &out) override {
    if (matches(name))
      out = value.asInteger(0);
  }
  void field(const char *name, double &out) override {
    if (matches(name))
      out = value.asDouble(0);
  }
  void field(const char *name, bool &out) override {
    if (matches(name))
      out = value.asInteger(0) != 0;
  }
  void field(const char *, std::string &) override {}
  void field(const char *, ElementType &) override {}
  void field(const char *name, std::vector<int64_t> &out) override {
    if (!matches(name, true))
      return;
    out.resize(value.elements());
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = value.asInteger(i);
  }
  void field(const char *name, std::vector<double> &out) override {
    if (!matches(name, true))
      return;
    out.resize(value.elements());
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = value.asDouble(i);
  }
  bool done = false;

private:
  std::string_view wanted;
  const Tensor &value;
  bool matches(const char *name, bool list = false) {
    bool match = wanted == name && (list || value.elements() == 1);
    done |= match;
    return match;
  }
};

/// The judge computes in float64, whatever type a cast or a filled tensor asks for.
class WidenTypes : public AttrVisitor {
public:
  void field(const char *, int64_t &) override {}
  void field(const char *, double &) override {}
  void field(const char *, bool &) override {}
  void field(const char *, std::string &) override {}
  void field(const char *, ElementType &type) override {
    if (isFloat(type))
      type = ElementType::f64;
  }
  void field(const char *, std::vector<int64_t> &) override {}
  void field(const char *, std::vector<double> &) override {}
};

TensorInfo infoOfTensor(const Tensor &tensor) {
  TensorInfo info{tensor.type(), toDims(tensor.dims()), std::nullopt};
  if ((isInteger(tensor.type()) || tensor.type() == ElementType::boolean) && tensor.elements() <= 64) {
    info.contents.emplace();
    for (int64_t i = 0; i < tensor.elements(); ++i)
      info.contents->push_back(tensor.asInteger(i));
  }
  return info;
}

void runParallel(int threads, int64_t count, const std::function<void(int64_t, int64_t)> &body) {
  int64_t slots = std::min<int64_t>(threads, count);
  if (slots <= 1)
    return body(0, count);
  std::vector<std::exception_ptr> errors(slots);
  auto slot = [&](int64_t s) {
    try {
      body(count * s / slots, count * (s + 1) / slots);
    } catch (...) {
      errors[s] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (int64_t s = 1; s < slots; ++s)
    others.emplace_back(slot, s);
  slot(0);
  for (std::thread &thread : others)
    thread.join();
  for (const std::exception_ptr &error : errors)
    if (error)
      std::rethrow_exception(error);
}

} // namespace

bool setStaticAttribute(Attrs &attrs, std::string_view attribute, const Tensor &value) {
  SetField set(attribute, value);
  attrs.visit(set);
  return set.done;
}

namespace {

/// Limits the judge's values of a tensor to the range that `type` has in kernels. Kernels compute narrower floats in
/// float32: numbers beyond float32's greatest are infinite, and numbers below its smallest normal one are zero.
void keepInRange(Value &value, ElementType type) {
  if (!value.isTensor() || value.tensor().type() != ElementType::f64 || type == ElementType::f64 || !isFloat(type))
    return;
  constexpr double roundsToInfinity = 0x1.ffffffp127, smallestNormal = 0x1p-126;
  auto kept = [](double number) {
    double magnitude = std::abs(number);
    return magnitude >= roundsToInfinity ? std::copysign(std::numeric_limits<double>::infinity(), number)
           : magnitude < smallestNormal  ? std::copysign(0.0, number)
                                         : number;
  };
  auto range = [&] { return std::span(value.tensor().as<double>(), static_cast<size_t>(value.tensor().elements())); };
  if (std::all_of(range().begin(), range().end(), [&](double x) { return std::isnan(x) || kept(x) == x; }))
    return;
  value = value.tensor().clone(); // an operand may share its bytes
  for (double &number : range())
    number = kept(number);
}

/// In a conversion to a type of 16 or 8 bits the model intends to lose digits, so the judge rounds, too.
void keepRounding(const OpRecord &record, const Attrs &attrs, Value &result) {
  if (std::string_view(record.name) != "cast")
    return;
  auto &cast = static_cast<const CastAttrs &>(attrs);
  if (isFloat(cast.to) && bitWidth(cast.to) < 32)
    result = result.tensor().convertedTo(cast.to, cast.saturate).convertedTo(ElementType::f64);
}

} // namespace

std::vector<Value> evaluateOperator(const OpRecord &record, const Attrs &given, std::span<const Value *const> operands,
                                    const EvaluateOptions &options) {
  const ReferenceEntry *reference = findReference(record.name);
  require(reference != nullptr, "operator '{}' has no reference", record.name);
  std::unique_ptr<Attrs> attrs = given.clone();
  if (options.judge) {
    WidenTypes widen;
    attrs->visit(widen);
  }
  if (record.takesValues) {
    std::vector<Value> outputs(record.results.size());
    ReferenceCall call{operands, outputs, {}, {}};
    reference->run(*attrs, call);
    return outputs;
  }
  // References and shape functions get static operands as attributes, even where the graph has them as operands.
  std::vector<const Value *> inputs(operands.begin(), operands.end());
  inputs.resize(std::max(inputs.size(), record.operands.size()), nullptr);
  for (size_t i = 0; i < record.operands.size(); ++i)
    if (inputs[i] && *record.operands[i].staticAttribute &&
        setStaticAttribute(*attrs, record.operands[i].staticAttribute, inputs[i]->tensor()))
      inputs[i] = nullptr;

  std::vector<TensorInfo> infos(inputs.size());
  InferInputs in(inputs.size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]) {
      infos[i] = infoOfTensor(inputs[i]->tensor());
      in[i] = &infos[i];
    }
  std::vector<Value> outputs;
  for (const TensorInfo &info : record.infer(*attrs, in))
    outputs.push_back(allConstant(info.dims) ? Tensor(info.type, constants(info.dims)) : Tensor());

  ReferenceCall call{inputs, outputs, {}, {}};
  if (options.threads > 1)
    call.parallel = [&](int64_t count, const std::function<void(int64_t, int64_t)> &body) {
      runParallel(options.threads, count, body);
    };
  reference->run(*attrs, call);
  if (options.judge)
    keepRounding(record, given, outputs[0]);
  return outputs;
}

// ---- Functions -----------------------------------------------------------------------------------------------------

namespace {

class Interpreter {
public:
  explicit Interpreter(const EvaluateOptions &options) : options(options) {}

  std::vector<Value> run(mlir::func::FuncOp function, std::vector<Value> arguments) {
    Frame frame;
    for (auto [argument, value] : llvm::zip(function.getArguments(), arguments))
      frame[argument] = std::move(value);
    arguments.clear();
    llvm::DenseMap<mlir::Value, int64_t> usesLeft;
    for (mlir::Operation &op : function.getBody().front())
      for (mlir::Value operand : op.getOperands())
        ++usesLeft[operand];
    for (mlir::Operation &op : function.getBody().front()) {
      if (llvm::isa<nn::ConstantOp>(op))
        continue; // made when first used: weights of a large model never exist twice all at once
      for (mlir::Value operand : op.getOperands())
        load(frame, operand);
      if (op.hasTrait<mlir::OpTrait::IsTerminator>()) {
        std::vector<Value> results;
        for (mlir::Value operand : op.getOperands())
          results.push_back(frame[operand]);
        return results;
      }
      std::vector<Value> results = execute(op, frame);
      for (auto [result, value] : llvm::zip(op.getResults(), results))
        if (!result.use_empty())
          frame[result] = std::move(value);
      for (mlir::Value operand : op.getOperands())
        if (--usesLeft[operand] == 0)
          frame.erase(operand);
    }
    fail("@{} has no terminator", function.getName().str());
  }

private:
  using Frame = llvm::DenseMap<mlir::Value, Value>;
  const EvaluateOptions &options;
  mlir::SymbolTableCollection symbols; // of the modules with calls
  int inBodies = 0;                    // nesting of control flow

  void load(Frame &frame, mlir::Value value) {
    auto constant = value.getDefiningOp<nn::ConstantOp>();
    if (!constant || frame.contains(value))
      return;
    Tensor tensor = toTensor(constant.getValue());
    if (options.judge && isFloat(tensor.type()))
      tensor = tensor.convertedTo(ElementType::f64);
    frame[value] = std::move(tensor);
  }

  static bool truth(const Value &value) { return value.tensor().asInteger(0) != 0; }
  static std::vector<Value> valuesOf(mlir::ValueRange range, Frame &frame) {
    std::vector<Value> values;
    for (mlir::Value value : range)
      values.push_back(frame[value]);
    return values;
  }

  std::vector<Value> runBodies(mlir::Operation &op, Frame &frame) {
    if (auto loop = llvm::dyn_cast<nn::LoopOp>(op))
      return iterate(loop, frame);
    auto branch = llvm::cast<nn::IfOp>(op);
    return run(nn::bodiesOf(branch)[truth(frame[branch.getCondition()]) ? 0 : 1].main,
               valuesOf(branch.getCaptured(), frame));
  }

  std::vector<Value> iterate(nn::LoopOp loop, Frame &frame) {
    mlir::func::FuncOp body = nn::bodiesOf(loop).front().main;
    size_t carried = nn::carriedBy(loop).size(), results = loop.getNumResults();
    std::vector<Value> state = valuesOf(nn::carriedBy(loop), frame);
    std::vector<Value> captured = valuesOf(nn::capturedBy(loop).values, frame);
    std::vector<std::vector<Tensor>> scanned(results - carried);
    Value condition = frame[loop.getCondition()];
    int64_t trips = frame[loop.getTripCount()].tensor().asInteger(0);
    for (int64_t trip = 0; trip < trips && truth(condition); ++trip) {
      std::vector<Value> arguments{Tensor::of<int64_t>({}, {trip}), condition};
      arguments.insert(arguments.end(), state.begin(), state.end());
      arguments.insert(arguments.end(), captured.begin(), captured.end());
      std::vector<Value> made = run(body, std::move(arguments));
      condition = made[0];
      state.assign(made.begin() + 1, made.begin() + 1 + static_cast<int64_t>(carried));
      for (size_t i = 0; i < scanned.size(); ++i)
        scanned[i].push_back(made[1 + carried + i].tensor());
    }
    std::vector<TensorInfo> never;
    if (scanned.size() > 0 && scanned[0].empty())
      never = firstIteration(body, state, captured);
    for (size_t i = 0; i < scanned.size(); ++i)
      state.push_back(never.empty() ? stack(scanned[i], loop) : Value(nothing(never[1 + carried + i])));
    return state;
  }

  /// The results of one iteration. An extent of 0 counts as a symbol: the body never runs, so it may take a step of
  /// extent 1 from an empty tensor.
  static std::vector<TensorInfo> firstIteration(mlir::func::FuncOp body, const std::vector<Value> &state,
                                                const std::vector<Value> &captured) {
    std::vector<TensorInfo> infos;
    for (mlir::BlockArgument argument : body.getArguments())
      infos.push_back(nn::infoOf(argument));
    size_t at = nn::loopHeader;
    for (const auto *values : {&state, &captured})
      for (const Value &value : *values) {
        if (value.isTensor())
          infos[at].dims = toDims(value.tensor().dims());
        for (size_t axis = 0; axis < infos[at].dims.size(); ++axis)
          if (infos[at].dims[axis] == Dim(0))
            infos[at].dims[axis] = Dim::symbol(fmt::format("empty{}_{}", at, axis));
        ++at;
      }
    return nn::SymbolicShapes(body, infos).results();
  }

  /// An empty stack of tensors like `step`. Unknown extents are 0.
  Tensor nothing(const TensorInfo &step) const {
    std::vector<int64_t> dims{0};
    for (const Dim &dim : step.dims)
      dims.push_back(dim.constantOr(0));
    return Tensor(options.judge && isFloat(step.type) ? ElementType::f64 : step.type, dims);
  }

  /// The tensors along a new axis 0.
  static Value stack(const std::vector<Tensor> &steps, mlir::Operation *loop) {
    std::vector<int64_t> dims{static_cast<int64_t>(steps.size())};
    dims.insert(dims.end(), steps[0].dims().begin(), steps[0].dims().end());
    Tensor whole(steps[0].type(), dims);
    auto *at = static_cast<char *>(whole.data());
    for (const Tensor &step : steps) {
      require(step.dims() == steps[0].dims(), "{}: iterations give a scanned value of {} and {}",
              nn::describe(loop->getLoc()), str(toDims(steps[0].dims())), str(toDims(step.dims())));
      std::memcpy(at, step.data(), static_cast<size_t>(step.bytes()));
      at += step.bytes();
    }
    return whole;
  }

  std::vector<Value> execute(mlir::Operation &op, Frame &frame) {
    if (llvm::isa<nn::ConvertLayoutOp>(op))
      return {frame[op.getOperand(0)]};
    if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op)) {
      auto callee = symbols.lookupSymbolIn<mlir::func::FuncOp>(op.getParentOfType<mlir::ModuleOp>(),
                                                               call.getCalleeAttr().getAttr());
      require(callee && !callee.isExternal(), "{}: @{} is called but not defined", nn::describe(op.getLoc()),
              call.getCallee().str());
      std::vector<Value> arguments;
      for (mlir::Value operand : op.getOperands())
        arguments.push_back(frame[operand]);
      return run(callee, std::move(arguments));
    }
    if (llvm::isa<nn::IfOp, nn::LoopOp>(op)) {
      ++inBodies;
      std::vector<Value> results = runBodies(op, frame);
      --inBodies;
      observe(op, results);
      return results;
    }
    const OpRecord *record = nn::recordOf(&op);
    require(record != nullptr, "{}: '{}' cannot be interpreted", nn::describe(op.getLoc()),
            op.getName().getStringRef().str());
    std::vector<const Value *> operands;
    for (mlir::Value operand : nn::operandsByRecord(&op))
      operands.push_back(operand ? &frame[operand] : nullptr);
    std::vector<Value> results;
    try {
      results = evaluateOperator(*record, *nn::attrsOf(&op), operands, options);
    } catch (const Error &error) {
      fail("{}: {}", nn::describe(op.getLoc()), error.what());
    }
    for (size_t i = 0; options.judge && i < results.size(); ++i)
      keepInRange(results[i], nn::infoOf(op.getResult(i)).type);
    observe(op, results);
    return results;
  }

  void observe(mlir::Operation &op, const std::vector<Value> &results) {
    if (options.observe && (inBodies == 0 || options.observeBodies))
      options.observe(&op, results);
  }
};

std::string argumentName(mlir::func::FuncOp function, unsigned index) {
  auto name = function.getArgAttrOfType<mlir::StringAttr>(index, "nn.name");
  return name ? name.str() : fmt::format("argument {}", index);
}

} // namespace

std::vector<Value> evaluate(mlir::ModuleOp module, std::span<const Value> inputs, const EvaluateOptions &options) {
  mlir::func::FuncOp function = mainFunction(module);
  require(inputs.size() == function.getNumArguments(), "the model has {} inputs, got {}", function.getNumArguments(),
          inputs.size());
  std::vector<Value> arguments(inputs.begin(), inputs.end());
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(function.getArgumentTypes()[i]);
    TensorInfo info = nn::infoOf(function.getArgument(static_cast<unsigned>(i)));
    ValueKind got = kindOf(arguments[i]);
    bool fits = got == info.kind || (got == ValueKind::optional && isOptional(info.kind));
    require(fits, "input '{}' is {}, expected {}", argumentName(function, i), name(got), name(info.kind));
    if (!type || !arguments[i].isTensor())
      continue;
    Tensor &tensor = arguments[i].tensor();
    ElementType expected = nn::toElementType(type.getElementType());
    bool widened = isFloat(expected) && tensor.type() == ElementType::f64 && options.judge;
    require(tensor.type() == expected || widened, "input '{}' is {}, expected {}", argumentName(function, i),
            name(tensor.type()), name(expected));
    require(mlir::succeeded(mlir::verifyCompatibleShape(type.getShape(), tensor.dims())),
            "input '{}' is {}, expected {}", argumentName(function, i), str(toDims(tensor.dims())),
            str(nn::infoOf(function.getArgument(i)).dims));
    if (options.judge && isFloat(tensor.type()))
      tensor = tensor.convertedTo(ElementType::f64);
  }
  return Interpreter(options).run(function, std::move(arguments));
}

} // namespace lathe
