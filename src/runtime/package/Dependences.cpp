#include "package/Dependences.h"

#include "support/Dim.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace lathe::package {
namespace {

namespace fb = lathe::plan;

uint32_t sizeOf(const auto *list) { return list ? list->size() : 0; }

class Analysis {
public:
  explicit Analysis(const fb::Plan &plan) : plan(plan) {
    for (uint32_t input = 0; input < sizeOf(plan.inputs()); ++input)
      for (const auto *extent : *orEmpty(plan.values()->Get(plan.inputs()->Get(input))->dims()))
        given.insert(symbolsOf(extent).begin(), symbolsOf(extent).end());
  }

  std::vector<std::vector<uint32_t>> run() {
    const fb::Block &entry = *plan.blocks()->Get(0);
    std::vector<std::vector<uint32_t>> result(sizeOf(entry.instructions()));
    for (uint32_t i = 0; i < result.size(); ++i) {
      needed.clear();
      position = i;
      use(*entry.instructions()->Get(i));
      result[i].assign(needed.begin(), needed.end());
    }
    return result;
  }

private:
  using Texts = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;
  /// A range of bytes of some memory, with the position of its writer and the value that was written.
  struct Written {
    uint32_t position, value;
    Dim begin, end;
    bool known; // false: the plan does not state the size
  };
  const fb::Plan &plan;
  std::set<std::string> given;                            // symbols of inputs
  std::map<uint32_t, std::vector<Written>> written;       // by the value that owns the memory
  std::map<std::string, std::vector<uint32_t>> boundBy;   // symbol -> positions of instructions that bind it
  std::map<std::string, std::vector<std::string>> parsed; // text of an extent -> its symbols
  uint32_t position = 0;
  std::set<uint32_t> needed; // of the instruction at `position`

  template <class T> static const T *orEmpty(const T *list) {
    static const uint32_t none = 0; // a vector of length 0
    return list ? list : reinterpret_cast<const T *>(&none);
  }

  const std::vector<std::string> &symbolsOf(const flatbuffers::String *text) {
    auto [found, fresh] = parsed.try_emplace(text ? text->str() : std::string());
    if (fresh && !found->first.empty())
      Dim::parse(found->first).collectSymbols(found->second);
    return found->second;
  }

  void need(uint32_t other) {
    if (other != position)
      needed.insert(other);
  }
  void useExtent(const flatbuffers::String *text) {
    for (const std::string &symbol : symbolsOf(text))
      if (auto found = boundBy.find(symbol); found != boundBy.end())
        std::for_each(found->second.begin(), found->second.end(), [&](uint32_t other) { need(other); });
  }
  void useExtents(const Texts *list) {
    for (const auto *text : *orEmpty(list))
      useExtent(text);
  }
  void bind(const std::string &symbol) {
    if (std::vector<uint32_t> &by = boundBy[symbol]; by.empty() || by.back() != position)
      by.push_back(position);
  }

  static Dim dim(const flatbuffers::String *text) { return text && text->size() ? Dim::parse(text->str()) : Dim(0); }
  /// True if `first` is at least `last` for all extents.
  static bool isBehind(const Dim &first, const Dim &last) {
    Dim gap = first - last;
    return gap.isConstant() ? gap.constant() >= 0
                            : gap.str().find('-') == std::string::npos; // a sum of products of extents
  }
  static bool mayMeet(const Written &a, const Written &b) {
    return !a.known || !b.known || (!isBehind(a.begin, b.end) && !isBehind(b.begin, a.end));
  }
  /// True if the ranges have a byte in common for all extents.
  static bool meet(const Written &a, const Written &b) {
    if (a.value == b.value)
      return true;
    return a.known && b.known &&
           (a.begin == b.begin || (mayMeet(a, b) && (a.begin - b.begin).isConstant() &&
                                   (a.end - b.begin).isConstant() && (b.end - a.begin).isConstant()));
  }

