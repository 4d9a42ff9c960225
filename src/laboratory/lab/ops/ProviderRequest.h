// A request to a provider, shared by both ends of the protocol (docs/provider-protocol.md).
#pragma once

#include <string>
#include <string_view>

namespace lathe::lab {

/// Layout of the activations (results, and operands that are not known before the run) in a request to a provider:
/// `row` is nchw, `blocked` is nChw16c with blocks as wide as a register, `channelsLast` is nhwc; `any` lets the
/// provider choose.
enum class ActivationLayout { any, row, blocked, channelsLast };
std::string_view name(ActivationLayout layout); // name of the layout in a request, such as "channels_last"
/// The layout with the name `text`. Throws Error with the valid names for any other text.
ActivationLayout activationLayout(std::string_view text);

struct ProviderRequest {
  std::string variant = {}; // a variant that the provider has for the operator
  int threads = 1;
  ActivationLayout layout = ActivationLayout::any;
  // text of a schedule, for providers that take schedules; "": the provider's own choice
  std::string schedule = {};
  std::string task = {}; // task to which the schedule applies, no other kernel uses it; "": any kernel
  bool operator==(const ProviderRequest &) const = default;
};

} // namespace lathe::lab
