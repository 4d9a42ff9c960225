// `lathe store tag`, `note` and `name`: labels on experiments, platforms and problems (docs/store.md).
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

/// Returns the labels from --tag, --note and --name for the experiment `uuid`, without a date. Throws Error with the
/// flag for a text that is not a valid label.
std::vector<store::Label> labelsOf(const std::string &uuid, const std::vector<std::string> &tags,
                                   const std::string &note, const std::string &name);

/// Labels as text: "name #tag #tag: note", without missing parts; "" without labels.
std::string labelText(const store::Labels &labels);

} // namespace lathe::cli
