// Decisions of a classifier, and the numbers of right decisions.
#pragma once

#include "runtime/Tensor.h"

#include <cstdint>
#include <vector>

namespace lathe::evaluate {

/// The classes ordered by the scores of one output, the most likely first, at most `most` of them. Of equal scores the
/// lower index comes first.
std::vector<size_t> ranking(const Tensor &scores, size_t most);

/// Figures about the decisions on one class. Precision, recall and F1 are in [0, 1]; 0 if there are no pictures.
struct ClassFigures {
  size_t count = 0;   // number of pictures of the class
  size_t decided = 0; // number of pictures for which the model decided on the class
  size_t right = 0;
  double precision() const;
  double recall() const;
  double f1() const;
};

/// A confusion matrix: numbers of pictures by class and decision.
class Confusion {
public:
  explicit Confusion(size_t classes) : classes(classes), counts(classes * classes, 0) {}
  void add(size_t label, size_t decision) { ++counts.at(label * classes + decision); }

  size_t of(size_t label, size_t decision) const { return counts.at(label * classes + decision); }
  ClassFigures figures(size_t label) const;
  /// Indices of the classes that have pictures, or on which the model decided, in rising order.
  std::vector<size_t> present() const;

private:
  size_t classes;
  std::vector<size_t> counts;
};

/// Numbers of right decisions of a classifier, over all pictures with a label.
struct Accuracy {
  size_t labelled = 0, top1 = 0, top5 = 0;
  void add(const std::vector<size_t> &ranked, size_t label);
};

} // namespace lathe::evaluate
