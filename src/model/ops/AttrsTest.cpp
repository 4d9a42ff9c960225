#include "ops/Registry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace lathe {
namespace {

/// Fills every field with something random.
class Randomizer : public AttrVisitor {
public:
  explicit Randomizer(unsigned seed) : random(seed) {}
  void field(const char *, int64_t &value) override { value = integer(); }
  void field(const char *, double &value) override { value = real(); }
  void field(const char *, bool &value) override { value = random() % 2; }
  void field(const char *, std::string &value) override { value = std::string(random() % 5, 'x') + "\"\n\x01"; }
  void field(const char *, ElementType &value) override { value = static_cast<ElementType>(random() % 21); }
  void field(const char *, std::vector<int64_t> &value) override {
    value.clear();
    for (size_t i = random() % 6; i > 0; --i)
      value.push_back(integer());
  }
  void field(const char *, std::vector<double> &value) override {
    value.clear();
    for (size_t i = random() % 6; i > 0; --i)
      value.push_back(real());
  }

private:
  std::mt19937_64 random;
  int64_t integer() { return static_cast<int64_t>(random() >> random() % 64); }
  double real() {
    return random() % 5 == 0 ? -std::numeric_limits<double>::infinity()
                             : std::ldexp(static_cast<double>(integer()), -30);
  }
};

TEST(Attrs, EncodingIsReadBackForEveryOperator) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  for (const OpRecord &record : opRecords())
    for (unsigned round = 0; round < 5; ++round) {
      auto attrs = record.makeAttrs(), decoded = record.makeAttrs();
      Randomizer randomizer(seed + round);
      attrs->visit(randomizer);
      decodeAttrs(encodeAttrs(*attrs), *decoded);
      EXPECT_EQ(describe(*attrs), describe(*decoded)) << record.name;
      EXPECT_EQ(describe(*attrs), describe(*attrs->clone())) << record.name;
    }
}

TEST(Attrs, AFieldThatIsNotThereKeepsItsDefault) {
  ReluAttrs none;
  ConvAttrs conv;
  conv.group = 7;
  decodeAttrs(encodeAttrs(none), conv);
  EXPECT_EQ(conv.group, 7);
}

TEST(Attrs, MalformedBytesAreAnError) {
  std::mt19937 random(1);
  ConvAttrs conv;
  conv.strides = {1, 2};
  std::vector<uint8_t> bytes = encodeAttrs(conv);
  EXPECT_THROW(decodeAttrs({}, conv), Error);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint8_t> altered = bytes;
    for (unsigned i = 0; i <= random() % 4; ++i)
      altered[random() % altered.size()] = static_cast<uint8_t>(random());
    altered.resize(random() % 3 ? altered.size() : random() % altered.size());
    try {
      decodeAttrs(altered, conv);
    } catch (const Error &) {
    }
  }
}

TEST(Attrs, DescriptionLeavesOutDefaults) {
  ConvAttrs conv;
  conv.strides = {2, 2};
  EXPECT_EQ(describe(conv), "strides=[2, 2]");
  EXPECT_EQ(describe(ReluAttrs()), "");
}

TEST(Registry, RecordsAreSortedAndComplete) {
  for (size_t i = 1; i < opRecords().size(); ++i)
    EXPECT_LT(std::string_view(opRecords()[i - 1].name), opRecords()[i].name);
  EXPECT_EQ(findOp("conv")->family, std::string("conv"));
  EXPECT_EQ(findOp("no_such_op"), nullptr);
  for (const OpRecord &record : opRecords()) {
    EXPECT_NE(*record.summary, 0) << record.name;
    // Operators that importers and passes split off have no form in the format.
    std::string_view name = record.name, family = record.family;
    bool part = name == "max_pool_indices" || name == "recurrence" || name == "pass_value" ||
                name == "string_constant" || family == "selection" || family == "quantize";
    EXPECT_EQ(record.isIn("onnx"), !part) << record.name;
    bool exact = name.ends_with("_integer") || name == "bit_cast" || family == "quantize";
    EXPECT_EQ(record.tolerance > 0, !exact) << record.name;
  }
}

} // namespace
} // namespace lathe
