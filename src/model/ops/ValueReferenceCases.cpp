// Operators on sequences, optionals and strings, against values computed by hand.
#include "ops/ReferenceTesting.h"
#include "support/StringList.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using testing::ElementsAre;

/// Results of an operator whose operands need not be tensors; a null pointer is an absent operand.
std::vector<Value> evaluateValues(const char *op, const Attrs &attrs, std::vector<const Value *> operands) {
  evaluatedOps().insert(op);
  return evaluateReference(op, attrs, operands);
}
Value evaluateValue(const char *op, const Attrs &attrs, std::vector<const Value *> operands) {
  return evaluateValues(op, attrs, std::move(operands)).at(0);
}

std::vector<float> numbers(const Value &tensor) {
  return {tensor.tensor().as<float>(), tensor.tensor().as<float>() + tensor.tensor().elements()};
}

Tensor strings(Shape dims, std::vector<std::string> texts) {
  Tensor tensor(ElementType::string, std::move(dims));
  tensor.strings() = std::move(texts);
  return tensor;
}

const Value a = f32({1}, {1}), b = f32({2}, {2, 3}), c = f32({1}, {4});
Value position(int64_t at) { return i64({}, {at}); }
Value listOf(std::vector<const Value *> items) {
  return evaluateValue("sequence_construct", SequenceConstructAttrs(), std::move(items));
}

TEST(ValueReference, SequencesGrowAndShrink) {
  Value list = listOf({&a, &b});
  ASSERT_EQ(list.sequence().items.size(), 2u);
  SequenceConstructAttrs empty;
  empty.type = ElementType::i64;
  EXPECT_EQ(evaluateValue("sequence_construct", empty, {}).sequence().elementType, ElementType::i64);
  Value first = position(0), last = position(-1), beyond = position(3), end = position(2);
  Value longer = evaluateValue("sequence_insert", SequenceInsertAttrs(), {&list, &c, &first});
  EXPECT_THAT(numbers(longer.sequence().items[0]), ElementsAre(4));
  EXPECT_EQ(list.sequence().items.size(), 2u) << "the operand must stay as it is";
  EXPECT_THAT(numbers(evaluateValue("sequence_insert", SequenceInsertAttrs(), {&list, &c}).sequence().items[2]),
              ElementsAre(4));
  EXPECT_THAT(numbers(evaluateValue("sequence_insert", SequenceInsertAttrs(), {&list, &c, &end}).sequence().items[2]),
              ElementsAre(4));
  EXPECT_THROW(evaluateValue("sequence_insert", SequenceInsertAttrs(), {&list, &c, &beyond}), Error);
  Value shorter = evaluateValue("sequence_erase", SequenceEraseAttrs(), {&longer, &last});
  EXPECT_THAT(numbers(shorter.sequence().items[1]), ElementsAre(1));
  EXPECT_EQ(evaluateValue("sequence_erase", SequenceEraseAttrs(), {&longer}).sequence().items.size(), 2u);
  EXPECT_THAT(numbers(evaluateValue("sequence_at", SequenceAtAttrs(), {&longer, &last})), ElementsAre(2, 3));
  EXPECT_THROW(evaluateValue("sequence_at", SequenceAtAttrs(), {&list, &end}), Error);
  EXPECT_THROW(evaluateValue("sequence_at", SequenceAtAttrs(), {&a, &first}), Error);
  EXPECT_EQ(evaluateValue("sequence_length", SequenceLengthAttrs(), {&longer}).tensor().asInteger(0), 3);
  EXPECT_EQ(evaluateValue("pass_value", PassValueAttrs(), {&longer}).sequence().items.size(), 3u);
}

