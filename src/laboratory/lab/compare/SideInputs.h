// Inputs of each side of a comparison, made from the inputs of the first side.
#pragma once

#include "lab/compare/Compare.h"

namespace lathe::lab {

/// An input of the first side, as bound.
struct BoundInput {
  RunnerPort port; // with the tensor's extents
  Tensor tensor;
  std::string file;
};

/// A side whose model is loaded.
struct LoadedSide {
  const std::string &called; // name of the model in messages
  const RunnerModel &model;
  const Scales &scales;
};

struct SideInputs {
  std::map<std::string, std::string> files; // by the name of the input
  bool real = false;                        // compared as real numbers: the first side has other types
  std::vector<std::string> notes;           // about adapted inputs
};

/// Finds the file for every input of `side`. Transposed or quantised inputs are written to new files, named `stem` and
/// a number. Throws Error if the side is another network, or has another layout without `adaptLayouts`.
SideInputs inputsOfSide(const std::vector<BoundInput> &inputs, const LoadedSide &first, const LoadedSide &side,
                        const CompareOptions &options, const std::string &stem);

} // namespace lathe::lab
