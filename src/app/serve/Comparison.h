// Two experiments beside each other, as the JSON of a page. The rules are those of report/Diff.h.
#pragma once

#include "store/Store.h"

namespace lathe::serve {

/// Compares two experiments, given by their ids or beginnings of them. Throws Error for another text.
nlohmann::json comparisonJson(store::Store &store, const std::string &before, const std::string &after);

} // namespace lathe::serve
