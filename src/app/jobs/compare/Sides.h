// The sides of `lathe compare`: runners and files, and the model that each loads.
#pragma once

#include "jobs/ModelOptions.h"
#include "lab/compare/Compare.h"

namespace lathe::jobs {

/// Ours, with its model still to be filled in, then those of `with`: names of runners and files of models or packages,
/// separated by commas ("": the usual peer of the model). Throws Error for what is neither, or not installed: that is
/// better said before compiling.
std::vector<lab::CompareSide> findSides(const std::string &with, const ModelOptions &model);

/// Makes the files that the sides load; ours is `package`. A runner loads the model where it reads its format, else its
/// export as ONNX. Another model is compiled with the flags of ours. `model` must outlive the sides.
void fillIn(std::vector<lab::CompareSide> &sides, const std::string &package, const ModelOptions &model);

/// The flags for the model or package `file` beside the model of `flags`, whose package is `ours` (flagsForOther); symbolic
/// extents of `file` are those of the inputs of `ours` where `flags` have --shape.
ModelOptions flagsLike(const ModelOptions &flags, const std::string &ours, const std::string &file);

} // namespace lathe::jobs
