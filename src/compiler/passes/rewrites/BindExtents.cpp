// Makes symbols of extents that are known only during a run.
#include "passes/rewrites/BindExtents.h"

#include "passes/Passes.h"

#include <numeric>

namespace lathe {

llvm::SmallVector<mlir::Value> ExtentBuilder::emitAll(llvm::StringRef mnemonic, llvm::ArrayRef<mlir::Value> operands,
                                                      Attrs &attrs) {
  mlir::Operation *made = nn::build(b, op->getLoc(), mnemonic, operands, attrs);
  shapes.refresh(*made);
  return llvm::SmallVector<mlir::Value>(made->getResults());
}

mlir::Value ExtentBuilder::described(mlir::Value constant) {
  shapes.set(constant, nn::infoOf(constant));
  return constant;
}

mlir::Value ExtentBuilder::numbers(std::vector<int64_t> values) {
  auto count = static_cast<int64_t>(values.size());
  return described(makeConstant(b, op->getLoc(), Tensor::of<int64_t>({count}, std::span<const int64_t>(values)),
                                constantName(op, ".numbers")));
}

mlir::Value ExtentBuilder::reals(const std::vector<double> &values) {
  return described(makeConstant(b, op->getLoc(), ElementType::f64, {static_cast<int64_t>(values.size())}, values,
                                constantName(op, ".reals")));
}

mlir::Value ExtentBuilder::cast(mlir::Value value, ElementType type) {
  if (info(value).type == type)
    return value;
  CastAttrs attrs;
  attrs.to = type;
  return emit("cast", {value}, std::move(attrs));
}

mlir::Value ExtentBuilder::reshaped(mlir::Value value, std::vector<int64_t> shape) {
  if (info(value).dims == toDims(shape))
    return value;
  ReshapeAttrs attrs;
  attrs.shape = std::move(shape);
  return emit("reshape", {value}, std::move(attrs));
}

mlir::Value ExtentBuilder::vectorOf(mlir::Value value) {
  TensorInfo known = info(value);
  return cast(known.rank() == 1 ? value : reshaped(value, {product(known.dims).constantOr(-1)}), ElementType::i64);
}

mlir::Value ExtentBuilder::extentsOf(mlir::Value value) {
  TensorInfo known = info(value);
  return allConstant(known.dims) ? numbers(constants(known.dims)) : emit("shape", {value}, ShapeAttrs());
}

mlir::Value ExtentBuilder::where(mlir::Value condition, mlir::Value x, mlir::Value y) {
  return emit("where", {condition, x, y}, WhereAttrs());
}

mlir::Value ExtentBuilder::bind(mlir::Value vector, llvm::StringRef what, const Dims &most) {
  BindExtentsAttrs attrs;
  int64_t count = info(vector).dims[0].constant();
  for (int64_t i = 0; i < count; ++i) {
    std::string own = count == 1 ? what.str() : fmt::format("{}{}", what.str(), i);
    attrs.symbols += (i ? " " : "") + extentName(op, own, symbols);
  }
  for (size_t i = 0; i < most.size(); ++i)
    attrs.most += (i ? ";" : "") + (isUnknown(most[i]) ? std::string() : most[i].str());
  return emit("bind_extents", {vector}, std::move(attrs));
}

mlir::Value ExtentBuilder::elements(mlir::Value vector, const std::vector<int64_t> &positions) {
  return emit("gather", {vector, numbers(positions)}, GatherAttrs());
}

mlir::Value ExtentBuilder::joined(const std::vector<mlir::Value> &parts, const std::vector<std::vector<int64_t>> &at) {
  std::vector<int64_t> order;
  int64_t next = 0;
  for (const std::vector<int64_t> &places : at)
    for (int64_t place : places) {
      order.resize(std::max(order.size(), static_cast<size_t>(place) + 1));
      order[static_cast<size_t>(place)] = next++;
    }
  mlir::Value all = parts.size() == 1 ? parts.front() : emit("concat", parts, ConcatAttrs());
  return llvm::is_sorted(order) ? all : elements(all, order);
}

mlir::Value ExtentBuilder::bindUnknown(mlir::Value value, llvm::StringRef what, mlir::Value vector,
                                       llvm::function_ref<bool(const Dim &)> counts) {
  auto origins = movedElements(value);
  std::vector<mlir::Value> parts;
  std::vector<std::vector<int64_t>> at;
  std::vector<int64_t> unknown;
  for (size_t i = 0; i < origins.value_or(std::vector<MovedElement>()).size(); ++i) {
    const MovedElement &element = (*origins)[i];
    std::optional<Dim> known = content(element);
    if (!known || !counts(*known)) {
      unknown.push_back(static_cast<int64_t>(i));
      continue;
    }
    parts.push_back(known->isConstant() ? numbers({known->constant()})
                                        : elements(vectorOf(element.source), {element.index}));
    at.push_back({static_cast<int64_t>(i)});
  }
  if (parts.empty())
    return bind(vector, what);
  if (!unknown.empty()) {
    parts.push_back(bind(elements(vector, unknown), what));
    at.push_back(unknown);
  }
  return joined(parts, at);
}

mlir::Value ExtentBuilder::bindSum(mlir::Value counts, const Dim &most) {
  ReduceSumAttrs attrs;
  attrs.axes.resize(info(counts).rank());
  std::iota(attrs.axes.begin(), attrs.axes.end(), 0);
  attrs.keepdims = true;
  return bind(reshaped(emit("reduce_sum", {counts}, std::move(attrs)), {1}), "count", {most});
}

std::string extentName(mlir::Operation *op, llvm::StringRef what, UniqueNames &symbols) {
  std::string name = constantName(op, "." + what.str());
  for (char &c : name)
    if (std::isspace(static_cast<unsigned char>(c)) || std::string_view("+-*(),;?\"").find(c) != std::string_view::npos)
      c = '_';
  if (std::isdigit(static_cast<unsigned char>(name.front())))
    name = "_" + name;
  return symbols.take(name);
}

namespace {

class Binder {
public:
  explicit Binder(mlir::ModuleOp module) : module(module), main(mainFunction(module)), shapes(main) {
    reserveSymbols();
  }

