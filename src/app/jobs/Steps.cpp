#include "jobs/Steps.h"

#include <algorithm>

namespace lathe::jobs {
namespace {

/// Index of the port called `name`. Throws Error that begins with `text`.
size_t portCalled(std::span<const runtime::Port> ports, const std::string &name, const char *kind,
                  const std::string &text) {
  std::string names;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].name == name)
      return i;
    names += (names.empty() ? "'" : ", '") + ports[i].name + "'";
  }
  fail("--state {}: the model has no {} '{}', expected one of {}", text, kind, name, names);
}

/// The parts of a text of --state.
struct StateText {
  std::string input, output;
  int64_t max = 0;

  explicit StateText(const std::string &text) {
    std::string names = text;
    if (size_t at = text.rfind(":max="); at != std::string::npos) {
      std::string number = text.substr(at + 5);
      require(!number.empty() && number.size() < 13 && number.find_first_not_of("0123456789") == std::string::npos &&
                  std::stoll(number) > 0,
              "--state {}: expected :max=POSITIONS, a number of at least 1", text);
      max = std::stoll(number);
      names = text.substr(0, at);
    }
    size_t equals = names.find('=');
    require(equals != std::string::npos && equals > 0 && equals + 1 < names.size(),
            "--state {}: expected INPUT=OUTPUT or INPUT=OUTPUT:max=POSITIONS", text);
    input = names.substr(0, equals);
    output = names.substr(equals + 1);
    require(std::count(input.begin(), input.end(), '*') < 2 &&
                std::count(input.begin(), input.end(), '*') == std::count(output.begin(), output.end(), '*'),
            "--state {}: expected one * in both names or in none", text);
  }
};

/// The part of `name` that `*` of `pattern` matches; nothing if the name does not match.
std::optional<std::string> matched(const std::string &pattern, const std::string &name) {
  size_t star = pattern.find('*');
  std::string before = pattern.substr(0, star), after = pattern.substr(star + 1);
  if (name.size() < before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after))
    return std::nullopt;
  return name.substr(before.size(), name.size() - before.size() - after.size());
}

} // namespace

std::vector<StatePair> statePairs(std::span<const runtime::Port> inputs, std::span<const runtime::Port> outputs,
                                  const std::vector<std::string> &texts) {
  std::vector<StatePair> pairs;
  auto add = [&](const std::string &text, StatePair pair) {
    for (const StatePair &other : pairs) {
      require(other.input != pair.input, "--state {}: input '{}' is a state already", text, inputs[pair.input].name);
      require(other.output != pair.output, "--state {}: output '{}' is a state already", text,
              outputs[pair.output].name);
    }
    pairs.push_back(pair);
  };
  for (const std::string &text : texts) {
    StateText parts(text);
    if (parts.input.find('*') == std::string::npos) {
      add(text, {portCalled(inputs, parts.input, "input", text), portCalled(outputs, parts.output, "output", text),
                 parts.max});
      continue;
    }
    bool any = false;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (std::optional<std::string> star = matched(parts.input, inputs[i].name)) {
        std::string output = parts.output;
        output.replace(output.find('*'), 1, *star);
        add(text, {i, portCalled(outputs, output, "output", text), parts.max});
        any = true;
      }
    if (!any)
      portCalled(inputs, parts.input, "input", text);
  }
  return pairs;
}

StepInputs::StepInputs(std::span<const runtime::Port> ports, std::vector<StatePair> pairs, const InputOptions &flags,
                       const std::vector<std::string> &shapeTexts, int64_t steps)
    : ports(ports), pairs(std::move(pairs)), flags(flags), shapes(shapesByName(ports, shapeTexts)),
      given(givenInputs(ports, flags)), steps(steps) {
  std::vector<runtime::Port> others;
  std::map<std::string, Value> givenOthers;
  for (size_t i = 0; i < ports.size(); ++i) {
    auto value = given.find(ports[i].name);
    if (!isState(i))
      others.push_back(ports[i]);
    if (!isState(i) && value != given.end())
      givenOthers.insert(*value);
  }
  requireFillHonoured(others, flags, givenOthers);
}

bool StepInputs::isState(size_t port) const {
  return std::any_of(pairs.begin(), pairs.end(), [&](const StatePair &pair) { return pair.input == port; });
}

/// The given value of a port for a step: the whole value, or `part` for one step. Null if it must be filled.
const Value *StepInputs::valueOf(const runtime::Port &port, int64_t step, Value &part) const {
  auto found = given.find(port.name);
  if (found == given.end())
    return nullptr;
  if (!found->second.isTensor())
    return &found->second;
  const Tensor &whole = found->second.tensor();
  if (whole.rank() != port.dims.size() + 1 || whole.dim(0) != steps || whole.bytes() % steps != 0 ||
      whole.type() == ElementType::string)
    return &found->second;
  std::vector<int64_t> dims(whole.dims().begin() + 1, whole.dims().end());
  int64_t bytes = whole.bytes() / steps;
  part = Tensor::borrow(whole.type(), dims, static_cast<char *>(const_cast<void *>(whole.data())) + step * bytes);
  return &part;
}

/// The extents of symbols that follow from states and given inputs.
std::map<std::string, int64_t> StepInputs::knownExtents(const runtime::Context &context, int64_t step) const {
  std::map<std::string, int64_t> known;
  Value part;
  for (const runtime::Port &port : ports)
    if (const Value *value = valueOf(port, step, part); value && value->isTensor())
      bindSymbols(port, value->tensor().dims(), known);
  for (const StatePair &pair : pairs) {
    const runtime::Port &port = ports[pair.input];
    const Dims &after = context.model().outputs()[pair.output].dims;
    if (step > 0) {
      bindSymbols(port, context.inputDims(pair.input), known);
      continue;
    }
    for (size_t axis = 0; !given.contains(port.name) && axis < after.size(); ++axis)
      if (!port.dims[axis].isConstant() && !(port.dims[axis] == after[axis]))
        known.try_emplace(port.dims[axis].str(), 0); // 0: no elements yet along a growing axis
  }
  return known;
}

void StepInputs::set(runtime::Context &context, int64_t step) const {
  std::map<std::string, int64_t> known = knownExtents(context, step);
  for (size_t i = 0; i < ports.size(); ++i) {
    Value part;
    const Value *value = valueOf(ports[i], step, part);
    if (isState(i)) {
      if (step == 0 && given.contains(ports[i].name))
        context.setInput(i, given.at(ports[i].name));
      continue;
    }
    uint64_t number = static_cast<uint64_t>(step) * 7919 + i + 1;
    context.setInput(i, value ? *value : filledInput(ports[i], flags, shapes, known, number));
  }
}

} // namespace lathe::jobs
