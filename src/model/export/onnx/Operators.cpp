// Writes nn operators as ONNX nodes: by the record's direct mapping, or by a writer function.
#include "export/onnx/Export.h"
#include "export/onnx/GraphWriter.h"
#include "ops/recurrent/Recurrent.h"

#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

namespace lathe::onnx {
namespace {

// ---- Directly mapped operators ---------------------------------------------------------------------------------

bool isStaticAttribute(const OpRecord &record, const std::string &field) {
  for (const OperandRecord &operand : record.operands)
    if (field == operand.staticAttribute)
      return true;
  return false;
}

/// Writes fields that are also attributes in ONNX.
class AttrWriter : public AttrVisitor {
public:
  AttrWriter(NodeWriter &writer, const OpRecord &record, const FormatMapping &mapping, Attrs &defaults)
      : writer(writer), record(record), mapping(mapping), defaults(defaults) {}
  void field(const char *name, int64_t &value) override {
    if (value != std::numeric_limits<int64_t>::max()) // Shape's open end
      write(name, value);
  }
  void field(const char *name, double &value) override {
    // Leaves out default values: a default that is not a short decimal (Selu) is then restored exactly.
    double byDefault = 0;
    DoubleReader reader(name, byDefault);
    defaults.visit(reader);
    if (value != byDefault)
      write(name, value);
  }
  void field(const char *name, bool &value) override { write(name, static_cast<int64_t>(value)); }
  void field(const char *name, std::string &value) override { write(name, value); }
  void field(const char *name, ElementType &value) override {
    if (value != ElementType::invalid)
      write(name, static_cast<int64_t>(toOnnxType(value)));
  }
  void field(const char *name, std::vector<int64_t> &value) override {
    if (!value.empty())
      write(name, value);
  }
  void field(const char *name, std::vector<double> &value) override {
    require(value.empty() || isStaticAttribute(record, name), "nn.{}: attribute '{}' has no form in ONNX", record.name,
            name);
  }

private:
  struct DoubleReader : AttrVisitor {
    DoubleReader(std::string_view wanted, double &result) : wanted(wanted), result(result) {}
    std::string_view wanted;
    double &result;
    void field(const char *name, double &value) override { result = wanted == name ? value : result; }
    void field(const char *, int64_t &) override {}
    void field(const char *, bool &) override {}
    void field(const char *, std::string &) override {}
    void field(const char *, ElementType &) override {}
    void field(const char *, std::vector<int64_t> &) override {}
    void field(const char *, std::vector<double> &) override {}
  };
  NodeWriter &writer;
  const OpRecord &record;
  const FormatMapping &mapping;
  Attrs &defaults;
  template <class T> void write(const std::string &name, const T &value) {
    if (!isStaticAttribute(record, name))
      writer.attr(mapping.attribute(name), value);
  }
};

/// Writes the value of one static attribute as an operand.
class StaticWriter : public AttrVisitor {
public:
  StaticWriter(NodeWriter &writer, std::string_view wanted, ElementType scalarType)
      : writer(writer), wanted(wanted), scalarType(scalarType) {}
  bool written = false;
  void field(const char *name, double &value) override {
    bool bound = wanted == "min" || wanted == "max";
    if (name != wanted || (bound && std::isinf(value)))
      return; // an infinite bound means no bound, but an infinite padding does not
    writer.inputScalar(name, scalarType, value);
    written = true;
  }
  void field(const char *name, std::vector<int64_t> &value) override {
    if (name != wanted || (value.empty() && !mayBeEmpty(wanted)))
      return;
    writer.inputInts(name, value);
    written = true;
  }
  void field(const char *name, std::vector<double> &value) override {
    if (name != wanted || value.empty())
      return;
    writer.inputFloats(name, value);
    written = true;
  }
  void field(const char *, int64_t &) override {}
  void field(const char *, bool &) override {}
  void field(const char *, std::string &) override {}
  void field(const char *, ElementType &) override {}

private:
  NodeWriter &writer;
  std::string_view wanted;
  ElementType scalarType;
  /// An empty list of axes or steps means that there is none; an empty shape belongs to a scalar.
  static bool mayBeEmpty(std::string_view name) { return name != "axes" && name != "steps" && name != "sizes"; }
};

void writeOperands(NodeWriter &w, const OpRecord &record, Attrs &attrs) {
  auto operands = nn::operandsByRecord(&w.op);
  ElementType type = operands.empty() || !operands[0] ? ElementType::invalid : nn::infoOf(operands[0]).type;
  for (size_t i = 0; i < operands.size(); ++i) {
    const OperandRecord &described = record.operands[std::min(i, record.operands.size() - 1)];
    if (operands[i] || !*described.staticAttribute) {
      w.input(operands[i]);
      continue;
    }
    StaticWriter writer(w, described.staticAttribute, type);
    attrs.visit(writer);
    if (!writer.written)
      w.input({});
  }
}

void writeDirect(NodeWriter &w, const OpRecord &record, const FormatMapping &mapping) {
  w.node.set_op_type(mapping.op);
  auto attrs = nn::attrsOf(&w.op), defaults = record.makeAttrs();
  writeOperands(w, record, *attrs);
  AttrWriter writer(w, record, mapping, *defaults);
  attrs->visit(writer);
}

// ---- The others ------------------------------------------------------------------------------------------------

/// Writes the operands unchanged, under another operator name, without attributes.
template <class AnyConvAttrs> void writeAnyConv(NodeWriter &w, const char *op, const AnyConvAttrs &a) {
  w.operandsOnly(op);
  std::vector<int64_t> kernel =
      llvm::cast<mlir::RankedTensorType>(w.op.getOperand(1).getType()).getShape().drop_front(2).vec();
  w.attr("kernel_shape", kernel);
  w.attr("strides", a.strides);
  w.attr("dilations", a.dilations);
  w.pads(a.pads, kernel, a.strides, a.dilations);
  w.attr("group", a.group);
}

/// Convolutions of small integers are spelled out (IntegerConv.cpp).
void requireFloats(NodeWriter &w) {
  ElementType type = nn::infoOf(w.op.getResult(0)).type;
  require(isFloat(type), "nn.{} of {} has no form in ONNX, expected floats, or integers of 8 or 16 bits",
          w.op.getName().stripDialect().str(), name(type));
}

void writeConv(NodeWriter &w) {
  requireFloats(w);
  writeAnyConv(w, "Conv", nn::attrsAs<ConvAttrs>(&w.op));
}

void writeConvInteger(NodeWriter &w) { writeAnyConv(w, "ConvInteger", nn::attrsAs<ConvIntegerAttrs>(&w.op)); }

void writeConvTranspose(NodeWriter &w) {
  requireFloats(w);
  auto a = nn::attrsAs<ConvTransposeAttrs>(&w.op);
  writeAnyConv(w, "ConvTranspose", a);
  w.attr("output_padding", a.output_padding);
}

template <class PoolAttrs> void writePool(NodeWriter &w, const char *op, const PoolAttrs &a) {
  w.operandsOnly(op);
  w.attr("kernel_shape", a.kernel);
  w.attr("strides", a.strides);
  w.pads(a.pads, a.kernel, a.strides, a.dilations);
  w.attr("dilations", a.dilations);
  w.attr("ceil_mode", static_cast<int64_t>(a.ceil_mode));
}

void writeMaxPool(NodeWriter &w) { writePool(w, "MaxPool", nn::attrsAs<MaxPoolAttrs>(&w.op)); }

void writeAveragePool(NodeWriter &w) {
  auto a = nn::attrsAs<AveragePoolAttrs>(&w.op);
  writePool(w, "AveragePool", a);
  w.attr("count_include_pad", static_cast<int64_t>(a.count_include_pad));
}

void writeBatchNorm(NodeWriter &w) {
  w.operandsOnly("BatchNormalization");
  w.attr("epsilon", nn::attrsAs<BatchNormAttrs>(&w.op).epsilon);
}

void writeLayerNorm(NodeWriter &w) {
  w.operandsOnly("LayerNormalization");
  auto a = nn::attrsAs<LayerNormAttrs>(&w.op);
  w.attr("axis", a.axis);
  w.attr("epsilon", a.epsilon);
}

void writeRmsNorm(NodeWriter &w) {
  w.operandsOnly("RMSNormalization");
  auto a = nn::attrsAs<RmsNormAttrs>(&w.op);
  w.attr("axis", a.axis);
  w.attr("epsilon", a.epsilon);
}

void writeGroupNorm(NodeWriter &w) {
  w.operandsOnly("GroupNormalization");
  auto a = nn::attrsAs<GroupNormAttrs>(&w.op);
  w.attr("num_groups", a.num_groups);
  w.attr("epsilon", a.epsilon);
}

void writeLpNormalize(NodeWriter &w) {
  auto a = nn::attrsAs<LpNormalizeAttrs>(&w.op);
  w.operandsOnly("LpNormalization");
  w.attr("axis", a.axis);
  w.attr("p", a.p);
}

void writeReshape(NodeWriter &w) {
  auto a = nn::attrsAs<ReshapeAttrs>(&w.op);
  w.node.set_op_type("Reshape");
  writeOperands(w, *nn::recordOf(&w.op), a);
  w.attr("allowzero", static_cast<int64_t>(a.allow_zero));
}

void writeSplit(NodeWriter &w) {
  w.operandsOnly("Split");
  auto a = nn::attrsAs<SplitAttrs>(&w.op);
  w.inputInts("sizes", a.sizes);
  w.attr("axis", a.axis);
}

void writePad(NodeWriter &w) {
  auto a = nn::attrsAs<PadAttrs>(&w.op);
  w.node.set_op_type("Pad");
  writeOperands(w, *nn::recordOf(&w.op), a);
  w.attr("mode", a.mode);
}

/// Writes the value with elements `sizes`; -1 stands for an extent of the operand that only the run knows. Returns the
/// name of the value.
std::string writeSizes(NodeWriter &w, const std::vector<int64_t> &sizes) {
  const std::string name = w.node.name() + "_sizes";
  std::vector<std::string> pieces;
  for (size_t begin = 0, end = 0; begin < sizes.size(); begin = end) {
    bool kept = sizes[begin] == -1;
    while (end < sizes.size() && (sizes[end] == -1) == kept)
      ++end;
    std::vector<int64_t> run(sizes.begin() + static_cast<ptrdiff_t>(begin),
                             sizes.begin() + static_cast<ptrdiff_t>(end));
    if (!kept) {
      std::string bytes(reinterpret_cast<const char *>(run.data()), run.size() * sizeof run[0]);
      pieces.push_back(w.graph.addInitializer(name, ElementType::i64, {static_cast<int64_t>(run.size())}, bytes));
      continue;
    }
    NodeProto &shape = w.graph.addBefore("Shape", name);
    shape.add_input(w.graph.nameOf(w.op.getOperand(0)));
    NodeWriter writer(w.graph, w.op, shape);
    writer.attr("start", static_cast<int64_t>(begin));
    writer.attr("end", static_cast<int64_t>(end));
    pieces.push_back(shape.output(0));
  }
  NodeProto &all = w.graph.addBefore("Concat", name);
  for (const std::string &piece : pieces)
    all.add_input(piece);
  NodeWriter(w.graph, w.op, all).attr("axis", int64_t(0));
  return all.output(0);
}

void writeResize(NodeWriter &w) {
  auto a = nn::attrsAs<ResizeAttrs>(&w.op);
  w.node.set_op_type("Resize");
  const Dims x = nn::infoOf(w.op.getOperand(0)).dims;
  std::string computed; // name of sizes computed at run time
  if (!a.sizes.empty() && !a.scales.empty()) {
    keepAspectRatio(w, a);
  } else if (a.sizes.size() ==
             x.size()) { // all axes: ONNX Runtime fails if it moves a transpose through a node with `axes`
    for (size_t i = 0; i < x.size(); ++i)
      if (a.sizes[i] == -1 && x[i].isConstant())
        a.sizes[i] = x[i].constant();
    if (llvm::is_contained(a.sizes, -1))
      computed = writeSizes(w, std::exchange(a.sizes, {}));
  }
  // -1 keeps an extent: in ONNX the axis is left out.
  std::vector<int64_t> axes, sizes;
  for (size_t i = 0; i < a.sizes.size(); ++i)
    if (a.sizes[i] != -1) {
      axes.push_back(static_cast<int64_t>(i));
      sizes.push_back(a.sizes[i]);
    }
  if (sizes.size() != a.sizes.size()) {
    require(a.roi.empty() || a.coordinate_mode != "tf_crop_and_resize",
            "a cropping resize that keeps extents has no form in ONNX");
    w.attr("axes", axes);
    a.sizes = sizes;
  }
  writeOperands(w, *nn::recordOf(&w.op), a);
  if (!computed.empty()) {
    while (w.node.input_size() < 4)
      w.node.add_input("");
    w.node.set_input(3, computed);
  }
  w.attr("mode", a.mode);
  w.attr("coordinate_transformation_mode", a.coordinate_mode);
  w.attr("nearest_mode", a.nearest_mode);
  w.attr("cubic_coeff_a", a.cubic_coeff_a);
  w.attr("exclude_outside", static_cast<int64_t>(a.exclude_outside));
  w.attr("extrapolation_value", a.extrapolation_value);
  w.attr("antialias", static_cast<int64_t>(a.antialias));
}

void writeConstantOfShape(NodeWriter &w) {
  w.operandsOnly("ConstantOfShape");
  auto a = nn::attrsAs<ConstantOfShapeAttrs>(&w.op);
  TensorProto value;
  value.add_dims(1);
  value.set_data_type(toOnnxType(a.type));
  value.set_raw_data(elementBytes(a.type, a.value));
  w.attr("value", value);
}

void writeRecurrent(NodeWriter &w, const char *op) {
  w.operandsOnly(op);
  RecurrentForm form = recurrentForm(*nn::attrsOf(&w.op));
  w.attr("hidden_size", llvm::cast<mlir::RankedTensorType>(w.op.getOperand(2).getType()).getDimSize(2));
  w.attr("direction", form.direction);
  std::vector<std::string> names;
  std::string list;
  std::vector<double> alphas, betas; // of the activations that have parameters
  for (const CellActivation &activation : form.activations) {
    const CellActivationKind &kind = *cellActivationKind(activation.name);
    names.emplace_back(kind.onnxName);
    list += (list.empty() ? "" : ",") + activation.name;
    if (kind.hasAlpha)
      alphas.push_back(activation.alpha);
    if (kind.hasBeta)
      betas.push_back(activation.beta);
  }
  if (list != defaultActivations(form.cell, form.directions()))
    w.attr("activations", names);
  if (!alphas.empty())
    w.attr("activation_alpha", alphas);
  if (!betas.empty())
    w.attr("activation_beta", betas);
  if (!std::isinf(form.clip))
    w.attr("clip", form.clip);
  if (form.cell == Cell::lstm)
    w.attr("input_forget", static_cast<int64_t>(form.inputForget));
  if (form.cell == Cell::gru)
    w.attr("linear_before_reset", static_cast<int64_t>(form.linearBeforeReset));
}

const Writers writers = [] {
  Writers table = {
      {"conv", writeConv},
      {"conv_integer", writeConvInteger},
      {"conv_transpose", writeConvTranspose},
      {"max_pool", writeMaxPool},
      {"average_pool", writeAveragePool},
      {"batch_norm", writeBatchNorm},
      {"layer_norm", writeLayerNorm},
      {"rms_norm", writeRmsNorm},
      {"group_norm", writeGroupNorm},
      {"lp_normalize", writeLpNormalize},
      {"reshape", writeReshape},
      {"split", writeSplit},
      {"pad", writePad},
      {"resize", writeResize},
      {"constant_of_shape", writeConstantOfShape},
      {"lstm", [](NodeWriter &w) { writeRecurrent(w, "LSTM"); }},
      {"gru", [](NodeWriter &w) { writeRecurrent(w, "GRU"); }},
      {"rnn", [](NodeWriter &w) { writeRecurrent(w, "RNN"); }},
      {"max", [](NodeWriter &w) { w.operandsOnly("Max"); }},
      {"min", [](NodeWriter &w) { w.operandsOnly("Min"); }},
      {"pow", [](NodeWriter &w) { w.operandsOnly("Pow"); }},
  };
  addIndexedWriters(table);
  addValueWriters(table);
  return table;
}();

} // namespace

void writeOperator(NodeWriter &w) {
  const OpRecord &record = *nn::recordOf(&w.op);
  if (auto own = writers.find(record.name); own != writers.end())
    return own->second(w);
  const FormatMapping *mapping = mappingOf(record, "onnx", opsetOf(w.op));
  require(mapping != nullptr, "nn.{} has no form in ONNX opset {}", record.name, exportedOpset);
  writeDirect(w, record, *mapping);
}

bool hasFourBits(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::ShapedType>(value.getType());
  return type && type.getElementType().isInteger(4);
}

/// The opset that allows the types of `op`, which may be newer than the operator's form.
static int64_t opsetOfTypes(mlir::Operation &op) {
  if (llvm::any_of(op.getOperands(), hasFourBits) || llvm::any_of(op.getResults(), hasFourBits))
    return fourBitOpset;
  ElementType type = nn::infoOf(op.getResult(0)).type;
  bool half = type == ElementType::f16 || type == ElementType::bf16;
  llvm::StringRef name = op.getName().stripDialect();
  // ONNX gave these bf16 in opset 22.
  static const llvm::StringSet<> later = {
      "acos",       "acosh", "asin",  "asinh", "atan", "atanh", "cos",      "cosh",     "elu", "hard_sigmoid",
      "hard_swish", "mish",  "round", "selu",  "sin",  "sinh",  "softplus", "softsign", "tan", "thresholded_relu"};
  if (type == ElementType::bf16 && later.contains(name))
    return 22;
  return name == "range" && half ? 27 : exportedOpset;
}

int64_t opsetOf(mlir::Operation &op) {
  int64_t opset = op.getNumResults() ? opsetOfTypes(op) : exportedOpset;
  if (const OpRecord *record = nn::recordOf(&op))
    for (const FormatMapping &mapping : record->mappings) // the newest form is written
      if (mapping.format == std::string_view("onnx") && mapping.until > exportedOpset)
        opset = std::max<int64_t>(opset, mapping.since);
  return opset;
}

} // namespace lathe::onnx
