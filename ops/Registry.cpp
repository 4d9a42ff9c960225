#include "ops/Registry.h"

#include "ops/Registry.inc"

#include <algorithm>

namespace lathe {

std::span<const OpRecord> opRecords() { return records; }

const OpRecord *findOp(std::string_view name) {
  auto it = std::lower_bound(std::begin(records), std::end(records), name,
                             [](const OpRecord &record, std::string_view wanted) { return record.name < wanted; });
  return it != std::end(records) && name == it->name ? it : nullptr;
}

} // namespace lathe
