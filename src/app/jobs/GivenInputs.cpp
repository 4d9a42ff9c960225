// Inputs from files, as --input names them.
#include "jobs/Inputs.h"

#include "jobs/Values.h"
#include "runtime/QuantizedTensor.h"
#include "support/Npy.h"
#include "support/Text.h"
#include "support/zip/ArrayNames.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <set>

namespace lathe::jobs {
namespace {

Tensor tensorOf(NpyArray array) {
  Tensor tensor(array.type, array.dims);
  if (array.type == ElementType::string)
    tensor.strings() = std::move(array.strings);
  else
    std::memcpy(tensor.data(), array.data.data(), array.data.size());
  return tensor;
}

/// Integers cannot represent NaN. Warns once, even if inputs are read several times.
void warnOfNaN(const runtime::Port &port, const Tensor &real, const std::string &from) {
  static std::set<std::string> said;
  int64_t count = 0;
  for (int64_t i = 0; i < real.elements(); ++i)
    count += std::isnan(real.asDouble(i));
  if (count && said.insert(from + "\n" + port.name).second)
    std::cerr << printable(fmt::format(
                     "warning: {}: {} of {} elements are NaN; in the integers of input '{}' they are the number 0",
                     from, count, real.elements(), port.name))
              << "\n";
}

std::vector<std::string> namesOf(std::span<const runtime::Port> ports) {
  std::vector<std::string> names;
  for (const runtime::Port &port : ports)
    names.push_back(port.name);
  return names;
}

/// The parts of -i TEXT: the file, and the input that it is for; "": no name is given.
struct GivenFile {
  std::string name, path;
};

/// Every way to read `text`, the one with the longest name first, because names and paths may contain '='. If the whole
/// text is an existing file, this is the only way.
std::vector<GivenFile> readingsOf(const std::string &text) {
  std::vector<GivenFile> readings;
  if (!std::filesystem::exists(text))
    for (size_t equals = text.rfind('='); equals != std::string::npos && equals > 0;
         equals = text.rfind('=', equals - 1))
      readings.push_back({text.substr(0, equals), text.substr(equals + 1)});
  if (readings.empty())
    readings.push_back({"", text});
  return readings;
}

/// The reading whose name is an input, otherwise the one with the shortest name, for the message.
GivenFile givenFile(std::span<const runtime::Port> ports, const std::string &text) {
  std::vector<GivenFile> readings = readingsOf(text);
  for (const GivenFile &reading : readings)
    for (const runtime::Port &port : ports)
      if (port.name == reading.name)
        return reading;
  return readings.back();
}

std::string portsText(std::span<const runtime::Port> ports) {
  std::string text;
  for (const runtime::Port &port : ports)
    text += (text.empty() ? "'" : ", '") + port.name + "'";
  return text;
}

/// The port of this name, or the port with this number (from 0) if no port has the name; null if there is none.
const runtime::Port *portCalled(std::span<const runtime::Port> ports, const std::string &name) {
  for (const runtime::Port &port : ports)
    if (port.name == name)
      return &port;
  size_t number = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() && number < ports.size() ? &ports[number] : nullptr;
}

/// Throws Error for an array of an archive that fits no input, before it is unpacked.
void requireFits(std::span<const runtime::Port> ports, const std::string &name, const NpyHeader &header,
                 const std::string &file) {
  const runtime::Port *port = portCalled(ports, name);
  std::string list = name.substr(0, name.rfind('/')); // an item of a sequence
  for (const runtime::Port &other : ports)
    if (!port && other.name == list && !other.tensor())
      port = &other;
  require(port != nullptr, "{}: the model has no input '{}', expected {}", file, name, portsText(ports));
  bool fits = !port->tensor() || port->dims.size() == header.dims.size();
  for (size_t axis = 0; fits && port->tensor() && axis < header.dims.size(); ++axis)
    fits = !port->dims[axis].isConstant() || port->dims[axis].constant() == header.dims[axis];
  require(fits, "{}: input '{}' is {}, expected {}", file, name, dimsText(header.dims), str(port->dims));
}

} // namespace

std::map<std::string, std::vector<int64_t>> shapesByName(std::span<const runtime::Port> ports,
                                                         const std::vector<std::string> &texts) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const std::string &text : texts) {
    auto [name, dims] = parseShape(text);
    auto port = std::find_if(ports.begin(), ports.end(), [&](const runtime::Port &p) { return p.name == name; });
    require(port != ports.end(), "--shape {}: the model has no input '{}', expected {}", text, name, portsText(ports));
    bool fits = dims.size() == port->dims.size();
    for (size_t axis = 0; fits && axis < dims.size(); ++axis)
      fits = dims[axis] < 0 || !port->dims[axis].isConstant() || port->dims[axis].constant() == dims[axis];
    require(fits, "--shape {}: input '{}' is {}, and only symbolic extents can be chosen", text, name, str(port->dims));
    require(shapes.emplace(name, dims).second, "--shape {}: given twice for '{}'", text, name);
  }
  return shapes;
}

