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
  rows,      // output positions, rows of a left operand, or rows of elements
  columns,   // output channels, columns of a right operand, or elements of a row
  reduction, // terms that are added up to one result
  taps,      // positions of a kernel or window, or points of a Winograd transform
  batch      // images, stacked matrices, heads, groups, steps of a recurrence
};
inline constexpr size_t loopAxes = 5;

enum class OperandClass {
  input,   // activations, such as the left operand of a product
  weights, // the right operand of a product, constant or not
  output,
  scratch // memory that belongs to the kernel: packed, converted or transformed operands, partial sums
};
inline constexpr size_t operandClasses = 4;

/// One number for each class of operands (OperandClass).
using PerClass = std::array<double, operandClasses>;

struct Loop {
  LoopKind kind;
  LoopAxis axis;
  double extent;   // number of iterations, or their mean if it varies; at least 1
  PerClass growth; // bytes that all iterations touch / bytes that one iteration touches, from 1 to `extent`
};

/// A perfect nest of loops. All nests of one algorithm have the same loops in the same order, for every schedule: a
/// loop that the schedule does not need has one iteration.
struct LoopNest {
  PerClass element;        // bytes that an iteration of the innermost loop touches; 0: the kernel has no such operands
  std::vector<Loop> loops; // loops of the nest, innermost first

  /// Values of Loop::growth, by name of the class of operands.
  struct Growth {
    double input = 1, weights = 1, output = 1, scratch = 1;
  };
  /// Adds a loop around the loops of the nest. Limits the values of `growth` to 1 ... `extent`.
  void add(LoopKind kind, LoopAxis axis, double extent, const Growth &growth);
  /// Adds a loop around the nest whose iterations touch different bytes of the classes `along`, and the same bytes of
  /// all other classes.
  void add(LoopKind kind, LoopAxis axis, double extent, std::initializer_list<OperandClass> along);

  /// Product of the extents of all loops in the nest: multiply-adds for products, elements for other kernels.
  double iterations() const;
  /// Product of the extents of those loops of the nest that run along one axis.
  double extent(LoopAxis axis) const;
};

} // namespace lathe
