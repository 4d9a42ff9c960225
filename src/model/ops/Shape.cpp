#include "ops/ShapeRules.h"
#include "support/DimForms.h"

#include <algorithm>
#include <atomic>
#include <tuple>

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
    result[i] = broadcastDim(x, y);
    const auto &[open, other] = x.isConstant() ? std::tie(y, x) : std::tie(x, y);
    require(x == y || x == Dim(1) || y == Dim(1) || (other.isConstant() ? mayBroadcast(open, other) : mayMeet(x, y)),
            "shapes {} and {} do not broadcast: {} against {} on axis {}", str(a), str(b), x.str(), y.str(), i);
  }
  return result;
}

int64_t normalizeAxis(int64_t axis, int64_t rank, const char *what) {
  require(axis >= -rank && axis < rank, "{}: axis {} is outside [-{}, {})", what, axis, rank, rank);
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t> normalizeAxes(const std::vector<int64_t> &axes, int64_t rank, const char *what) {
  std::vector<int64_t> result;
  for (int64_t axis : axes) {
    result.push_back(normalizeAxis(axis, rank, what));
    require(std::count(result.begin(), result.end(), result.back()) == 1, "{}: axis {} appears twice", what, axis);
  }
  return result;
}

bool isNonNegative(const Dim &dim) {
  if (dim.isConstant())
    return dim.constant() >= 0;
  auto hasNegative = [](const Dim &any) { return any.str().find('-') != std::string::npos; }; // also inside
  return !hasNegative(dim) || !hasNegative(lowerBound(dim));
}

void requireFloat(ElementType type, const char *constraint) {
  require(isFloat(type), "{}: the element type is {}, expected floating-point", constraint, name(type));
}

void requireNumber(ElementType type, const char *constraint) {
  require(isFloat(type) || isInteger(type), "{}: the element type is {}, expected a number", constraint, name(type));
}

void requireByte(ElementType type, const char *constraint) {
  require(isByte(type), "{}: the element type is {}, expected i8 or u8", constraint, name(type));
}

Dims unknownDims(size_t rank) {
  require(rank <= maxRank, "rank {} is more than the {} supported", rank, maxRank);
  Dims result;
  for (size_t i = 0; i < rank; ++i)
    result.push_back(unknownDim());
  return result;
}

InferResult checkedResults(const char *op, InferResult results) {
  constexpr int64_t mostElements = int64_t(1) << 48;
  for (const TensorInfo &result : results) {
    require(result.rank() <= maxRank, "{}: the result has rank {}, more than the {} supported", op, result.rank(),
            maxRank);
    int64_t elements = 1;
    for (const Dim &extent : result.dims) {
      int64_t value = extent.constantOr(1);
      require(value >= 0, "{}: the result is {}, an extent is negative", op, str(result.dims));
      require(value <= mostElements && !__builtin_mul_overflow(elements, std::max<int64_t>(value, 1), &elements) &&
                  elements <= mostElements,
              "{}: the result is {}, absurdly large", op, str(result.dims));
    }
  }
  return results;
}

std::vector<int64_t> staticOperand(const InferInputs &in, size_t index, const std::vector<int64_t> &attribute,
                                   const char *what) {
  if (index >= in.size() || !in[index])
    return attribute;
  require(in[index]->contents.has_value(), "{}: the value is computed at run time, expected a constant", what);
  require(allConstant(*in[index]->contents), "{}: the value depends on a symbolic dimension, expected a constant",
          what);
  return constants(*in[index]->contents);
}

} // namespace lathe
