#include "ops/Registry.h"
#include "ops/ShapeRules.h"
#include "support/Text.h"

namespace lathe {
namespace {

/// The extent that a scalar i64 operand states.
Dim countOf(const TensorInfo &count, const char *constraint) {
  require(count.type == ElementType::i64 && mayAgree(product(count.dims), 1), "{}: count is {} {}, expected one i64",
          constraint, name(count.type), str(count.dims));
  return count.contents && count.contents->size() == 1 ? count.contents->front() : unknownDim();
}

void requireElements(ElementType type, const char *constraint) {
  if (type != ElementType::boolean)
    requireNumber(type, constraint);
}

/// Number of chunks: at least one, so that the sum of their counts exists.
Dim chunksOf(const TensorInfo &x, int64_t chunk, const char *constraint) {
  require(chunk > 0, "{}: chunk is {}, expected a positive number", constraint, chunk);
  Dim chunks = ceilDiv(product(x.dims), chunk);
  return chunks.isConstant() ? Dim(std::max<int64_t>(1, chunks.constant())) : maximum(chunks, 1);
}

std::vector<std::string> pieces(const std::string &text, char separator) {
  std::vector<std::string> result;
  for (size_t begin = 0; !text.empty() && begin <= text.size();) {
    size_t end = std::min(text.find(separator, begin), text.size());
    result.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

} // namespace

InferResult inferBindExtents(const BindExtentsAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  require(x.rank() == 1 && x.type == ElementType::i64 && x.dims[0].isConstant(),
          "bind_extents_c1: x is {} {}, expected an i64 vector of static length", name(x.type), str(x.dims));
  std::vector<std::string> symbols = pieces(a.symbols, ' '), most = pieces(a.most, ';');
  auto count = static_cast<size_t>(x.dims[0].constant());
  require(count <= maxContents && symbols.size() == count && (most.empty() || most.size() == count),
          "bind_extents_c2: {} symbols and {} bounds for {} elements", symbols.size(), most.size(), count);
  std::vector<Dim> extents;
  for (size_t i = 0; i < count; ++i) {
    bool known = x.contents && !isUnknown((*x.contents)[i]);
    extents.push_back(known ? (*x.contents)[i] : Dim::symbol(symbols[i]));
    if (!most.empty() && !most[i].empty())
      require(mayReach(Dim::parse(most[i]), extents[i]), "bind_extents_c3: element {} is {}, expected at most {}", i,
              extents[i].str(), most[i]);
  }
  TensorInfo y = x;
  y.contents = std::move(extents);
  return {y};
}

InferResult inferCountNonZero(const CountNonZeroAttrs &a, const InferInputs &in) {
  requireElements(in[0]->type, "count_non_zero_c1");
  return {TensorInfo{ElementType::i64, {chunksOf(*in[0], a.chunk, "count_non_zero_c2")}, std::nullopt}};
}

InferResult inferNonZeroPositions(const NonZeroPositionsAttrs &a, const InferInputs &in) {
  const TensorInfo &x = *in[0], &counts = *in[1];
  requireElements(x.type, "non_zero_positions_c1");
  require(counts.type == ElementType::i64 && counts.rank() == 1 &&
              mayAgree(counts.dims[0], chunksOf(x, a.chunk, "non_zero_positions_c2")),
          "non_zero_positions_c2: counts is {} {}, expected an i64 for every {} elements of {}", name(counts.type),
          str(counts.dims), a.chunk, str(x.dims));
  Dim count = countOf(*in[2], "non_zero_positions_c2");
  return {TensorInfo{ElementType::i64, {static_cast<int64_t>(std::max<size_t>(x.rank(), 1)), count}, std::nullopt}};
}

InferResult inferIota(const IotaAttrs &, const InferInputs &in) {
  Dim count = countOf(*in[0], "iota_c1");
  require(mayReach(count, 0), "iota_c2: count is {}", count.str());
  return {TensorInfo{ElementType::i64, {count}, std::nullopt}};
}

InferResult inferSelectBoxes(const SelectBoxesAttrs &a, const InferInputs &in) {
  NonMaxSuppressionAttrs whole;
  whole.center_point_box = a.center_point_box;
  findOp("non_max_suppression")->infer(whole, in);
  const Dims &scores = in[1]->dims;
  return {TensorInfo{ElementType::i32, scores, std::nullopt},
          TensorInfo{ElementType::i64, {scores[0], scores[1]}, std::nullopt}};
}

InferResult inferSelectedBoxes(const SelectedBoxesAttrs &, const InferInputs &in) {
  const TensorInfo &selected = *in[0], &counts = *in[1];
  require(selected.type == ElementType::i32 && selected.rank() == 3 && counts.type == ElementType::i64 &&
              counts.rank() == 2 && mayAgree(selected.dims[0], counts.dims[0]) &&
              mayAgree(selected.dims[1], counts.dims[1]),
          "selected_boxes_c1: selected is {} {} and counts {} {}, expected i32 batch x classes x boxes and i64 batch x "
          "classes",
          name(selected.type), str(selected.dims), name(counts.type), str(counts.dims));
  return {TensorInfo{ElementType::i64, {countOf(*in[2], "selected_boxes_c1"), 3}, std::nullopt}};
}

InferResult inferDistinct(const DistinctAttrs &, const InferInputs &in) {
  const TensorInfo &x = *in[0];
  require(x.rank() == 1, "distinct_c1: x has rank {}, expected 1", x.rank());
  requireElements(x.type, "distinct_c1");
  TensorInfo numbers{ElementType::i64, x.dims, std::nullopt};
  return {TensorInfo{x.type, x.dims, std::nullopt}, numbers, numbers, numbers,
          TensorInfo{ElementType::i64, {1}, std::nullopt}};
}

} // namespace lathe
