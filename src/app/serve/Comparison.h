// Compares two experiments for a page of `lathe serve`, by the rules of report/Diff.h.
#pragma once

#include "store/Store.h"

namespace lathe::serve {

/// Compares two experiments and returns the JSON for the page. They are given by their ids or beginnings of ids.
/// Throws Error for a text that names no experiment of the store.
nlohmann::json comparisonJson(store::Store &store, const std::string &before, const std::string &after);

} // namespace lathe::serve
