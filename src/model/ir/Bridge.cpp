#include "ir/Bridge.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include "llvm/ADT/StringExtras.h"

bool lathe::isOp(mlir::Operation *op, std::string_view mnemonic) {
  return op && op->getName().getDialectNamespace() == "nn" &&
         op->getName().stripDialect() == llvm::StringRef(mnemonic.data(), mnemonic.size());
}

namespace lathe::nn {

const OpRecord *recordOf(mlir::Operation *op) {
  if (op->getName().getDialectNamespace() != "nn")
    return nullptr;
  return findOp(op->getName().stripDialect().str());
}

namespace {

class FromMlir : public AttrVisitor {
public:
  explicit FromMlir(mlir::Operation *op) : op(op) {}
  void field(const char *name, int64_t &value) override {
    if (auto attr = op->getAttrOfType<mlir::IntegerAttr>(name))
      value = attr.getInt();
  }
  void field(const char *name, double &value) override {
    if (auto attr = op->getAttrOfType<mlir::FloatAttr>(name))
      value = attr.getValueAsDouble();
  }
  void field(const char *name, bool &value) override {
    if (auto attr = op->getAttrOfType<mlir::BoolAttr>(name))
      value = attr.getValue();
  }
  void field(const char *name, std::string &value) override {
    if (auto attr = op->getAttrOfType<mlir::StringAttr>(name))
      value = attr.str();
  }
  void field(const char *name, ElementType &value) override {
    if (auto attr = op->getAttrOfType<mlir::TypeAttr>(name))
      value = toElementType(attr.getValue());
  }
  void field(const char *name, std::vector<int64_t> &value) override {
    if (auto attr = op->getAttrOfType<mlir::DenseI64ArrayAttr>(name))
      value.assign(attr.asArrayRef().begin(), attr.asArrayRef().end());
  }
  void field(const char *name, std::vector<double> &value) override {
    if (auto attr = op->getAttrOfType<mlir::DenseF64ArrayAttr>(name))
      value.assign(attr.asArrayRef().begin(), attr.asArrayRef().end());
  }

private:
  mlir::Operation *op;
};

class ToMlir : public AttrVisitor {
public:
  ToMlir(mlir::MLIRContext *context, mlir::NamedAttrList &list) : builder(context), list(list) {}
  void field(const char *name, int64_t &value) override { list.set(name, builder.getI64IntegerAttr(value)); }
  void field(const char *name, double &value) override { list.set(name, builder.getF64FloatAttr(value)); }
  void field(const char *name, bool &value) override { list.set(name, builder.getBoolAttr(value)); }
  void field(const char *name, std::string &value) override { list.set(name, builder.getStringAttr(value)); }
  void field(const char *name, ElementType &value) override {
    if (value != ElementType::invalid)
      list.set(name, mlir::TypeAttr::get(toMlir(builder.getContext(), value)));
  }
  void field(const char *name, std::vector<int64_t> &value) override {
    list.set(name, builder.getDenseI64ArrayAttr(value));
  }
  void field(const char *name, std::vector<double> &value) override {
    list.set(name, builder.getDenseF64ArrayAttr(value));
  }

private:
  mlir::Builder builder;
  mlir::NamedAttrList &list;
};

/// Operand segments of `op` in record order; -1 if every operand is required and single.
llvm::SmallVector<int64_t> segmentsOf(mlir::Operation *op, const OpRecord &record) {
  if (auto attr = op->getAttrOfType<mlir::DenseI32ArrayAttr>("operandSegmentSizes"))
    return llvm::SmallVector<int64_t>(attr.asArrayRef().begin(), attr.asArrayRef().end());
  // At most one operand is optional or variadic: it takes the operands that remain.
  int64_t rest = static_cast<int64_t>(op->getNumOperands()) - static_cast<int64_t>(record.operands.size()) + 1;
  llvm::SmallVector<int64_t> segments;
  for (const OperandRecord &operand : record.operands)
    segments.push_back(operand.optional || operand.variadic ? rest : 1);
  return segments;
}

} // namespace

std::unique_ptr<Attrs> attrsOf(mlir::Operation *op) {
  const OpRecord *record = recordOf(op);
  auto attrs = record->makeAttrs();
  FromMlir reader(op);
  attrs->visit(reader);
  return attrs;
}

void setAttrs(mlir::Operation *op, Attrs &attrs) {
  mlir::NamedAttrList list(op->getAttrDictionary());
  ToMlir writer(op->getContext(), list);
  attrs.visit(writer);
  op->setAttrs(list.getDictionary(op->getContext()));
}

llvm::SmallVector<mlir::Value> operandsByRecord(mlir::Operation *op) {
  const OpRecord *record = recordOf(op);
  llvm::SmallVector<mlir::Value> result;
  unsigned next = 0;
  for (auto [operand, count] : llvm::zip(record->operands, segmentsOf(op, *record))) {
    if (operand.variadic)
      for (int64_t i = 0; i < count; ++i)
        result.push_back(op->getOperand(next++));
    else
      result.push_back(count ? op->getOperand(next++) : mlir::Value());
  }
  return result;
}

mlir::Operation *build(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef mnemonic,
                       llvm::ArrayRef<mlir::Value> operands, Attrs &attrs) {
  const OpRecord *record = findOp(mnemonic.str());
  require(record != nullptr, "no operator '{}' in the nn dialect", mnemonic.str());
  mlir::OperationState state(loc, "nn." + mnemonic.str());
  llvm::SmallVector<int32_t> segments;
  unsigned flexible = 0;
  std::vector<TensorInfo> infos(std::max(operands.size(), record->operands.size()));
  InferInputs in(infos.size(), nullptr);
  size_t position = 0;
  for (const OperandRecord &operand : record->operands) {
    flexible += operand.optional || operand.variadic;
    size_t end = operand.variadic ? operands.size() : std::min(position + 1, operands.size());
    int32_t count = 0;
    for (; position < end; ++position)
      if (operands[position]) {
        infos[position] = infoOf(operands[position]);
        in[position] = &infos[position];
        state.operands.push_back(operands[position]);
        ++count;
      }
    require(count > 0 || operand.optional || operand.variadic, "{}: operand '{}' is missing", record->name,
            operand.name);
    segments.push_back(count);
  }
  require(position >= operands.size(), "{}: has {} operands, expected at most {}", record->name, operands.size(),
          record->operands.size());
  ToMlir writer(builder.getContext(), state.attributes);
  attrs.visit(writer);
  if (flexible > 1)
    state.attributes.set("operandSegmentSizes", builder.getDenseI32ArrayAttr(segments));
  for (const TensorInfo &info : record->infer(attrs, in))
    state.types.push_back(toMlirType(builder.getContext(), info));
  return builder.create(state);
}

mlir::Value buildValue(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef mnemonic,
                       llvm::ArrayRef<mlir::Value> operands, Attrs &&attrs) {
  return build(builder, loc, mnemonic, operands, attrs)->getResult(0);
}

mlir::Type toMlir(mlir::MLIRContext *context, ElementType type) {
  mlir::Builder b(context);
  switch (type) {
  case ElementType::f32:
    return b.getF32Type();
  case ElementType::f64:
    return b.getF64Type();
  case ElementType::f16:
    return b.getF16Type();
  case ElementType::bf16:
    return b.getBF16Type();
  case ElementType::i8:
  case ElementType::i16:
  case ElementType::i32:
  case ElementType::i64:
  case ElementType::i4:
    return b.getIntegerType(bitWidth(type));
  case ElementType::u8:
  case ElementType::u16:
  case ElementType::u32:
  case ElementType::u64:
  case ElementType::u4:
    return b.getIntegerType(bitWidth(type), /*isSigned=*/false);
  case ElementType::boolean:
    return b.getI1Type();
  case ElementType::string:
    return StringType::get(context);
  case ElementType::f8e4m3fn:
    return b.getFloat8E4M3FNType();
  case ElementType::f8e4m3fnuz:
    return b.getFloat8E4M3FNUZType();
  case ElementType::f8e5m2:
    return b.getFloat8E5M2Type();
  case ElementType::f8e5m2fnuz:
    return b.getFloat8E5M2FNUZType();
  case ElementType::invalid:
    break;
  }
  return b.getNoneType();
}

ElementType toElementType(mlir::Type type) {
  if (type.isF32())
    return ElementType::f32;
  if (type.isF64())
    return ElementType::f64;
  if (type.isF16())
    return ElementType::f16;
  if (type.isBF16())
    return ElementType::bf16;
  if (type.isFloat8E4M3FN())
    return ElementType::f8e4m3fn;
  if (type.isFloat8E4M3FNUZ())
    return ElementType::f8e4m3fnuz;
  if (type.isFloat8E5M2())
    return ElementType::f8e5m2;
  if (type.isFloat8E5M2FNUZ())
    return ElementType::f8e5m2fnuz;
  if (llvm::isa<StringType>(type))
    return ElementType::string;
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return ElementType::boolean;
    case 4:
      return isUnsigned ? ElementType::u4 : ElementType::i4;
    case 8:
      return isUnsigned ? ElementType::u8 : ElementType::i8;
    case 16:
      return isUnsigned ? ElementType::u16 : ElementType::i16;
    case 32:
      return isUnsigned ? ElementType::u32 : ElementType::i32;
    case 64:
      return isUnsigned ? ElementType::u64 : ElementType::i64;
    }
  }
  return ElementType::invalid;
}