  /// Uses value `index`: reads it or, where nobody has written its bytes yet, writes it.
  void use(int64_t index) {
    if (index < 0)
      return;
    const fb::Value *value = plan.values()->Get(static_cast<uint32_t>(index));
    Written range{position, static_cast<uint32_t>(index), 0, dim(value->bytes()),
                  value->bytes() && value->bytes()->size()};
    useExtents(value->dims());
    useExtent(value->bytes());
    auto root = static_cast<uint32_t>(index);
    for (uint32_t steps = 0; value->storage() == fb::Storage::Alias && steps <= sizeOf(plan.values()); ++steps) {
      useExtent(value->alias_offset());
      range.begin = range.begin + dim(value->alias_offset());
      root = static_cast<uint32_t>(value->alias_of());
      value = plan.values()->Get(root);
    }
    if (value->storage() == fb::Storage::Constant || value->storage() == fb::Storage::Input)
      return;
    range.end = range.begin + range.end;
    std::vector<Written> &writers = written[root];
    bool reads = false;
    for (const Written &writer : writers)
      if (mayMeet(writer, range)) {
        need(writer.position);
        reads = reads || meet(writer, range);
      }
    if (!reads)
      writers.push_back(std::move(range));
  }
  void useAll(const flatbuffers::Vector<uint32_t> *list) {
    for (uint32_t index : *orEmpty(list))
      use(index);
  }

  void useBlock(uint32_t index) {
    for (const auto *instruction : *orEmpty(plan.blocks()->Get(index)->instructions()))
      use(*instruction);
  }

  /// The symbols that are extents of a result whose extents its producer alone knows.
  void bindResult(uint32_t index) {
    const fb::Value &value = *plan.values()->Get(index);
    if (value.storage() == fb::Storage::Dynamic)
      for (const auto *text : *orEmpty(value.dims()))
        if (const std::vector<std::string> &symbols = symbolsOf(text);
            symbols.size() == 1 && symbols[0] == text->str() && !given.contains(symbols[0]))
          bind(symbols[0]);
  }

  void use(const fb::Instruction &instruction) {
    if (auto *call = instruction.operation_as_CallKernel()) {
      useExtents(call->dims());
      for (const auto *text :
           {call->units(), call->scratch_bytes(), call->images(), call->stages(), call->first_unit()})
        useExtent(text);
      for (const auto *range : *orEmpty(call->element_ranges())) {
        useExtents(range->least());
        useExtents(range->most());
      }
      useAll(call->buffers());
    } else if (auto *call = instruction.operation_as_CallReference()) {
      for (int32_t index : *orEmpty(call->inputs()))
        use(index);
      for (uint32_t index : *orEmpty(call->outputs())) {
        bindResult(index);
        use(index);
      }
    } else if (auto *shape = instruction.operation_as_ComputeShape()) {
      use(shape->from());
      for (const auto *symbol : *orEmpty(shape->symbols()))
        bind(symbol->str());
    } else if (auto *branch = instruction.operation_as_If()) {
      use(branch->condition());
      useBlock(branch->then_block());
      useBlock(branch->else_block());
    } else if (auto *loop = instruction.operation_as_Loop()) {
      use(loop->trip_count());
      use(loop->condition());
      useAll(loop->initial());
      useAll(loop->body_inputs());
      useBlock(loop->body());
      useAll(loop->body_outputs());
      for (uint32_t index : *orEmpty(loop->results())) {
        bindResult(index);
        use(index);
      }
    }
  }
};

} // namespace

std::vector<std::vector<uint32_t>> dependences(const plan::Plan &plan) { return Analysis(plan).run(); }

std::vector<std::vector<uint32_t>> dependences(const plan::PlanT &plan) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Plan::Pack(builder, &plan));
  return dependences(*flatbuffers::GetRoot<fb::Plan>(builder.GetBufferPointer()));
}

void setWaits(plan::PlanT &plan) {
  std::vector<std::vector<uint32_t>> needed = dependences(plan);
  auto &instructions = plan.blocks[0]->instructions;
  for (size_t i = 0; i < needed.size(); ++i) {
    std::map<int, uint32_t> last; // by place: instructions of one place are done in their order
    for (uint32_t other : needed[i])
      if (int place = instructions[other]->place; place >= 0 && place != instructions[i]->place)
        last[place] = other;
    std::vector<uint32_t> &waits = instructions[i]->waits;
    waits.clear();
    if (instructions[i]->place >= 0)
      for (auto [place, other] : last)
        waits.push_back(other);
    std::sort(waits.begin(), waits.end());
  }
}

} // namespace lathe::package
