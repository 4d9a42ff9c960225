#include "runtime/plan/Program.h"

#include "package/plan_generated.h"
#include "runtime/plan/Places.h"
#include "runtime/plan/PlanAnalysis.h"
#include "support/Error.h"

#include <algorithm>
#include <cmath>

namespace lathe::runtime {
namespace {

namespace fb = lathe::plan;

/// Decodes one plan. Every index is checked here, so that the executor indexes without looking.
class PlanDecoder {
public:
  PlanDecoder(const fb::Plan &source, std::string where, uint64_t constantBytes)
      : source(source), where(std::move(where)), constantBytes(constantBytes) {}

  Plan decode() {
    decodeRanges();
    plan.rules = decodeRules(source.rules());
    decodeValues();
    plan.inputs = decodePorts(source.inputs(), "inputs", Storage::input);
    plan.outputs = decodePorts(source.outputs(), "outputs", Storage::output);
    decodeGrowths();
    decodeKernels();
    decodeBlocks();
    decodeImageCosts();
    plan.measuredChoices = source.measured_choices();
    try {
      analyzePlan(plan);
      checkOrder(source, plan);
    } catch (const Error &error) {
      check(false, "{}", error.what());
    }
    return std::move(plan);
  }

private:
  const fb::Plan &source;
  std::string where;
  uint64_t constantBytes;
  Plan plan;
  std::unordered_map<std::string, Extent> extentByText;

  template <class... Args> void check(bool condition, fmt::format_string<Args...> format, Args &&...args) const {
    if (!condition)
      fail("{}: malformed plan: {}", where, fmt::format(format, std::forward<Args>(args)...));
  }

  static std::string text(const flatbuffers::String *string) { return string ? string->str() : std::string(); }

  template <class T> static std::vector<T> list(const flatbuffers::Vector<T> *vector) {
    return vector ? std::vector<T>(vector->begin(), vector->end()) : std::vector<T>();
  }
  static std::vector<std::string> texts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>> *vector) {
    std::vector<std::string> result;
    if (vector)
      for (const flatbuffers::String *entry : *vector)
        result.push_back(text(entry));
    return result;
  }

  Extent extent(const std::string &written) {
    auto [it, inserted] = extentByText.try_emplace(written, static_cast<Extent>(plan.extents.size()));
    if (inserted) {
      check(written.size() <= 4096, "an extent's text has {} characters, expected at most 4096", written.size());
      plan.extents.push_back(Dim::parse(written));
    }
    return it->second;
  }
  Extent extent(const flatbuffers::String *string, const char *fallback) {
    return extent(string && string->size() ? string->str() : std::string(fallback));
  }
  std::vector<Extent> extents(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>> *vector) {
    std::vector<Extent> result;
    for (const std::string &entry : texts(vector))
      result.push_back(extent(entry));
    return result;
  }

  uint32_t value(uint64_t index, const char *what) const {
    check(index < plan.values.size(), "{} names value {} of {}", what, index, plan.values.size());
    return static_cast<uint32_t>(index);
  }
  std::vector<uint32_t> values(const flatbuffers::Vector<uint32_t> *vector, const char *what) const {
    std::vector<uint32_t> result = list(vector);
    for (uint32_t index : result)
      value(index, what);
    return result;
  }

  void decodeRanges() {
    if (source.ranges())
      for (const fb::Range *range : *source.ranges()) {
        plan.ranges.push_back({text(range->symbol()), range->min(), range->max()});
        check(!plan.ranges.back().symbol.empty() && range->min() <= range->max(), "range {} to {} of '{}'",
              range->min(), range->max(), plan.ranges.back().symbol);
      }
  }

  std::vector<Rule> decodeRules(const flatbuffers::Vector<flatbuffers::Offset<fb::Rule>> *list) {
    std::vector<Rule> rules;
    if (list)
      for (const fb::Rule *rule : *list) {
        check(rule->relation() < relationCount, "rule of '{}': relation {}", text(rule->node()), int(rule->relation()));
        rules.push_back({Relation(rule->relation()), extent(rule->left(), "0"), extent(rule->right(), "0"),
                         text(rule->node()), true});
      }
    return rules;
  }

