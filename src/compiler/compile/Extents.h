// Extents that a package is compiled for: variants with their own plans, ranges of symbols, and the
// extents for which schedules are chosen (docs/dynamic-shapes.md).
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lathe {

/// Extents by symbol.
using Extents = std::map<std::string, int64_t>;

struct ExtentRange {
  std::string symbol;
  int64_t min = 1, max = 1; // both are allowed
};

struct ExtentOptions {
  std::vector<Extents> variants; // a plan for each, besides the general plan
  std::vector<ExtentRange> ranges;
  Extents typical; // for which the schedules of open extents are chosen; a missing symbol counts as 1
};

/// The largest number of variants in a package.
inline constexpr size_t mostVariants = 64;

/// Parses "N=1,8" or "H=224,320 W=224,320": a variant for every combination. Throws Error for
/// another form, or more than mostVariants.
std::vector<Extents> parseVariants(const std::string &text);
/// Parses "N=1..64 T=1..512". Throws Error for another form.
std::vector<ExtentRange> parseRanges(const std::string &text);
/// Parses "N=8 T=128". Throws Error for another form.
Extents parseExtents(const std::string &text);

/// "N=8, T=128"
std::string str(const Extents &extents);

/// Adds `more` without duplicates; variants with more symbols come first. Throws Error for more than
/// mostVariants.
void addVariants(std::vector<Extents> &variants, const std::vector<Extents> &more);

/// Symbols of the extents of the arguments, in order.
std::vector<std::string> symbolsOf(mlir::func::FuncOp main);

/// Throws Error if an option names a symbol that the model does not have, or an extent outside the
/// range of its symbol, or if a symbol has two ranges.
void requireValid(const ExtentOptions &options, mlir::func::FuncOp main);

/// Gives symbols their values in a function at graph level or in a kernel: arguments, results of
/// operators, and the type of the function. Throws Error with the node whose constraint is violated.
void specialize(mlir::func::FuncOp function, const Extents &extents);

} // namespace lathe
