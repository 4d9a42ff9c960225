// Flags about pictures: which pictures a verb reads, and how a picture becomes an input.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/samples/PictureOptions.h"
#include "jobs/samples/Pictures.h"

namespace lathe::cli {

void addPictures(Options &options, PictureOptions &how);
/// Adds the flags --data and --labels, and the flags that say how pictures are drawn from the data.
void addData(Options &options, DataOptions &data, const std::string &dataHelp);

} // namespace lathe::cli
