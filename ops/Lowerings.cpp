#include "ops/Lowerings.h"

#include "codegen/builder/Scalar.h"

#include <algorithm>

#include "ops/Lowerings.inc"

namespace lathe {

void registerLowerings() {
  setScalarLowerings([](std::string_view mnemonic) -> const ScalarLowering * {
    auto found = std::lower_bound(std::begin(entries), std::end(entries), mnemonic,
                                  [](const ScalarLowering &entry, std::string_view name) { return entry.name < name; });
    return found != std::end(entries) && found->name == mnemonic ? &*found : nullptr;
  });
}

} // namespace lathe
