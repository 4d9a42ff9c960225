#include "cli/print/TopElements.h"

#include "support/Text.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>

namespace lathe::cli {

static std::vector<int64_t> topOf(const Tensor &tensor, int64_t begin, int64_t extent, int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(extent));
  std::iota(order.begin(), order.end(), 0);
  auto key = [&](int64_t i) {
    double value = tensor.asDouble(begin + i);
    return std::pair(std::isnan(value), -value);
  };
  auto middle = order.begin() + std::min(count, extent);
  std::partial_sort(order.begin(), middle, order.end(), [&](int64_t a, int64_t b) {
    auto [noNumberA, lessA] = key(a);
    auto [noNumberB, lessB] = key(b);
    if (noNumberA || noNumberB)
      return noNumberA == noNumberB ? a < b : noNumberB;
    return lessA == lessB ? a < b : lessA < lessB;
  });
  return {order.begin(), middle};
}

void addTop(Options &options, int64_t &count) {
  options
      .add_option("--print-top", count,
                  "Print the N greatest elements of each output along its last axis, with their positions")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 31))
      ->type_name("N");
}

void printTop(std::span<const std::string> names, std::span<const Value> outputs, int64_t count, nlohmann::json &json,
              bool print) {
  constexpr int64_t mostRows = 32; // limit on printed rows of one output
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].isTensor() || outputs[i].tensor().type() == ElementType::string)
      continue;
    const Tensor &tensor = outputs[i].tensor();
    int64_t extent = tensor.rank() ? tensor.dim(tensor.rank() - 1) : 1;
    int64_t rows = extent ? tensor.elements() / extent : 0;
    nlohmann::json list = nlohmann::json::array();
    for (int64_t row = 0; row < rows; ++row) {
      nlohmann::json entries = nlohmann::json::array();
      std::string text;
      for (int64_t index : topOf(tensor, row * extent, extent, count)) {
        double value = tensor.asDouble(row * extent + index);
        entries.push_back(
            {{"index", index}, {"value", std::isfinite(value) ? nlohmann::json(value) : nlohmann::json()}});
        text += fmt::format("{}{}: {:.6g}", text.empty() ? "" : ", ", index, value);
      }
      list.push_back(std::move(entries));
      if (print && row < mostRows)
        std::cout << fmt::format("{}{} top {}: {}\n", printable(names[i]), rows > 1 ? fmt::format(" row {}", row) : "",
                                 std::min(count, extent), text);
    }
    if (print && rows > mostRows)
      std::cout << fmt::format("{}: {} more rows (--json has them)\n", printable(names[i]), rows - mostRows);
    json["outputs"][i]["top"] = std::move(list);
  }
}

} // namespace lathe::cli
