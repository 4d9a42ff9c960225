#include "codegen/testing/FactsTesting.h"

#include "ir/Context.h"

#include "mlir/Parser/Parser.h"

namespace lathe {

std::string conv3x3(int64_t channels, int64_t outputs, int64_t size, const std::string &batch) {
  auto blocked = [&](int64_t extent) {
    return fmt::format("tensor<{0}x{1}x{2}x{2}xf32, #nn.blocked<1, 16>>", batch, extent, size);
  };
  std::string dims =
      batch == "?" ? fmt::format(" {{nn.dims = [\"N\", \"{0}\", \"{1}\", \"{1}\"]}}", channels, size) : std::string();
  return fmt::format(
      "func.func private @k(%x: {0}{3}, %w: {1} {{nn.constant}}) -> {2} attributes {{nn.family = "
      "\"contraction\"}} {{\n  %y = nn.conv %x, %w {{strides = array<i64: 1, 1>, dilations = array<i64: "
      "1, 1>, pads = array<i64: 1, 1, 1, 1>, group = 1 : i64}} : ({0}, {1}) -> {2}\n  return %y : {2}\n}}\n",
      blocked(channels), fmt::format("tensor<{}x{}x3x3xf32>", outputs, channels), blocked(outputs), dims);
}

std::string product(int64_t m, int64_t n, int64_t k) {
  return fmt::format(
      "func.func private @k(%a: tensor<{0}x{2}xf32>, %b: tensor<{2}x{1}xf32> {{nn.constant}}) -> "
      "tensor<{0}x{1}xf32> attributes {{nn.family = \"contraction\"}} {{\n  %y = nn.matmul %a, %b : "
      "(tensor<{0}x{2}xf32>, tensor<{2}x{1}xf32>) -> tensor<{0}x{1}xf32>\n  return %y : tensor<{0}x{1}xf32>\n}}\n",
      m, n, k);
}

std::string elementwise(const std::string &op, int64_t elements) {
  return fmt::format("func.func private @k(%x: tensor<{0}xf32>) -> tensor<{0}xf32> attributes {{nn.family = "
                     "\"elementwise\"}} {{\n  %y = nn.{1} %x : (tensor<{0}xf32>) -> tensor<{0}xf32>\n  return %y : "
                     "tensor<{0}xf32>\n}}\n",
                     elements, op);
}

TextFacts::TextFacts(const std::string &text, const Target &target, int threads, bool exactMath)
    : context(makeContext()) {
  module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  if (!module) {
    reason = "it cannot be read";
    return;
  }
  auto read =
      readFacts({{.threads = threads, .exactMath = exactMath}, *module->getOps<mlir::func::FuncOp>().begin(), target});
  if (read)
    facts = std::move(*read);
  else
    reason = read.reason();
}

TaskFacts::TaskFacts(const std::string &text, const Target &target, int threads) : TextFacts(text, target, threads) {
  require(static_cast<bool>(facts), "a kernel has no schedule: {}\n{}", reason, text);
}

} // namespace lathe
