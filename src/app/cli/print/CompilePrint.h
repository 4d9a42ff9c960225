// Text and JSON of `lathe compile`.
#pragma once

#include "cli/print/LayoutPrint.h"
#include "jobs/compile/Compiled.h"

namespace lathe::cli {

nlohmann::json compiledJson(const CompileJob &job, const Compiled &compiled, const LayoutReport &layouts);
std::string compiledText(const CompileJob &job, const Compiled &compiled);

/// Writes a stage of the compilation to the file `output`. Returns what is to be printed: the stage, if `output` is "" or
/// "-", or a line about the files if `says`.
std::string emitted(mlir::ModuleOp module, const CompileOptions &options, const std::string &stage,
                    const std::string &output, bool says);

} // namespace lathe::cli
