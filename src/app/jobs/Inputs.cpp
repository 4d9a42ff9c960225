#include "jobs/Inputs.h"

#include "jobs/Values.h"
#include "runtime/QuantizedTensor.h"
#include "support/Memory.h"
#include "support/Npy.h"
#include "support/PendingFile.h"
#include "support/Text.h"
#include "support/zip/ArrayNames.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

namespace lathe::jobs {
namespace {

/// splitmix64 (Steele, Lea, Flood 2014): the same sequence on every machine.
uint64_t next(uint64_t &state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

Tensor filled(ElementType type, std::vector<int64_t> dims, double value) {
  Tensor plain(ElementType::f32, std::move(dims)); // 0 and 1 are exact
  std::fill_n(plain.as<float>(), plain.elements(), static_cast<float>(value));
  return type == ElementType::f32 ? plain : plain.convertedTo(type);
}

/// The real number zero: the zero point of a quantised input.
Tensor firstValue(const runtime::Port &port, std::vector<int64_t> dims) {
  Tensor zeros = filled(port.quantization ? ElementType::f32 : port.type, std::move(dims), 0);
  return port.quantization ? quantized(*port.quantization, zeros, port.type) : zeros;
}

/// The symbol that --batch binds: the one in the port's first dimension; "" where there is none.
std::string batchSymbol(const runtime::Port &port) {
  std::vector<std::string> symbols;
  if (!port.dims.empty())
    port.dims[0].collectSymbols(symbols);
  return symbols.empty() ? "" : symbols[0];
}

/// Extents of a port in this run: those of --shape, otherwise the port's with its symbols bound.
std::vector<int64_t> extentsOf(const runtime::Port &port, const InputOptions &flags,
                               const std::map<std::string, std::vector<int64_t>> &shapes,
                               const std::map<std::string, int64_t> &known = {}) {
  auto shape = shapes.find(port.name);
  std::string batch = batchSymbol(port);
  std::vector<int64_t> dims;
  for (size_t axis = 0; axis < port.dims.size(); ++axis)
    dims.push_back(shape != shapes.end() && shape->second[axis] >= 0
                       ? shape->second[axis]
                       : port.dims[axis].evaluate([&](const std::string &symbol) -> int64_t {
                           if (auto bound = known.find(symbol); bound != known.end())
                             return bound->second;
                           return flags.batch && symbol == batch ? flags.batch : 1;
                         }));
  return dims;
}

/// Requires that --batch decided the symbolic first dimensions of the inputs, and --shape the other ones.
void requireExtentsHonoured(std::span<const runtime::Port> ports, std::span<const Value> values,
                            const InputOptions &flags, const std::map<std::string, std::vector<int64_t>> &shapes) {
  bool batched = false;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (!values[i].isTensor())
      continue;
    std::span<const int64_t> dims = values[i].tensor().dims();
    if (auto shape = shapes.find(ports[i].name); shape != shapes.end())
      for (size_t axis = 0; axis < shape->second.size(); ++axis)
        require(dims.size() == shape->second.size() && (shape->second[axis] < 0 || shape->second[axis] == dims[axis]),
                "--shape {}={}: the input given is {}", ports[i].name, dimsText(shape->second), dimsText(dims));
    if (std::string symbol = batchSymbol(ports[i]); flags.batch && !symbol.empty() && !dims.empty()) {
      batched = true;
      int64_t expected =
          ports[i].dims[0].evaluate([&](const std::string &s) { return s == symbol ? flags.batch : int64_t(1); });
      require(dims[0] == expected, "--batch {}: input '{}' is {}", flags.batch, ports[i].name, dimsText(dims));
    }
  }
  if (!flags.batch || batched)
    return;
  std::string inputs;
  for (const runtime::Port &port : ports)
    inputs += fmt::format("{}'{}' is {}", inputs.empty() ? "" : ", ", port.name, str(port.dims));
  fail("--batch {}: no input has a symbolic first dimension ({}); --batch chooses nothing else. A zoo network is built "
       "with another batch by --zoo-batch",
       flags.batch, inputs);
}

/// The inputs to fill must fit into memory, with the numbers that they are made from.
void requireRoom(std::span<const runtime::Port> ports, const InputOptions &flags,
                 const std::map<std::string, Value> &given, const std::map<std::string, std::vector<int64_t>> &shapes) {
  double bytes = 0;
  std::string text;
  for (const runtime::Port &port : ports) {
    if (given.contains(port.name) || !port.tensor())
      continue;
    std::vector<int64_t> dims = extentsOf(port, flags, shapes);
    double elements = 1;
    for (int64_t dim : dims)
      elements *= static_cast<double>(dim);
    bytes += elements * bitWidth(port.type) / 8;
    text += fmt::format("{}'{}' {} {}", text.empty() ? "" : ", ", port.name, name(port.type), dimsText(dims));
  }
  requireMemory(static_cast<uint64_t>(std::min(bytes, 0x1p63)), "filling input " + text);
}

} // namespace

std::set<std::string> variablesOf(std::span<const runtime::Port> inputs, std::span<const runtime::Port> outputs) {
  constexpr std::string_view past = ".past";
  std::set<std::string> variables;
  for (const runtime::Port &input : inputs)
    for (const runtime::Port &output : outputs)
      if (input.name.ends_with(past) &&
          output.name == input.name.substr(0, input.name.size() - past.size()) + ".next" && input.type == output.type &&
          input.dims == output.dims)
        variables.insert(input.name);
  return variables;
}

void bindSymbols(const runtime::Port &port, std::span<const int64_t> dims, std::map<std::string, int64_t> &known) {
  std::vector<std::string> names;
  for (size_t axis = 0; axis < dims.size() && axis < port.dims.size(); ++axis) {
    names.clear();
    port.dims[axis].collectSymbols(names);
    if (names.size() == 1 && port.dims[axis] == Dim::symbol(names[0]))
      known[names[0]] = dims[axis];
  }
}

void requireFillHonoured(std::span<const runtime::Port> ports, const InputOptions &flags,
                         const std::map<std::string, Value> &given) {
  std::string missing;
  bool variables = false;
  for (const runtime::Port &port : ports)
    if (!given.contains(port.name) && flags.variables.contains(port.name))
      variables = true;
    else if (!given.contains(port.name))
      missing += (missing.empty() ? "'" : ", '") + port.name + "'";
  require(missing.empty() || !flags.fill.empty(),
          "input {} is missing: give -i NAME=FILE.npy or --fill zeros|ones|random", missing);
  require(!missing.empty() || variables || !flags.fillAsked, "--fill {}: nothing is left to fill, -i gives every input",
          flags.fill);
  require(!missing.empty() || variables || !flags.seedAsked, "--seed {}: nothing is left to fill, -i gives every input",
          flags.seed);
}

Tensor filledInput(const runtime::Port &port, const InputOptions &flags,
                   const std::map<std::string, std::vector<int64_t>> &shapes,
                   const std::map<std::string, int64_t> &known, uint64_t number) {
  require(port.tensor() && port.type != ElementType::string, "input '{}' cannot be filled: give -i {}=FILE", port.name,
          port.name);
  std::vector<int64_t> dims = extentsOf(port, flags, shapes, known);
  return flags.fill == "random" ? randomTensor(port.type, dims, flags.seed * 1000003 + number)
                                : filled(port.type, dims, flags.fill == "ones");
}

bool fillsInputs(std::span<const runtime::Port> ports, const InputOptions &flags) {
  return givenInputs(ports, flags).size() < ports.size();
}

std::vector<Value> gatherInputs(std::span<const runtime::Port> ports, const InputOptions &flags,
                                const std::vector<std::string> &shapeTexts) {
  std::map<std::string, Value> given = givenInputs(ports, flags);
  std::map<std::string, std::vector<int64_t>> shapes = shapesByName(ports, shapeTexts);
  requireFillHonoured(ports, flags, given);
  requireRoom(ports, flags, given, shapes);
  std::map<std::string, int64_t> known; // extents known from given inputs
  auto bindExtents = [&](const std::map<std::string, Value> &inputs) {
    for (const runtime::Port &port : ports)
      if (auto found = inputs.find(port.name); found != inputs.end() && found->second.isTensor())
        bindSymbols(port, found->second.tensor().dims(), known);
  };
  bindExtents(given);
  if (!flags.like.empty()) {
    InputOptions like = flags;
    like.given = flags.like;
    bindExtents(givenInputs(ports, like));
  }
  std::vector<Value> values;
  uint64_t index = 0;
  for (const runtime::Port &port : ports) {
    ++index;
    if (auto found = given.find(port.name); found != given.end())
      values.push_back(found->second);
    else if (flags.variables.contains(port.name))
      values.emplace_back(firstValue(port, extentsOf(port, flags, shapes, known)));
    else
      values.push_back(filledInput(port, flags, shapes, known, index));
  }
  requireExtentsHonoured(ports, values, flags, shapes);
  return values;
}

Tensor randomTensor(ElementType type, std::vector<int64_t> dims, uint64_t seed) {
  Tensor plain(isFloat(type) ? ElementType::f32 : ElementType::i64, std::move(dims));
  uint64_t state = seed;
  int64_t count = plain.elements();
  if (isFloat(type))
    for (int64_t i = 0; i < count; ++i)
      plain.as<float>()[i] = static_cast<float>(static_cast<double>(next(state) >> 40) / (1 << 23) - 1);
  else
    for (int64_t i = 0; i < count; ++i)
      plain.as<int64_t>()[i] = static_cast<int64_t>((next(state) >> 33) % (type == ElementType::boolean ? 2 : 10));
  return plain.type() == type ? plain : plain.convertedTo(type);
}

std::pair<std::string, std::vector<int64_t>> parseShape(const std::string &text) {
  size_t equals = text.rfind('=');
  auto bad = [&]() { fail("--shape {}: expected NAME=1x3x224x224", text); };
  if (equals == std::string::npos || equals == 0)
    bad();
  std::vector<int64_t> dims;
  std::string rest = text.substr(equals + 1);
  for (size_t at = 0; at < rest.size();) {
    size_t end = std::min(rest.find_first_of("x,", at), rest.size());
    std::string word = rest.substr(at, end - at);
    if (word.empty() || word.size() > 12 || (word != "-1" && word.find_first_not_of("0123456789") != std::string::npos))
      bad();
    dims.push_back(std::stoll(word));
    at = end + 1;
  }
  return {text.substr(0, equals), dims};
}

std::string inputsText(std::span<const runtime::Port> ports, std::span<const Value> values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].isTensor())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", ports[i].name, dimsText(values[i].tensor().dims()));
  return text;
}

