// Constants shared by the tuner and its two programs (docs/notes/tuning-measurement.md).
#pragma once

namespace lathe::tune {

/// Version of the messages between the tuner, its builders and its runner. Raise it when a message changes.
constexpr int measureProtocolVersion = 3;

} // namespace lathe::tune
