#include "cli/print/TopElements.h"

#include "jobs/Inputs.h"
#include "jobs/Values.h"
#include "lab/judging/OutputSummary.h"

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

static std::string firstElements(const Tensor &tensor) {
  if (tensor.type() == ElementType::string)
    return "";
  std::string text;
  for (int64_t i = 0; i < std::min<int64_t>(tensor.elements(), 5); ++i)
    text += (i ? ", " : "") + fmt::format("{:.6g}", tensor.asDouble(i));
  return "[" + text + (tensor.elements() > 5 ? ", ..." : "") + "]";
}

void printOutputs(std::span<const std::string> names, std::span<const Value> outputs, nlohmann::json &json,
                  bool print) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].isTensor()) {
      if (print)
        std::cout << fmt::format("{}: {}\n", printable(names[i]), valueText(outputs[i]));
      json["outputs"].push_back({{"name", names[i]}, {"value", valueText(outputs[i])}});
      continue;
    }
    const Tensor &tensor = outputs[i].tensor();
    lab::OutputSummary summary = lab::summarizeOutput(tensor);
    if (print)
      std::cout << fmt::format("{}: {} {}, {} {}{}\n", printable(names[i]), name(tensor.type()),
                               dimsText(tensor.dims()), summary.str(), firstElements(tensor),
                               summary.mistrust.empty() ? "" : "  -- mistrusted: " + summary.mistrust);
    auto finite = [&](double value) { return summary.measured() ? nlohmann::json(value) : nlohmann::json(); };
    json["outputs"].push_back({{"name", names[i]},
                               {"type", name(tensor.type())},
                               {"dims", tensor.dims()},
                               {"min", finite(summary.min)},
                               {"max", finite(summary.max)},
                               {"mean", finite(summary.mean)},
                               {"not_finite", summary.nan + summary.infinite},
                               {"nan_count", summary.nan},
                               {"infinite_count", summary.infinite},
                               {"mistrusted", summary.mistrust}});
  }
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
