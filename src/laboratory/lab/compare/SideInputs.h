// Inputs of each side of a comparison, made from the inputs of the first side.
#pragma once

#include "lab/compare/Compare.h"

namespace lathe::lab {

/// An input of the first side, with the tensor bound to it.
struct BoundInput {
  RunnerPort port; // type of the input, extents of the tensor
  Tensor tensor;
  std::string file;
};

/// A side of a comparison after its runner has loaded the model.
struct LoadedSide {
  const std::string &called; // name of the model in messages
  const RunnerModel &model;
  const Scales &scales;
};

struct SideInputs {
  std::map<std::string, std::string> files; // path of the .npy file for each input
  bool real = false;              // outputs are compared as real numbers, because the first side has other types
  std::vector<std::string> notes; // facts about adapted inputs, for the result
};

/// Finds the file for every input of `side`. Transposed or quantised inputs are written to new files, named `stem` and
/// a number. Throws Error if the side is another network, or has another layout without `adaptLayouts`.
SideInputs inputsOfSide(const std::vector<BoundInput> &inputs, const LoadedSide &first, const LoadedSide &side,
                        const CompareOptions &options, const std::string &stem);

} // namespace lathe::lab
