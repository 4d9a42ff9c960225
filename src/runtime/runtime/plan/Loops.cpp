// Loops. Carried values with separate buffers pass to the next iteration without copies.
#include "runtime/plan/Execution.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace lathe::runtime {

/// A scanned value: the results of all iterations, one after the other.
class Context::State::Scanned {
public:
  Scanned(State &state, uint32_t from, uint32_t to)
      : state(state), from(from), to(to),
        inPlace(!state.slots[to].boxed && state.plan->values[to].kind == ValueKind::tensor) {}

  /// Appends the result of the iteration.
  void take() {
    Value value = state.view(from);
    const Tensor &step = value.tensor();
    if (count++ == 0)
      dims = step.dims();
    require(step.dims() == dims, "{}: loop result '{}': iterations give {} and {}", state.file, name(),
            describe(step.type(), toDims(dims)), describe(value));
    auto bytes = static_cast<size_t>(step.bytes());
    if (!inPlace) {
      const auto *data = static_cast<const char *>(step.data());
      pieces.insert(pieces.end(), data, data + bytes);
      return;
    }
    const Slot &slot = state.slots[to];
    requireFits(count <= slot.dims[0]);
    if (bytes)
      std::memcpy(slot.data + (count - 1) * step.bytes(), step.data(), bytes);
  }

  void finish() {
    const ValueInfo &info = state.plan->values[to];
    if (inPlace)
      return requireFits(count == state.slots[to].dims[0]);
    std::vector<int64_t> all{count};
    if (count == 0)
      dims = state.firstExtents(from);
    all.insert(all.end(), dims.begin(), dims.end());
    Tensor result(info.type, all);
    if (!pieces.empty())
      std::memcpy(result.data(), pieces.data(), pieces.size());
    state.bindSymbols(info, all);
    state.write(to, Value(result));
  }

private:
  State &state;
  uint32_t from, to;
  bool inPlace; // the result's extents are known: each iteration writes its part
  int64_t count = 0;
  std::vector<int64_t> dims;
  std::vector<char> pieces;

  const std::string &name() const { return state.plan->values[to].name; }
  void requireFits(bool fits) const {
    require(fits && (count == 0 || std::equal(dims.begin(), dims.end(), state.slots[to].dims.begin() + 1)),
            "{}: loop result '{}': expected {}, got {} of {}", state.file, name(),
            describe(state.plan->values[to].type, toDims(state.slots[to].dims)), count,
            describe(state.plan->values[to].type, toDims(dims)));
  }
};

/// True if the carried value and its successor may change places: each has its own buffer, of equal size, which only
/// this loop uses.
bool Context::State::passesOn(const Instruction &instruction, const Loop &loop, size_t carried) const {
  uint32_t in = loop.bodyInputs[2 + carried], out = loop.bodyOutputs[1 + carried];
  const ValueInfo &from = plan->values[out], &to = plan->values[in];
  const ValueInfo &root = plan->values[from.root];
  auto movable = [](Storage storage) { return storage == Storage::temporary || storage == Storage::dynamic; };
  auto uses = [&](const std::vector<uint32_t> &list) {
    return std::count_if(list.begin(), list.end(), [&](uint32_t i) { return plan->values[i].root == from.root; });
  };
  if (to.root != in || !movable(to.storage) || !movable(root.storage) || slots[in].boxed != slots[from.root].boxed ||
      uses(loop.bodyInputs) > 0 || uses(loop.bodyOutputs) > 1 || plan->live[from.root].first < instruction.id)
    return false;
  if (slots[in].boxed)
    return from.root == out;
  return !slots[out].boxed && evaluate(from.rootOffset) == 0 && slots[from.root].bytes == slots[in].bytes &&
         slots[out].dims == slots[in].dims;
}

/// The extents of a value of the body in the first iteration, as far as the carried values determine them; otherwise 0.
std::vector<int64_t> Context::State::firstExtents(uint32_t value) const {
  std::vector<int64_t> dims;
  for (Extent extent : plan->values[value].dims) {
    std::vector<std::string> names;
    plan->extents[extent].collectSymbols(names);
    auto guard = guardLate();
    bool known =
        std::all_of(names.begin(), names.end(), [&](const std::string &name) { return symbols.contains(name); });
    dims.push_back(known ? evaluate(extent) : 0);
  }
  return dims;
}