std::vector<std::string> unknownInputs(std::span<const runtime::Port> ports, const InputOptions &flags) {
  std::vector<std::string> names;
  for (const std::string &text : flags.given)
    if (std::string name = givenFile(ports, text).name; !name.empty() && !portCalled(ports, name))
      names.push_back(name);
  return names;
}

/// Checks real numbers for a port of integers. Inputs for all steps of a run have an additional first axis.
static void requireExtents(const runtime::Port &port, const Tensor &real, const std::string &from) {
  const size_t steps = real.rank() == port.dims.size() + 1;
  bool fits = real.rank() == port.dims.size() + steps;
  for (size_t axis = 0; fits && axis < port.dims.size(); ++axis)
    fits = port.dims[axis].constantOr(real.dim(axis + steps)) == real.dim(axis + steps);
  require(fits, "{}: input '{}': expected {} {}, or real numbers of these extents, got {} {}", from, port.name,
          name(port.type), str(port.dims), name(real.type()), dimsText(real.dims()));
}

std::map<std::string, Value> givenInputs(std::span<const runtime::Port> ports, const InputOptions &flags) {
  std::map<std::string, Value> given;
  std::vector<std::string> names = namesOf(ports);
  auto give = [&](const std::string &name, Value value, const std::string &from) {
    const runtime::Port *port = portCalled(ports, name);
    require(port != nullptr, "{}: the model has no input '{}', expected {}", from, name, portsText(ports));
    if (port->quantization && value.isTensor() && isFloat(value.tensor().type())) {
      requireExtents(*port, value.tensor(), from);
      warnOfNaN(*port, value.tensor(), from);
      value = quantized(*port->quantization, value.tensor(), port->type);
    }
    if (isOptional(port->kind) && !value.isOptional())
      value = Optional{std::make_shared<Value>(std::move(value))};
    require(given.emplace(port->name, std::move(value)).second, "{}: input '{}' is given twice", from, port->name);
  };
  for (const std::string &text : flags.given) {
    auto [name, path] = givenFile(ports, text);
    bool named = !name.empty();
    if (std::filesystem::is_directory(path)) {
      require(!named, "-i {}: expected a folder without NAME=, because its files are named like the inputs", text);
      size_t before = given.size();
      std::vector<std::string> files = fileNames(names);
      for (size_t i = 0; i < ports.size(); ++i)
        if (std::string file = path + "/" + files[i] + ".npy"; std::filesystem::exists(file))
          give(names[i], tensorOf(readNpy(file)), file);
      require(given.size() > before, "-i {}: the folder holds no input, expected files NAME.npy with a name of {}",
              text, portsText(ports));
      continue;
    }
    if (path.size() > 4 && path.ends_with(".npz")) {
      require(!named, "-i {}: expected a .npz file without NAME=, because its arrays are named like the inputs", text);
      std::vector<std::string> members = memberNames(names); // the same names that writeValues uses
      auto inputOf = [&](const std::string &member) {
        auto port = std::find(members.begin(), members.end(), member);
        bool exact = std::find(names.begin(), names.end(), member) != names.end();
        return exact || port == members.end() ? member : names[size_t(port - members.begin())];
      };
      auto wanted = [&](const std::string &member, const NpyHeader &header) {
        requireFits(ports, inputOf(member), header, path);
        return true;
      };
      ValueParts parts(ports);
      for (NpzMember &member : readNpz(path, wanted))
        if (!parts.take(member.name, member.array, path))
          give(inputOf(member.name), tensorOf(std::move(member.array)), path);
      for (auto &[name, value] : parts.values(path))
        give(name, value, path);
      continue;
    }
    require(named || ports.size() == 1, "-i {}: the model has {} inputs, expected NAME={} with a name of {}", text,
            ports.size(), text, portsText(ports));
    give(named ? name : ports[0].name, tensorOf(readNpy(path)), path);
  }
  return given;
}

std::vector<std::string> filesOf(const InputOptions &options) {
  std::vector<std::string> files;
  for (const std::string &text : options.given)
    for (const auto &[name, path] : readingsOf(text)) {
      std::error_code ignored;
      files.push_back(path);
      if (std::filesystem::is_directory(path, ignored))
        for (const auto &entry : std::filesystem::directory_iterator(path, ignored))
          files.push_back(entry.path().string());
    }
  return files;
}

Arguments InputOptions::arguments(bool fills) const {
  Arguments result;
  for (const std::string &input : given)
    result.insert(result.end(), {"-i", input});
  if (fills)
    result.insert(result.end(), {"--fill", fill});
  if (fills && fill == "random")
    result.insert(result.end(), {"--seed", std::to_string(seed)});
  if (batch)
    result.insert(result.end(), {"--batch", std::to_string(batch)});
  return result;
}

} // namespace lathe::jobs
