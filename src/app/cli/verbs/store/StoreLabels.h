// The verbs `lathe store tag`, `note` and `name`, which set labels on experiments, platforms and problems
// (docs/store.md).
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

/// Returns the labels as text, "name #tag #tag: note", without the parts that are not set; "" without labels.
std::string labelText(const store::Labels &labels);

} // namespace lathe::cli
