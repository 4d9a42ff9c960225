// How far a right result may be from the judge's, by the element types and the lengths of sums it went through.
//
// docs/numerics.md, "How outputs are judged", states the rule with its reasons; this is the only place that holds it.
#pragma once

#include "runtime/Model.h"
#include "runtime/Tensor.h"
#include "support/ElementType.h"
#include "support/Precision.h"

#include <map>
#include <span>
#include <string>

namespace lathe::lab {

/// Largest errors of a right result.
struct Tolerance {
  double relative = 2e-5; // L2 norm of the difference / L2 norm of the reference
  double maximum = 1e-4;  // largest |difference| / largest |reference|
};

/// The roundings between the inputs and a result.
struct Roundings {
  bool anyFloat = false;
  bool onlyDoubles = true;                    // every float is f64
  ElementType half = ElementType::invalid;    // f16 or bf16 where values are stored so, the coarser of both
  ElementType quarter = ElementType::invalid; // likewise an 8-bit float
  double terms = 1;                           // of the sums on the longest path, added up
  double stored = 1;                          // values of `half` on the longest path
  Precision precision = Precision::fp32;      // bf16: operands of products are rounded to it

  void add(ElementType type);
};

/// Whom a result is held against: the judge, which computes in float64, or a runtime that has errors of its own and
/// algorithms that nobody here knows.
enum class Against { judge, peer };

/// Zero where no float is involved.
Tolerance toleranceOf(const Roundings &roundings, Against against = Against::judge);

/// Half the distance between 1 and the next number of a floating-point type.
double unitRoundoff(ElementType type);

/// Extents of the symbols that name whole extents of the ports' tensors.
std::map<std::string, int64_t> boundSymbols(std::span<const runtime::Port> ports, std::span<const Value> values);

/// Of a package's outputs: the types of what its kernels write, and the longest path through its plan. A kernel counts
/// with half its operations an element of what it writes, which is the length of a product's sums. `symbols`: extents
/// of this run; those that are absent count as 1.
Roundings roundingsOf(const runtime::Model &model, const std::map<std::string, int64_t> &symbols = {});

/// The precision that a package's options (runtime::Model::options) say it was compiled with.
Precision precisionOfPackage(const std::string &options);

} // namespace lathe::lab
