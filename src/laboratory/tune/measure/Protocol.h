// Constants shared by the tuner and its two programs (docs/notes/tuning-measurement.md).
#pragma once

namespace lathe::tune {

/// Version of the messages between tuner, builder and runner. Raise it when a message changes.
constexpr int measureProtocolVersion = 2;

} // namespace lathe::tune