void Context::State::prepareLoop(const Instruction &instruction, const Loop &loop) {
  PreparedLoop &prepared = loops[instruction.id];
  std::vector<bool> swapped(plan->values.size());
  for (size_t i = 0; i < loop.initial.size(); ++i) {
    uint32_t in = loop.bodyInputs[2 + i], out = loop.bodyOutputs[1 + i];
    if (in == out)
      continue;
    if (!passesOn(instruction, loop, i)) {
      prepared.copies.push_back(i);
      continue;
    }
    prepared.swaps.push_back({in, plan->values[out].root});
    swapped[in] = swapped[plan->values[out].root] = !slots[in].boxed;
  }
  auto moves = [&](int64_t value) { return value >= 0 && swapped[plan->values[static_cast<size_t>(value)].root]; };
  for (uint32_t i = 0; i < plan->values.size(); ++i)
    if (plan->values[i].root != i && moves(i))
      prepared.aliases.push_back(i);
  for (uint32_t id = instruction.id + 1; id <= instruction.last; ++id) {
    const Instruction &inner = *plan->instructions[id];
    if (auto *call = std::get_if<CallKernel>(&inner.operation); call && inner.known) {
      for (uint32_t b = 0; b < call->buffers.size(); ++b)
        if (moves(call->buffers[b]))
          prepared.kernels.push_back({id, b, call->buffers[b]});
    } else if (auto *call = std::get_if<CallReference>(&inner.operation)) {
      for (uint32_t i = 0; i < call->inputs.size(); ++i)
        if (moves(call->inputs[i]) && !slots[static_cast<uint32_t>(call->inputs[i])].boxed)
          prepared.references.push_back({id, i, static_cast<uint32_t>(call->inputs[i]), true});
      for (uint32_t i = 0; i < call->outputs.size(); ++i)
        if (moves(call->outputs[i]) && !slots[call->outputs[i]].boxed)
          prepared.references.push_back({id, i, call->outputs[i], false});
    }
  }
}

void Context::State::swap(const PreparedLoop &prepared) {
  for (auto [in, out] : prepared.swaps) {
    Slot &a = slots[in], &b = slots[out];
    if (!a.boxed) {
      std::swap(a.data, b.data);
      continue;
    }
    if (!b.written)
      b.value = unwritten(out), b.written = true;
    std::swap(a.value, b.value);
    std::swap(a.pages, b.pages);
    std::swap(a.written, b.written);
    if (a.value.isTensor())
      bindSymbols(plan->values[in], a.value.tensor().dims());
  }
  for (uint32_t value : prepared.aliases)
    if (!slots[value].boxed)
      slots[value].data = slots[plan->values[value].root].data + evaluate(plan->values[value].rootOffset);
  for (auto [instruction, buffer, value] : prepared.kernels)
    if (!slots[value].boxed)
      kernels[instruction].buffers[buffer] = slots[value].data;
  for (auto [instruction, index, value, input] : prepared.references)
    (input ? references[instruction].inputs : references[instruction].outputs)[index] = view(value);
}

void Context::State::nextIteration(PreparedLoop &prepared, const Loop &loop) {
  // Copies first: one carried value may have become another's successor.
  std::vector<Value> next;
  for (size_t i : prepared.copies)
    next.push_back(keptValue(view(loop.bodyOutputs[1 + i])));
  swap(prepared);
  for (size_t k = 0; k < next.size(); ++k) {
    uint32_t in = loop.bodyInputs[2 + prepared.copies[k]];
    if (slots[in].boxed && next[k].isTensor())
      bindSymbols(plan->values[in], next[k].tensor().dims());
    write(in, next[k]);
  }
}

void Context::State::call(Stream &stream, const Instruction &instruction, const Loop &loop) {
  PreparedLoop &prepared = loops.at(instruction.id);
  size_t carried = loop.initial.size();
  int64_t trips =
      loop.tripCount >= 0 ? readScalar(static_cast<uint32_t>(loop.tripCount)) : std::numeric_limits<int64_t>::max();
  bool condition = loop.condition < 0 || readScalar(static_cast<uint32_t>(loop.condition)) != 0;
  auto pass = [&](uint32_t from, uint32_t to) {
    Value value = view(from);
    if (slots[to].boxed && value.isTensor())
      bindSymbols(plan->values[to], value.tensor().dims());
    write(to, value);
  };
  for (size_t i = 0; i < carried; ++i)
    pass(loop.initial[i], loop.bodyInputs[2 + i]);
  std::vector<Scanned> scans;
  for (size_t i = carried; i < loop.results.size(); ++i)
    scans.emplace_back(*this, loop.bodyOutputs[1 + i], loop.results[i]);
  forget(plan->blocks[loop.body].lateSymbols);                 // of the previous run
  bool isEmpty = plan->blocks[loop.body].instructions.empty(); // else its instructions ask whether the run is to end
  for (int64_t trip = 0; trip < trips && condition; ++trip) {
    if (isEmpty)
      poll(stream);
    writeScalar(loop.bodyInputs[0], trip);
    writeScalar(loop.bodyInputs[1], condition);
    executeBody(stream, instruction.id, loop.body, trip);
    if (active.stopped)
      return;
    condition = readScalar(loop.bodyOutputs[0]) != 0;
    for (Scanned &scan : scans)
      scan.take();
    nextIteration(prepared, loop);
  }
  for (size_t i = 0; i < carried; ++i)
    pass(loop.bodyInputs[2 + i], loop.results[i]);
  for (Scanned &scan : scans)
    scan.finish();
}

} // namespace lathe::runtime
