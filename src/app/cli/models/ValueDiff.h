// Compares the values inside two models that run on the same inputs.
#pragma once

#include "cli/CompilerVerbs.h"
#include "cli/Inputs.h"
#include "support/Quantization.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lathe::cli {

/// A model in the form of its file.
struct ValueSide {
  std::string name; // in messages
  const Source &source;
  std::map<std::string, Quantization> scales; // for integers inside the model, by node
};

/// A value that both models have.
struct ValueError {
  std::string a, b; // node names
  std::vector<int64_t> dims;
  double relativeL2 = 0, maxDifference = 0; // lab/judging/Difference.h
  double before = 0;                        // largest relativeL2 of its operands; 0 for inputs
  std::string broken;                       // NaN or infinities in other places; "": none
};

struct ValueDiff {
  bool byName = true;             // otherwise paired by the map of the graphs
  std::vector<ValueError> values; // in the order of A
  size_t onlyA = 0, onlyB = 0;    // nodes without a partner
  /// The value after which the error has grown most, by factor and by more than `least`; null if there is none.
  const ValueError *worst(double least) const;
};

/// Evaluates both models with the reference operators on the same real numbers and compares the values of nodes with
/// equal names. Integers with a scale count as real numbers, and a value with the channels on another axis is
/// transposed. If fewer than two nodes have equal names, `normalised` gives both graphs in a form whose nodes can be
/// mapped onto each other. Throws Error for inputs that do not fit.
ValueDiff diffValues(const ValueSide &a, const ValueSide &b, const InputFlags &inputs,
                     const std::vector<std::string> &shapes, int threads,
                     const std::function<std::pair<Source, Source>()> &normalised);

} // namespace lathe::cli
