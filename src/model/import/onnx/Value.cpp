// Constants, and operators that pass a value on or inspect it.
#include "import/onnx/Onnx.h"
#include "support/StringList.h"

#include <algorithm>
#include <cstring>

namespace lathe::onnx {
namespace {

template <class T> TensorData dataOf(ElementType type, std::vector<int64_t> dims, const std::vector<T> &values) {
  TensorData data{type, std::move(dims), std::vector<char>(values.size() * sizeof(T)), {}};
  if (!values.empty())
    std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
  return data;
}

TensorData tensorOf(Node &node, const TensorRecord &tensor, const std::string &attribute = "value") {
  if (tensor.type == ElementType::invalid)
    node.unsupported(fmt::format("element type {} is not supported", tensor.typeName));
  return tensor.read(fmt::format("attribute '{}'", attribute));
}

void importConstant(Node &node) {
  node.expectInputs(0, 0);
  const auto &attributes = node.record.attributes;
  require(attributes.size() == 1, "has {} attributes, expected exactly 1", attributes.size());
  const std::string &form = attributes[0].name;
  if (form == "value" || form == "sparse_value") {
    node.set(0, node.constant(tensorOf(node, *node.tensorAttr(form), form)));
  } else if (form == "value_float") {
    node.set(0, node.constant(dataOf<float>(ElementType::f32, {}, {*node.rawFloatAttr(form)})));
  } else if (form == "value_floats") {
    const std::vector<float> &values = *node.rawFloatsAttr(form);
    node.set(0, node.constant(dataOf<float>(ElementType::f32, {static_cast<int64_t>(values.size())}, values)));
  } else if (form == "value_int") {
    node.set(0, node.constantInts({}, {node.intAttr(form, 0)}));
  } else if (form == "value_ints") {
    auto values = node.intsAttr(form);
    node.set(0, node.constantInts({static_cast<int64_t>(values.size())}, values));
  } else if (form == "value_string" || form == "value_strings") {
    TensorData data{ElementType::string, {}, {}, {}};
    if (form == "value_string") {
      data.strings = {node.stringAttr(form, "")};
    } else {
      data.strings = node.stringsAttr(form);
      data.dims = {static_cast<int64_t>(data.strings.size())};
    }
    node.set(0, node.constant(data));
  } // any other name is reported as not understood
  else {
    fail("attribute '{}' is not one of Constant at opset {}", form, node.version());
  }
}

void importConstantOfShape(Node &node) {
  require(node.version() >= 9, "there is no such operator in opset {}", node.version());
  node.expectInputs(1, 1);
  TensorData value = dataOf<float>(ElementType::f32, {1}, {0.0f});
  if (const TensorRecord *given = node.tensorAttr("value")) {
    value = tensorOf(node, *given);
    require(checkedElements(value.dims, "attribute 'value'") == 1, "value has extents [{}], expected 1 element",
            fmt::join(value.dims, ", "));
  }
  double number = 0;
  if (value.type == ElementType::boolean) {
    number = value.bytes[0];
  } else {
    auto known = node.staticDoubles(node.constant(value));
    if (!known)
      node.unsupported(fmt::format("a value of element type {}", name(value.type)));
    number = known->front();
  }
  node.set(0, node.emit("constant_of_shape", {node.in(0)}, {{"value", number}, {"type", value.type}}));
}

void importIdentity(Node &node) {
  node.expectInputs(1, 1);
  node.set(0, node.in(0));
}

/// At inference the input passes through; the mask is all true.
void importDropout(Node &node) {
  node.expectInputs(1, node.version() < 12 ? 1 : 3);
  node.ignore({"seed", "ratio", "is_test"});
  if (node.has(2)) {
    auto training = node.info(node.in(2));
    bool off = training.contents && training.contents->size() == 1 && training.contents->front() == Dim(0);
    // A ratio of 0 drops nothing even while training: some networks forget to leave training mode.
    auto ratio = node.has(1) ? node.staticDoubles(node.in(1)) : std::nullopt;
    if (!off && !(ratio && ratio->size() == 1 && ratio->front() == 0))
      node.unsupported("training_mode is set or computed at run time");
  }
  mlir::Value x = node.in(0);
  node.set(0, x);
  if (!node.wants(1))
    return;
  // Before opset 10 the mask has the type of x.
  ElementType type = node.version() < 10 ? node.info(x).type : ElementType::boolean;
  mlir::Value shape = node.emit("shape", {x});
  node.set(1, node.emit("constant_of_shape", {shape}, {{"value", 1.0}, {"type", type}}));
}

/// The locale names a language; the rules of Unicode are used for all languages.
void importStringNormalizer(Node &node) {
  node.expectInputs(1, 1);
  node.ignore({"locale"});
  std::string change = node.stringAttr("case_change_action", "NONE");
  std::transform(change.begin(), change.end(), change.begin(), [](unsigned char c) { return std::tolower(c); });
  bool sensitive = node.intAttr("is_case_sensitive", 0) != 0;
  node.set(0, node.emit("string_normalizer", {node.in(0)},
                        {{"case_change", change},
                         {"is_case_sensitive", sensitive},
                         {"stopwords", joinStrings(node.stringsAttr("stopwords"))}}));
}

void importSize(Node &node) {
  node.expectInputs(1, 1);
  mlir::Value shape = node.emit("shape", {node.in(0)});
  node.set(0, node.emit("reduce_prod", {shape}, {{"axes", std::vector<int64_t>{0}}, {"keepdims", false}}));
}

} // namespace

void addValueHandlers(Handlers &table) {
  table["Constant"] = importConstant;
  table["ConstantOfShape"] = importConstantOfShape;
  table["Identity"] = importIdentity;
  table["Dropout"] = importDropout;
  table["Size"] = importSize;
  table["StringNormalizer"] = importStringNormalizer;
}

} // namespace lathe::onnx
