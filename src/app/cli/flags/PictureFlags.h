// Flags about pictures: which ones, and how a picture becomes an input.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/samples/PictureOptions.h"
#include "jobs/samples/Pictures.h"

namespace lathe::cli {

void addPictures(Options &options, PictureOptions &how);
/// Adds --data, --labels and how pictures are drawn from them.
void addData(Options &options, DataOptions &data, const std::string &dataHelp);

} // namespace lathe::cli