namespace {

/// Reads what the type `items` of a sequence or an optional states about its tensors.
void readItems(mlir::Type items, TensorInfo &info) {
  auto tensor = llvm::dyn_cast<mlir::TensorType>(items);
  info.noItems = !tensor;
  info.type = toElementType(tensor ? tensor.getElementType() : items);
  if (!tensor || !tensor.hasRank())
    return;
  info.items.emplace();
  for (int64_t extent : tensor.getShape())
    info.items->push_back(mlir::ShapedType::isDynamic(extent) ? unknownDim() : Dim(extent));
}

/// Describes a sequence or an optional; nothing for the element type of a tensor.
std::optional<TensorInfo> valueInfo(mlir::Type element) {
  TensorInfo info;
  if (auto optional = llvm::dyn_cast<OptionalType>(element)) {
    auto sequence = llvm::dyn_cast<SequenceType>(optional.getHeld());
    info.kind = sequence ? ValueKind::optionalSequence : ValueKind::optional;
    readItems(sequence ? sequence.getItems() : optional.getHeld(), info);
    return info;
  }
  auto sequence = llvm::dyn_cast<SequenceType>(element);
  if (!sequence)
    return std::nullopt;
  info.kind = ValueKind::sequence;
  readItems(sequence.getItems(), info);
  return info;
}

llvm::SmallVector<int64_t> shapeOf(const Dims &dims) {
  llvm::SmallVector<int64_t> shape;
  for (const Dim &d : dims)
    shape.push_back(d.isConstant() ? d.constant() : mlir::ShapedType::kDynamic);
  return shape;
}

mlir::Type valueType(mlir::MLIRContext *context, const TensorInfo &info) {
  mlir::Type items = toMlir(context, info.type);
  if (!info.noItems && info.items)
    items = mlir::RankedTensorType::get(shapeOf(*info.items), items);
  else if (!info.noItems)
    items = mlir::UnrankedTensorType::get(items);
  if (info.kind == ValueKind::sequence)
    return SequenceType::get(context, items);
  return OptionalType::get(context,
                           info.kind == ValueKind::optional ? items : mlir::Type(SequenceType::get(context, items)));
}

} // namespace

