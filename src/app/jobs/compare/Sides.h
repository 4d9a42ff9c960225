// The sides of `lathe compare`: runners and files, and the model that each loads.
#pragma once

#include "jobs/ModelOptions.h"
#include "lab/compare/Compare.h"

namespace lathe::jobs {

/// Returns our side, with its model still to be filled in, then the sides that `with` names: runners and files of
/// models or packages, separated by commas ("": the usual peer of the model). Throws Error before anything is compiled
/// for a name that is neither, or for a runner that is not installed.
std::vector<lab::CompareSide> findSides(const std::string &with, const ModelOptions &model);

/// Makes the files that the sides load; our side loads `package`. A runner loads the model itself if it reads the
/// model's format, otherwise the model's export as ONNX. Another model is compiled with the flags of ours. `model`
/// must outlive the sides.
void fillIn(std::vector<lab::CompareSide> &sides, const std::string &package, const ModelOptions &model);

/// Returns flags for the model or package `file`, which is compared with the model of `flags` and its package `ours`
/// (flagsForOther). If `flags` have --shape, symbolic extents of `file` become those of the inputs of `ours`.
ModelOptions flagsLike(const ModelOptions &flags, const std::string &ours, const std::string &file);

} // namespace lathe::jobs
