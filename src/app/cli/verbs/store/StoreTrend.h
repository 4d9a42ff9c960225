// The verb `lathe store trend`, which shows how measured times change over dates and commits.
#pragma once

#include "cli/flags/Options.h"

namespace lathe::cli {

int storeTrend(const Arguments &arguments);

} // namespace lathe::cli
