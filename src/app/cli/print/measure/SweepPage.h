// The page that `lathe sweep` writes: its rows with all details.
#pragma once

#include "cli/print/Document.h"
#include "cli/print/measure/SweepReport.h"

namespace lathe::cli {

/// Makes the page of a sweep as a document: rows, failures, confusion matrices, changed decisions, operators that keep
/// the layout of the model, and operators without kernels. `command`: the command line.
print::Document sweepDocument(const Sweep &sweep, const std::string &command, bool finished);

} // namespace lathe::cli
