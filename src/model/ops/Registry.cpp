#include "ops/Registry.h"

#include "ops/WindowTaps.h"

#include <algorithm>

namespace lathe {
namespace {
/// Checks what every shape function may assume: required operands are present and have a type and rank that nn knows.
/// Returns one entry for each operand of the record (null: absent).
InferInputs checkedInputs(const char *op, std::span<const OperandRecord> operands, InferInputs in, bool takesValues) {
  bool variadic = !operands.empty() && operands.back().variadic;
  require(variadic || in.size() <= operands.size(), "{}: has {} operands, expected at most {}", op, in.size(),
          operands.size());
  if (takesValues && variadic && in.size() == operands.size() && !in.back())
    in.pop_back(); // a variadic operand without values
  in.resize(std::max(in.size(), operands.size() - variadic), nullptr);
  for (size_t i = 0; i < in.size(); ++i) {
    const OperandRecord &record = operands[std::min(i, operands.size() - 1)];
    require(in[i] || (record.optional && !record.variadic), "{}: operand '{}' is missing", op, record.name);
    if (!in[i])
      continue;
    require(takesValues || in[i]->isTensor(), "{}: operand '{}' is {}, expected a tensor", op, record.name,
            name(in[i]->kind));
    require(in[i]->type != ElementType::invalid, "{}: operand '{}' has an element type that is not supported", op,
            record.name);
    require(in[i]->rank() <= maxRank, "{}: operand '{}' has rank {}, more than the {} supported", op, record.name,
            in[i]->rank(), maxRank);
    for (const Dim &extent : in[i]->dims)
      require(extent.constantOr(0) >= 0, "{}: operand '{}' is {}, an extent is negative", op, record.name,
              str(in[i]->dims));
  }
  return in;
}
} // namespace
} // namespace lathe

#include "ops/Registry.inc"

namespace lathe {

std::span<const OpRecord> opRecords() { return records; }

std::string FormatMapping::attribute(std::string_view field) const {
  for (std::string_view rename : renames)
    if (auto at = rename.find('='); rename.substr(at + 1) == field)
      return std::string(rename.substr(0, at));
  return std::string(field);
}

bool OpRecord::isIn(std::string_view format) const {
  return std::any_of(mappings.begin(), mappings.end(),
                     [&](const FormatMapping &mapping) { return mapping.format == format; });
}

std::vector<MappedOp> mappings(std::string_view format) {
  std::vector<MappedOp> result;
  for (const OpRecord &record : records)
    for (const FormatMapping &mapping : record.mappings)
      if (mapping.direct && mapping.format == format)
        result.push_back({&record, &mapping});
  return result;
}

MappedOp findMapping(std::span<const MappedOp> among, std::string_view op, int64_t version) {
  for (const MappedOp &mapped : among)
    if (mapped.mapping->op == op && version >= mapped.mapping->since && version <= mapped.mapping->until)
      return mapped;
  return {};
}

const FormatMapping *mappingOf(const OpRecord &record, std::string_view format, int64_t version) {
  for (const FormatMapping &mapping : record.mappings)
    if (mapping.direct && mapping.format == format && version >= mapping.since && version <= mapping.until)
      return &mapping;
  return nullptr;
}

const OpRecord *findOp(std::string_view name) {
  auto it = std::lower_bound(std::begin(records), std::end(records), name,
                             [](const OpRecord &record, std::string_view wanted) { return record.name < wanted; });
  return it != std::end(records) && name == it->name ? it : nullptr;
}

} // namespace lathe
