// Compares the values inside two models that run on the same inputs, for `lathe diff-models`.
#pragma once

#include "jobs/Inputs.h"
#include "jobs/Source.h"
#include "support/Quantization.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lathe::jobs {

/// One of the two models whose values are compared, as its file states it.
struct ValueSide {
  std::string name; // name of the model in messages
  const Source &source;
  // quantisation of the integers that a node computes, by the node's name
  std::map<std::string, Quantization> scales;
};

/// A value that two models have in common, and how much it differs.
struct ValueError {
  std::string a, b; // names of the nodes that compute the value in model A and in model B
  std::vector<int64_t> dims;
  double relativeL2 = 0, maxDifference = 0; // difference of the value in the two models (lab/judging/Difference.h)
  double before = 0;                        // largest relativeL2 among the operands of the node; 0 for inputs
  std::string broken;                       // place where one of the two values alone has NaN or infinity; "": nowhere
};

struct ValueDiff {
  bool byName = true;             // true: nodes of the two models are paired by name; false: by comparing the graphs
  std::vector<ValueError> values; // the values that both models have, in the order of model A
  size_t onlyA = 0, onlyB = 0;    // number of nodes in each model without a partner in the other
  /// Returns the value whose error has grown most compared with its operands, by factor and by more than `least`; null
  /// if there is none.
  const ValueError *worst(double least) const;
};

/// Evaluates both models with the reference functions on the same real numbers, and compares the values of nodes with
/// equal names. Integers that have a scale count as real numbers. A value whose channels are on another axis is
/// transposed. If fewer than two nodes have equal names, `normalised` returns both graphs in a form in which their
/// nodes can be paired. Throws Error for inputs that do not fit.
ValueDiff diffValues(const ValueSide &a, const ValueSide &b, const InputOptions &inputs,
                     const std::vector<std::string> &shapes, int threads,
                     const std::function<std::pair<Source, Source>()> &normalised);

} // namespace lathe::jobs
