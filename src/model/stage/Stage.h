// `lathe stage`: writes a model as source, with its weights beside it.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lathe {

struct StageReport {
  std::string source;  // path of the written source
  std::string weights; // path of the written file of weights; "" if there are no weights
  size_t lines = 0, functions = 0, weightCount = 0;
  uint64_t weightBytes = 0;
};

/// Writes the graph of `module` as source to `path`, F.py or F.cpp, and its weights to F.safetensors beside it.
/// `blocks` false: no functions for repeated blocks. Throws Error for another file extension.
StageReport stageToFiles(mlir::ModuleOp module, const std::string &path, bool blocks = true);

} // namespace lathe
