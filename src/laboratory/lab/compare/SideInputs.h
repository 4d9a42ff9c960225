// Inputs of each side of a comparison, made from the inputs of the first side.
#pragma once

#include "lab/compare/Compare.h"

namespace lathe::lab {

/// An input of the first side, as bound.
struct BoundInput {
  RunnerPort port; // with the extents of the tensor
  Tensor tensor;
  std::string file;
};

/// A side whose model is loaded.
struct LoadedSide {
  const std::string &called; // the model in messages
  const RunnerModel &model;
  const Scales &scales;
};

struct SideInputs {
  std::map<std::string, std::string> files; // by the name of the input
  bool real = false;                        // compared in real numbers: the first side has other types
  std::vector<std::string> notes;           // what was adapted
};

/// Finds the file for every input of `side`. Inputs that are transposed or quantised for it are written to new files, `stem`
/// and a number. Throws Error where the side is another network, or has another layout without `adaptLayouts`.
SideInputs inputsOfSide(const std::vector<BoundInput> &inputs, const LoadedSide &first, const LoadedSide &side,
                        const CompareOptions &options, const std::string &stem);

} // namespace lathe::lab
