// Writes test cases of importers to a folder, so that other implementations can run the same cases.
#pragma once

#include "runtime/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace lathe {

/// Writes the running importer test as a case: the model "FOLDER/SUITE.TEST-N.EXTENSION", its inputs and results as
/// .npy files beside it, and "FOLDER/SUITE.TEST-N.json", which lists the files with their ports and zero points.
/// `about` is added to the JSON file. String tensors get no file.
void writeCase(const std::string &folder, const std::string &extension, const std::string &model, mlir::ModuleOp module,
               const std::vector<Tensor> &inputs, const std::vector<Tensor> &results, nlohmann::json about);

} // namespace lathe
