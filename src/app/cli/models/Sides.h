// The sides of `lathe compare`: runners and files, and the model that each loads.
#pragma once

#include "cli/ModelFlags.h"
#include "lab/compare/Compare.h"

namespace lathe::cli {

/// Our side, with its model still to be filled in, then the sides of `with`: names of runners, models or packages,
/// separated by commas ("": the model's default peer). Throws Error for unknown names and for runners that are not
/// installed, before anything is compiled.
std::vector<lab::CompareSide> findSides(const std::string &with, const ModelFlags &model);

/// Makes the files that the sides load; our side loads `package`. A runner loads the model if it reads its format,
/// otherwise its export as ONNX. Another model is compiled with our side's flags. `model` must outlive the sides.
void fillIn(std::vector<lab::CompareSide> &sides, const std::string &package, const ModelFlags &model);

/// The flags for another model or package `file` (flagsForOther). `ours` is the package of the model of `flags`. If
/// `flags` have --shape, open extents of `file` get the extents of the inputs of `ours`.
ModelFlags flagsLike(const ModelFlags &flags, const std::string &ours, const std::string &file);

} // namespace lathe::cli
