// Random matrix products by weights of 4 or 8 bits (codegen/contraction/gemm/PackedColumns.h).
#pragma once

#include "codegen/testing/RandomTesting.h"

#include <string>

namespace lathe {

/// A product of `rows` (-1: M) by packed weights, perhaps with an epilogue.
struct PackedProduct {
  int64_t rows, blocks, steps, columns;
  std::string codes, scale, zero; // types; zero: "" for none
  bool reshaped, epilogue;

  /// The kernel function.
  std::string str() const;
};

PackedProduct randomPackedProduct(Random &random);

} // namespace lathe
