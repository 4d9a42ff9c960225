// Decisions of a classifier, and how many are right.
#pragma once

#include "runtime/Tensor.h"

#include <cstdint>
#include <vector>

namespace lathe::evaluate {

/// The classes of one output, the most likely first. Of equal scores the lower index comes first.
std::vector<size_t> ranking(const Tensor &scores, size_t most);

/// Figures of one class, each in [0, 1]; 0 if there are no pictures.
struct ClassFigures {
  size_t count = 0;   // pictures of the class
  size_t decided = 0; // pictures for which the model decided on it
  size_t right = 0;
  double precision() const;
  double recall() const;
  double f1() const;
};

/// Numbers of pictures by class and decision.
class Confusion {
public:
  explicit Confusion(size_t classes) : classes(classes), counts(classes * classes, 0) {}
  void add(size_t label, size_t decision) { ++counts.at(label * classes + decision); }

  size_t of(size_t label, size_t decision) const { return counts.at(label * classes + decision); }
  ClassFigures figures(size_t label) const;
  /// Classes that have pictures, or on which the model decided; in order.
  std::vector<size_t> present() const;

private:
  size_t classes;
  std::vector<size_t> counts;
};

/// Totals over pictures with a label.
struct Accuracy {
  size_t labelled = 0, top1 = 0, top5 = 0;
  void add(const std::vector<size_t> &ranked, size_t label);
};

} // namespace lathe::evaluate
