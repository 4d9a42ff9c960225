#include "lab/judging/Tolerance.h"

#include "runtime/plan/Program.h"

#include <algorithm>
#include <cmath>

namespace lathe::lab {
namespace {

/// The multiple of the unit roundoff that every result may differ by: 2e-5 in float32. Winograd's transforms over tens
/// of layers reach half of it (docs/notes/winograd.md).
constexpr double granted = 2e-5 * 0x1p24;
/// The largest error / the norm of all errors.
constexpr double largest = 5;

/// The roundings that a value of the plan has gone through.
struct Path {
  double terms = 0, stored = 0, quantised = 0;
  void join(const Path &other) {
    terms = std::max(terms, other.terms);
    stored = std::max(stored, other.stored);
    quantised = std::max(quantised, other.quantised);
  }
};

class PathFinder {
public:
  PathFinder(const runtime::Plan &plan, const std::map<std::string, int64_t> &symbols)
      : plan(plan), symbols(symbols), paths(plan.values.size()), writers(plan.values.size(), false) {
    for (uint32_t input : plan.inputs)
      writers[rootOf(input)] = true;
  }

  void run(Roundings &roundings) {
    for (const runtime::Instruction *instruction : plan.instructions) {
      if (auto *call = std::get_if<runtime::CallKernel>(&instruction->operation))
        kernel(*call, roundings);
      else if (auto *reference = std::get_if<runtime::CallReference>(&instruction->operation))
        written(pathOf(reference->inputs), reference->outputs, 1, /*computes=*/true, roundings);
      else if (std::holds_alternative<runtime::If>(instruction->operation) ||
               std::holds_alternative<runtime::Loop>(instruction->operation))
        blocks = true;
    }
    roundings.terms = std::max(1.0, whole.terms);
    roundings.stored = std::max(1.0, whole.stored);
    roundings.quantised = whole.quantised;
  }

private:
  const runtime::Plan &plan;
  const std::map<std::string, int64_t> &symbols;
  std::vector<Path> paths;   // by root
  std::vector<bool> writers; // by root: written by an instruction or an input
  Path whole;                // longest path
  bool blocks = false;       // values through branches and loops are not followed: they count as one long path

  uint32_t rootOf(uint32_t value) const { return plan.values[value].root; }
  double number(const Dim &dim) const {
    return static_cast<double>(dim.evaluate([&](const std::string &symbol) {
      auto found = symbols.find(symbol);
      return found == symbols.end() ? int64_t(1) : found->second;
    }));
  }
  double elementsOf(uint32_t value) const {
    double count = 1;
    for (runtime::Extent extent : plan.values[value].dims)
      count *= number(plan.extents[extent]);
    return count;
  }
  template <class Values> Path pathOf(const Values &values) const {
    Path path = blocks ? whole : Path();
    for (auto value : values)
      if (static_cast<int64_t>(value) >= 0)
        path.join(paths[rootOf(static_cast<uint32_t>(value))]);
    return path;
  }

  /// `computes`: the elements are not only moved.
  void written(Path path, const std::vector<uint32_t> &outputs, double terms, bool computes, Roundings &roundings) {
    path.terms += std::max(1.0, terms);
    bool half = false, integers = false;
    for (uint32_t output : outputs) {
      ElementType type = plan.values[output].type;
      roundings.add(type);
      roundings.bytes |= isByte(type);
      half |= type == ElementType::f16 || type == ElementType::bf16;
      integers |= isQuantised(type);
    }
    path.stored += half;
    path.quantised += integers && computes;
    for (uint32_t output : outputs) {
      paths[rootOf(output)].join(path);
      writers[rootOf(output)] = true;
    }
    whole.join(path);
  }

