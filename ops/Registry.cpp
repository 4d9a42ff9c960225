#include "ops/Registry.h"

#include <algorithm>

namespace lathe {
namespace {
/// What every shape function may rely on: operands that are there, of a type and rank nn knows, one entry for each
/// operand of the record (null: absent).
InferInputs checkedInputs(const char *op, std::span<const OperandRecord> operands, InferInputs in) {
  bool variadic = !operands.empty() && operands.back().variadic;
  require(variadic || in.size() <= operands.size(), "{}: has {} operands, expected at most {}", op, in.size(),
          operands.size());
  in.resize(std::max(in.size(), operands.size() - variadic), nullptr);
  for (size_t i = 0; i < in.size(); ++i) {
    const OperandRecord &record = operands[std::min(i, operands.size() - 1)];
    require(in[i] || (record.optional && !record.variadic), "{}: operand '{}' is missing", op, record.name);
    if (!in[i])
      continue;
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

const OpRecord *findOp(std::string_view name) {
  auto it = std::lower_bound(std::begin(records), std::end(records), name,
                             [](const OpRecord &record, std::string_view wanted) { return record.name < wanted; });
  return it != std::end(records) && name == it->name ? it : nullptr;
}

} // namespace lathe
