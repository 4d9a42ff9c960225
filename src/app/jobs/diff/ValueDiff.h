// Compares the values inside two models that run on the same inputs.
#pragma once

#include "jobs/Inputs.h"
#include "jobs/Source.h"
#include "support/Quantization.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lathe::jobs {

/// One of two models whose values are compared, as its file states it.
struct ValueSide {
  std::string name; // name of the model in messages
  const Source &source;
  std::map<std::string, Quantization> scales; // by node: quantisation of integers inside the model
};

/// A value that two models have in common, with its difference.
struct ValueError {
  std::string a, b; // names of the nodes that compute it
  std::vector<int64_t> dims;
  double relativeL2 = 0, maxDifference = 0; // difference of the two values (lab/judging/Difference.h)
  double before = 0;                        // largest relativeL2 of its operands; 0 for inputs
  std::string broken;                       // where NaN or infinities are in one value only; "": nowhere
};

struct ValueDiff {
  bool byName = true;             // true: nodes are paired by name; false: by the map of the graphs
  std::vector<ValueError> values; // the common values, in the order of A
  size_t onlyA = 0, onlyB = 0;    // nodes without a partner
  /// The value after which the error has grown most, by factor and by more than `least`; null if there is none.
  const ValueError *worst(double least) const;
};

/// Evaluates both models with the reference operators on the same real numbers and compares the values of nodes that have one
/// name. Integers that have a scale count as real numbers, and a value whose channels lie elsewhere is transposed. Where
/// fewer than two nodes have one name, `normalised` gives both graphs in a form whose nodes are mapped onto each other.
/// Throws Error for inputs that do not fit.
ValueDiff diffValues(const ValueSide &a, const ValueSide &b, const InputOptions &inputs,
                     const std::vector<std::string> &shapes, int threads,
                     const std::function<std::pair<Source, Source>()> &normalised);

} // namespace lathe::jobs
