// Binding of the caller's inputs and outputs: checks their types, copies unaligned values.
#include "runtime/plan/Execution.h"

#include <algorithm>
#include <cstring>

namespace lathe::runtime {

std::string describe(ElementType type, std::span<const Dim> dims) {
  return fmt::format("{} {}", name(type), str(dims));
}

std::string describe(const Value &value) {
  if (value.isSequence())
    return "a sequence";
  if (value.isOptional())
    return "an optional";
  return value.tensor().defined() ? describe(value.tensor().type(), toDims(value.tensor().dims())) : "nothing";
}

int64_t denseBytes(ElementType type, const std::vector<int64_t> &dims) {
  int64_t elements = 1;
  for (int64_t dim : dims)
    require(dim >= 0 && !__builtin_mul_overflow(elements, dim, &elements) && elements < int64_t(1) << 56,
            "absurd dimensions: {} {}", name(type), str(toDims(dims)));
  return byteSize(type, elements);
}

namespace {

uint64_t elementAlignment(ElementType type) { return std::max(1u, bitWidth(type) / 8); }

/// The tensors of a sequence or of an optional have the port's element type. Unaligned ones are copied.
void checkTensors(Value &value, const Port &port, const std::string &file) {
  if (value.isTensor()) {
    Tensor &tensor = value.tensor();
    require(tensor.defined() && tensor.type() == port.type, "{}: input '{}': expected tensors of {}, got {}", file,
            port.name, name(port.type), describe(value));
    denseBytes(tensor.type(), tensor.dims());
    if (reinterpret_cast<uintptr_t>(tensor.data()) % elementAlignment(tensor.type()) != 0)
      tensor = tensor.clone();
  } else if (value.isSequence()) {
    for (Value &item : value.sequence().items) {
      require(item.isTensor(), "{}: input '{}': expected a sequence of tensors, got {}", file, port.name,
              describe(value));
      checkTensors(item, port, file);
    }
    value.sequence().elementType = port.type;
  }
}

/// Returns `value` in the form of an input that is a sequence or an optional. The caller may give the content of an
/// optional without the optional around it.
Value fittingValue(Value value, const Port &port, const std::string &file) {
  ValueKind inside = port.kind == ValueKind::optional ? ValueKind::tensor : ValueKind::sequence;
  if (isOptional(port.kind) && kindOf(value) == inside)
    value = Optional{std::make_shared<Value>(std::move(value))};
  bool empty = value.isOptional() && !value.optional().value;
  require(kindOf(value) == port.kind || (isOptional(port.kind) && empty), "{}: input '{}': expected {}, got {}", file,
          port.name, name(port.kind), describe(value));
  if (value.isOptional() && !empty)
    checkTensors(*value.optional().value, port, file);
  else
    checkTensors(value, port, file);
  return value;
}

} // namespace

void Context::State::setInput(size_t index, Value value) {
  require(index < inputs.size(), "{}: input {} of {}", file, index, inputs.size());
  bindInput(index, std::move(value));
  if (KeptState *kept = stateOfInput(index)) {
    kept->initial = inputs[index];
    kept->kept = kept->owned = false;
  }
}

void Context::State::bindInput(size_t index, Value value) {
  const Port &port = model->inputs()[index];
  if (!port.tensor()) {
    value = fittingValue(std::move(value), port, file);
  } else {
    bool fits = value.isTensor() && value.tensor().type() == port.type && value.tensor().rank() == port.dims.size();
    for (size_t i = 0; fits && i < port.dims.size(); ++i)
      fits = !port.dims[i].isConstant() || port.dims[i].constant() == value.tensor().dim(i);
    require(fits, "{}: input '{}': expected {}, got {}", file, port.name, describe(port.type, port.dims),
            describe(value));
    Tensor &tensor = value.tensor();
    denseBytes(tensor.type(), tensor.dims());
    if (reinterpret_cast<uintptr_t>(tensor.data()) % elementAlignment(tensor.type()) != 0) {
      Tensor &copy = inputCopies[index];
      if (!copy.defined() || copy.dims() != tensor.dims())
        copy = Tensor(tensor.type(), tensor.dims());
      std::memcpy(copy.data(), tensor.data(), static_cast<size_t>(tensor.bytes()));
      tensor = copy;
    }
    bool before = inputSet[index];
    extentsChanged |= !before || inputs[index].tensor().dims() != tensor.dims();
    pointersChanged |= !before || inputs[index].tensor().data() != tensor.data();
  }
  pointersChanged |= !plan || slots[plan->inputs[index]].boxed; // boxed values are handed over, not pointed at
  inputs[index] = std::move(value);
  inputSet[index] = true;
}

void Context::State::setOutput(size_t index, Tensor tensor) {
  require(index < callerOutputs.size(), "{}: output {} of {}", file, index, callerOutputs.size());
  const Port &port = model->outputs()[index];
  require(!stateOfOutput(index), "{}: output '{}' is kept as a state: its memory is the context's", file, port.name);
  if (tensor.defined()) {
    bool fits = port.tensor() && tensor.type() == port.type && tensor.rank() == port.dims.size();
    for (size_t i = 0; fits && i < port.dims.size(); ++i)
      fits = !port.dims[i].isConstant() || port.dims[i].constant() == tensor.dim(i);
    require(fits, "{}: output '{}': expected {}, got {}", file, port.name, describe(port.type, port.dims),
            describe(Value(tensor)));
    require(reinterpret_cast<uintptr_t>(tensor.data()) % elementAlignment(tensor.type()) == 0,
            "{}: output '{}': the buffer is not aligned to the {} bytes of an element", file, port.name,
            elementAlignment(tensor.type()));
  }
  callerOutputs[index] = std::move(tensor);
  pointersChanged = true;
}

} // namespace lathe::runtime
