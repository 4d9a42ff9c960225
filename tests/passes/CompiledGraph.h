// A fixture for tests with graphs as text: compares the compiled graph with the interpreter. Both must give equal
// results, or both an error.
#pragma once

#include "compile/Compile.h"
#include "ir/Context.h"
#include "passes/interpret/Evaluate.h"
#include "runtime/Context.h"
#include "runtime/References.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>

namespace lathe {

class CompiledGraph : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();

  void SetUp() override { runtime::registerReferences(); }

  static Tensor integers(std::vector<int64_t> dims, std::vector<int64_t> values) {
    return Tensor::of<int64_t>(std::move(dims), std::span<const int64_t>(values));
  }
  /// Returns a tensor with the elements 1, 2, 3, ...
  static Tensor reals(std::vector<int64_t> dims) {
    Tensor tensor(ElementType::f32, std::move(dims));
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.as<float>()[i] = static_cast<float>(i + 1);
    return tensor;
  }

  /// Returns the first result as text, extents before the colon ("2x0:" or "2: 1 2"); for an error, its message.
  template <class F> static std::string resultOf(F &&results) {
    try {
      std::vector<Value> values = results();
      const Tensor &y = values[0].tensor();
      std::string text = fmt::format("{}:", fmt::join(y.dims(), "x"));
      for (int64_t i = 0; i < y.elements(); ++i)
        text += fmt::format(" {}", y.asDouble(i));
      return text;
    } catch (const Error &error) {
      return fmt::format("error: {}", error.what());
    }
  }

  std::string interpreted(const std::string &text, const std::vector<Value> &inputs) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    EXPECT_TRUE(module) << text;
    return resultOf([&] { return evaluate(*module, inputs); });
  }
  std::string compiled(const std::string &text, const std::vector<Value> &inputs, int level = 3) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    EXPECT_TRUE(module) << text;
    CompileOptions options;
    options.level = level;
    std::vector<char> package;
    compileToBytes(*module, options, package);
    runtime::Context running(runtime::Model::fromBytes(package, "m.lathe"), {2});
    return resultOf([&] { return running.run(inputs); });
  }

  void expectResult(const std::string &text, const std::vector<Value> &inputs, const std::string &result) {
    EXPECT_EQ(interpreted(text, inputs), result) << text;
    for (int level : {0, 3})
      EXPECT_EQ(compiled(text, inputs, level), result) << "level " << level << ": " << text;
  }
  void expectErrors(const std::string &text, const std::vector<Value> &inputs, const std::string &wanted,
                    const std::string &fromCompiled) {
    EXPECT_THAT(interpreted(text, inputs), testing::HasSubstr(wanted)) << text;
    for (int level : {0, 3})
      EXPECT_THAT(compiled(text, inputs, level), testing::HasSubstr(fromCompiled)) << "level " << level << ": " << text;
  }
};

} // namespace lathe
