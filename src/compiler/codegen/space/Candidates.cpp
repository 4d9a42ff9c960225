// The values worth trying for the parameters of contractions, attention and recurrences, from shapes and registers.
#include "codegen/space/AttentionPlan.h"
#include "codegen/space/ContractionFacts.h"
#include "codegen/space/GemmPlan.h"
#include "codegen/space/RecurrentPlan.h"

#include <algorithm>

namespace lathe {
namespace {

using Numbers = std::vector<int64_t>;

constexpr int64_t mostVectors = 8; // of a register block: more hold too few rows

/// Rows of a register block of at least one vector.
Numbers blockRows(const Target &target, int64_t rows) {
  return upTo(std::min<int64_t>(rows, int64_t(target.vectorRegisters) - 2));
}

Numbers withZero(Numbers values) {
  values.push_back(0);
  return values;
}

/// Numbers of positions that may count as one row: whole rows, or, for a pointwise convolution, any even division.
Numbers widths(const ConvGeometry &conv) {
  constexpr int64_t longest = 400;
  Numbers values = {conv.out[2]};
  if (conv.mergesRows())
    for (int64_t width : divisors(conv.outPixels(), longest))
      if (conv.pointwise() || width % conv.out[2] == 0)
        values.push_back(width);
  return values;
}

/// Channels reduced at once: whole blocks, at least a vector's worth of steps.
Numbers channelCuts(const ConvGeometry &conv) {
  Numbers values = {0};
  for (int64_t kc : divisors(conv.inChannels, conv.inChannels))
    if (kc >= 16 && kc < conv.inChannels && (!conv.inBlock || kc % conv.inBlock == 0))
      values.push_back(kc);
  return values;
}

Numbers convCandidates(const Target &target, const ConvGeometry &conv, std::string_view algorithm,
                       std::string_view name) {
  int64_t lanes = convLanes(target, conv), vectors = (conv.outChannels + lanes - 1) / lanes,
          tiles = (conv.out[1] + 1) / 2 * ((conv.out[2] + 1) / 2);
  if (name == "px")
    return blockRows(target, conv.mergesRows() ? conv.outPixels() : conv.out[2]);
  if (name == "mr")
    return blockRows(target, tiles);
  if (name == "depthwise")
    return blockRows(target, conv.out[2]);
  if (name == "oc")
    return upTo(std::min(vectors, mostVectors));
  if (name == "rows") // of `amx` a pointwise convolution's positions
    return evenSizes(algorithm == "amx" && conv.pointwise() ? conv.outPixels() : conv.out[0] * conv.out[1]);
  if (name == "width")
    return widths(conv);
  if (name == "kc")
    return channelCuts(conv);
  if (name == "m")
    return {2, 3, 4, 6};
  if (name == "mc")
    return evenSizes(tiles);
  if (name == "split")
    return upTo(std::min(vectors, mostVectors));
  return powersOfTwo(16); // unroll
}

Numbers gemmCandidates(const Target &target, const GemmGeometry &gemm, std::string_view name) {
  constexpr int64_t openRows = 392; // considered where their number is not known
  int64_t lanes = gemmLanes(target, gemm), vectors = (gemm.n + lanes - 1) / lanes, rows = gemm.m.constantOr(openRows);
  if (name == "mr")
    return blockRows(target, rows);
  if (name == "rows")
    return evenSizes(rows);
  if (name == "vectors" || name == "oc")
    return upTo(std::min(vectors, mostVectors));
  if (name == "mc")
    return evenSizes((rows + 5) / 6);
  if (name == "kc") {
    Numbers values = {0};
    for (int64_t kc : evenSizes(gemm.k))
      if (kc >= 64 && kc < gemm.k)
        values.push_back((kc + lanes - 1) / lanes * lanes);
    return values;
  }
  return powersOfTwo(16); // unroll
}

/// A switch, which its declaration lists, or a word.
bool listsItself(const Parameter &parameter) { return parameter.most - parameter.least < 8; }

} // namespace

Numbers ContractionFacts::candidates(const Algorithm &algorithm, const Parameter &parameter) const {
  if (listsItself(parameter) && std::string_view(parameter.name) != "m")
    return {};
  if (gemm)
    return gemmCandidates(target, *gemm, parameter.name);
  bool first = std::string_view(parameter.name) == "depthwise";
  return convCandidates(target,
                        conv    ? *conv
                        : first ? separable->depthwise
                                : separable->pointwise,
                        algorithm.name, parameter.name);
}

bool ContractionFacts::allowsWord(const Parameter &parameter, std::string_view word) const {
  if (std::string_view(parameter.name) != "type")
    return true;
  return formatApplies(word, target, gemm ? gemm->types() : conv ? conv->types() : separable->pointwise.types());
}

Numbers AttentionFacts::candidates(const Algorithm &, const Parameter &parameter) const {
  std::string_view name = parameter.name;
  int64_t queries = geometry.queries.constantOr(256), keys = geometry.keys.constantOr(1024);
  if (name == "mr")
    return blockRows(target, queries);
  if (name == "vectors")
    return upTo(mostVectors);
  if (name == "mc")
    return evenSizes((queries + 5) / 6);
  if (name == "kc") {
    Numbers values;
    for (int64_t kc = 64; kc < keys && kc <= 4096; kc *= 2)
      values.push_back(kc);
    return geometry.keys.isConstant() ? withZero(std::move(values)) : values;
  }
  if (name == "packb")
    return readsInPlace() ? Numbers{0, 1} : Numbers{1};
  return powersOfTwo(16); // unroll
}

Numbers RecurrentFacts::candidates(const Algorithm &, const Parameter &parameter) const {
  std::string_view name = parameter.name;
  if (listsItself(parameter))
    return geometry.constantR && geometry.batch.isConstant() ? Numbers{0, 1} : Numbers{0};
  if (name == "mr")
    return blockRows(target, geometry.batch.constantOr(32));
  if (name == "vectors")
    return upTo(std::min((geometry.hidden + geometry.lanes - 1) / geometry.lanes, mostVectors));
  return powersOfTwo(16); // unroll
}

} // namespace lathe
