#include "import/keras/Keras.h"

#include "support/JsonError.h"
#include "support/Text.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace lathe::keras {
namespace {

Importers makeImporters() {
  Importers table;
  addActivationImporters(table);
  addAttentionImporters(table);
  addDenseImporters(table);
  addLayerImporters(table);
  addLookupImporters(table);
  addMaskImporters(table);
  addMergeImporters(table);
  addMovementImporters(table);
  addNormalizeImporters(table);
  addPoolImporters(table);
  addPreprocessImporters(table);
  addRecurrentImporters(table);
  addSignalImporters(table);
  addWindowImporters(table);
  return table;
}

void importLayer(Node &node) {
  try {
    Layer layer(node);
    importers().at(node.record.op).run(layer);
  } catch (const json::exception &error) { // a member has another kind than the importer expects
    fail("its configuration is not that of the layer: {}", messageOf(error));
  } catch (const std::out_of_range &) {
    fail("an operand or a weight has fewer axes than the layer reads");
  }
}

Handlers makeHandlers() {
  Handlers result;
  for (const auto &[name, importer] : importers())
    result[name] = importLayer;
  return result;
}

StructureHandler structureHandler(const NodeRecord &node, const std::vector<Entry> &) {
  return static_cast<const LayerNode *>(node.source)->definition.empty() ? nullptr : importDefined;
}

/// The name of a policy: a text, or an object of a class DTypePolicy.
std::string policyName(const json &policy) {
  if (policy.is_string())
    return policy.get<std::string>();
  return textMember(member(policy, "config"), "name");
}

} // namespace

const Importers &importers() {
  static const Importers table = makeImporters();
  return table;
}

const Format &format() {
  static const Format table = {.name = "Keras",
                               .versionWord = "Keras",
                               .read = readModel,
                               .mappings = mappings("keras"),
                               .handlers = makeHandlers(),
                               .structure = structureHandler,
                               .passesOn = [](const NodeRecord &node) { return passesOn(node.op); }};
  return table;
}

// ---- A layer ------------------------------------------------------------------------------------------------------

Layer::Layer(Node &node)
    : node(node), source(*static_cast<const LayerNode *>(node.record.source)), config(source.layer->config) {
  std::string policy = policyName(member(config, "dtype"));
  if (policy == "float64")
    compute = ElementType::f64;
  else if (policy.starts_with("int8") || policy.starts_with("float8"))
    unsupported(fmt::format("the policy '{}' is not supported: its weights are quantised", policy));
}

mlir::Value Layer::asCompute(mlir::Value value) {
  return isFloat(node.info(value).type) ? node.cast(value, compute) : value;
}

mlir::Value Layer::raw(size_t index) const {
  require(index < source.tensors, "has {} operands, expected more than {}", source.tensors, index);
  return node.in(index);
}

mlir::Value Layer::in(size_t index) { return asCompute(raw(index)); }

mlir::Value Layer::mask(size_t index) const {
  return index < source.masks ? node.inOrNull(source.tensors + index) : mlir::Value();
}

void Layer::expectWeights(size_t count) const {
  require(source.weights == count, "has {} in the file, expected {}", counted(int64_t(source.weights), "weight"),
          count);
}

mlir::Value Layer::weight(size_t index) {
  require(index < source.weights, "has {} in the file, expected more than {}",
          counted(int64_t(source.weights), "weight"), index);
  return asCompute(node.in(source.tensors + source.masks + index));
}

const json &Layer::argument(size_t position, const char *name) const {
  const json &arguments = source.call->arguments;
  return position < arguments.size() ? arguments[position] : member(source.call->keywords, name);
}

std::vector<size_t> Layer::tensorsIn(const json &argument) const {
  std::vector<size_t> result;
  if (argument.is_object() && argument.size() == 1 && argument.contains("tensor"))
    result.push_back(argument["tensor"].get<size_t>());
  else if (argument.is_array() || argument.is_object())
    for (const json &item : argument)
      for (size_t index : tensorsIn(item))
        result.push_back(index);
  return result;
}

mlir::Value Layer::tensorOf(const json &argument) {
  std::vector<size_t> found = tensorsIn(argument);
  return found.size() == 1 ? in(found[0]) : mlir::Value();
}

bool Layer::flag(const char *key, bool fallback) const { return flagMember(config, key, fallback); }
int64_t Layer::integer(const char *key, int64_t fallback) const { return integerMember(config, key, fallback); }
double Layer::number(const char *key, double fallback) const { return numberMember(config, key, fallback); }
std::vector<int64_t> Layer::integers(const char *key, size_t count, int64_t fallback) const {
  return integersMember(config, key, count, fallback);
}

bool Layer::channelsLast() const {
  std::string format = text("data_format", "channels_last");
  require(format == "channels_last" || format == "channels_first",
          "data_format is '{}', expected channels_last or channels_first", format);
  return format == "channels_last";
}

// ---- Members of configurations ------------------------------------------------------------------------------------

int64_t integerMember(const json &object, const char *key, int64_t fallback) {
  const json &value = member(object, key);
  if (value.is_null())
    return fallback;
  bool whole = value.is_number_float() && value.get<double>() == std::floor(value.get<double>()) &&
               std::abs(value.get<double>()) < 1e15;
  require(value.is_number_integer() || whole, "'{}' is {}, expected an integer", key, value.type_name());
  return whole ? static_cast<int64_t>(value.get<double>()) : value.get<int64_t>();
}

double numberMember(const json &object, const char *key, double fallback) {
  const json &value = member(object, key);
  if (value.is_null())
    return fallback;
  if (value.is_object()) // a NumPy number, as in Keras 2.13 and later
    return numberMember(member(value, "config"), "value", fallback);
  require(value.is_number(), "'{}' is {}, expected a number", key, value.type_name());
  return value.get<double>();
}

bool flagMember(const json &object, const char *key, bool fallback) {
  const json &value = member(object, key);
  if (value.is_null())
    return fallback;
  require(value.is_boolean() || value.is_number_integer(), "'{}' is {}, expected true or false", key,
          value.type_name());
  return value.is_boolean() ? value.get<bool>() : value.get<int64_t>() != 0;
}

std::vector<int64_t> integersMember(const json &object, const char *key, size_t count, int64_t fallback) {
  const json &value = member(object, key);
  if (!value.is_array())
    return std::vector<int64_t>(count, integerMember(object, key, fallback));
  require(value.size() == count, "'{}' has {} values, expected {}", key, value.size(), count);
  std::vector<int64_t> result;
  for (const json &item : value) {
    require(item.is_number_integer(), "'{}' has {} among its values, expected integers", key, item.type_name());
    result.push_back(item.get<int64_t>());
  }
  return result;
}

} // namespace lathe::keras
