// Random matrix products with weights of 4 or 8 bits (codegen/contraction/gemm/PackedColumns.h), for tests.
#pragma once

#include "codegen/testing/RandomTesting.h"

#include <string>

namespace lathe {

/// A test product of `rows` rows (-1: the symbol M) and packed weights, with or without an epilogue.
struct PackedProduct {
  int64_t rows, blocks, steps, columns;
  std::string codes, scale, zero; // types of the operands; zero: "" if there are no zero points
  bool reshaped, epilogue;

  /// Returns the text of the product's kernel function.
  std::string str() const;
};

PackedProduct randomPackedProduct(Random &random);

} // namespace lathe