TEST(ValueReference, SplitAndConcatenate) {
  SplitToSequenceAttrs split;
  Value x = counting({5, 2}), two = position(2), sizes = i64({3}, {1, 0, 4});
  Value parts = evaluateValue("split_to_sequence", split, {&x, &two});
  ASSERT_EQ(parts.sequence().items.size(), 3u);
  EXPECT_THAT(numbers(parts.sequence().items[2]), ElementsAre(8, 9));
  EXPECT_EQ(evaluateValue("split_to_sequence", split, {&x, &sizes}).sequence().items[1].tensor().dims(), Shape({0, 2}));
  ConcatFromSequenceAttrs concat;
  EXPECT_THAT(numbers(evaluateValue("concat_from_sequence", concat, {&parts})),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  split.axis = -1;
  split.keepdims = false;
  Value columns = evaluateValue("split_to_sequence", split, {&x});
  EXPECT_THAT(numbers(columns.sequence().items[1]), ElementsAre(1, 3, 5, 7, 9));
  concat.new_axis = true;
  concat.axis = 1;
  Value whole = evaluateValue("concat_from_sequence", concat, {&columns});
  EXPECT_EQ(whole.tensor().dims(), Shape({5, 2}));
  EXPECT_EQ(numbers(whole), numbers(x));
  Value wrong = i64({2}, {1, 3});
  EXPECT_THROW(evaluateValue("split_to_sequence", SplitToSequenceAttrs(), {&x, &wrong}), Error);
}

TEST(ValueReference, Optionals) {
  OptionalAttrs attrs;
  attrs.type = ElementType::f32;
  Value full = evaluateValue("optional", OptionalAttrs(), {&b}), empty = evaluateValue("optional", attrs, {nullptr});
  auto has = [](const Value &value) {
    return evaluateValue("optional_has_element", OptionalHasElementAttrs(), {&value}).tensor().asInteger(0);
  };
  EXPECT_EQ(has(full), 1);
  EXPECT_EQ(has(empty), 0);
  EXPECT_EQ(has(a), 1);
  EXPECT_THAT(numbers(evaluateValue("optional_get_element", OptionalGetElementAttrs(), {&full})), ElementsAre(2, 3));
  EXPECT_THROW(evaluateValue("optional_get_element", OptionalGetElementAttrs(), {&empty}), Error);
}

TEST(StringReference, ConcatenateAndMatch) {
  StringConstantAttrs constant;
  constant.shape = {2, 1};
  constant.strings = joinStrings(std::vector<std::string>{"a", "b\xC3\xA9"});
  Tensor left = evaluate("string_constant", constant, {});
  Tensor all = evaluate("string_concat", StringConcatAttrs(), {left, strings({3}, {"", "x", "yz"})});
  EXPECT_EQ(all.dims(), Shape({2, 3}));
  EXPECT_THAT(all.strings(), ElementsAre("a", "ax", "ayz", "b\xC3\xA9", "b\xC3\xA9x", "b\xC3\xA9yz"));
  RegexFullMatchAttrs regex;
  regex.pattern = "a[xy].?";
  expectTensor(evaluate("regex_full_match", regex, {all}), {2, 3}, {0, 1, 1, 0, 0, 0});
  regex.pattern = "(";
  EXPECT_THROW(evaluate("regex_full_match", regex, {all}), Error);
  regex.pattern = "(x+x+)+y"; // exponential for a backtracking matcher
  EXPECT_EQ(evaluate("regex_full_match", regex, {strings({}, {std::string(100000, 'x')})}).asInteger(0), 0);
}

TEST(StringReference, Split) {
  StringSplitAttrs a;
  auto all = evaluateAll("string_split", a, {strings({2}, {"  one two\tthree ", "four"})});
  EXPECT_EQ(all[0].dims(), Shape({2, 3}));
  EXPECT_THAT(all[0].strings(), ElementsAre("one", "two", "three", "four", "", ""));
  expectTensor(all[1], {2}, {3, 1});
  a.maxsplit = 1;
  EXPECT_THAT(evaluateAll("string_split", a, {strings({}, {"a b c"})})[0].strings(), ElementsAre("a", "b c"));
  a.delimiter = "--";
  EXPECT_THAT(evaluateAll("string_split", a, {strings({2}, {"a----b", ""})})[0].strings(),
              ElementsAre("a", "--b", "", ""));
  EXPECT_EQ(evaluateAll("string_split", a, {strings({0}, {})})[0].dims(), Shape({0, 0}));
}

TEST(StringReference, Normalize) {
  StringNormalizerAttrs a;
  a.stopwords = joinStrings(std::vector<std::string>{"Monday"});
  a.case_change = "upper";
  Tensor days = strings({3}, {"monday",
                              "stra\xC3\x9F"
                              "e",
                              "\xC3\xA9t\xC3\xA9"});
  EXPECT_THAT(evaluate("string_normalizer", a, {days}).strings(), ElementsAre("STRA\xC3\x9F"
                                                                              "E",
                                                                              "\xC3\x89T\xC3\x89"));
  a.is_case_sensitive = true;
  EXPECT_EQ(evaluate("string_normalizer", a, {days}).elements(), 3);
  EXPECT_THAT(evaluate("string_normalizer", a, {strings({1, 1}, {"Monday"})}).strings(), ElementsAre(""));
  EXPECT_THROW(evaluate("string_normalizer", a, {strings({2, 1}, {"a", "b"})}), Error);
}

} // namespace
} // namespace lathe
