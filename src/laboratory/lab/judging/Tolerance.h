// Bounds for the error of a right result, depending on element types and lengths of sums.
//
// docs/numerics.md, "How outputs are judged", explains the rule, which is implemented only here.
#pragma once

#include "runtime/Model.h"
#include "runtime/Tensor.h"
#include "support/ElementType.h"
#include "support/Precision.h"

#include <map>
#include <span>
#include <string>

namespace lathe::lab {

/// Bounds for the errors of a right result.
struct Tolerance {
  double relative = 2e-5; // L2 norm of the difference / L2 norm of the reference
  double maximum = 1e-4;  // largest |difference| / largest |reference|
  // For quantised integers. A result is right if both bounds hold, or if `behind` is set and relative and maximum hold.
  double steps = 0; // largest |difference|, in steps of the quantiser
  double share = 0; // share of the elements that differ
  /// The integers may depend on other quantised integers, whose differences of one step propagate.
  bool behind = false;
};

/// How values are rounded between the inputs and a result.
struct Roundings {
  bool anyFloat = false;
  bool onlyDoubles = true;                    // every float is f64
  ElementType half = ElementType::invalid;    // coarsest 16-bit type of stored values; invalid: none
  ElementType quarter = ElementType::invalid; // coarsest 8-bit float of stored values; invalid: none
  bool bytes = false;                         // kernels write 8-bit integers, quantised values if there are floats
  double quantised = 0;                       // number of kernels that write quantised integers on the longest path
  bool packedWeights = false;                 // kernels read constants of 4 or 8 bits and write floats
  double terms = 1;                           // sum of the lengths of all sums on the longest path
  double stored = 1;                          // number of stored values of `half` on the longest path
  Precision precision = Precision::fp32;      // bf16: operands of products are rounded to bf16
  bool relaxedMath = false;                   // functions have the errors of -O4

  void add(ElementType type);
};

/// With what a result is compared: the judge in float64, or a peer, a runtime with its own rounding errors and unknown
/// algorithms.
enum class Against { judge, peer };

/// Bounds for a result with these roundings; zero if there are no floats.
Tolerance toleranceOf(const Roundings &roundings, Against against = Against::judge);

/// True for the integer types that quantisers produce. Wider integers are counts or indices.
inline bool isQuantised(ElementType type) { return isInteger(type) && bitWidth(type) <= 16; }

/// Unit roundoff: half the distance between 1 and the next number of a floating-point type.
double unitRoundoff(ElementType type);

/// Values of the symbols that are the whole extent of an axis of some port.
std::map<std::string, int64_t> boundSymbols(std::span<const runtime::Port> ports, std::span<const Value> values);

/// Roundings of the outputs of a package: the types that its kernels write, and the longest path
/// through its plan. A kernel counts with half its operations per element of its result, the length
/// of the sums of a product. `symbols` are the extents of this run; missing symbols count as 1.
Roundings roundingsOf(const runtime::Model &model, const std::map<std::string, int64_t> &symbols = {});

/// Reads the precision of a package from the text of its options (runtime::Model::options).
Precision precisionOfPackage(const std::string &options);
/// Reads from the text of a package's options whether it was compiled with -O4.
bool relaxedMathOfPackage(const std::string &options);

} // namespace lathe::lab
