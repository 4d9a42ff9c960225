// `lathe store tag`, `note` and `name`: words of people on experiments, platforms and problems (docs/store.md).
#pragma once

#include "cli/Common.h"
#include "store/Labels.h"

namespace lathe::store {
class Store;
}

namespace lathe::cli {

int storeTag(const Arguments &arguments);
int storeNote(const Arguments &arguments);
int storeName(const Arguments &arguments);

/// Returns the labels that --tag, --note and --name give to the experiment `uuid`, without a date. Throws Error with the flag
/// for a text that is no valid label.
std::vector<store::Label> labelsOf(const std::string &uuid, const std::vector<std::string> &tags,
                                   const std::string &note, const std::string &name);

/// "name #tag #tag: note", what there is of it; "" without labels.
std::string labelText(const store::Labels &labels);

} // namespace lathe::cli
