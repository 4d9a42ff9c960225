// The table of references and the steps around each call: static operands become attributes, shapes are checked with
// the shape function, numbers are widened and narrowed.
#include "ops/Reference.h"

#include "ops/ReferenceSupport.h"

#include <algorithm>

namespace lathe {
namespace {

using ReferenceFunction = void (*)(const Attrs &, ReferenceCall &);

/// Puts a tensor's values into one field.
class FieldSetter : public AttrVisitor {
public:
  FieldSetter(std::string_view wanted, const Tensor &tensor) : wanted(wanted), tensor(tensor) {}
  bool done = false;
  void field(const char *name, int64_t &value) override {
    if (mine(name))
      value = tensor.asInteger(0);
  }
  void field(const char *name, double &value) override {
    // A double cannot hold every 64-bit integer: these operands stay operands.
    if (name == wanted && tensor.elements() == 1 && tensor.type() != ElementType::string &&
        (!isInteger(tensor.type()) || bitWidth(tensor.type()) < 64)) {
      value = tensor.asDouble(0);
      done = true;
    }
  }
  void field(const char *name, bool &value) override {
    if (mine(name))
      value = tensor.asInteger(0) != 0;
  }
  void field(const char *, std::string &) override {}
  void field(const char *, ElementType &) override {}
  void field(const char *name, std::vector<int64_t> &value) override {
    if (!mine(name))
      return;
    value.clear();
    for (int64_t i = 0; i < tensor.elements(); ++i)
      value.push_back(tensor.asInteger(i));
  }
  void field(const char *name, std::vector<double> &value) override {
    if (!mine(name))
      return;
    value.clear();
    for (int64_t i = 0; i < tensor.elements(); ++i)
      value.push_back(tensor.asDouble(i));
  }

private:
  std::string_view wanted;
  const Tensor &tensor;
  bool mine(const char *name) { return name == wanted ? done = true : false; }
};

/// Operators that move elements without reading their values.
bool isOpaque(const OpRecord &record) {
  std::string_view op = record.name, lowering = record.lowering;
  return lowering == "movement" || lowering == "view" || op == "where" || op == "cast" || op == "shape" ||
         op == "constant_of_shape";
}

/// The type a reference computes in.
ElementType widened(const OpRecord &record, ElementType type) {
  if (isOpaque(record)) {
    if (std::string_view(record.name) == "cast" || bitWidth(type) != 4)
      return type;
    return type == ElementType::i4 ? ElementType::i8 : ElementType::u8;
  }
  if (isFloat(type))
    return type == ElementType::f64 ? type : ElementType::f32;
  if (isSignedInteger(type))
    return ElementType::i64;
  return isUnsignedInteger(type) ? ElementType::u64 : type;
}

TensorInfo infoOf(const Tensor &tensor) {
  TensorInfo info{tensor.type(), toDims(tensor.dims()), std::nullopt};
  bool counts = isInteger(tensor.type()) || tensor.type() == ElementType::boolean;
  if (counts && tensor.elements() <= static_cast<int64_t>(maxContents)) {
    info.contents.emplace();
    for (int64_t i = 0; i < tensor.elements(); ++i)
      info.contents->push_back(tensor.asInteger(i));
  }
  return info;
}

/// A call's attributes with the values of its static operands, and its other operands.
struct Resolved {
  std::unique_ptr<Attrs> attrs;
  std::vector<const Value *> inputs;
  InferResult results;
};

Resolved resolve(const OpRecord &record, const Attrs &attrs, std::span<const Value *const> inputs) {
  Resolved resolved{attrs.clone(), {inputs.begin(), inputs.end()}, {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i])
      continue;
    require(inputs[i]->isTensor() && inputs[i]->tensor().defined(), "{}: operand {} is not a tensor", record.name, i);
    if (i >= record.operands.size() || !*record.operands[i].staticAttribute)
      continue;
    FieldSetter setter(record.operands[i].staticAttribute, inputs[i]->tensor());
    resolved.attrs->visit(setter);
    if (setter.done)
      resolved.inputs[i] = nullptr;
  }
  std::vector<TensorInfo> infos(inputs.size());
  InferInputs in(inputs.size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (resolved.inputs[i]) {
      infos[i] = infoOf(resolved.inputs[i]->tensor());
      in[i] = &infos[i];
    }
  resolved.results = record.infer(*resolved.attrs, in);
  return resolved;
}

void runResolved(const OpRecord &record, const Resolved &resolved, ReferenceCall &call, ReferenceFunction function) {
  require(call.outputs.size() == resolved.results.size(), "{}: the call has {} results, expected {}", record.name,
          call.outputs.size(), resolved.results.size());
  std::vector<Value> inputs(resolved.inputs.size()), outputs(call.outputs.size());
  std::vector<ElementType> narrow;
  for (const TensorInfo &info : resolved.results)
    narrow.push_back(info.type);
  std::vector<const Value *> pointers(inputs.size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (resolved.inputs[i]) {
      const Tensor &given = resolved.inputs[i]->tensor();
      inputs[i] = given.convertedTo(widened(record, given.type()));
      pointers[i] = &inputs[i];
    }
  bool anything = false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorInfo &info = resolved.results[i];
    Value &out = call.outputs[i];
    if (!allConstant(info.dims)) { // the reference allocates the result
      anything = true;
      continue;
    }
    std::vector<int64_t> dims = constants(info.dims);
    if (!out.isTensor() || !out.tensor().defined())
      out = Tensor(info.type, dims);
    const Tensor &tensor = out.tensor();
    require(tensor.type() == info.type && tensor.dims() == dims, "{}: result {} has {} {} for it, expected {} {}",
            record.name, i, name(tensor.type()), fmt::join(tensor.dims(), "x"), name(info.type), fmt::join(dims, "x"));
    ElementType wide = widened(record, info.type);
    outputs[i] = wide == info.type ? tensor : Tensor(wide, dims);
    anything |= tensor.elements() > 0;
  }
  if (!anything)
    return;
  ReferenceCall inner{pointers, outputs, narrow, call.parallel};
  function(*resolved.attrs, inner);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor &made = outputs[i].tensor();
    Value &out = call.outputs[i];
    ElementType type = resolved.results[i].type;
    if (!out.isTensor() || !out.tensor().defined())
      out = made.convertedTo(type);
    else if (made.type() != type)
      assign(out.tensor(), made.convertedTo(type));
  }
}

void runPrepared(const char *op, const Attrs &attrs, ReferenceCall &call, ReferenceFunction function) {
  const OpRecord &record = *findOp(op);
  if (record.takesValues) {
    for (size_t i = 0; i < record.operands.size(); ++i)
      require(record.operands[i].optional || record.operands[i].variadic || call.has(i), "{}: operand '{}' is missing",
              record.name, record.operands[i].name);
    return function(attrs, call);
  }
  runResolved(record, resolve(record, attrs, call.inputs), call, function);
}

} // namespace
} // namespace lathe

#include "ops/References.inc"

namespace lathe {

const ReferenceEntry *findReference(std::string_view op) {
  auto it = std::lower_bound(std::begin(entries), std::end(entries), op,
                             [](const ReferenceEntry &entry, std::string_view wanted) { return entry.name < wanted; });
  return it != std::end(entries) && op == it->name ? it : nullptr;
}

std::vector<Value> evaluateReference(std::string_view op, const Attrs &attrs, std::span<const Value *const> inputs) {
  const OpRecord *record = findOp(op);
  const ReferenceEntry *entry = findReference(op);
  require(record && entry, "no operator '{}'", op);
  std::vector<Value> outputs(record->takesValues ? record->results.size()
                                                 : resolve(*record, attrs, inputs).results.size());
  ReferenceCall call{inputs, outputs, {}, {}};
  entry->run(attrs, call);
  return outputs;
}

} // namespace lathe
