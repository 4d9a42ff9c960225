#include "stage/GraphBuilder.h"

#include "ir/Bodies.h"
#include "ir/Context.h"
#include "stage/AttributeSetter.h"
#include "stage/GraphBuilderParts.h"
#include "support/Text.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"

namespace lathe {

namespace {

bool isNumber(const std::string &text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// Throws Error unless `bytes` are the elements of a constant of these extents.
void checkBytes(const std::string &place, ElementType type, const std::vector<int64_t> &dims, size_t bytes) {
  constexpr int64_t most = INT64_MAX / 64; // number of elements, whose bits an int64_t can count
  int64_t count = 1;
  for (int64_t extent : dims)
    require(extent >= 0 && !__builtin_mul_overflow(count, extent, &count) && count <= most,
            "{}: extent {} is out of range", place, extent);
  require(byteSize(type, count) == static_cast<int64_t>(bytes), "{}: has {} bytes, expected {}", place, bytes,
          byteSize(type, count));
}

} // namespace

mlir::Type parseTypeText(mlir::MLIRContext *context, const std::string &text) {
  std::string said;
  mlir::Type type = listening(context, said, [&] { return mlir::parseType(text, context); });
  require(static_cast<bool>(type), "'{}' is no type: {}", printable(text), said);
  return type;
}

GraphBuilder::GraphBuilder(const std::string &name, mlir::MLIRContext *context)
    : shared(std::make_shared<Shared>()), name(printable(name)) {
  if (!context) {
    shared->own = makeContext();
    context = shared->own.get();
  }
  shared->context = context;
  shared->root = mlir::ModuleOp::create(mlir::FileLineColLoc::get(context, name, 0, 0), name.empty() ? "net" : name);
  module = *shared->root;
  mlir::Builder b(context);
  module->setAttr("nn.source", b.getStringAttr(name));
  start();
}

GraphBuilder::GraphBuilder(GraphBuilder &around, const std::string &name) : shared(around.shared), name(around.name) {
  mlir::OpBuilder b(shared->context);
  b.setInsertionPointToEnd(around.module.getBody());
  module = b.create<mlir::ModuleOp>(around.module.getLoc(), nn::freeBodyName(around.module, name));
  start();
}

GraphBuilder::~GraphBuilder() = default;

void GraphBuilder::start() {
  mlir::OpBuilder b(shared->context);
  b.setInsertionPointToStart(module.getBody());
  main = b.create<mlir::func::FuncOp>(module.getLoc(), "main", b.getFunctionType({}, {}));
  main.addEntryBlock();
  shapes = std::make_unique<nn::SymbolicShapes>(main);
}

mlir::OpBuilder GraphBuilder::builder() {
  mlir::Block &block = main.getBody().front();
  if (!block.empty() && block.back().hasTrait<mlir::OpTrait::IsTerminator>())
    block.back().erase(); // erases the terminator that `finish` added
  return mlir::OpBuilder::atBlockEnd(&block);
}

GraphBuilder::Value GraphBuilder::keep(mlir::Value value) {
  shared->values.emplace_back(value, this);
  return static_cast<Value>(shared->values.size() - 1);
}

mlir::Value GraphBuilder::checked(Value value, const std::string &what) const {
  auto count = static_cast<Value>(shared->values.size());
  require(value >= 0 && value < count, "{}: {} is number {}, expected one of the {} values of the graph", name, what,
          value, count);
  require(shared->values[size_t(value)].second == this,
          "{}: {} is a value of another graph: a body sees its own inputs alone", name, what);
  return shared->values[size_t(value)].first;
}

mlir::Location GraphBuilder::nodeLocation(const std::string &mnemonic, const std::string &node) {
  ++nodes;
  mlir::Builder b(shared->context);
  std::string called = node.empty() ? fmt::format("{}_{}", mnemonic, nodes) : node;
  return mlir::NameLoc::get(b.getStringAttr(fmt::format("{} ({})", called, mnemonic)),
                            mlir::FileLineColLoc::get(shared->context, name, unsigned(nodes), 0));
}

GraphBuilder::Value GraphBuilder::input(const std::string &inputName, const std::string &type,
                                        const std::vector<std::string> &dims, const std::string &quantization) {
  mlir::MLIRContext *context = shared->context;
  std::optional<ElementType> element = elementTypeFromName(type);
  std::string place = fmt::format("{}: input '{}'", name, printable(inputName));
  require(element || type.starts_with("!nn."),
          "{}: '{}' is no element type, expected f32, i64, ... or !nn.sequence<...>", place, printable(type));
  require(!inputName.empty(), "{}: expected a name", place);
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    require(main.getArgAttrOfType<mlir::StringAttr>(i, "nn.name").getValue() != inputName,
            "{}: there are two of this name", place);
  TensorInfo info;
  bool symbolic = false;
  for (const std::string &text : dims)
    try {
      info.dims.push_back(text == "?" ? unknownDim() : Dim::parse(text));
      require(info.dims.back().constantOr(0) >= 0, "expected none below 0");
      symbolic |= text != "?" && !isNumber(text);
    } catch (const Error &error) {
      fail("{}: extent '{}': {}", place, printable(text), error.what());
    }
  require(!symbolic || !llvm::is_contained(dims, "?"),
          "{}: has an extent '?' beside a symbolic one: give it a symbol, too", place);
  mlir::TensorType full;
  if (element) {
    info.type = *element;
    full = nn::toMlirType(context, info);
  } else {
    require(dims.empty(), "{}: has {} extents, expected none of what is no tensor", place, dims.size());
    full = mlir::RankedTensorType::get({}, parseTypeText(context, type));
  }
  mlir::Builder b(context);
  mlir::NamedAttrList attributes;
  attributes.set("nn.name", b.getStringAttr(inputName));
  if (symbolic)
    attributes.set("nn.dims", nn::dimsAttr(context, info.dims));
  if (!quantization.empty())
    attributes.set("nn.quantization", b.getStringAttr(quantization));
  unsigned index = main.getNumArguments();
  main.insertArgument(index, full, attributes.getDictionary(context), main.getLoc());
  mlir::BlockArgument argument = main.getArgument(index);
  if (element) {
    TensorInfo described = nn::infoOf(argument);
    described.dims = info.dims;
    shapes->set(argument, described);
  }
  return keep(argument);
}

void GraphBuilder::openWeights(const std::string &path) {
  shared->file = Safetensors::open(path);
  shared->weightsPath = path;
  shared->entries.clear();
  for (const Safetensors::Entry &entry : shared->file.entries())
    shared->entries[entry.name] = &entry;
}

GraphBuilder::Value GraphBuilder::weight(const std::string &weightName, const std::string &type,
                                         const std::vector<int64_t> &dims) {
  std::pair<std::string, std::string> key{shared->weightsPath, weightName};
  if (auto known = weights.find(key); known != weights.end())
    return known->second;
  std::string place = fmt::format("{}: weight '{}'", name, printable(weightName));
  require(!shared->weightsPath.empty(), "{}: there is no file of weights", place);
  auto found = shared->entries.find(weightName);
  if (found == shared->entries.end()) {
    std::vector<std::string> names;
    for (const auto &[known, entry] : shared->entries)
      names.push_back(known);
    fail("{}: is not in {}{}", place, printable(shared->weightsPath),
         names.size() > 2000 ? "" : suggestion(weightName, names));
  }
  const Safetensors::Entry &entry = *found->second;
  std::optional<ElementType> element = elementTypeFromName(type);
  require(element || type.empty(), "{}: '{}' is no element type", place, printable(type));
  for (int number = 1; !element && number <= int(ElementType::u4); ++number)
    if (auto candidate = ElementType(number); entry.typeFits(candidate))
      element = candidate;
  require(element && entry.typeFits(*element), "{}: is {} in {}, expected {}", place, printable(entry.dtype),
          printable(shared->weightsPath), type.empty() ? "a type of tensors" : type);
  std::string_view bytes = shared->file.bytes(entry);
  const std::vector<int64_t> &extents = type.empty() ? entry.dims : dims;
  checkBytes(place, *element, extents, bytes.size());
  return weights[key] = constant(weightName, *element, extents, llvm::ArrayRef<char>(bytes.data(), bytes.size()));
}

GraphBuilder::Value GraphBuilder::constant(const std::string &constantName, ElementType type,
                                           const std::vector<int64_t> &dims, llvm::ArrayRef<char> bytes) {
  std::string place = fmt::format("{}: constant '{}'", name, printable(constantName));
  require(type != ElementType::invalid && type != ElementType::string,
          "{}: expected a type of numbers; strings are string_constant", place);
  checkBytes(place, type, dims, bytes.size());
  return constant(constantName, nn::makeConstant(shared->context, type, dims, bytes, constantName));
}

GraphBuilder::Value GraphBuilder::constant(const std::string &constantName, mlir::ElementsAttr elements) {
  mlir::OpBuilder b = builder();
  auto location =
      mlir::NameLoc::get(b.getStringAttr(constantName + " (constant)"), mlir::UnknownLoc::get(b.getContext()));
  return keep(b.create<nn::ConstantOp>(location, llvm::cast<mlir::TensorType>(elements.getShapedType()), elements));
}

std::vector<GraphBuilder::Value> GraphBuilder::add(const std::string &mnemonic, const std::vector<Value> &operands,
                                                   const std::vector<BuilderAttribute> &attributes,
                                                   const OperatorNote &note) {
  if (mnemonic == "convert_layout")
    return addConvertLayout(operands, note);
  const OpRecord *record = findOp(mnemonic);
  if (!record) {
    std::vector<std::string> names;
    for (const OpRecord &each : opRecords())
      names.push_back(each.name);
    fail("{}: there is no operator '{}'{}", name, printable(mnemonic), suggestion(mnemonic, names));
  }
  mlir::Location location = nodeLocation(mnemonic, note.name);
  mlir::OpBuilder b = builder();
  llvm::SmallVector<mlir::Value> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    size_t at = record->operands.empty() ? 0 : std::min(i, record->operands.size() - 1);
    values.push_back(operands[i] == absent
                         ? mlir::Value()
                         : checked(operands[i], fmt::format("operand {} of '{}'", i,
                                                            printable(note.name.empty() ? mnemonic : note.name))));
    require(values.back() || !record->operands[at].variadic, "{}: operand {} is missing", nn::describe(location), i);
  }
  mlir::Operation *op = nullptr;
  try {
    auto attrs = record->makeAttrs();
    setFields(*attrs, mnemonic, attributes);
    op = nn::build(b, location, mnemonic, values, *attrs);
  } catch (const std::exception &error) {
    fail("{}: {}", nn::describe(location), error.what());
  }
  return finishOperator(op, note);
}

/// Refines results by symbols that tell more than the types, then by the caller's types, if the verifier agrees.
std::vector<GraphBuilder::Value> GraphBuilder::finishOperator(mlir::Operation *op, const OperatorNote &note) {
  mlir::MLIRContext *context = shared->context;
  try {
    if (!note.extents.empty()) {
      llvm::SmallVector<llvm::StringRef> texts(note.extents.begin(), note.extents.end());
      op->setAttr(nn::extentsAttribute, mlir::Builder(context).getStrArrayAttr(texts));
    }
    shapes->refresh(*op);
    for (mlir::Value result : op->getResults())
      if (auto type = llvm::dyn_cast<mlir::RankedTensorType>(result.getType()))
        result.setType(nn::toMlirType(context, shapes->of(result), type.getEncoding()));
    if (!note.types.empty()) {
      require(note.types.size() == op->getNumResults(), "{}: has {} results, got {} types", nn::describe(op->getLoc()),
              op->getNumResults(), note.types.size());
      for (auto [result, text] : llvm::zip(op->getResults(), note.types)) {
        mlir::Type type = parseTypeText(context, text);
        require(llvm::isa<mlir::TensorType>(type), "{}: '{}' is no tensor type", nn::describe(op->getLoc()),
                printable(text));
        result.setType(llvm::cast<mlir::TensorType>(type));
      }
      std::string said;
      if (mlir::failed(listening(context, said, [&] { return mlir::verify(op, /*verifyRecursively=*/false); })))
        fail("{}: {}", nn::describe(op->getLoc()), said);
      shapes->refresh(*op);
    }
  } catch (...) {
    op->erase();
    throw;
  }
  if (!note.name.empty())
    op->setLoc(places.emplace(note.name, op->getLoc()).first->second);
  std::vector<Value> results;
  for (mlir::Value result : op->getResults())
    results.push_back(keep(result));
  return results;
}

std::vector<GraphBuilder::Value> GraphBuilder::addConvertLayout(const std::vector<Value> &operands,
                                                                const OperatorNote &note) {
  require(operands.size() == 1 && note.types.size() == 1,
          "{}: convert_layout takes one operand and the type of its result, got {} and {}", name, operands.size(),
          note.types.size());
  mlir::Value x = checked(operands[0], "operand 0 of 'convert_layout'");
  mlir::OpBuilder b = builder();
  return finishOperator(b.create<nn::ConvertLayoutOp>(nodeLocation("convert_layout", note.name), x.getType(), x), note);
}

void GraphBuilder::output(const std::string &outputName, Value value, const std::string &quantization) {
  checked(value, fmt::format("output '{}'", printable(outputName)));
  require(!outputName.empty(), "{}: output '': expected a name", name);
  for (const Output &other : outputs)
    require(other.name != outputName, "{}: there are two outputs '{}'", name, printable(outputName));
  outputs.push_back({outputName, quantization, value});
}

void GraphBuilder::retype(Value value, mlir::TensorType type) {
  mlir::Value result = checked(value, "value");
  result.setType(type);
  if (mlir::Operation *op = result.getDefiningOp())
    shapes->refresh(*op);
}

std::string GraphBuilder::typeOf(Value value) const {
  std::string text;
  llvm::raw_string_ostream(text) << checked(value, "value").getType();
  return text;
}

std::vector<std::string> GraphBuilder::dimsOf(Value value) const {
  std::vector<std::string> texts;
  for (const Dim &dim : shapes->of(checked(value, "value")).dims)
    texts.push_back(isUnknown(dim) ? "?" : dim.str());
  return texts;
}

mlir::ModuleOp GraphBuilder::finish() {
  bool isBody = module != *shared->root;
  require(isBody || !outputs.empty(), "{}: the graph has no output", name);
  mlir::OpBuilder b = builder();
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
  for (const Output &output : outputs) {
    results.push_back(checked(output.value, "output"));
    types.push_back(results.back().getType());
    mlir::NamedAttrList list;
    list.set("nn.name", b.getStringAttr(output.name));
    if (!output.quantization.empty())
      list.set("nn.quantization", b.getStringAttr(output.quantization));
    attributes.push_back(list.getDictionary(shared->context));
  }
  b.create<mlir::func::ReturnOp>(main.getLoc(), results);
  main.setType(b.getFunctionType(main.getArgumentTypes(), types));
  main.setAllResultAttrs(attributes);
  for (auto &body : bodies)
    body->finish();
  if (isBody)
    return module;
  std::string said;
  if (mlir::failed(listening(shared->context, said, [&] { return mlir::verify(module); })))
    fail("{}: {}", name, said);
  return module;
}

} // namespace lathe
