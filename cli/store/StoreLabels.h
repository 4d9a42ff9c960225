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

/// The labels of an experiment that --tag, --note and --name ask for; "": none. Throws Error, with the flag, for a text that
/// no label has.
std::vector<store::Label> labelsOf(const std::string &uuid, const std::vector<std::string> &tags,
                                   const std::string &note, const std::string &name);

/// "resnet50 nightly #avx2 #baseline: why it was measured"; "" without labels.
std::string labelText(const store::Labels &labels);

} // namespace lathe::cli
