// The table of scalar lowerings of all element-wise operators; the lowerings are in the other files of this folder.
#include "codegen/builder/Scalar.h"

#include <algorithm>

#include "ops/Lowerings.inc"

namespace lathe {

const ScalarLowering *findScalarLowering(std::string_view mnemonic) {
  auto found = std::lower_bound(std::begin(entries), std::end(entries), mnemonic,
                                [](const ScalarLowering &entry, std::string_view name) { return entry.name < name; });
  return found != std::end(entries) && found->name == mnemonic ? &*found : nullptr;
}

} // namespace lathe
