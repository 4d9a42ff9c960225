// Makes the inputs of each side of a comparison from the inputs of the first side.
#pragma once

#include "lab/compare/Compare.h"

namespace lathe::lab {

/// An input of the first side of a comparison, with the tensor bound to it.
struct BoundInput {
  RunnerPort port; // type of the input, extents of the tensor
  Tensor tensor;
  std::string file;
};

/// A side of a comparison whose runner has loaded the model.
struct LoadedSide {
  const std::string &called; // name of the model in messages
  const RunnerModel &model;
  const Scales &scales;
};

struct SideInputs {
  std::map<std::string, std::string> files; // path of the .npy file, by name of the input
  bool real = false;              // true: outputs are compared as real numbers, because the first side has other types
  std::vector<std::string> notes; // facts about adapted inputs that the result states
};

/// Makes the file for every input of `side` from the inputs of the first side. Transposed or quantised inputs are
/// written to new files, named `stem` and a number. Throws Error if the side is another network, or has another layout
/// without `adaptLayouts`.
SideInputs inputsOfSide(const std::vector<BoundInput> &inputs, const LoadedSide &first, const LoadedSide &side,
                        const CompareOptions &options, const std::string &stem);

} // namespace lathe::lab
