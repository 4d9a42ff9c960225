// Shared by models of `lathe compare`, `diff-models`, `segments`, `evaluate --against` and `sweep --with`.
#pragma once

#include "cli/ModelFlags.h"
#include "lab/compare/Compare.h"

namespace lathe::cli {

/// The runner `runner`, started with --signature if the flags name one and the runner reads SavedModels.
lab::RunnerSpec withSignature(lab::RunnerSpec runner, const ModelFlags &flags);

/// Clears import flags that the model's format does not have: --signature, --custom, --requantize-rounding.
void clearForeignFlags(ModelFlags &flags);

/// Makes `names` inputs if they have default values (--override). Returns false, and does nothing, without names and
/// for formats other than ONNX.
bool overrideDefaults(ModelFlags &flags, const std::vector<std::string> &names);

/// Allows the classes of --custom to be missing in the model: puts '?' in front of each, as the import expects.
void leaveDefinitionsUnused(ModelFlags &flags);

/// The flags for another model or package `file`: the compilation flags of `flags`, and those import flags that the
/// format of `file` has. Definitions of Keras layers may be unused in `file`. --shape is dropped, because it names
/// inputs of the first model. Throws Error if `file` cannot be read.
ModelFlags flagsForOther(const ModelFlags &flags, const std::string &file);

/// Writes lab::callOnnx(inputs) into `folder`. Returns flags that compile it like the model of `flags`.
ModelFlags callModel(const ModelFlags &flags, const std::string &folder, const std::vector<lab::CallInput> &inputs);

} // namespace lathe::cli
