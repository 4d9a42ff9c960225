// Short names of platforms for tables, plots and baselines.
#pragma once

#include "store/Labels.h"
#include "store/Records.h"

#include <map>
#include <string>

namespace lathe::report {

/// Returns a name for each platform of a key, by the key: the one that people gave it (`lathe store name`), else the
/// processor's name without what every name has ("EPYC 9755").
/// Platforms with one name have behind it what they differ in ("EPYC 9755, 2 threads, powersave"), and
/// the beginning of the key if that is not enough. The names are different.
std::map<std::string, std::string> platformNames(const std::map<std::string, store::Platform> &platforms,
                                                 const store::LabelIndex &given = {});

} // namespace lathe::report
