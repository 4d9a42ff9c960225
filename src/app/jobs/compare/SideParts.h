// Functions about models and runners that `lathe compare`, `diff-models`, `segments`, `evaluate --against` and `sweep
// --with` share.
#pragma once

#include "jobs/ModelOptions.h"
#include "lab/compare/Compare.h"

namespace lathe::jobs {

/// Returns `runner` with the signature of --signature, if the flags name one and the runner reads SavedModels.
lab::RunnerSpec withSignature(lab::RunnerSpec runner, const ModelOptions &flags);

/// Clears the import flags that the format of the model does not have: --signature, --custom, --requantize-rounding.
void clearForeignFlags(ModelOptions &flags);

/// Makes the tensors `names` inputs of an ONNX model if they have default values (--override). Returns false and does
/// nothing if `names` is empty or the file is not ONNX.
bool overrideDefaults(ModelOptions &flags, const std::vector<std::string> &names);

/// Lets the model lack layers of the classes of --custom: puts the mark '?' before each class, by which the import
/// knows that it may be unused.
void leaveDefinitionsUnused(ModelOptions &flags);

/// Returns flags for the model or package `file`, which is compared with the model of `flags`: the compilation flags,
/// and the import flags that the format of `file` has. Definitions of Keras layers may be unused in `file`. --shape is
/// left out, because it names inputs of the other model. Throws Error if `file` cannot be read.
ModelOptions flagsForOther(const ModelOptions &flags, const std::string &file);

/// Writes the ONNX model lab::callOnnx(inputs) into `folder`. Returns flags that compile it as `flags` compile their
/// model.
ModelOptions callModel(const ModelOptions &flags, const std::string &folder, const std::vector<lab::CallInput> &inputs);

} // namespace lathe::jobs
