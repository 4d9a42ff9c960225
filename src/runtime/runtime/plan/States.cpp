// States between runs: outputs that are inputs of the next run.
//
// Input and output of a state swap their memory after a run, or have the same memory where a kernel writes the output
// over the input (Plan::overwrites). A state that grows in place has one buffer with room for its maximum: its output
// continues its input there (Plan::growths), so that a run writes the new elements alone.
#include "runtime/QuantizedTensor.h"
#include "runtime/plan/Execution.h"

#include <algorithm>
#include <cstring>

namespace lathe::runtime {

Context::State::KeptState *Context::State::stateOfInput(size_t input) {
  auto it = std::find_if(states.begin(), states.end(), [&](const KeptState &kept) { return kept.input == input; });
  return it == states.end() ? nullptr : &*it;
}

Context::State::KeptState *Context::State::stateOfOutput(size_t output) {
  auto it = std::find_if(states.begin(), states.end(), [&](const KeptState &kept) { return kept.output == output; });
  return it == states.end() ? nullptr : &*it;
}

Context::State::KeptState *Context::State::grownState(size_t output) {
  KeptState *kept = stateOfOutput(output);
  return kept && kept->max > 0 ? kept : nullptr;
}

/// Returns how the plan lets the state grow in place; null if it does not.
const Growth *Context::State::growthOf(const Plan &candidate, const KeptState &kept) const {
  for (const Growth &growth : candidate.growths)
    if (growth.input == kept.input && growth.output == kept.output)
      return &growth;
  return nullptr;
}

/// True if the plan lets the output be written over the input.
bool Context::State::isOverwritten(const KeptState &kept) const {
  return std::any_of(plan->overwrites.begin(), plan->overwrites.end(), [&](const Overwrite &overwrite) {
    return overwrite.input == kept.input && overwrite.output == kept.output;
  });
}

void Context::State::keepState(size_t input, size_t output, int64_t max) {
  require(input < inputs.size(), "{}: input {} of {}", file, input, inputs.size());
  require(output < results.size(), "{}: output {} of {}", file, output, results.size());
  const Port &from = model->outputs()[output], &to = model->inputs()[input];
  std::string what = fmt::format("{}: state '{}' from '{}'", file, to.name, from.name);
  require(!stateOfInput(input), "{}: the input is a state already", what);
  require(!stateOfOutput(output), "{}: the output is a state already", what);
  require(!callerOutputs[output].defined(), "{}: the output has memory of the caller", what);
  require(max >= 0, "{}: a maximum of {}, expected at least 1", what, max);
  bool fits = from.tensor() && to.tensor() && from.type == to.type && from.type != ElementType::string &&
              from.dims.size() == to.dims.size();
  for (size_t i = 0; fits && i < to.dims.size(); ++i)
    fits = !from.dims[i].isConstant() || !to.dims[i].isConstant() || from.dims[i] == to.dims[i];
  require(fits, "{}: the output is {}, expected {}", what, describe(from.type, from.dims), describe(to.type, to.dims));
  KeptState kept{input, output, max, inputSet[input] ? inputs[input] : Value(), false, false, {}};
  require(max == 0 || growthOf(model->program().plans.back(), kept),
          "{}: the package does not let it grow in place, expected an output that continues the input and that only "
          "attention reads; without a maximum it grows by copies",
          what);
  states.push_back(std::move(kept));
  extentsChanged = pointersChanged = true;
}

void Context::State::resetStates() {
  for (KeptState &kept : states)
    kept.kept = kept.owned = false;
  extentsChanged = pointersChanged = true;
}

/// The initial value of a state: the real number zero, which is the zero point of a quantised state. An axis that grows
/// has extent 0; the other inputs give the other extents.
Value Context::State::initialValue(const KeptState &kept) const {
  const Port &port = model->inputs()[kept.input];
  std::vector<int64_t> dims;
  for (size_t axis = 0; axis < port.dims.size(); ++axis) {
    int64_t extent = port.dims[axis].constantOr(-1);
    if (extent < 0 && !(port.dims[axis] == model->outputs()[kept.output].dims[axis]))
      extent = 0;
    for (size_t i = 0; extent < 0 && i < inputs.size(); ++i) {
      const Dims &others = model->inputs()[i].dims;
      for (size_t other = 0; inputSet[i] && inputs[i].isTensor() && other < others.size(); ++other)
        if (others[other] == port.dims[axis])
          extent = inputs[i].tensor().dim(other);
    }
    require(extent >= 0, "{}: state '{}' has no value, and no other input tells its extent '{}': set the input", file,
            port.name, port.dims[axis].str());
    dims.push_back(extent);
  }
  Tensor zeros(port.quantization ? ElementType::f32 : port.type, dims);
  if (zeros.bytes() > 0)
    std::memset(zeros.data(), 0, static_cast<size_t>(zeros.bytes()));
  return port.quantization ? quantized(*port.quantization, zeros, port.type) : zeros;
}

/// Gives the states their first value where no run has written one.
void Context::State::startStates() {
  for (KeptState &kept : states) {
    if (kept.kept)
      continue;
    bool given = !kept.initial.isTensor() || kept.initial.tensor().defined();
    bindInput(kept.input, given ? kept.initial : initialValue(kept));
  }
}

/// Binds the symbols of outputs that can grow in place: their room, and whether the past lies there.
void Context::State::bindGrowths() {
  struct Bound {
    const Growth *growth;
    const KeptState *kept; // null: no state
  };
  std::unordered_map<std::string, Bound> bound; // by symbol
  auto name = [&](const Growth &growth) { return model->inputs()[growth.input].name; };
  auto known = [&](const std::string &symbol) {
    auto it = symbols.find(symbol);
    require(it != symbols.end(), "{}: malformed plan: an output grows by '{}', which no input tells", file, symbol);
    return it->second;
  };
  for (const Growth &growth : plan->growths) {
    const KeptState *kept = grownState(growth.output);
    const ValueInfo &to = plan->values[plan->outputs[growth.output]];
    auto [other, added] = bound.try_emplace(growth.capacity, Bound{&growth, kept});
    const KeptState *first = other->second.kept;
    require(added || !first == !kept,
            "{}: '{}' and '{}' grow together: expected both or none of them as states with a maximum", file,
            name(*other->second.growth), name(growth));
    require(added || !kept || (kept->max == first->max && kept->kept == first->kept),
            "{}: states '{}' and '{}' grow together: expected one maximum, and values for both or none", file,
            name(*other->second.growth), name(growth));
    symbols[growth.capacity] = kept ? kept->max : plan->extents[to.dims[growth.axis]].evaluate(known);
    symbols[growth.kept] = kept && kept->kept;
  }
}

/// Checks that every state fits its maximum.
void Context::State::checkGrowths() const {
  for (const KeptState &kept : states) {
    if (kept.max == 0)
      continue;
    const Growth *growth = growthOf(*plan, kept);
    const std::string &name = model->inputs()[kept.input].name;
    require(growth && plan->values[plan->outputs[kept.output]].known,
            "{}: state '{}': the plan for these extents does not let it grow in place", file, name);
    int64_t extent = evaluate(plan->values[plan->outputs[kept.output]].dims[growth->axis]);
    require(extent <= kept.max, "{}: state '{}' has {} positions after this run, expected at most its maximum of {}",
            file, name, extent, kept.max);
  }
}

/// The memory of a state that grows in place.
char *Context::State::growingBuffer(size_t output, const Slot &slot) {
  KeptState &kept = *grownState(output);
  auto bytes = static_cast<uint64_t>(slot.bytes);
  if (kept.store.bytes() < bytes) {
    require(!kept.kept, "{}: state '{}' has changed its extents", file, model->inputs()[kept.input].name);
    kept.store = Mapping(); // freed before the new one is allocated: memory may be too small for both
    kept.store = Mapping::allocate(bytes, file);
  }
  return kept.store.data();
}

/// Makes the outputs of this run the inputs of the next run.
void Context::State::advanceStates() {
  for (KeptState &kept : states) {
    Value &input = inputs[kept.input];
    if (kept.max > 0) {
      const Slot &slot = slots[plan->outputs[kept.output]];
      extentsChanged |= !kept.kept || slot.dims != input.tensor().dims();
      input = Tensor::borrow(input.tensor().type(), slot.dims, kept.store.data());
      kept.kept = kept.owned = true;
      continue;
    }
    Tensor before = kept.owned ? input.tensor() : Tensor(), now = results[kept.output].tensor();
    extentsChanged |= now.dims() != input.tensor().dims();
    // The memory of this input becomes the memory of the next run's output.
    if (isOverwritten(kept))
      before = now;
    bool again = before.defined() && before.dims() == now.dims();
    ownedOutputs[kept.output] = again ? before : Tensor();
    input = now;
    kept.kept = kept.owned = true;
    pointersChanged = true;
  }
}

/// A dense copy of a state that grows in place.
Tensor Context::State::denseCopy(const KeptState &kept) const {
  const Growth *growth = growthOf(*plan, kept);
  const Tensor &from = inputs[kept.input].tensor(); // has the extents, not the gaps
  Tensor to(from.type(), from.dims());
  int64_t rows = 1;
  for (size_t axis = 0; axis < growth->axis; ++axis)
    rows *= from.dim(axis);
  if (to.bytes() == 0)
    return to;
  int64_t row = to.bytes() / rows, pitch = row / from.dim(growth->axis) * kept.max;
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(static_cast<char *>(to.data()) + i * row, kept.store.data() + i * pitch, static_cast<size_t>(row));
  return to;
}

void Context::State::copyGrown(size_t output) {
  const KeptState *kept = grownState(output);
  if (kept && kept->kept && !(results[output].isTensor() && results[output].tensor().defined()))
    results[output] = denseCopy(*kept);
}

Value Context::State::nextInput(size_t index) {
  startStates();
  require(inputSet[index], "{}: input '{}' is not set", file, model->inputs()[index].name);
  const KeptState *kept = stateOfInput(index);
  if (kept && kept->kept && plan && isOverwritten(*kept))
    return cloneValue(inputs[index]);
  return kept && kept->max > 0 && kept->kept ? Value(denseCopy(*kept)) : inputs[index];
}

} // namespace lathe::runtime
