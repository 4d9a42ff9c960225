// `lathe store tag`, `note` and `name`: labels on experiments, platforms and problems (docs/store.md).
#pragma once

#include "cli/flags/Options.h"
#include "store/Labels.h"

namespace lathe::store {
class Store;
}

namespace lathe::cli {

int storeTag(const Arguments &arguments);
int storeNote(const Arguments &arguments);
int storeName(const Arguments &arguments);

/// "name #tag #tag: note", what there is of it; "" without labels.
std::string labelText(const store::Labels &labels);

} // namespace lathe::cli
