// Einsum as it is imported against its definition: a sum over every assignment of numbers to labels.
#include "import/onnx/TestModel.h"
#include "ir/Context.h"
#include "passes/interpret/Evaluate.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace lathe {
namespace {

uint64_t firstSeed() {
  uint64_t seed = std::getenv("LATHE_TEST_SEED") ? std::strtoull(std::getenv("LATHE_TEST_SEED"), nullptr, 10)
                                                 : std::random_device{}() % 1000000;
  std::cout << "first seed " << seed << " (LATHE_TEST_SEED repeats it)\n";
  return seed;
}

/// Offset of the element that `values` assign to the labels of a term.
int64_t offsetOf(const std::string &term, const std::map<char, int64_t> &extents,
                 const std::map<char, int64_t> &values) {
  int64_t offset = 0;
  for (char label : term)
    offset = offset * extents.at(label) + values.at(label);
  return offset;
}

using TestExtent = onnx::TestModel::Extent;

TEST(Einsum, RandomEquationsEqualTheirDefinition) {
  uint64_t first = firstSeed();
  for (uint64_t seed = first; seed < first + 150; ++seed) {
    std::mt19937_64 random(seed);
    auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    std::map<char, int64_t> extents;
    std::map<char, std::string> symbols;
    for (char label : std::string("abcdE")) {
      extents[label] = 1 + below(4);
      symbols[label] = fmt::format("extent_{}", label);
    }
    std::vector<std::string> terms(1 + below(3));
    std::set<char> used;
    std::string equation, left;
    for (std::string &term : terms) {
      for (int64_t i = below(4); i > 0; --i)
        term += "abcdE"[below(5)];
      used.insert(term.begin(), term.end());
      left += term;
    }
    equation = fmt::format("{}", fmt::join(terms, ", ")); // a scalar's term is empty
    std::string result;
    if (random() % 3 == 0) { // implicit: labels that appear once, in order
      for (char label : used)
        if (std::count(left.begin(), left.end(), label) == 1)
          result += label;
    } else {
      result.assign(used.begin(), used.end());
      std::shuffle(result.begin(), result.end(), random);
      result.resize(static_cast<size_t>(below(static_cast<int64_t>(result.size()) + 1)));
      equation += " -> " + result;
    }
    SCOPED_TRACE(fmt::format("seed {}: '{}'", seed, equation));

    onnx::TestModel model(13);
    std::vector<const char *> names;
    std::vector<Value> inputs;
    const char *all[] = {"x", "y", "z"};
    for (size_t i = 0; i < terms.size(); ++i) {
      std::vector<onnx::TestModel::Extent> dims;
      std::vector<int64_t> numbers;
      for (char label : terms[i]) {
        bool open = below(3) == 0;
        dims.emplace_back(open ? TestExtent(&symbols[label][0]) : TestExtent(static_cast<int>(extents[label])));
        numbers.push_back(extents[label]);
      }
      model.input(all[i], dims);
      names.push_back(all[i]);
      Tensor tensor(ElementType::f32, numbers);
      for (int64_t k = 0; k < tensor.elements(); ++k)
        tensor.as<float>()[k] = static_cast<float>(below(9) - 4);
      inputs.emplace_back(tensor);
    }
    model.output("r").node("Einsum", names, {"r"}).attr("equation", equation.c_str());
    auto context = makeContext();
    auto module = importOnnxBytes(*context, model.bytes(), "m.onnx");
    Tensor got = evaluate(*module, inputs).at(0).tensor();

    std::vector<double> expected(static_cast<size_t>(got.elements()), 0.0);
    std::map<char, int64_t> values;
    for (char label : used)
      values[label] = 0;
    for (bool more = true; more;) {
      double product = 1;
      for (size_t i = 0; i < terms.size(); ++i)
        product *= static_cast<double>(inputs[i].tensor().as<float>()[offsetOf(terms[i], extents, values)]);
      expected.at(static_cast<size_t>(offsetOf(result, extents, values))) += product;
      more = false;
      for (auto &[label, value] : values) {
        if (++value < extents[label]) {
          more = true;
          break;
        }
        value = 0;
      }
    }
    std::vector<int64_t> dims;
    for (char label : result)
      dims.push_back(extents[label]);
    ASSERT_EQ(got.dims(), dims);
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(got.as<float>()[i], expected[i], 1e-3) << "element " << i;
  }
}

TEST(Einsum, EllipsesBroadcast) {
  onnx::TestModel model(13);
  model.input("x", {2, 3, 4}).input("y", {3, 4, 5}).output("r");
  model.node("Einsum", {"x", "y"}, {"r"}).attr("equation", "...i,...ij->...j");
  EXPECT_NE(model.imported().find("-> (tensor<2x3x5xf32>"), std::string::npos) << model.imported();
  for (bool first : {false, true}) { // either side may have extent 1
    onnx::TestModel one(13);
    one.input("x", {first ? 1 : 2, 4}).input("y", {first ? 2 : 1, 4}).output("r");
    one.node("Einsum", {"x", "y"}, {"r"}).attr("equation", "...i,...i->...i");
    EXPECT_NE(one.imported().find("-> (tensor<2x4xf32>"), std::string::npos) << one.imported();
  }
  onnx::TestModel wrong(13);
  wrong.input("x", {2, 3}).output("r").node("Einsum", {"x"}, {"r"}).attr("equation", "ijk->i");
  EXPECT_NE(wrong.imported().find("rank 2, its term 3 labels"), std::string::npos) << wrong.imported();
}

} // namespace
} // namespace lathe