std::string dimsText(std::span<const int64_t> dims) {
  return dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, "x"));
}

void requireValuesPath(const std::string &path, size_t count) {
  std::error_code ignored;
  if (path.ends_with('/') || std::filesystem::is_directory(path, ignored) || path.ends_with(".npz"))
    return;
  bool one = PendingFile::isStream(path) || path.ends_with(".npy");
  require(one, "-o {}: expected FILE.npy, FILE.npz, or a folder (FOLDER/)", path);
  require(count == 1, "-o {}: takes one output and the model has {}: give FILE.npz or a folder (FOLDER/)", path, count);
  requireNoTerminal(path, "an array");
}

void writeValues(const std::string &path, std::span<const std::string> names, std::span<const Value> values) {

  if (path.ends_with(".npz")) {
    std::vector<ValueArray> arrays;
    for (size_t i = 0; i < names.size(); ++i)
      std::ranges::move(arraysOf(names[i], values[i]), std::back_inserter(arrays));
    std::vector<NpzEntry> entries;
    for (const ValueArray &array : arrays)
      entries.push_back({array.name, npyView(array.tensor)});
    return writeNpz(path, entries);
  }
  for (size_t i = 0; i < names.size(); ++i)
    require(values[i].isTensor(), "output '{}' is {}: give -o FILE.npz", names[i], name(kindOf(values[i])));
  requireValuesPath(path, names.size());
  if (PendingFile::isStream(path) || path.ends_with(".npy"))
    if (std::error_code ignored; !std::filesystem::is_directory(path, ignored) && !path.ends_with('/'))
      return writeNpy(path, npyView(values[0].tensor()));
  std::error_code error;
  std::filesystem::create_directories(path, error);
  require(!error, "{}: cannot create: {}", path, error.message());
  std::vector<std::string> files = fileNames(names);
  for (size_t i = 0; i < names.size(); ++i)
    writeNpy(path + "/" + files[i] + ".npy", npyView(values[i].tensor()));
}

} // namespace lathe::jobs
