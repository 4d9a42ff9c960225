#include "ops/Shape.h"
#include "support/StringList.h"

namespace lathe {
namespace {

void requireStrings(const TensorInfo &info, const char *constraint) {
  require(info.type == ElementType::string, "{}: the element type is {}, expected string", constraint, name(info.type));
}

} // namespace

InferResult inferStringConstant(const StringConstantAttrs &a, const InferInputs &) {
  Dims dims = toDims(a.shape);
  auto count = static_cast<int64_t>(splitStrings(a.strings).size());
  require(product(dims) == Dim(count), "string_constant_c1: there are {} strings for the shape {}", count, str(dims));
  return {{ElementType::string, dims, std::nullopt}};
}

InferResult inferStringConcat(const StringConcatAttrs &, const InferInputs &in) {
  requireStrings(*in[0], "string_concat_c1");
  requireStrings(*in[1], "string_concat_c1");
  return {{ElementType::string, broadcast(in[0]->dims, in[1]->dims), std::nullopt}};
}

InferResult inferStringSplit(const StringSplitAttrs &, const InferInputs &in) {
  requireStrings(*in[0], "string_split_c1");
  Dims parts = in[0]->dims;
  parts.push_back(unknownDim());
  return {{ElementType::string, std::move(parts), std::nullopt}, {ElementType::i64, in[0]->dims, std::nullopt}};
}

InferResult inferStringNormalizer(const StringNormalizerAttrs &a, const InferInputs &in) {
  requireStrings(*in[0], "string_normalizer_c1");
  Dims dims = in[0]->dims;
  require(dims.size() == 1 || (dims.size() == 2 && mayAgree(dims[0], 1)),
          "string_normalizer_c1: x is {}, expected extents [C] or [1, C]", str(dims));
  require(a.case_change == "none" || a.case_change == "lower" || a.case_change == "upper",
          "string_normalizer_c2: case_change is '{}', expected none, lower or upper", a.case_change);
  if (!a.stopwords.empty() || !dims.back().isConstant() || dims.back() == Dim(0))
    dims.back() = unknownDim();
  return {{ElementType::string, dims, std::nullopt}};
}

InferResult inferRegexFullMatch(const RegexFullMatchAttrs &, const InferInputs &in) {
  requireStrings(*in[0], "regex_full_match_c1");
  return {{ElementType::boolean, in[0]->dims, std::nullopt}};
}

} // namespace lathe