  void decodeImageCosts() {
    const fb::ImageCosts *costs = source.image_costs();
    if (!costs)
      return;
    std::vector<MemoryLevel> levels;
    if (costs->levels())
      for (const fb::MemoryLevel *level : *costs->levels()) {
        levels.push_back({level->bytes(), level->cycles_per_byte()});
        check(std::isfinite(level->bytes()) && level->bytes() >= 0 && std::isfinite(level->cycles_per_byte()) &&
                  level->cycles_per_byte() >= 0,
              "memory level {} holds {} bytes at {} cycles a byte", levels.size() - 1, level->bytes(),
              level->cycles_per_byte());
      }
    check(std::isfinite(costs->call_cycles()) && costs->call_cycles() >= 0, "the start of a kernel takes {} cycles",
          costs->call_cycles());
    plan.imageCosts = {MemoryLevels(std::move(levels)), costs->call_cycles()};
  }

  void decodeValues() {
    if (!source.values())
      return;
    for (const fb::Value *entry : *source.values())
      plan.values.push_back(decodeValue(*entry));
    for (uint32_t i = 0; i < plan.values.size(); ++i) {
      ValueInfo &info = plan.values[i];
      resolve(i);
      if (!info.name.empty())
        plan.byName.try_emplace(info.name, i);
    }
  }

  ValueInfo decodeValue(const fb::Value &entry) {
    ValueInfo info;
    info.name = text(entry.name());
    check(entry.kind() <= fb::Kind::MAX, "value '{}': kind {}", info.name, int(entry.kind()));
    check(entry.storage() <= fb::Storage::MAX, "value '{}': storage {}", info.name, int(entry.storage()));
    check(entry.type() <= uint8_t(ElementType::u4), "value '{}': element type {}", info.name, entry.type());
    info.kind = ValueKind(entry.kind());
    info.storage = Storage(entry.storage());
    info.type = ElementType(entry.type());
    info.dims = extents(entry.dims());
    bool tensor = info.kind == ValueKind::tensor;
    check(!tensor || info.type != ElementType::invalid, "tensor '{}' has no element type", info.name);
    if (info.storage == Storage::temporary && (!tensor || info.type == ElementType::string))
      info.storage = Storage::dynamic; // no bytes the arena could hold
    check(tensor || info.storage != Storage::constant, "value '{}': only tensors can be constants", info.name);
    info.block = entry.block_axis() < 0 ? 0 : entry.block();
    info.blockAxis = entry.block_axis() < 0 ? -1 : entry.block_axis();
    check(info.blockAxis < 0 ||
              (tensor && size_t(info.blockAxis) < info.dims.size() && info.block > 0 && bitWidth(info.type) >= 8),
          "value '{}': blocked by {} on axis {} of rank {}", info.name, info.block, info.blockAxis, info.dims.size());
    info.bytes = entry.bytes() && entry.bytes()->size() ? extent(entry.bytes(), "0") : defaultBytes(info);
    info.offset = entry.offset();
    if (info.storage == Storage::constant) {
      const Dim &bytes = plan.extents[info.bytes];
      check(bytes.isConstant() && bytes.constant() >= 0, "constant '{}' has {} bytes", info.name, bytes.str());
      check(info.offset <= constantBytes && uint64_t(bytes.constant()) <= constantBytes - info.offset &&
                info.offset % 64 == 0,
            "constant '{}' lies at byte {} of {} constant bytes", info.name, info.offset, constantBytes);
    }
    info.root = info.storage == Storage::alias ? static_cast<uint32_t>(entry.alias_of()) : UINT32_MAX;
    info.rootOffset = info.storage == Storage::alias ? extent(entry.alias_offset(), "0") : extent("0");
    info.quantization = text(entry.quantization());
    return info;
  }

  /// Default size of a value whose bytes the package does not state: its elements, with full blocks.
  Extent defaultBytes(const ValueInfo &info) {
    if (info.kind != ValueKind::tensor || info.type == ElementType::string)
      return extent("0");
    Dim elements = 1;
    for (size_t axis = 0; axis < info.dims.size(); ++axis) {
      Dim dim = plan.extents[info.dims[axis]];
      elements = elements * (int(axis) == info.blockAxis ? ceilDiv(dim, info.block) * info.block : dim);
    }
    return extent(ceilDiv(elements * int64_t(bitWidth(info.type)), 8).str());
  }

