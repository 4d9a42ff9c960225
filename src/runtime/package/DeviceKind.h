// The kinds of devices that kernels run on: a kernel of a package has one, and the compiler's kernel families are keyed by
// operator and kind.
#pragma once

#include <cstdint>

namespace lathe {

/// Values are stored in packages: append only, never renumber.
enum class DeviceKind : uint8_t { host = 0 };

inline constexpr const char *deviceKindNames[] = {"host"}; // by the number of the kind
inline const char *name(DeviceKind kind) { return deviceKindNames[static_cast<uint8_t>(kind)]; }

} // namespace lathe
