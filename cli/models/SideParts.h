// What the sides of `lathe compare`, `diff-models`, `segments` and `evaluate --against` share.
#pragma once

#include "cli/ModelFlags.h"
#include "lab/compare/Compare.h"

namespace lathe::cli {

/// The runner with --signature, if the flags name one and the runner reads SavedModels.
lab::RunnerSpec withSignature(lab::RunnerSpec runner, const ModelFlags &flags);

/// Clears the flags of import that the format of the model does not have: --signature, --custom, --requantize-rounding.
void clearForeignFlags(ModelFlags &flags);

/// Writes lab::callOnnx(inputs) into `folder`. Returns the flags that compile it as `flags` compile their model.
ModelFlags callModel(const ModelFlags &flags, const std::string &folder, const std::vector<lab::CallInput> &inputs);

} // namespace lathe::cli