TensorInfo infoOf(mlir::Value value) {
  auto type = llvm::cast<mlir::TensorType>(value.getType());
  if (std::optional<TensorInfo> other = valueInfo(type.getElementType()))
    return *other;
  TensorInfo info{toElementType(type.getElementType()), {}, std::nullopt};
  if (type.hasRank())
    for (int64_t extent : type.getShape())
      info.dims.push_back(mlir::ShapedType::isDynamic(extent) ? unknownDim() : Dim(extent));
  if (!isInteger(info.type) && info.type != ElementType::boolean)
    return info;
  if (auto constant = value.getDefiningOp<ConstantOp>()) {
    ConstantData data = constantData(constant.getValue());
    int64_t count = 1;
    for (int64_t extent : data.dims)
      count *= extent;
    if (count > 64 || bitWidth(data.type) < 8)
      return info;
    std::vector<Dim> contents;
    size_t width = bitWidth(data.type) / 8;
    for (int64_t i = 0; i < count; ++i) {
      const char *at = data.bytes.data() + (data.splat ? 0 : i * width);
      int64_t element = 0;
      std::memcpy(&element, at, width);
      if (isSignedInteger(data.type)) // sign-extend
        element = element << (64 - 8 * width) >> (64 - 8 * width);
      contents.push_back(element);
    }
    info.contents = std::move(contents);
  }
  return info;
}

mlir::TensorType toMlirType(mlir::MLIRContext *context, const TensorInfo &info, mlir::Attribute encoding) {
  if (!info.isTensor())
    return mlir::RankedTensorType::get({}, valueType(context, info));
  return mlir::RankedTensorType::get(shapeOf(info.dims), toMlir(context, info.type), encoding);
}

BlockedAttr layoutOf(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type ? llvm::dyn_cast_if_present<BlockedAttr>(type.getEncoding()) : BlockedAttr();
}

