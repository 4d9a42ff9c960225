// Shared by models of `lathe compare`, `diff-models`, `segments`, `evaluate --against` and `sweep --with`.
#pragma once

#include "jobs/ModelOptions.h"
#include "lab/compare/Compare.h"

namespace lathe::jobs {

/// The runner with --signature, if the flags name one and the runner reads SavedModels.
lab::RunnerSpec withSignature(lab::RunnerSpec runner, const ModelOptions &flags);

/// Clears the flags of import that the format of the model does not have: --signature, --custom, --requantize-rounding.
void clearForeignFlags(ModelOptions &flags);

/// Lets `names` be inputs if they have default values (--override). Returns false, and does nothing, without names and for
/// other files than ONNX.
bool overrideDefaults(ModelOptions &flags, const std::vector<std::string> &names);

/// Lets the model be without the classes of --custom: '?' stands before each, which the import knows.
void leaveDefinitionsUnused(ModelOptions &flags);

/// The flags for the model or package `file` beside the model of `flags`: those of the compilation, and those of the import
/// that the format of `file` has. Definitions of Keras layers may be unused in `file`. --shape stays behind: it names inputs
/// of the other model. Throws Error if `file` cannot be read.
ModelOptions flagsForOther(const ModelOptions &flags, const std::string &file);

/// Writes lab::callOnnx(inputs) into `folder`. Returns the flags that compile it as `flags` compile their model.
ModelOptions callModel(const ModelOptions &flags, const std::string &folder, const std::vector<lab::CallInput> &inputs);

} // namespace lathe::jobs
