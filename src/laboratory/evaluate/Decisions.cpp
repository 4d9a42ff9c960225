#include "evaluate/Decisions.h"

#include <algorithm>
#include <numeric>

namespace lathe::evaluate {
namespace {

double share(size_t part, size_t whole) { return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0; }

} // namespace

std::vector<size_t> ranking(const Tensor &scores, size_t most) {
  std::vector<double> values(static_cast<size_t>(scores.elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = scores.asDouble(static_cast<int64_t>(i));
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t(0));
  most = std::min(most, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
                    [&](size_t a, size_t b) { return values[a] != values[b] ? values[a] > values[b] : a < b; });
  order.resize(most);
  return order;
}

double ClassFigures::precision() const { return share(right, decided); }
double ClassFigures::recall() const { return share(right, count); }
double ClassFigures::f1() const {
  double p = precision(), r = recall();
  return p + r > 0 ? 2 * p * r / (p + r) : 0;
}

ClassFigures Confusion::figures(size_t label) const {
  ClassFigures result;
  result.right = of(label, label);
  for (size_t other = 0; other < classes; ++other) {
    result.count += of(label, other);
    result.decided += of(other, label);
  }
  return result;
}

std::vector<size_t> Confusion::present() const {
  std::vector<size_t> result;
  for (size_t i = 0; i < classes; ++i)
    if (ClassFigures figures = this->figures(i); figures.count + figures.decided > 0)
      result.push_back(i);
  return result;
}

void Accuracy::add(const std::vector<size_t> &ranked, size_t label) {
  constexpr size_t five = 5;
  ++labelled;
  top1 += !ranked.empty() && ranked[0] == label;
  auto end = ranked.begin() + static_cast<std::ptrdiff_t>(std::min(five, ranked.size()));
  top5 += std::find(ranked.begin(), end, label) != end;
}

} // namespace lathe::evaluate
