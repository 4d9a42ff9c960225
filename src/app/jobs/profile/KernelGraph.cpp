#include "jobs/profile/KernelGraph.h"

#include "runtime/plan/Program.h"
#include "schedule/Algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace lathe::jobs {
namespace {

using nlohmann::json;
using runtime::Plan;

std::string layoutOf(const runtime::ValueInfo &info, const std::vector<int64_t> &dims) {
  if (info.blockAxis < 0)
    return "";
  if (info.blockAxis == 1 && dims.size() == 4)
    return info.block == dims[1] ? "NHWC" : fmt::format("NCHW{}c", info.block);
  return fmt::format("blocked<{}, {}>", info.blockAxis, info.block);
}

/// Walks over the instructions in the order of the plan, and keeps the last writer of each range of bytes.
class Walk {
public:
  Walk(const runtime::Context &context, size_t count) : context(context), plan(context.plan()), count(count) {
    for (uint32_t value : plan.inputs)
      write(value, -1);
  }

  json graph() {
    for (size_t i = 0; i < count; ++i)
      visit(int64_t(i));
    while (!open.empty())
      leave();
    if (count == plan.instructions.size())
      for (uint32_t value : plan.outputs)
        read(value, -1);
    json list = json::array(), inside = json::array();
    for (auto [from, to, value] : edges)
      list.push_back({from, to, value});
    for (auto [instruction, parent] : parents)
      inside.push_back({instruction, parent});
    return {{"values", values}, {"edges", list}, {"parents", inside}};
  }

private:
  struct Written {
    uint32_t value;
    int64_t begin, end; // bytes of the root
    int64_t by;         // instruction; -1: the caller
  };
  const runtime::Context &context;
  const Plan &plan;
  size_t count;
  std::map<uint32_t, std::vector<Written>> written; // by root
  std::vector<int64_t> open;                        // enclosing branches and loops
  std::map<uint32_t, int64_t> numbers;              // of values in the graph
  json values = json::array();
  std::set<std::tuple<int64_t, int64_t, int64_t>> edges; // no duplicates, in the order of the plan
  std::vector<std::pair<int64_t, int64_t>> parents;

  std::pair<int64_t, int64_t> bytesOf(uint32_t value) const {
    runtime::ValuePlace place = context.place(value);
    if (place.bytes < 0 || place.offset < 0)
      return {0, std::numeric_limits<int64_t>::max()};
    return {place.offset, place.offset + std::max<int64_t>(place.bytes, 1)};
  }

  int64_t numberOf(uint32_t value) {
    auto [at, isNew] = numbers.try_emplace(value, int64_t(values.size()));
    if (!isNew)
      return at->second;
    const runtime::ValueInfo &info = plan.values[value];
    runtime::ValuePlace place = context.place(value);
    std::string dims;
    for (int64_t dim : place.dims)
      dims += (dims.empty() ? "" : "x") + (dim < 0 ? "?" : std::to_string(dim));
    json entry = {{"name", info.name},
                  {"type", info.kind == ValueKind::tensor ? std::string(lathe::name(info.type)) : "sequence"},
                  {"dims", dims},
                  {"layout", layoutOf(info, place.dims)},
                  {"bytes", std::max<int64_t>(place.bytes, 0)}};
    if (info.root != value)
      entry["inside"] = plan.values[info.root].name;
    values.push_back(std::move(entry));
    return at->second;
  }

  void write(uint32_t value, int64_t by) {
    auto [begin, end] = bytesOf(value);
    std::vector<Written> &list = written[plan.values[value].root];
    if (open.empty()) // inside, another branch or iteration may have written the other ranges
      std::erase_if(list, [&](const Written &other) { return begin <= other.begin && other.end <= end; });
    list.push_back({value, begin, end, by});
  }

  /// The writers of the value's bytes. An edge names the smaller one of the written and the read value.
  std::vector<std::pair<int64_t, uint32_t>> writersOf(uint32_t value) {
    std::vector<std::pair<int64_t, uint32_t>> found;
    auto [begin, end] = bytesOf(value);
    for (const Written &other : written[plan.values[value].root])
      if (begin < other.end && other.begin < end)
        found.emplace_back(other.by, end - begin <= other.end - other.begin ? value : other.value);
    return found;
  }

  void read(uint32_t value, int64_t reader) {
    if (plan.values[plan.values[value].root].storage == runtime::Storage::constant)
      return;
    for (auto [writer, shown] : writersOf(value))
      if (writer != reader)
        edges.emplace(writer, reader, numberOf(shown));
  }

  /// Leaves the innermost branch or loop: results of a loop are the last values that its body computes.
  void leave() {
    const runtime::Instruction &instruction = *plan.instructions[size_t(open.back())];
    open.pop_back();
    auto *loop = std::get_if<runtime::Loop>(&instruction.operation);
    for (size_t i = 0; loop && i < loop->results.size(); ++i) {
      uint32_t result = loop->results[i];
      std::vector<Written> &list = written[plan.values[result].root];
      bool first = true;
      for (auto [writer, shown] : writersOf(loop->bodyOutputs[1 + i])) {
        if (std::exchange(first, false))
          write(result, writer); // the writer inside the loop
        else
          list.push_back({result, bytesOf(result).first, bytesOf(result).second, writer});
      }
    }
  }

  void visit(int64_t index) {
    const runtime::Instruction &instruction = *plan.instructions[size_t(index)];
    while (!open.empty() && plan.instructions[size_t(open.back())]->last < index)
      leave();
    runtime::InstructionInfo info = context.instruction(size_t(index));
    size_t before = edges.size();
    for (uint32_t value : info.inputs)
      read(value, index);
    if (!open.empty()) {
      parents.emplace_back(index, open.back());
      if (edges.size() == before)
        edges.emplace(open.back(), index, -1);
    }
    for (uint32_t value : info.outputs)
      write(value, index);
    if (instruction.last == index)
      return;
    open.push_back(index);
    if (auto *loop = std::get_if<runtime::Loop>(&instruction.operation))
      for (uint32_t value : loop->bodyInputs)
        write(value, index);
  }
};

} // namespace

json kernelGraph(const runtime::Context &context, size_t count) { return Walk(context, count).graph(); }

ElementType factorsOf(const runtime::InstructionInfo &info) {
  std::string type;
  try {
    Schedule schedule = readSchedule(std::string(info.schedule));
    if (validate(schedule).find("type"))
      type = schedule.word("type");
  } catch (const Error &) { // of a package of another version
  }
  return type == "bf16" ? ElementType::bf16 : type.empty() || type == "f32" ? ElementType::f32 : ElementType::i8;
}

} // namespace lathe::jobs
