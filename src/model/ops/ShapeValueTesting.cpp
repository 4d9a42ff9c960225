// Shape functions of sequences, optionals and strings.
#include "ops/ShapeTesting.h"

namespace lathe {
namespace {

using namespace shape_testing;

TensorInfo valueOf(ValueKind kind, ElementType type, std::optional<Dims> items = std::nullopt) {
  TensorInfo info{type, {}, std::nullopt};
  info.kind = kind;
  info.items = std::move(items);
  return info;
}

TEST(Shape, Sequences) {
  TensorInfo x = tensor("f32 2 3"), list = valueOf(ValueKind::sequence, ElementType::f32, Dims{2, 3}),
             unknown = valueOf(ValueKind::sequence, ElementType::f32), half = tensor("f32");
  expectViolation("sequence_construct_c1", "sequence_construct", SequenceConstructAttrs(), {});
  expectViolation("sequence_insert_c1", "sequence_insert", SequenceInsertAttrs(), {list, tensor("i64 2 3"), absent});
  expectViolation("sequence_insert_c2", "sequence_insert", SequenceInsertAttrs(), {list, x, half});
  expectViolation("sequence_erase_c1", "sequence_erase", SequenceEraseAttrs(), {x, absent});
  expectViolation("sequence_erase_c2", "sequence_erase", SequenceEraseAttrs(), {list, half});
  EXPECT_EQ(infer("sequence_at", SequenceAtAttrs(), {list, scalar(0)}), "f32 2 3");
  expectViolation("sequence_at_c1", "sequence_at", SequenceAtAttrs(), {x, scalar(0)});
  expectViolation("sequence_at_c2", "sequence_at", SequenceAtAttrs(), {list, half});
  expectViolation("sequence_at_c3", "sequence_at", SequenceAtAttrs(), {unknown, scalar(0)});
  EXPECT_EQ(infer("sequence_length", SequenceLengthAttrs(), {list}), "i64");
  expectViolation("sequence_length_c1", "sequence_length", SequenceLengthAttrs(), {x});
  expectViolation("split_to_sequence_c1", "split_to_sequence", SplitToSequenceAttrs(), {half, absent});
  expectViolation("split_to_sequence_c2", "split_to_sequence", SplitToSequenceAttrs(), {x, half});
  EXPECT_EQ(infer("concat_from_sequence", ConcatFromSequenceAttrs(), {list}), "f32 ? 3");
  expectViolation("concat_from_sequence_c1", "concat_from_sequence", ConcatFromSequenceAttrs(), {x});
  expectViolation("concat_from_sequence_c2", "concat_from_sequence",
                  with(ConcatFromSequenceAttrs(), [](auto &a) { a.axis = 5; }), {list});
}

TEST(Shape, Optionals) {
  TensorInfo held = valueOf(ValueKind::optional, ElementType::f32, Dims{2});
  expectViolation("optional_c1", "optional", OptionalAttrs(), {held});
  EXPECT_EQ(infer("optional_get_element", OptionalGetElementAttrs(), {held}), "f32 2");
  expectViolation("optional_get_element_c1", "optional_get_element", OptionalGetElementAttrs(),
                  {valueOf(ValueKind::optional, ElementType::f32)});
}

TEST(Shape, Strings) {
  TensorInfo x = tensor("string 2 3"), numbers = tensor("f32 2 3");
  StringConstantAttrs three;
  three.shape = {3};
  expectViolation("string_constant_c1", "string_constant", three, {});
  EXPECT_EQ(infer("string_concat", StringConcatAttrs(), {x, tensor("string 3")}), "string 2 3");
  expectViolation("string_concat_c1", "string_concat", StringConcatAttrs(), {x, numbers});
  expectViolation("string_split_c1", "string_split", StringSplitAttrs(), {numbers});
  expectViolation("string_normalizer_c1", "string_normalizer", StringNormalizerAttrs(), {x});
  expectViolation("string_normalizer_c2", "string_normalizer",
                  with(StringNormalizerAttrs(), [](auto &a) { a.case_change = "title"; }), {tensor("string 3")});
  EXPECT_EQ(infer("regex_full_match", RegexFullMatchAttrs(), {x}), "bool 2 3");
  expectViolation("regex_full_match_c1", "regex_full_match", RegexFullMatchAttrs(), {numbers});
}

} // namespace
} // namespace lathe
