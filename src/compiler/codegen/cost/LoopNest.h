// The loops of a kernel with a schedule, described without generating code: the iterations of each loop, and the factor
// by which the loop multiplies the bytes that each class of operands touches. Nests are made from the plans that
// predict() uses. Features of learned cost models are computed from nests (tune/Features.h).
#pragma once

#include "codegen/space/KernelFacts.h"

#include <array>
#include <initializer_list>
#include <vector>

namespace lathe {

enum class LoopKind { vector, unrolled, serial, parallel };

/// The dimension that a loop iterates over.
enum class LoopAxis {
  rows,      // output positions, rows of a left operand, rows of elements
  columns,   // output channels, columns of a right operand, elements of a row
  reduction, // terms that are added up
  taps,      // positions of a kernel or window; points of a Winograd transform
  batch      // images, stacked matrices, heads, groups, steps of a recurrence
};
inline constexpr size_t loopAxes = 5;

enum class OperandClass {
  input,   // activations: the left operand of a product
  weights, // the right operand, constant or not
  output,
  scratch // memory of the kernel's own: packed, converted or transformed operands, partial sums
};
inline constexpr size_t operandClasses = 4;

/// One number for each class of operands.
using PerClass = std::array<double, operandClasses>;

struct Loop {
  LoopKind kind;
  LoopAxis axis;
  double extent;   // iterations, a mean where they vary; at least 1
  PerClass growth; // bytes touched by all iterations, over bytes touched by one: from 1 to `extent`
};

/// A perfect nest of loops. All nests of one algorithm have the same loops in the same order, for every schedule: a
/// loop that the schedule does not need has one iteration.
struct LoopNest {
  PerClass element;        // bytes that an iteration of the innermost loop touches; 0: no such operands
  std::vector<Loop> loops; // innermost first

  /// Loop::growth by name.
  struct Growth {
    double input = 1, weights = 1, output = 1, scratch = 1;
  };
  /// Adds a loop around the others. Values of `growth` are brought into their range.
  void add(LoopKind kind, LoopAxis axis, double extent, const Growth &growth);
  /// Adds a loop whose iterations touch different bytes of the classes `along`, and the same bytes of other classes.
  void add(LoopKind kind, LoopAxis axis, double extent, std::initializer_list<OperandClass> along);

  /// Iterations of all loops: multiply-adds of products, elements elsewhere.
  double iterations() const;
  /// Product of the extents along one axis.
  double extent(LoopAxis axis) const;
};

} // namespace lathe
