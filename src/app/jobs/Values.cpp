#include "jobs/Values.h"

#include "jobs/Inputs.h"

#include <algorithm>

namespace lathe::jobs {

bool ValueParts::take(const std::string &member, const NpyArray &array, const std::string &file) {
  size_t slash = member.rfind('/');
  std::string name = member.substr(0, slash), part = slash == std::string::npos ? "" : member.substr(slash + 1);
  auto port = std::find_if(ports.begin(), ports.end(), [&](const runtime::Port &p) { return p.name == name; });
  if (part.empty() || port == ports.end() || port->tensor())
    return false;
  bool sequence = port->kind != ValueKind::optional, number = part.size() < 10;
  for (char c : part)
    number &= c >= '0' && c <= '9';
  Parts &parts = found[name];
  if (sequence && number)
    require(parts.tensors.emplace(std::stoul(part), toTensor(array)).second, "{}: '{}' is given twice", file, member);
  else if (sequence && part == "empty")
    parts.empty = true;
  else if (isOptional(port->kind) && part == "none")
    parts.none = true;
  else
    fail("{}: input '{}' is {}: '{}' is no part of one, expected {}", file, name, lathe::name(port->kind), member,
         sequence ? fmt::format("'{0}/0', '{0}/1', ... or '{0}/empty'", name)
                  : fmt::format("'{0}' or '{0}/none'", name));
  return true;
}

std::map<std::string, Value> ValueParts::values(const std::string &file) const {
  std::map<std::string, Value> values;
  for (auto &[name, parts] : found) {
    require(parts.empty + parts.none + !parts.tensors.empty() == 1,
            "{}: '{}' is given as tensors and as nothing, expected one of them", file, name);
    if (parts.none) {
      values.emplace(name, Optional());
      continue;
    }
    Sequence sequence;
    for (auto &[index, tensor] : parts.tensors) {
      require(index == sequence.items.size(), "{}: '{}/{}' is missing: the tensors of a sequence are numbered from 0",
              file, name, sequence.items.size());
      sequence.elementType = tensor.type();
      sequence.items.push_back(tensor);
    }
    values.emplace(name, std::move(sequence));
  }
  return values;
}

std::vector<ValueArray> arraysOf(const std::string &name, const Value &value) {
  auto marker = [](const std::string &text) { return ValueArray{text, Tensor(ElementType::u8, {0})}; };
  if (value.isTensor())
    return {{name, value.tensor()}};
  if (value.isOptional())
    return value.optional().value ? arraysOf(name, *value.optional().value)
                                  : std::vector<ValueArray>{marker(name + "/none")};
  std::vector<ValueArray> arrays;
  for (const Value &item : value.sequence().items)
    arrays.push_back({fmt::format("{}/{}", name, arrays.size()), item.tensor()});
  if (arrays.empty())
    arrays.push_back(marker(name + "/empty"));
  return arrays;
}

std::string valueText(const Value &value) {
  if (value.isTensor())
    return fmt::format("{} {}", name(value.tensor().type()), dimsText(value.tensor().dims()));
  if (value.isOptional())
    return value.optional().value ? valueText(*value.optional().value) : "nothing";
  const std::vector<Value> &items = value.sequence().items;
  std::string text = fmt::format("a sequence of {} tensor{}", items.size(), items.size() == 1 ? "" : "s");
  for (size_t i = 0; i < std::min<size_t>(items.size(), 4); ++i)
    text += (i ? ", " : ": ") + valueText(items[i]);
  return text + (items.size() > 4 ? ", ..." : "");
}

} // namespace lathe::jobs