ConstantData constantData(mlir::ElementsAttr attr) {
  auto type = attr.getShapedType();
  ConstantData data{toElementType(type.getElementType()), {type.getShape().begin(), type.getShape().end()}, {}, false};
  if (auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(attr)) {
    mlir::AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    require(blob != nullptr, "constant '{}' has no data; is its weights file missing?",
            resource.getRawHandle().getKey().str());
    data.bytes = blob->getData();
    return data;
  }
  auto dense = llvm::dyn_cast<mlir::DenseIntOrFPElementsAttr>(attr);
  require(dense != nullptr, "constant of an unsupported attribute kind");
  data.splat = dense.isSplat() && type.getNumElements() != 1;
  if (data.type != ElementType::boolean) {
    data.bytes = dense.getRawData();
    return data;
  }
  // MLIR packs eight booleans into a byte; everywhere else a boolean takes one byte. Unpacked constants are kept by
  // attribute until the process ends.
  static thread_local std::map<const void *, std::vector<char>> expanded;
  auto &bytes = expanded[dense.getAsOpaquePointer()];
  bytes.clear();
  if (data.splat)
    bytes.push_back(dense.getSplatValue<bool>());
  else
    for (bool b : dense.getValues<bool>())
      bytes.push_back(b);
  data.bytes = bytes;
  return data;
}

/// `name` in a form that textual IR can hold: the key of a resource is a bare identifier.
static std::string resourceKey(llvm::StringRef name) {
  std::string key;
  for (char c : name)
    key += llvm::isAlnum(c) || c == '_' || c == '.' || c == '$' ? c : '_';
  return key.empty() || !(llvm::isAlpha(key[0]) || key[0] == '_') ? "_" + key : key;
}

mlir::ElementsAttr makeConstant(mlir::MLIRContext *context, ElementType type, llvm::ArrayRef<int64_t> dims,
                                llvm::ArrayRef<char> bytes, llvm::StringRef name) {
  auto tensor = mlir::RankedTensorType::get(dims, toMlir(context, type));
  require(static_cast<int64_t>(bytes.size()) == byteSize(type, tensor.getNumElements()),
          "constant '{}' has {} bytes, expected {}", name.str(), bytes.size(), byteSize(type, tensor.getNumElements()));
  if (type == ElementType::boolean) {
    llvm::SmallVector<bool> values;
    for (char c : bytes)
      values.push_back(c != 0);
    return mlir::DenseElementsAttr::get(tensor, values);
  }
  if (bytes.size() >= 1024 || bitWidth(type) < 8)
    return mlir::DenseResourceElementsAttr::get(tensor, resourceKey(name),
                                                mlir::HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, 64));
  return mlir::DenseElementsAttr::getFromRawBuffer(tensor, bytes);
}

namespace {
/// Applies `visit` to the name and file position of every source node in `loc`.
void forEachNode(mlir::Location loc, llvm::function_ref<void(llvm::StringRef name, mlir::FileLineColLoc at)> visit) {
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(loc)) {
    visit(named.getName().strref(), llvm::dyn_cast<mlir::FileLineColLoc>(named.getChildLoc()));
  } else if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(loc)) {
    for (mlir::Location part : fused.getLocations())
      forEachNode(part, visit);
  } else if (auto file = llvm::dyn_cast<mlir::FileLineColLoc>(loc)) {
    visit("", file);
  }
}
} // namespace

std::string describe(mlir::Location loc) {
  std::string result;
  forEachNode(loc, [&](llvm::StringRef name, mlir::FileLineColLoc at) {
    if (!result.empty())
      return;
    auto [node, kind] = name.rsplit(" (");
    if (at)
      result = fmt::format("{}: ", at.getFilename().str());
    if (at && !name.empty())
      result += fmt::format("node {} ", at.getLine());
    else if (at)
      result += fmt::format("line {}", at.getLine());
    if (!name.empty())
      result += fmt::format("'{}'", node.str()) + (kind.empty() ? "" : " (" + kind.str());
  });
  return result.empty() ? "unknown place" : result;
}

std::vector<std::string> nodeNames(mlir::Location loc) {
  std::vector<std::string> result;
  forEachNode(loc, [&](llvm::StringRef name, mlir::FileLineColLoc) {
    std::string node = name.rsplit(" (").first.str();
    if (!node.empty() && std::find(result.begin(), result.end(), node) == result.end())
      result.push_back(node);
  });
  return result;
}

} // namespace lathe::nn
