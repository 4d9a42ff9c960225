// Evaluates the float models of the test data with the references, and compares outputs, logits and statistics of every
// inner tensor with the results of an independent implementation.
#include "import/Import.h"
#include "ir/Context.h"
#include "passes/interpret/Evaluate.h"
#include "support/Npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace lathe::tflite {
namespace {

namespace fs = std::filesystem;

fs::path models() {
  const char *given = std::getenv("LATHE_TEST_DATA");
  return fs::path(given ? given : LATHE_TEST_DATA) / "models";
}

Tensor array(const fs::path &path) {
  NpyArray npy = readNpy(path.string());
  Tensor tensor(npy.type, npy.dims);
  std::copy(npy.data.begin(), npy.data.end(), static_cast<char *>(tensor.data()));
  return tensor;
}

/// Expected facts about a tensor inside the model, by the index of the operator that makes it.
struct Golden {
  double least, most, sum;
  std::string name;
};

std::map<int, Golden> goldens(const fs::path &path) {
  std::map<int, Golden> result;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line); // op_index op tensor_index type shape scale zero_point crc32 min max sum name
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, '\t');)
      cells.push_back(cell);
    result[std::stoi(cells.at(0))] = {std::stod(cells.at(8)), std::stod(cells.at(9)), std::stod(cells.at(10)),
                                      cells.at(11)};
  }
  return result;
}

/// The index of the node from which an operator was made; -1 for none.
int nodeOf(mlir::Operation *op) {
  std::string text = nn::describe(op->getLoc());
  size_t at = text.find(": node ");
  return at == std::string::npos ? -1 : std::stoi(text.substr(at + 7));
}

double largest(const Tensor &tensor) {
  double most = 0;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    most = std::max(most, std::fabs(tensor.asDouble(i)));
  return most;
}

void expectNear(const Tensor &got, const Tensor &want, double tolerance, const std::string &what) {
  ASSERT_EQ(got.dims(), want.dims()) << what;
  double limit = tolerance * largest(want);
  for (int64_t i = 0; i < want.elements(); ++i)
    ASSERT_NEAR(got.asDouble(i), want.asDouble(i), limit) << what << ", element " << i;
}

void expectLike(const Tensor &got, const Golden &want, double tolerance) {
  double least = 1e300, most = -1e300, sum = 0, size = largest(got);
  for (int64_t i = 0; i < got.elements(); ++i) {
    double value = got.asDouble(i);
    least = std::min(least, value), most = std::max(most, value), sum += value;
  }
  EXPECT_NEAR(least, want.least, tolerance * size) << want.name;
  EXPECT_NEAR(most, want.most, tolerance * size) << want.name;
  EXPECT_NEAR(sum, want.sum, tolerance * size * std::sqrt(static_cast<double>(got.elements()))) << want.name;
}

struct Model {
  const char *name;
  double inside; // tolerance of logits and of inner tensors
};

class Goldens : public testing::TestWithParam<Model> {};

TEST_P(Goldens, EveryTensor) {
  const Model &model = GetParam();
  fs::path file = models() / "tflite" / (std::string(model.name) + ".tflite"),
           folder = models() / "golden" / model.name;
  if (!fs::exists(file))
    GTEST_SKIP() << "NO TEST DATA: " << file << " is not there (set LATHE_TEST_DATA)";
  auto context = makeContext();
  auto module = importModel(*context, file.string());
  int cases = 0;
  for (const auto &entry : fs::directory_iterator(folder)) {
    fs::path at = entry.path();
    std::map<int, Tensor> results; // the last value of every node
    EvaluateOptions options;
    options.observe = [&](mlir::Operation *op, std::span<const Value> values) {
      if (int node = nodeOf(op); node >= 0 && values.size() == 1)
        results[node] = values[0].tensor();
    };
    std::vector<Value> inputs{Value(array(at / "input_0.npy"))};
    expectNear(evaluate(*module, inputs, options).at(0).tensor(), array(at / "output_0.npy"), 1e-5, at.string());
    std::map<int, Golden> inside = goldens(at / "tensors.tsv");
    ASSERT_GE(inside.size(), 9u);
    for (const auto &[node, golden] : inside) {
      ASSERT_TRUE(results.contains(node)) << golden.name;
      expectLike(results[node], golden, model.inside);
    }
    if (fs::exists(at / "logits_0.npy")) // the operand of the softmax
      expectNear(results[results.rbegin()->first - 1], array(at / "logits_0.npy"), model.inside, at.string());
    ++cases;
  }
  EXPECT_GE(cases, 2);
}

// A difference in the last bit before a convolution of the hybrid model can change a quantised element
// (shared/models/README.md).
INSTANTIATE_TEST_SUITE_P(Float, Goldens,
                         testing::Values(Model{"kws_dscnn_float", 1e-3}, Model{"resnet8_cifar10_float", 1e-5},
                                         Model{"toycar_autoencoder_float", 1e-5}, Model{"vww96_mobilenet_float", 1e-5}),
                         [](auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace lathe::tflite