  /// Resolves a chain of aliases: finds the root of value `index`.
  void resolve(uint32_t index) {
    uint32_t at = index;
    Dim offset = 0;
    for (size_t steps = 0; plan.values[at].storage == Storage::alias; ++steps) {
      uint32_t next = plan.values[at].root;
      check(next < plan.values.size() && steps < plan.values.size(), "value '{}' is an alias of itself or of nothing",
            plan.values[index].name);
      // Aliases before `index` already point at their root, which is not an alias.
      offset = offset + plan.extents[plan.values[at].rootOffset];
      at = next;
    }
    ValueInfo &info = plan.values[index];
    const ValueInfo &root = plan.values[at];
    check(info.kind == root.kind && (info.kind != ValueKind::tensor ||
                                     (info.type == ElementType::string) == (root.type == ElementType::string)),
          "value '{}' is an alias of '{}', another kind of value", info.name, root.name);
    info.root = at;
    info.rootOffset = extent(offset.str());
    if (offset == Dim(0))
      return;
    // Extents that are symbols are checked when they are bound.
    const Dim &own = plan.extents[info.bytes], &whole = plan.extents[root.bytes];
    check(info.kind == ValueKind::tensor && info.type != ElementType::string && root.storage != Storage::dynamic,
          "value '{}' lies inside '{}', which has no bytes of its own", info.name, root.name);
    check(!offset.isConstant() || (offset.constant() >= 0 && offset.constant() % 64 == 0),
          "value '{}' lies at byte {} of '{}', expected a multiple of 64", info.name, offset.str(), root.name);
    check(!offset.isConstant() || !own.isConstant() || !whole.isConstant() ||
              (own.constant() <= whole.constant() && offset.constant() <= whole.constant() - own.constant()),
          "value '{}' has {} bytes and lies at byte {} of the {} of '{}'", info.name, own.str(), offset.str(),
          whole.str(), root.name);
  }

  /// Decodes inputs or outputs. They are row-major, and each value with this storage occurs exactly once.
  std::vector<uint32_t> decodePorts(const flatbuffers::Vector<uint32_t> *list, const char *what, Storage storage) {
    std::vector<uint32_t> ports = values(list, what);
    std::vector<int> listed(plan.values.size());
    for (uint32_t index : ports) {
      const ValueInfo &info = plan.values[index];
      check(info.blockAxis < 0, "{}: '{}' is not row-major", what, info.name);
      check(storage == Storage::output || info.storage == Storage::input, "input '{}' is not stored as one", info.name);
      ++listed[index];
    }
    for (uint32_t i = 0; i < plan.values.size(); ++i)
      check(plan.values[i].storage != storage || listed[i] == 1,
            "value '{}' is stored among the {} and listed {} times", plan.values[i].name, what, listed[i]);
    return ports;
  }

  void decodeGrowths() {
    if (source.growths())
      for (const fb::Growth *growth : *source.growths()) {
        Growth out{growth->input(), growth->output(), growth->axis(), text(growth->capacity()), text(growth->kept())};
        const size_t ins = plan.inputs.size(), outs = plan.outputs.size();
        check(out.input < ins && out.output < outs, "output {} of {} grows from input {} of {}", out.output, outs,
              out.input, ins);
        const ValueInfo &from = plan.values[plan.inputs[out.input]], &to = plan.values[plan.outputs[out.output]];
        const bool tensors = from.kind == ValueKind::tensor && to.kind == ValueKind::tensor;
        check(tensors && from.type == to.type && from.type != ElementType::string && to.storage == Storage::output &&
                  from.dims.size() == to.dims.size() && out.axis < to.dims.size() &&
                  (!out.capacity.empty() || from.dims == to.dims),
              "output '{}' grows from '{}' along axis {}", to.name, from.name, out.axis);
        out.capacity.empty() ? plan.overwrites.push_back({out.input, out.output}) : plan.growths.push_back(out);
      }
  }

