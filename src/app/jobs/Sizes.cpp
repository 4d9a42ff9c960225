#include "jobs/Sizes.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace lathe::jobs {
namespace {

constexpr size_t mostCounts = 1000;

std::optional<int64_t> countOf(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= 1 && value <= int64_t(1) << 31 ? std::optional(value) : std::nullopt;
}

/// The numbers in "8", "8..64" or "8..64:8"; none for another form.
std::vector<int64_t> countsOf(std::string_view part) {
  size_t dots = part.find("..");
  if (dots == std::string_view::npos) {
    auto count = countOf(part);
    return count ? std::vector{*count} : std::vector<int64_t>{};
  }
  size_t colon = part.find(':', dots);
  auto first = countOf(part.substr(0, dots)), last = countOf(part.substr(dots + 2, colon - dots - 2));
  auto step = colon == std::string_view::npos ? std::optional<int64_t>(0) : countOf(part.substr(colon + 1));
  if (!first || !last || !step || *first > *last)
    return {};
  std::vector<int64_t> counts;
  for (int64_t at = *first; at < *last && counts.size() <= mostCounts; at = *step ? at + *step : at * 2)
    counts.push_back(at);
  counts.push_back(*last);
  return counts;
}

/// Inputs in order of appearance, with their shapes.
std::vector<std::pair<std::string, std::vector<std::string>>> byInput(const std::vector<std::string> &shapes) {
  std::vector<std::pair<std::string, std::vector<std::string>>> inputs;
  for (const std::string &text : shapes) {
    std::string name = parseShape(text).first;
    auto found = std::find_if(inputs.begin(), inputs.end(), [&](const auto &input) { return input.first == name; });
    if (found == inputs.end())
      found = inputs.insert(inputs.end(), {name, {}});
    found->second.push_back(text);
  }
  return inputs;
}

} // namespace

std::vector<int64_t> parseCounts(const std::string &option, const std::string &text) {
  std::vector<int64_t> counts;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    std::vector<int64_t> part = countsOf(std::string_view(text).substr(at, end - at));
    require(!part.empty(), "{} {}: expected numbers from 1, as 1,2,4, 8..64 (doubled) or 8..64:8 (steps of 8)", option,
            text);
    for (int64_t count : part)
      if (std::find(counts.begin(), counts.end(), count) == counts.end())
        counts.push_back(count);
    require(counts.size() <= mostCounts, "{} {}: {} numbers or more, expected at most {}", option, text, counts.size(),
            mostCounts);
    at = end + 1;
  }
  return counts;
}

bool severalShapes(const std::vector<std::string> &shapes) {
  auto inputs = byInput(shapes);
  return std::any_of(inputs.begin(), inputs.end(), [](const auto &input) { return input.second.size() > 1; });
}

std::vector<Size> sizesOf(const std::string &batches, const std::vector<std::string> &shapes) {
  auto inputs = byInput(shapes);
  size_t sets = 1;
  for (const auto &[name, list] : inputs) {
    require(list.size() == 1 || sets == 1 || list.size() == sets,
            "--shape {}: input '{}' has {} shapes, another input has {}", list.back(), name, list.size(), sets);
    sets = std::max(sets, list.size());
  }
  std::vector<Size> sizes;
  for (size_t set = 0; set < sets; ++set)
    for (int64_t batch : batches.empty() ? std::vector<int64_t>{0} : parseCounts("--batch", batches)) {
      Size size{batch, {}};
      for (const auto &[name, list] : inputs)
        size.shapes.push_back(list.size() == 1 ? list[0] : list[set]);
      sizes.push_back(std::move(size));
    }
  return sizes;
}

} // namespace lathe::jobs
