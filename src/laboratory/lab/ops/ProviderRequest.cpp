#include "lab/ops/ProviderRequest.h"

#include "support/Error.h"

#include <array>

namespace lathe::lab {

// In the order of the enumerators.
static constexpr std::array<std::string_view, 4> names = {"any", "row", "blocked", "channels_last"};

std::string_view name(ActivationLayout layout) { return names[size_t(layout)]; }

ActivationLayout activationLayout(std::string_view text) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == text)
      return ActivationLayout(i);
  fail("no layout is called '{}', expected {}", text, fmt::join(names, ", "));
}

} // namespace lathe::lab
