// A request to a provider, for both ends of docs/provider-protocol.md.
#pragma once

#include <string>
#include <string_view>

namespace lathe::lab {

/// Layout of the activations (results, and operands that are not known before the run): `row` is nchw, `blocked` is
/// nChw16c with blocks as wide as a register, `channelsLast` is nhwc; `any` lets the provider choose.
enum class ActivationLayout { any, row, blocked, channelsLast };
std::string_view name(ActivationLayout layout); // name in a request: "channels_last"
/// The layout with a name. Throws Error with the valid names for any other text.
ActivationLayout activationLayout(std::string_view text);

struct ProviderRequest {
  std::string variant = {}; // a variant that the provider has for the operator
  int threads = 1;
  ActivationLayout layout = ActivationLayout::any;
  std::string schedule = {}; // "direct/1 px=14 oc=2", for providers that take schedules; "": its own choice
  std::string task = {};     // the schedule is used only for the kernel with this task; "": for any kernel
  bool operator==(const ProviderRequest &) const = default;
};

} // namespace lathe::lab
