// Facts of the platform of this process in the fields of store::Platform, for records and for
// providers on other machines.
#pragma once

#include <nlohmann/json.hpp>

namespace lathe::lab {

/// Facts of this platform: the result of describeMachine and the versions of the software, in the form that
/// store::platformFromJson reads.
nlohmann::json platformFacts();

} // namespace lathe::lab
