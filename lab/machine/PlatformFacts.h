// What this process runs on, in the fields of store::Platform: for the laboratory's own records, and for a provider to
// tell at the other end of a pipe, which may be another machine.
#pragma once

#include <nlohmann/json.hpp>

namespace lathe::lab {

/// describeMachine() with the software: what store::platformFromJson reads.
nlohmann::json platformFacts();

} // namespace lathe::lab
