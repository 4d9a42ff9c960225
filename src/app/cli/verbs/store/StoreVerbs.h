// The verbs of `lathe store` that have files of their own.
#pragma once

#include "cli/flags/Options.h"

namespace lathe::cli {

int storeExport(const Arguments &arguments);
int storeImport(const Arguments &arguments);
int storeMerge(const Arguments &arguments);
int storeTag(const Arguments &arguments);
int storeNote(const Arguments &arguments);
int storeName(const Arguments &arguments);
int storeTrend(const Arguments &arguments);

} // namespace lathe::cli
