#include "quantize/Fidelity.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/ranges.h>

namespace lathe::quantize {
namespace {

using Numbers = std::vector<double>;

Numbers numbersOf(const Tensor &tensor) {
  Numbers numbers(static_cast<size_t>(tensor.elements()));
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = tensor.asDouble(static_cast<int64_t>(i));
  return numbers;
}

std::vector<Numbers> numbersOf(const std::vector<Tensor> &tensors) {
  std::vector<Numbers> all;
  for (const Tensor &tensor : tensors)
    all.push_back(numbersOf(tensor));
  return all;
}

double cosineOf(const Numbers &a, const Numbers &b) {
  double product = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  if (aa == 0 || bb == 0)
    return aa == bb ? 1 : 0;
  return product / std::sqrt(aa * bb);
}

/// Number of rows whose largest number has another position.
size_t changedRows(const Numbers &a, const Numbers &b, size_t rows) {
  auto length = static_cast<std::ptrdiff_t>(a.size() / rows);
  size_t changed = 0;
  for (size_t row = 0; row < rows; ++row) {
    auto decision = [&](const Numbers &numbers) {
      auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(row) * length;
      return std::max_element(begin, begin + length) - begin;
    };
    changed += decision(a) != decision(b);
  }
  return changed;
}

std::string extentsText(const Tensor &tensor) { return fmt::format("{}", fmt::join(tensor.dims(), "x")); }

/// The inputs by the extents of their outputs. Leaves out inputs with different extents in the two models.
using Groups = std::map<std::vector<int64_t>, std::vector<size_t>>;
Groups groupsOf(const std::vector<Tensor> &expected, const std::vector<Tensor> &found) {
  Groups groups;
  for (size_t i = 0; i < expected.size(); ++i)
    if (expected[i].dims() == found.at(i).dims())
      groups[expected[i].dims()].push_back(i);
  return groups;
}

Numbers meanOf(const std::vector<Numbers> &all, const std::vector<size_t> &group) {
  Numbers mean(all.at(group.front()).size(), 0.0);
  for (size_t index : group)
    for (size_t i = 0; i < mean.size(); ++i)
      mean[i] += all[index][i] / static_cast<double>(group.size());
  return mean;
}

Numbers minus(Numbers a, const Numbers &b) {
  for (size_t i = 0; i < a.size(); ++i)
    a[i] -= b[i];
  return a;
}

} // namespace

Fidelity fidelityOf(const std::vector<Tensor> &expected, const std::vector<Tensor> &found, bool byRow) {
  Fidelity result;
  result.inputs = expected.size();
  for (size_t i = 0; i < expected.size(); ++i)
    if (expected[i].dims() != found.at(i).dims() && !result.leftOut++)
      result.difference = extentsText(found[i]) + " instead of " + extentsText(expected[i]);
  if (!result.compared()) {
    result.cosine = result.leastCosine = result.centred = result.leastCentred = std::nan("");
    return result;
  }
  std::vector<Numbers> a = numbersOf(expected), b = numbersOf(found);
  double plain = 0, centred = 0;
  for (const auto &[dims, group] : groupsOf(expected, found)) {
    Numbers mean = meanOf(a, group);
    size_t rows = byRow && dims.size() > 1 && !mean.empty() ? static_cast<size_t>(dims[0]) : 1;
    for (size_t i : group) {
      double one = cosineOf(a[i], b[i]);
      plain += one;
      result.leastCosine = std::min(result.leastCosine, one);
      double other = group.size() == 1 ? 1 : cosineOf(minus(a[i], mean), minus(b[i], mean));
      centred += other;
      result.leastCentred = std::min(result.leastCentred, other);
      result.decisions += rows;
      result.changed += changedRows(a[i], b[i], rows);
    }
  }
  result.cosine = plain / static_cast<double>(result.compared());
  result.centred = centred / static_cast<double>(result.compared());
  return result;
}

std::vector<Tensor> withoutMeanError(const std::vector<Tensor> &expected, const std::vector<Tensor> &found) {
  std::vector<Numbers> right = numbersOf(expected), numbers = numbersOf(found);
  std::vector<Tensor> result = found;
  for (const auto &[dims, group] : groupsOf(expected, found)) {
    Numbers error = minus(meanOf(numbers, group), meanOf(right, group));
    for (size_t i : group)
      result[i] = Tensor::of<double>(dims, minus(numbers[i], error));
  }
  return result;
}

double noiseToSignal(const std::vector<Tensor> &expected, const std::vector<Tensor> &found) {
  double noise = 0, signal = 0;
  for (size_t k = 0; k < expected.size(); ++k) {
    if (expected[k].dims() != found.at(k).dims())
      continue;
    Numbers a = numbersOf(expected[k]), b = numbersOf(found.at(k));
    for (size_t i = 0; i < a.size(); ++i) {
      noise += (a[i] - b[i]) * (a[i] - b[i]);
      signal += a[i] * a[i];
    }
  }
  return signal > 0 ? noise / signal : noise;
}

} // namespace lathe::quantize
