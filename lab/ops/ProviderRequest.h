// How a provider is asked to compute a problem: what both ends of docs/provider-protocol.md agree on.
#pragma once

#include <string>
#include <string_view>

namespace lathe::lab {

/// Where the channels of activations (operands that are not known before the run, and results) lie: `row` outermost
/// behind the batch (nchw), `blocked` in blocks as wide as a register (nChw16c), `channelsLast` innermost (nhwc).
/// `any`: the provider chooses.
enum class ActivationLayout { any, row, blocked, channelsLast };
std::string_view name(ActivationLayout layout); // "channels_last"
/// Throws Error with the names there are.
ActivationLayout activationLayout(std::string_view text);

struct ProviderRequest {
  std::string variant = {}; // one of those that it has for the operator
  int threads = 1;
  ActivationLayout layout = ActivationLayout::any;
  std::string schedule = {}; // "direct/1 px=14 oc=2", of a provider that takes schedules; "": its own choice
  bool operator==(const ProviderRequest &) const = default;
};

} // namespace lathe::lab
