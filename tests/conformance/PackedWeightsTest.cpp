// Weights of 4 and 8 bits as ONNX (DequantizeLinear) and ONNX Runtime (MatMulNBits) store them: what they stand for, and
// that optimised graphs keep them.
#include "ir/PackedWeights.h"
#include "import/onnx/TestModel.h"
#include "ir/Context.h"
#include "ir/Main.h"
#include "passes/Pipeline.h"
#include "passes/interpret/Evaluate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lathe {
namespace {

/// Codes, scales and zero points of K x N weights, made of a formula.
struct Weights {
  int64_t k, n, block, bits;
  int64_t blocks() const { return k / block; }
  int code(int64_t step, int64_t column) const {
    return static_cast<int>((step * 37 + column * 11 + step * column) % (1 << bits));
  }
  float scale(int64_t at, int64_t column) const { return static_cast<float>(1 + (at * 3 + column) % 5) / 64; }
  int zero(int64_t at, int64_t column) const { return static_cast<int>((at * 5 + column * 3) % (1 << bits)); }
};

/// What the zero points of a model are.
enum class Zero { none, codes, floats };

void addBytes(onnx::TestModel &model, const char *name, int32_t type, std::vector<int64_t> dims, std::string bytes) {
  onnx::TensorProto &tensor = *model.graph->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  tensor.set_raw_data(bytes);
}

/// Codes in order, two of 4 bits a byte.
std::string packed(const std::vector<int> &codes, int64_t bits) {
  std::string bytes;
  for (size_t i = 0; i < codes.size(); ++i)
    if (bits == 8)
      bytes += static_cast<char>(codes[i]);
    else if (i % 2 == 0)
      bytes += static_cast<char>(codes[i]);
    else
      bytes.back() = static_cast<char>(bytes.back() | codes[i] << 4);
  return bytes;
}

/// One value for each block and column, the blocks of a column one after the other.
template <class T> std::vector<T> byColumn(const Weights &w, T (Weights::*of)(int64_t, int64_t) const) {
  std::vector<T> values;
  for (int64_t column = 0; column < w.n; ++column)
    for (int64_t at = 0; at < w.blocks(); ++at)
      values.push_back((w.*of)(at, column));
  return values;
}

onnx::TestModel matMulNBits(const Weights &w, Zero zero) {
  onnx::TestModel model(21);
  model.model.add_opset_import()->set_domain("com.microsoft");
  model.model.mutable_opset_import(1)->set_version(1);
  model.input("x", {2, static_cast<int>(w.k)}).output("y");
  std::vector<int> codes;
  for (int64_t column = 0; column < w.n; ++column)
    for (int64_t step = 0; step < w.k; ++step)
      codes.push_back(w.code(step, column));
  addBytes(model, "b", onnx::TensorProto::UINT8, {w.n, w.blocks(), w.block * w.bits / 8}, packed(codes, w.bits));
  model.floats("s", {w.n * w.blocks()}, byColumn(w, &Weights::scale));
  std::vector<const char *> inputs = {"x", "b", "s"};
  if (zero == Zero::codes) {
    std::string bytes;
    for (int64_t column = 0; column < w.n; ++column) { // each column begins a byte
      std::vector<int> zeros;
      for (int64_t at = 0; at < w.blocks(); ++at)
        zeros.push_back(w.zero(at, column));
      bytes += packed(zeros, w.bits);
    }
    auto count = static_cast<int64_t>(bytes.size());
    addBytes(model, "z", onnx::TensorProto::UINT8, {count}, bytes);
    inputs.push_back("z");
  } else if (zero == Zero::floats) {
    std::vector<int> zeros = byColumn(w, &Weights::zero);
    model.floats("z", {w.n * w.blocks()}, std::vector<float>(zeros.begin(), zeros.end()));
    inputs.push_back("z");
  }
  auto node = model.node("MatMulNBits", inputs, {"y"});
  node.node->set_domain("com.microsoft");
  node.attr("K", w.k).attr("N", w.n).attr("bits", w.bits).attr("block_size", w.block).attr("accuracy_level", 4);
  return model;
}

onnx::TestModel dequantizeLinear(const Weights &w, Zero zero) {
  onnx::TestModel model(21);
  model.input("x", {2, static_cast<int>(w.k)}).output("y");
  std::vector<int> codes, zeros;
  std::vector<float> scales;
  for (int64_t step = 0; step < w.k; ++step)
    for (int64_t column = 0; column < w.n; ++column)
      codes.push_back(w.code(step, column));
  for (int64_t at = 0; at < w.blocks(); ++at)
    for (int64_t column = 0; column < w.n; ++column) {
      zeros.push_back(w.zero(at, column));
      scales.push_back(w.scale(at, column));
    }
  int32_t type = w.bits == 4 ? onnx::TensorProto::UINT4 : onnx::TensorProto::UINT8;
  addBytes(model, "b", type, {w.k, w.n}, packed(codes, w.bits));
  model.floats("s", {w.blocks(), w.n}, scales);
  std::vector<const char *> inputs = {"b", "s"};
  if (zero != Zero::none) {
    addBytes(model, "z", type, {w.blocks(), w.n}, packed(zeros, w.bits));
    inputs.push_back("z");
  }
  model.node("DequantizeLinear", inputs, {"w"}).attr("axis", 0).attr("block_size", w.block);
  model.node("MatMul", {"x", "w"}, {"y"});
  return model;
}

Tensor input(const Weights &w) {
  Tensor x(ElementType::f32, {2, w.k});
  for (int64_t i = 0; i < x.elements(); ++i)
    x.as<float>()[i] = static_cast<float>(i % 9 - 4);
  return x;
}

/// `none`: the zero point where the model has none.
void expectDefinition(const Tensor &y, const Weights &w, Zero zero, int none) {
  Tensor x = input(w);
  for (int64_t row = 0; row < 2; ++row)
    for (int64_t column = 0; column < w.n; ++column) {
      double sum = 0;
      for (int64_t step = 0; step < w.k; ++step) {
        int from = zero == Zero::none ? none : w.zero(step / w.block, column);
        sum += x.as<float>()[row * w.k + step] * double(w.code(step, column) - from) * w.scale(step / w.block, column);
      }
      ASSERT_NEAR(y.as<float>()[row * w.n + column], sum, 1e-5 * (1 + std::abs(sum)) * double(w.k))
          << row << ", " << column;
    }
}

size_t packedProducts(mlir::ModuleOp module) {
  size_t count = 0;
  for (mlir::Operation &op : mainFunction(module).getBody().front())
    count += nn::packedWeightsOf(&op).has_value();
  return count;
}

void check(const onnx::TestModel &model, const Weights &w, Zero zero, int none) {
  auto context = makeContext();
  auto module = importOnnxBytes(*context, model.bytes(), "m.onnx");
  std::vector<Value> inputs = {Value(input(w))};
  expectDefinition(evaluate(*module, inputs).at(0).tensor(), w, zero, none);
  PipelineOptions options;
  options.level = 2;
  optimizeGraph(*module, options);
  EXPECT_EQ(packedProducts(*module), 1u);
  expectDefinition(evaluate(*module, inputs).at(0).tensor(), w, zero, none);
  // Exact math asks for numbers.
  auto exact = importOnnxBytes(*context, model.bytes(), "m.onnx");
  options.exactMath = true;
  optimizeGraph(*exact, options);
  EXPECT_EQ(packedProducts(*exact), 0u);
}

TEST(PackedWeights, matMulNBits) {
  for (const Weights &w : {Weights{96, 50, 32, 4}, Weights{160, 33, 32, 4}, Weights{96, 50, 16, 8}})
    for (Zero zero : {Zero::none, Zero::codes, Zero::floats}) {
      SCOPED_TRACE(fmt::format("{} x {} in blocks of {}, {} bits, zero {}", w.k, w.n, w.block, w.bits, int(zero)));
      check(matMulNBits(w, zero), w, zero, 1 << (w.bits - 1));
    }
}

TEST(PackedWeights, dequantizeLinearInBlocks) {
  for (const Weights &w : {Weights{96, 50, 32, 4}, Weights{120, 35, 24, 4}, Weights{96, 50, 16, 8}})
    for (Zero zero : {Zero::none, Zero::codes}) {
      SCOPED_TRACE(fmt::format("{} x {} in blocks of {}, {} bits, zero {}", w.k, w.n, w.block, w.bits, int(zero)));
      check(dequantizeLinear(w, zero), w, zero, 0);
    }
}

TEST(PackedWeights, whatIsNotSupportedIsNamed) {
  onnx::TestModel model = matMulNBits({96, 50, 32, 4}, Zero::none);
  model.graph->mutable_node(0)->mutable_attribute(2)->set_i(3); // bits
  EXPECT_NE(model.imported().find("weights of 3 bits, only 4 and 8 are"), std::string::npos) << model.imported();
}

} // namespace
} // namespace lathe
