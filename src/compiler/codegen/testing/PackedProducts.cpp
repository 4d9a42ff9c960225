#include "codegen/testing/PackedProducts.h"

#include <fmt/format.h>

namespace lathe {

std::string PackedProduct::str() const {
  std::string m = rows < 0 ? "?" : std::to_string(rows);
  std::string three = fmt::format("{}x{}x{}", blocks, steps, columns), two = fmt::format("{}x{}", steps, columns);
  std::string shape = reshaped ? three : two, codesType = fmt::format("tensor<{}x{}>", shape, codes),
              numbers = fmt::format("tensor<{}xf32>", shape);
  std::string x = fmt::format("tensor<{}x{}xf32>", m, blocks * steps), y = fmt::format("tensor<{}x{}xf32>", m, columns),
              w = fmt::format("tensor<{}x{}xf32>", blocks * steps, columns),
              bias = fmt::format("tensor<{}xf32>", columns);
  std::string text =
      fmt::format("func.func private @k(%x: {}{}, %c: {} {{nn.constant}}, %s: {} {{nn.constant}}", x,
                  rows < 0 ? fmt::format(" {{nn.dims = [\"M\", \"{}\"]}}", blocks * steps) : "", codesType, scale);
  if (!zero.empty())
    text += fmt::format(", %z: {} {{nn.constant}}", zero);
  if (epilogue)
    text += fmt::format(", %b: {} {{nn.constant}}", bias);
  text += fmt::format(") -> {} attributes {{nn.family = \"contraction\"}} {{\n", y);
  text += fmt::format("  %0 = nn.cast %c {{to = f32}} : ({}) -> {}\n", codesType, numbers);
  std::string value = "%0";
  auto op = [&](const std::string &what, const std::string &types, const std::string &type) {
    std::string next = fmt::format("%v{}", text.size());
    text += fmt::format("  {} = nn.{} : ({}) -> {}\n", next, what, types, type);
    value = next;
  };
  if (!zero.empty())
    op(fmt::format("sub {}, %z", value), numbers + ", " + zero, numbers);
  op(fmt::format("mul {}, %s", value), numbers + ", " + scale, numbers);
  if (reshaped)
    op(fmt::format("reshape {} {{shape = array<i64: {}, {}>}}", value, blocks * steps, columns), numbers, w);
  op(fmt::format("matmul %x, {}", value), x + ", " + w, y);
  if (epilogue) {
    op(fmt::format("add {}, %b", value), y + ", " + bias, y);
    op(fmt::format("relu {}", value), y, y);
  }
  return text + fmt::format("  return {} : {}\n}}\n", value, y);
}

namespace {

std::string parameter(Random &random, const PackedProduct &problem) {
  auto either = [&](int64_t extent) { return random.chance(4) ? 1 : extent; };
  if (!problem.reshaped)
    return fmt::format("tensor<{}xf32>", either(problem.columns));
  return fmt::format("tensor<{}x1x{}xf32>", either(problem.blocks), either(problem.columns));
}

} // namespace

PackedProduct randomPackedProduct(Random &random) {
  PackedProduct problem;
  problem.rows = random.of<int64_t>({-1, 1, 1, 2, 3, 4, 5, 17, 40});
  problem.reshaped = !random.chance(3);
  problem.blocks = problem.reshaped ? random.in(1, 5) : 1;
  problem.steps = random.of<int64_t>({1, 3, 7, 8, 9, 16, 31, 32, 45});
  problem.columns = random.in(1, random.chance(3) ? 300 : 70);
  problem.codes = random.of<std::string>({"i4", "ui4", "i8", "ui8"});
  problem.scale = parameter(random, problem);
  problem.zero = random.chance(2) ? parameter(random, problem) : "";
  problem.epilogue = random.chance(2);
  return problem;
}

} // namespace lathe
