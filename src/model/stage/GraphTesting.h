// Textual IR of graphs whose tensors have four elements, for tests.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace lathe {

class GraphText {
public:
  /// Adds an operator with one result to the text and returns the result's name. `attributes`: "{alpha = 0.1 : f64}".
  std::string add(const std::string &op, const std::vector<std::string> &operands, const std::string &name = "",
                  const std::string &attributes = "") {
    std::string list, types, result = "%v" + std::to_string(count++);
    for (const std::string &operand : operands) {
      list += (list.empty() ? "" : ", ") + operand;
      types += (types.empty() ? "" : ", ") + std::string("tensor<4xf32>");
    }
    text += fmt::format("{} = nn.{} {} {} : ({}) -> tensor<4xf32>{}\n", result, op, list, attributes, types,
                        name.empty() ? "" : fmt::format(" loc(\"{}\")", name));
    return result;
  }
  /// Adds a constant to the text and returns its name. `elements`: "1.0" for all four, or "[1.0, 2.0, 3.0, 4.0]".
  std::string constant(const std::string &elements) {
    std::string result = "%v" + std::to_string(count++);
    text += fmt::format("{} = nn.constant {{value = dense<{}> : tensor<4xf32>}} : tensor<4xf32>\n", result, elements);
    return result;
  }
  std::string constant(double value) { return constant(fmt::format("{:.1f}", value)); }
  /// Returns the module as text: its argument is %x, its result is `result`.
  std::string finish(const std::string &result) const {
    return "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n" + text + "return " + result +
           " : tensor<4xf32>\n}";
  }

private:
  std::string text;
  int count = 0;
};

} // namespace lathe