  bool run() {
    bool changed = false;
    for (mlir::Operation &op : llvm::make_early_inc_range(main.getBody().front())) {
      if (changed)
        shapes.refresh(op);
      if (changed && becomesConstant(op))
        continue;
      bool open = llvm::any_of(op.getResults(), [&](mlir::Value result) { return isOpen(result); });
      if (!open && !isOp(&op, "range"))
        continue;
      mlir::Operation *before = op.getPrevNode();
      ExtentBuilder b(shapes, symbols, &op);
      std::optional<llvm::SmallVector<mlir::Value>> results = bindShape(&op, b);
      if (!results && !open)
        continue;
      if (!results)
        results = bindResize(&op, b);
      if (!results)
        results = bindSelection(&op, b);
      changed = true;
      if (results && !llvm::all_of(*results, [&](mlir::Value result) { return isManageable(result); })) {
        while (op.getPrevNode() != before)
          op.getPrevNode()->erase();
        results.reset();
      }
      if (!results) {
        nameResults(op);
        continue;
      }
      op.replaceAllUsesWith(*results);
      op.erase();
    }
    return changed;
  }

private:
  mlir::ModuleOp module;
  mlir::func::FuncOp main;
  nn::SymbolicShapes shapes;
  UniqueNames symbols{"_"};

  /// False if the number of elements is too long a formula, as for a pad with computed pads on four axes. The reference
  /// then computes the result, and its extents are new symbols.
  bool isManageable(mlir::Value value) const {
    constexpr size_t most = 1000; // characters
    try {
      return product(shapes.of(value).dims).str().size() <= most;
    } catch (const Error &) {
      return false;
    }
  }

