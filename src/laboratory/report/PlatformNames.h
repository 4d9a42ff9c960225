// Short names of platforms for tables, plots and baselines.
#pragma once

#include "store/Labels.h"
#include "store/Records.h"

#include <map>
#include <string>

namespace lathe::report {

/// Returns a name for each platform, by its key: the user's name (`lathe store name`), or the processor's name without
/// its redundant words ("EPYC 9755"). Platforms with the same name also get the properties in which they differ ("EPYC
/// 9755, 2 threads, powersave"), and the beginning of the key if this is not enough. The names are distinct.
std::map<std::string, std::string> platformNames(const std::map<std::string, store::Platform> &platforms,
                                                 const store::LabelIndex &given = {});

} // namespace lathe::report
