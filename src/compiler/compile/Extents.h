// Extents that a package is compiled for: variants (sets of extents with a plan of their own), ranges of symbols, and
// the extents for which schedules are chosen (docs/dynamic-shapes.md).
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lathe {

/// Values of extent symbols, by the name of the symbol.
using Extents = std::map<std::string, int64_t>;

struct ExtentRange {
  std::string symbol;
  int64_t min = 1, max = 1; // smallest and largest value that the symbol may have
};

struct ExtentOptions {
  /// Values of symbols for which the package gets a plan of its own, besides the general plan.
  std::vector<Extents> variants;
  std::vector<ExtentRange> ranges;
  Extents typical; // values of symbols for which schedules are chosen; a missing symbol counts as 1
};

/// The largest number of variants in a package.
inline constexpr size_t mostVariants = 64;

/// Parses variants such as "N=1,8" or "H=224,320 W=224,320". Returns a variant for every combination of values. Throws
/// Error for a text of another form, and for more than mostVariants combinations.
std::vector<Extents> parseVariants(const std::string &text);
/// Parses ranges of symbols, such as "N=1..64 T=1..512". Throws Error for a text of another form.
std::vector<ExtentRange> parseRanges(const std::string &text);
/// Parses values of symbols, such as "N=8 T=128". Throws Error for a text of another form.
Extents parseExtents(const std::string &text);

/// The text of the values of symbols, such as "N=8, T=128".
std::string str(const Extents &extents);

/// Adds to `variants` those of `more` that it does not contain yet; variants with more symbols come first. Throws
/// Error if there are then more than mostVariants.
void addVariants(std::vector<Extents> &variants, const std::vector<Extents> &more);

/// Returns the symbols in the extents of the arguments of `main`, in order.
std::vector<std::string> symbolsOf(mlir::func::FuncOp main);

/// Throws Error if an option about extents names a symbol that the model does not have, or an extent outside the range
/// of its symbol, or if a symbol has two ranges.
void requireValid(const ExtentOptions &options, mlir::func::FuncOp main);

/// Replaces symbols by their values in a function at graph level or in a kernel. Changes the types of arguments, of
/// results of operators and of the function. Throws Error with the node whose constraint is violated.
void specialize(mlir::func::FuncOp function, const Extents &extents);

} // namespace lathe