  void decodeKernels() {
    if (source.kernels())
      for (const fb::Kernel *kernel : *source.kernels()) {
        double stated = kernel->predicted_cycles(); // for people: one without meaning is none
        double cycles = std::isfinite(stated) && stated >= 0 ? stated : 0;
        plan.kernels.push_back({text(kernel->name()), text(kernel->family()), texts(kernel->nodes()),
                                text(kernel->shapes()), text(kernel->schedule()), extent(kernel->flops(), "0"),
                                extent(kernel->bytes(), "0"), text(kernel->origin()), cycles});
      }
  }

  void decodeBlocks() {
    check(source.blocks() && source.blocks()->size() > 0, "it has no entry block");
    plan.leastStreamSlots = source.least_stream_slots();
    plan.mostStreamSlots = source.most_stream_slots();
    for (flatbuffers::uoffset_t i = 0; source.places() && i < source.places()->size(); ++i)
      plan.places.push_back({source.places()->Get(i)->first_slot(), source.places()->Get(i)->slots()});
    plan.blocks.resize(source.blocks()->size());
    for (size_t b = 0; b < plan.blocks.size(); ++b)
      plan.blocks[b].rules = decodeRules(source.blocks()->Get(static_cast<flatbuffers::uoffset_t>(b))->rules());
    for (size_t b = 0; b < plan.blocks.size(); ++b)
      if (auto *instructions = source.blocks()->Get(b)->instructions())
        for (const fb::Instruction *entry : *instructions)
          decodeInstruction(*entry, plan.blocks[b].instructions.emplace_back());
  }

  void decodeInstruction(const fb::Instruction &entry, Instruction &result) {
    check(entry.operation() != nullptr, "an instruction without operation");
    result.place = entry.place();
    result.waits = list(entry.waits());
    switch (entry.operation_type()) {
    case fb::Operation::CallKernel:
      result.operation = decodeKernelCall(*entry.operation_as_CallKernel());
      return;
    case fb::Operation::CallReference:
      result.operation = decodeReferenceCall(*entry.operation_as_CallReference());
      return;
    case fb::Operation::ComputeShape: {
      const fb::ComputeShape &shape = *entry.operation_as_ComputeShape();
      ComputeShape out{value(shape.from(), "a shape computation"), texts(shape.symbols())};
      integers(out.from, "a shape computation");
      result.operation = std::move(out);
      return;
    }
    case fb::Operation::If: {
      const fb::If &branch = *entry.operation_as_If();
      If out{value(branch.condition(), "an if"), branch.then_block(), branch.else_block()};
      scalar(out.condition, ElementType::boolean, "an if");
      block(out.thenBlock);
      block(out.elseBlock);
      result.operation = out;
      return;
    }
    case fb::Operation::Loop:
      result.operation = decodeLoop(*entry.operation_as_Loop());
      return;
    default:
      check(false, "instruction of kind {}", int(entry.operation_type()));
    }
  }

  CallKernel decodeKernelCall(const fb::CallKernel &call) {
    check(call.kernel() < plan.kernels.size(), "kernel {} of {} is called", call.kernel(), plan.kernels.size());
    const std::string &name = plan.kernels[call.kernel()].name;
    CallKernel out;
    out.kernel = call.kernel();
    out.buffers = values(call.buffers(), "a kernel call");
    for (uint32_t index : out.buffers)
      check(plan.values[index].kind == ValueKind::tensor && plan.values[index].type != ElementType::string,
            "kernel '{}' takes '{}', which is no tensor of numbers", name, plan.values[index].name);
    out.dims = extents(call.dims());
    out.units = extent(call.units(), "1");
    out.scratchBytes = extent(call.scratch_bytes(), "0");
    out.images = extent(call.images(), "1");
    out.stages = extent(call.stages(), "1");
    out.firstUnit = extent(call.first_unit(), "0");
    out.callSeconds = call.call_seconds();
    out.imagesSeconds = call.images_seconds();
    for (double seconds : {out.callSeconds, out.imagesSeconds})
      check(std::isfinite(seconds) && seconds >= 0, "a run of kernel '{}' takes {} seconds", name, seconds);
    if (call.element_ranges())
      for (const fb::ElementRange *range : *call.element_ranges())
        out.elementRanges.push_back(decodeRange(*range, out.buffers, name));
    return out;
  }

