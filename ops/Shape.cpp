#include "ops/Shape.h"

#include <atomic>

namespace lathe {

Dim unknownDim() {
  static std::atomic<int64_t> next{0};
  return Dim::symbol(fmt::format("?{}", next++));
}

bool isUnknown(const Dim &dim) {
  std::vector<std::string> symbols;
  dim.collectSymbols(symbols);
  for (const std::string &symbol : symbols)
    if (symbol.starts_with("?"))
      return true;
  return false;
}

Dims broadcast(const Dims &a, const Dims &b) {
  size_t rank = std::max(a.size(), b.size());
  Dims result(rank);
  for (size_t i = 0; i < rank; ++i) {
    Dim x = i < rank - a.size() ? Dim(1) : a[i - (rank - a.size())];
    Dim y = i < rank - b.size() ? Dim(1) : b[i - (rank - b.size())];
    if (x == y || y == Dim(1))
      result[i] = x;
    else if (x == Dim(1))
      result[i] = y;
    else if (x.isConstant() && y.isConstant())
      fail("shapes {} and {} do not broadcast: {} against {} on axis {}", str(a), str(b), x.str(), y.str(), i);
    else // one is symbolic: where it is not 1 it must equal the other, and a constant says more than a symbol
      result[i] = x.isConstant() ? x : y;
  }
  return result;
}

int64_t normalizeAxis(int64_t axis, int64_t rank, const char *what) {
  require(axis >= -rank && axis < rank, "{}: axis {} is outside [-{}, {})", what, axis, rank, rank);
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t> staticOperand(const InferInputs &in, size_t index, const std::vector<int64_t> &attribute,
                                   const char *what) {
  if (index >= in.size() || !in[index])
    return attribute;
  require(in[index]->contents.has_value(), "{}: the value is computed at run time, expected a constant", what);
  require(allConstant(*in[index]->contents), "{}: the value depends on a symbolic dimension, expected a constant", what);
  return constants(*in[index]->contents);
}

} // namespace lathe