  /// Evaluates shape arithmetic that is constant now because an extent became known: later extents may depend on it.
  bool becomesConstant(mlir::Operation &op) {
    const OpRecord *record = nn::recordOf(&op);
    if (!record || op.getNumResults() != 1 || op.getNumOperands() == 0 || !findReference(record->name))
      return false;
    TensorInfo result = shapes.of(op.getResult(0));
    if (!result.isTensor() || !product(result.dims).isConstant() ||
        product(result.dims).constant() > static_cast<int64_t>(maxContents))
      return false;
    auto operands = nn::operandsByRecord(&op);
    std::vector<Value> values(operands.size());
    std::vector<const Value *> given(operands.size(), nullptr);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i])
        continue;
      std::optional<Tensor> known = knownTensor(operands[i]);
      if (!known)
        return false;
      values[i] = std::move(*known);
      given[i] = &values[i];
    }
    Tensor value = evaluateOperator(*record, *nn::attrsOf(&op), given).front().tensor();
    mlir::OpBuilder b(&op);
    mlir::Value constant = makeConstant(b, op.getLoc(), value, constantName(&op, ".known"));
    shapes.set(constant, nn::infoOf(constant));
    op.getResult(0).replaceAllUsesWith(constant);
    op.erase();
    return true;
  }

  /// A small tensor whose elements are numbers.
  std::optional<Tensor> knownTensor(mlir::Value value) const {
    TensorInfo info = shapes.of(value);
    if (!info.isTensor() || !allConstant(info.dims) || info.type == ElementType::string ||
        product(info.dims).constant() > static_cast<int64_t>(maxContents))
      return std::nullopt;
    if (std::optional<Tensor> constant = constantOf(value))
      return constant;
    if (!info.contents || !allConstant(*info.contents))
      return std::nullopt;
    std::vector<int64_t> numbers = constants(*info.contents);
    return Tensor::of<int64_t>(constants(info.dims), std::span<const int64_t>(numbers)).convertedTo(info.type);
  }

  bool isOpen(mlir::Value value) const { return llvm::any_of(shapes.of(value).dims, isUnknown); }

  /// Names are unique in the whole model: all its symbols are bound in one table.
  void reserveSymbols() {
    mlir::Operation *root = module;
    while (root->getParentOp())
      root = root->getParentOp();
    auto reserveTexts = [&](mlir::ArrayAttr texts) {
      for (mlir::Attribute text : texts) {
        std::vector<std::string> names;
        if (llvm::StringRef written = llvm::cast<mlir::StringAttr>(text).getValue(); !written.empty())
          Dim::parse(written.str()).collectSymbols(names);
        for (const std::string &name : names)
          symbols.reserve(name);
      }
    };
    root->walk([&](mlir::Operation *op) {
      if (auto texts = op->getAttrOfType<mlir::ArrayAttr>(nn::extentsAttribute))
        reserveTexts(texts);
      if (auto bound = op->getAttrOfType<mlir::StringAttr>("symbols"); bound && isOp(op, "bind_extents")) {
        llvm::SmallVector<llvm::StringRef> names;
        bound.getValue().split(names, ' ');
        for (llvm::StringRef name : names)
          symbols.reserve(name.str());
      }
      if (auto function = llvm::dyn_cast<mlir::func::FuncOp>(op))
        for (unsigned i = 0; i < function.getNumArguments(); ++i)
          if (auto texts = function.getArgAttrOfType<mlir::ArrayAttr>(i, "nn.dims"))
            reserveTexts(texts);
    });
  }

  /// Unknown extents that are equal have one name.
  void nameResults(mlir::Operation &op) {
    std::map<std::string, std::string> named;
    llvm::SmallVector<mlir::Attribute> texts;
    mlir::Builder b(op.getContext());
    for (mlir::OpResult result : op.getResults())
      for (const Dim &dim : shapes.of(result).dims) {
        std::string &name = named[isUnknown(dim) ? dim.str() : ""];
        if (isUnknown(dim) && name.empty())
          name = extentName(&op, named.size() <= 2 ? "extent" : fmt::format("extent{}", named.size() - 2), symbols);
        texts.push_back(b.getStringAttr(name));
      }
    op.setAttr(nn::extentsAttribute, b.getArrayAttr(texts));
    shapes.refresh(op);
  }
};

} // namespace

void bindExtents(mlir::ModuleOp module) {
  if (!Binder(module).run())
    return;
  settleResultTypes(mainFunction(module));
  inferShapes(module);
  deadCode(module);
}

} // namespace lathe