  ElementRange decodeRange(const fb::ElementRange &range, const std::vector<uint32_t> &buffers,
                           const std::string &kernel) {
    check(range.buffer() < buffers.size(), "kernel '{}' has a range for buffer {} of {}", kernel, range.buffer(),
          buffers.size());
    const ValueInfo &info = plan.values[buffers[range.buffer()]];
    check((isFloat(info.type) || isInteger(info.type)) && bitWidth(info.type) >= 8 && info.blockAxis < 0,
          "kernel '{}' has a range for '{}', expected row-major numbers", kernel, info.name);
    ElementRange out{range.buffer(), extents(range.least()), extents(range.most()), text(range.operand())};
    check(!out.least.empty() && out.least.size() == out.most.size() && out.least.size() <= 64,
          "kernel '{}' has {} lower and {} upper bounds for '{}', expected 1 to 64 of each", kernel, out.least.size(),
          out.most.size(), info.name);
    return out;
  }

  CallReference decodeReferenceCall(const fb::CallReference &call) {
    CallReference out;
    out.op = text(call.op());
    out.inputs = list(call.inputs());
    for (int32_t index : out.inputs)
      if (index != -1)
        rowMajor(value(static_cast<uint32_t>(index), "a reference call"), out.op);
    out.outputs = values(call.outputs(), "a reference call");
    for (uint32_t index : out.outputs) {
      rowMajor(index, out.op);
      check(plan.values[plan.values[index].root].storage != Storage::constant &&
                plan.values[plan.values[index].root].storage != Storage::input,
            "operator '{}' writes '{}', which is an input or a constant", out.op, plan.values[index].name);
    }
    out.nodes = texts(call.nodes());
    std::vector<uint8_t> attrs = list(call.attrs());
    try {
      out.reference = referenceProvider().prepare(out.op, attrs);
    } catch (const std::exception &error) {
      fail("{}: operator '{}': {}", where, out.op, error.what());
    }
    plan.usesReferences = true;
    return out;
  }

  Loop decodeLoop(const fb::Loop &loop) {
    Loop out;
    out.tripCount = loop.trip_count();
    out.condition = loop.condition();
    if (out.tripCount != -1)
      scalar(value(static_cast<uint32_t>(out.tripCount), "a loop"), ElementType::i64, "a loop");
    if (out.condition != -1)
      scalar(value(static_cast<uint32_t>(out.condition), "a loop"), ElementType::boolean, "a loop");
    out.body = loop.body();
    block(out.body);
    out.bodyInputs = values(loop.body_inputs(), "a loop");
    out.bodyOutputs = values(loop.body_outputs(), "a loop");
    out.initial = values(loop.initial(), "a loop");
    out.results = values(loop.results(), "a loop");
    check(out.bodyInputs.size() == out.initial.size() + 2 && out.bodyOutputs.size() >= out.initial.size() + 1 &&
              out.results.size() + 1 == out.bodyOutputs.size(),
          "a loop carries {} values, its body has {} inputs and {} outputs, it has {} results", out.initial.size(),
          out.bodyInputs.size(), out.bodyOutputs.size(), out.results.size());
    scalar(out.bodyInputs[0], ElementType::i64, "a loop");
    scalar(out.bodyInputs[1], ElementType::boolean, "a loop");
    scalar(out.bodyOutputs[0], ElementType::boolean, "a loop");
    auto same = [&](uint32_t a, uint32_t b) {
      const ValueInfo &x = plan.values[a], &y = plan.values[b];
      check(x.kind == y.kind && x.type == y.type && x.blockAxis == y.blockAxis && x.block == y.block,
            "a loop carries '{}' into '{}', which is of another type", x.name, y.name);
    };
    for (size_t i = 0; i < out.initial.size(); ++i) {
      same(out.initial[i], out.bodyInputs[2 + i]);
      same(out.bodyOutputs[1 + i], out.bodyInputs[2 + i]);
      same(out.initial[i], out.results[i]);
    }
    for (size_t i = out.initial.size(); i < out.results.size(); ++i) {
      const ValueInfo &scanned = plan.values[out.bodyOutputs[1 + i]], &result = plan.values[out.results[i]];
      check(scanned.kind == ValueKind::tensor && result.kind == ValueKind::tensor && scanned.type == result.type &&
                scanned.blockAxis < 0 && result.blockAxis < 0 && bitWidth(scanned.type) >= 8 &&
                result.dims.size() == scanned.dims.size() + 1,
            "a loop scans '{}' into '{}', which does not fit", scanned.name, result.name);
    }
    auto writable = [&](uint32_t index) {
      Storage storage = plan.values[plan.values[index].root].storage;
      check(storage != Storage::constant && storage != Storage::input, "a loop writes '{}', an input or a constant",
            plan.values[index].name);
    };
    std::for_each(out.bodyInputs.begin(), out.bodyInputs.end(), writable);
    std::for_each(out.results.begin(), out.results.end(), writable);
    return out;
  }

