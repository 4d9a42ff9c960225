// Bounds for the error of a right result, which depend on element types and lengths of sums.
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
  // The following is for quantised integers. A result is right if the bounds `steps` and `share` hold, or if `behind`
  // is set and `relative` and `maximum` hold.
  double steps = 0; // largest |difference|, in steps of the quantiser
  double share = 0; // share of the elements that may differ
  /// True: the integers may depend on other quantised integers, whose differences of one step propagate.
  bool behind = false;
};

/// How values are rounded on the way from the inputs to a result.
struct Roundings {
  bool anyFloat = false;
  bool onlyDoubles = true;                    // true: every float is f64
  ElementType half = ElementType::invalid;    // coarsest 16-bit type of stored values; invalid: none
  ElementType quarter = ElementType::invalid; // coarsest 8-bit float of stored values; invalid: none
  bool bytes = false;         // true: kernels write 8-bit integers, which are quantised values if there are floats
  double quantised = 0;       // number of kernels that write quantised integers on the longest path
  bool packedWeights = false; // true: kernels read constants of 4 or 8 bits and write floats
  double terms = 1;           // sum of the lengths of all sums on the longest path
  double stored = 1;          // number of stored values of `half` on the longest path
  Precision precision = Precision::fp32; // bf16: the operands of products are rounded to bf16
  bool relaxedMath = false;              // true: mathematical functions have the errors that -O4 allows

  void add(ElementType type);
};

/// What a result is compared with: the judge in float64, or a peer, a runtime with its own rounding errors and unknown
/// algorithms.
enum class Against { judge, peer };

/// Returns the bounds for the error of a result with these roundings; zero if there are no floats.
Tolerance toleranceOf(const Roundings &roundings, Against against = Against::judge);

/// True for the integer types that quantisers produce. Wider integers are counts or indices.
inline bool isQuantised(ElementType type) { return isInteger(type) && bitWidth(type) <= 16; }

/// Unit roundoff: half the distance between 1 and the next number of a floating-point type.
double unitRoundoff(ElementType type);

/// Values of the symbols that are the whole extent of an axis of some port, from the values of the ports.
std::map<std::string, int64_t> boundSymbols(std::span<const runtime::Port> ports, std::span<const Value> values);

/// Returns how the outputs of a package are rounded: the types that its kernels write, and the longest path through
/// its plan. A kernel counts with half its operations per element of its result, which is the length of the sums of a
/// product. `symbols` are the extents of this run; missing symbols count as 1.
Roundings roundingsOf(const runtime::Model &model, const std::map<std::string, int64_t> &symbols = {});

/// Reads the precision of a package from the text of its options (runtime::Model::options).
Precision precisionOfPackage(const std::string &options);
/// Reads from the text of a package's options whether it was compiled with -O4.
bool relaxedMathOfPackage(const std::string &options);

} // namespace lathe::lab
