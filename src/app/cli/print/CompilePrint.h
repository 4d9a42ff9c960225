// Text and JSON of `lathe compile`.
#pragma once

#include "cli/print/LayoutPrint.h"
#include "jobs/compile/CompileModel.h"

namespace lathe::cli {

nlohmann::json compiledJson(const CompileJob &job, const CompiledModel &compiled, const LayoutReport &layouts);
std::string compiledText(const CompileJob &job, const CompiledModel &compiled);

/// The line that names the file of a text and of its weights; "" if there is none.
std::string writtenText(const std::vector<nn::WrittenFile> &written);

} // namespace lathe::cli