  void kernel(const runtime::CallKernel &call, Roundings &roundings) {
    std::vector<uint32_t> outputs;
    double elements = 0;
    for (uint32_t buffer : call.buffers)
      if (plan.values[rootOf(buffer)].storage != runtime::Storage::constant && !writers[rootOf(buffer)]) {
        outputs.push_back(buffer);
        elements += elementsOf(buffer);
      }
    double operations = number(plan.extents[plan.kernels[call.kernel].flops]);
    Path path = pathOf(call.buffers);
    if (outputs.empty()) // other parts of a value that an earlier kernel began
      outputs = call.buffers;
    bool small = std::any_of(call.buffers.begin(), call.buffers.end(), [&](uint32_t buffer) {
      ElementType type = plan.values[buffer].type;
      return plan.values[rootOf(buffer)].storage == runtime::Storage::constant && isInteger(type) &&
             bitWidth(type) <= 8;
    });
    roundings.packedWeights |= small && std::any_of(outputs.begin(), outputs.end(),
                                                    [&](uint32_t output) { return isFloat(plan.values[output].type); });
    written(path, outputs, elements > 0 ? operations / elements / 2 : 1, operations > 0, roundings);
  }
};

} // namespace

double unitRoundoff(ElementType type) {
  switch (type) {
  case ElementType::f64:
    return 0x1p-53;
  case ElementType::f16:
    return 0x1p-11;
  case ElementType::bf16:
    return 0x1p-8;
  case ElementType::f8e4m3fn:
  case ElementType::f8e4m3fnuz:
    return 0x1p-4;
  case ElementType::f8e5m2:
  case ElementType::f8e5m2fnuz:
    return 0x1p-3;
  default:
    return 0x1p-24;
  }
}

void Roundings::add(ElementType type) {
  if (!isFloat(type))
    return;
  anyFloat = true;
  onlyDoubles &= type == ElementType::f64;
  ElementType *narrow = bitWidth(type) == 16 ? &half : bitWidth(type) == 8 ? &quarter : nullptr;
  if (narrow && (*narrow == ElementType::invalid || unitRoundoff(type) > unitRoundoff(*narrow)))
    *narrow = type;
}

Tolerance toleranceOf(const Roundings &roundings, Against against) {
  if (!roundings.anyFloat)
    return {0, 0};
  bool peer = against == Against::peer;
  double unit = unitRoundoff(roundings.onlyDoubles ? ElementType::f64 : ElementType::f32);
  double sums = unit * std::max(granted, std::sqrt(roundings.terms));
  Tolerance tolerance{sums * (peer ? 5 : 1), sums * largest * (peer ? 10 : 1)};
  if (roundings.half != ElementType::invalid) {
    double stored = unitRoundoff(roundings.half) * (1 + std::sqrt(roundings.stored)) * (peer ? 2 : 1);
    tolerance.relative += stored;
    tolerance.maximum += stored * largest;
  }
  if (roundings.quarter != ElementType::invalid) {
    double quarter = unitRoundoff(roundings.quarter);
    tolerance.relative += std::sqrt(2 * tolerance.relative * quarter);
    tolerance.maximum += 2 * quarter;
  }
  if (roundings.relaxedMath && !roundings.onlyDoubles) {
    // The error of a function is at most 2^-12 of its result. This is ten times the error of the zoo network with the
    // most functions (docs/notes/relaxed.md).
    tolerance.relative = std::max(tolerance.relative, 2e-3);
    tolerance.maximum = std::max(tolerance.maximum, 1e-2);
  }
  if (roundings.bytes || (peer && roundings.packedWeights)) {
    // Other runtimes (ONNX Runtime, for example) round the operands of products with these weights to 8 bits. For bytes
    // in general: a value near the middle between two integers may be rounded either way, and later layers see a whole
    // step. One such step in the input of a zoo network changes its output by 0.5 to 1.1 percent
    // (docs/quantization.md).
    tolerance.relative = std::max(tolerance.relative, 5e-2);
    tolerance.maximum = std::max(tolerance.maximum, 1e-1);
  }
  if (roundings.precision == Precision::bf16) {
    // Rounding both operands changes a layer's result by 2.4e-3, or up to 1e-2 if Winograd's transforms magnify it
    // (docs/notes/bf16.md). These errors are independent: over fifty layers they add up to about seven times as much.
    tolerance.relative = std::max(tolerance.relative, 5e-2);
    tolerance.maximum = std::max(tolerance.maximum, 1e-1);
  }
  if (roundings.quantised > 0) {
    // A sum within its rounding error of the middle between two integers may be rounded either way.
    tolerance.steps = 1;
    tolerance.share = 0.1;
    tolerance.behind = roundings.quantised > 1 || peer;
  }
  return tolerance;
}

std::map<std::string, int64_t> boundSymbols(std::span<const runtime::Port> ports, std::span<const Value> values) {
  std::map<std::string, int64_t> symbols;
  for (size_t i = 0; i < ports.size() && i < values.size(); ++i)
    for (size_t axis = 0; values[i].isTensor() && axis < ports[i].dims.size(); ++axis)
      if (std::string symbol = runtime::loneSymbol(ports[i].dims[axis]); !symbol.empty())
        symbols[symbol] = values[i].tensor().dim(axis);
  return symbols;
}

Roundings roundingsOf(const runtime::Model &model, const std::map<std::string, int64_t> &symbols) {
  Roundings roundings;
  roundings.precision = precisionOfPackage(model.options());
  roundings.relaxedMath = relaxedMathOfPackage(model.options());
  for (const runtime::Plan &plan : model.program().plans) {
    Roundings one;
    PathFinder(plan, symbols).run(one);
    for (ElementType type : {one.half, one.quarter})
      if (type != ElementType::invalid)
        roundings.add(type);
    roundings.anyFloat |= one.anyFloat;
    roundings.bytes |= one.bytes;
    roundings.packedWeights |= one.packedWeights;
    roundings.onlyDoubles &= one.onlyDoubles;
    roundings.terms = std::max(roundings.terms, one.terms);
    roundings.stored = std::max(roundings.stored, one.stored);
    roundings.quantised = std::max(roundings.quantised, one.quantised);
  }
  for (const runtime::Port &port : model.outputs())
    roundings.add(port.type); // an input, or a constant, passed on
  return roundings;
}

bool relaxedMathOfPackage(const std::string &options) { return options.find(" -O4 ") != std::string::npos; }

Precision precisionOfPackage(const std::string &options) {
  return options.find("--precision " + name(Precision::bf16)) != std::string::npos ? Precision::bf16 : Precision::fp32;
}

} // namespace lathe::lab