  void rowMajor(uint32_t index, const std::string &op) const {
    check(plan.values[index].blockAxis < 0, "operator '{}' takes '{}', which is not row-major", op,
          plan.values[index].name);
  }
  void scalar(uint32_t index, ElementType type, const char *what) const {
    const ValueInfo &info = plan.values[index];
    check(info.kind == ValueKind::tensor && info.type == type, "{}: '{}' is not of type {}", what, info.name,
          name(type));
  }
  void integers(uint32_t index, const char *what) const {
    const ValueInfo &info = plan.values[index];
    check(info.kind == ValueKind::tensor && isInteger(info.type) && bitWidth(info.type) >= 8,
          "{}: '{}' holds no integers", what, info.name);
  }
  void block(uint32_t index) const {
    check(index > 0 && index < plan.blocks.size(), "block {} of {} is entered", index, plan.blocks.size());
  }
};

} // namespace

Program decodeProgram(std::span<const char> section, uint64_t constantBytes, const std::string &file) {
  auto *bytes = reinterpret_cast<const uint8_t *>(section.data());
  flatbuffers::Verifier verifier(bytes, section.size(), 64, 1 << 28);
  require(section.size() >= 8 && fb::ProgramBufferHasIdentifier(bytes) && fb::VerifyProgramBuffer(verifier),
          "{}: malformed plan ({} bytes)", file, section.size());
  const fb::Program &source = *fb::GetProgram(bytes);
  Program program;
  auto text = [](const flatbuffers::String *string) { return string ? string->str() : std::string(); };
  program.producer = text(source.producer());
  program.model = text(source.model());
  program.options = text(source.options());
  program.machine = text(source.machine());
  program.threads = source.threads();
  checkDevices(source, file);
  require(source.plans() && source.plans()->size() > 0, "{}: malformed plan: the program is empty", file);
  program.plans.reserve(source.plans()->size());
  for (const fb::Plan *entry : *source.plans()) {
    Plan plan = [&] {
      try {
        checkPlaces(source, *entry);
        return PlanDecoder(*entry, file, constantBytes).decode();
      } catch (const Error &error) {
        std::string message = error.what();
        if (message.starts_with(file))
          throw;
        fail("{}: malformed plan: {}", file, message);
      }
    }();
    plan.firstKernel = program.kernelCount;
    program.kernelCount += static_cast<uint32_t>(plan.kernels.size());
    program.plans.push_back(std::move(plan));
  }
  // All plans are of the same model, so their ports agree by name and type.
  const Plan &general = program.plans.back();
  for (const Plan &plan : program.plans)
    for (auto ports : {&Plan::inputs, &Plan::outputs}) {
      bool same = (plan.*ports).size() == (general.*ports).size();
      for (size_t i = 0; same && i < (plan.*ports).size(); ++i) {
        const ValueInfo &a = plan.values[(plan.*ports)[i]], &b = general.values[(general.*ports)[i]];
        same = a.name == b.name && a.type == b.type && a.kind == b.kind;
      }
      require(same, "{}: malformed plan: specialised plans have other inputs or outputs", file);
    }
  return program;
}

} // namespace lathe::runtime
