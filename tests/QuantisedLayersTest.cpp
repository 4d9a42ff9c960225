// Quantised operators of TFLite without a published model: compiled kernels beside references, bit by bit. That the references
// have TensorFlow Lite's bits is what import/tflite/Quantized*Test.cpp check.
#include "compile/Compile.h"
#include "import/tflite/QuantizedLstmTesting.h"
#include "runtime/Context.h"
#include "runtime/References.h"

#include <gtest/gtest.h>

namespace lathe::tflite {
namespace {

using namespace lstm;

/// Runs the file compiled and on references with the same inputs; both have the same bits.
void expectEqualBits(const std::string &bytes, const std::vector<Tensor> &inputs) {
  runtime::registerReferences();
  std::vector<Tensor> wanted = evaluated(bytes, inputs);
  auto context = makeContext();
  auto module = importModelOf(format(), *context, bytes, "m.tflite", ".", {});
  std::vector<char> package;
  CompileReport report = compileToBytes(*module, CompileOptions(), package);
  for (const ReferenceUse &use : report.references)
    ADD_FAILURE() << use.op << " is computed by its reference: " << use.reason;
  runtime::Context program(runtime::Model::fromBytes(package, "m.tflite"));
  for (size_t i = 0; i < inputs.size(); ++i)
    program.setInput(i, Value(inputs[i]));
  program.run();
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_EQ(integers(program.output(i).tensor()), integers(wanted[i])) << "output " << i;
}

TEST(QuantisedLayers, Lstm) {
  for (const Form &form :
       {Form{.name = "plain"}, Form{.name = "all", .coupled = true, .peephole = true, .norm = true, .cellClip = 0.4f},
        Form{.name = "projection", .outputs = 3, .innerZero = 5}}) {
    SCOPED_TRACE(form.name);
    Layer layer(form);
    TestFile f;
    layer.add(f, f.quantisedInput("x", {batch, steps, inputs}, Type::INT8, layer.xScale, layer.xZero),
              {batch, steps, form.outputs});
    auto states = static_cast<size_t>(batch * form.outputs);
    expectEqualBits(f.bytes(),
                    {Tensor::of<int8_t>({batch, steps, inputs}, mixed<int8_t>(batch * steps * inputs, 127, 1)),
                     Tensor::of<int8_t>({batch, form.outputs}, mixed<int8_t>(states, 127, 2)),
                     Tensor::of<int16_t>({batch, cells}, mixed<int16_t>(batch * cells, 9000, 3))});
  }
}

/// One operator on one operand of 3 x 20 elements.
void expectUnary(BuiltinOperator code, Type type, float factor, int64_t zero, float toFactor, int64_t toZero) {
  SCOPED_TRACE(operatorName(code) + " of " + typeName(type));
  TestFile f;
  int x = f.quantisedInput("x", {3, 20}, type, factor, zero), y = f.quantisedValue({3, 20}, type, toFactor, toZero);
  bool softmax = code == SOFTMAX;
  f.op(code, {x}, {y}, softmax ? BuiltinOptions::Softmax : BuiltinOptions::NONE,
       softmax ? file::CreateSoftmaxOptions(f.builder, 1).Union() : flatbuffers::Offset<void>(0));
  f.output(y);
  expectEqualBits(f.bytes(), {type == Type::INT16 ? Tensor::of<int16_t>({3, 20}, mixed<int16_t>(60, 32767, 4))
                                                  : Tensor::of<int8_t>({3, 20}, mixed<int8_t>(60, 127, 4))});
}

TEST(QuantisedLayers, TablesAndFixedPoint) {
  for (BuiltinOperator code : {LOGISTIC, TANH})
    expectUnary(code, Type::INT16, 0x1p-12f, 0, 0x1p-15f, 0);
  expectUnary(SOFTMAX, Type::INT16, 0.0005f, 0, 0x1p-15f, 0);
  expectUnary(L2_NORMALIZATION, Type::INT8, 0.1f, -3, 0x1p-7f, 0);
  for (BuiltinOperator code : {EXP, SQRT, ABS})
    expectUnary(code, Type::INT16, 0.0001f, 0, 0.001f, 0);
  for (BuiltinOperator code : {SQRT, RSQRT})
    expectUnary(code, Type::INT8, 0.05f, -128, 0.02f, -100);
}

} // namespace
} // namespace lathe::tflite
