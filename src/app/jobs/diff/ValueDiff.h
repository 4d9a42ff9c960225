// Values inside of two models, beside each other on the same inputs.
#pragma once

#include "jobs/Inputs.h"
#include "jobs/Source.h"
#include "support/Quantization.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lathe::jobs {

/// A model as its file has it.
struct ValueSide {
  std::string name; // in messages
  const Source &source;
  std::map<std::string, Quantization> scales; // of integers inside, by node
};

/// A value that both models have.
struct ValueError {
  std::string a, b; // nodes
  std::vector<int64_t> dims;
  double relativeL2 = 0, maxDifference = 0; // lab/judging/Difference.h
  double before = 0;                        // the largest relativeL2 of the values that it is computed from; inputs: 0
  std::string broken;                       // NaN or infinities in other places; "": none
};

struct ValueDiff {
  bool byName = true;             // else by the map of the graphs
  std::vector<ValueError> values; // in the order of A
  size_t onlyA = 0, onlyB = 0;    // nodes without a partner
  /// The value behind which the error has grown most, as a multiple and by more than `least`; null if there is none.
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
