// The kinds of devices that run kernels.
#pragma once

#include <optional>
#include <string_view>

namespace lathe {

enum class DeviceKind { host };

/// The text of a device kind in packages and messages: "host".
constexpr std::string_view name(DeviceKind) { return "host"; }

/// The device kind named `text`; empty if this version does not know it.
constexpr std::optional<DeviceKind> deviceKind(std::string_view text) {
  return text == name(DeviceKind::host) ? std::optional(DeviceKind::host) : std::nullopt;
}

} // namespace lathe
