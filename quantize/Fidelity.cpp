#include "quantize/Fidelity.h"

#include <algorithm>
#include <cmath>

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

size_t decisionOf(const Numbers &numbers) {
  return static_cast<size_t>(std::max_element(numbers.begin(), numbers.end()) - numbers.begin());
}

Numbers meanOf(const std::vector<Numbers> &all) {
  Numbers mean(all.at(0).size(), 0.0);
  for (const Numbers &numbers : all)
    for (size_t i = 0; i < mean.size(); ++i)
      mean[i] += numbers[i] / static_cast<double>(all.size());
  return mean;
}

Numbers minus(Numbers a, const Numbers &b) {
  for (size_t i = 0; i < a.size(); ++i)
    a[i] -= b[i];
  return a;
}

} // namespace

Fidelity fidelityOf(const std::vector<Tensor> &expected, const std::vector<Tensor> &found) {
  Fidelity result;
  result.inputs = expected.size();
  if (expected.empty())
    return result;
  for (size_t i = 0; i < expected.size(); ++i)
    require(expected[i].dims() == found.at(i).dims(), "internal: outputs of different extents are compared");
  std::vector<Numbers> a = numbersOf(expected), b = numbersOf(found);
  Numbers mean = meanOf(a);
  double plain = 0, centred = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    double one = cosineOf(a[i], b[i]);
    plain += one;
    result.leastCosine = std::min(result.leastCosine, one);
    double other = a.size() == 1 ? 1 : cosineOf(minus(a[i], mean), minus(b[i], mean));
    centred += other;
    result.leastCentred = std::min(result.leastCentred, other);
    result.changed += decisionOf(a[i]) != decisionOf(b[i]);
  }
  result.cosine = plain / static_cast<double>(a.size());
  result.centred = centred / static_cast<double>(a.size());
  return result;
}

std::vector<Tensor> withoutMeanError(const std::vector<Tensor> &expected, const std::vector<Tensor> &found) {
  std::vector<Numbers> numbers = numbersOf(found);
  Numbers error = minus(meanOf(numbers), meanOf(numbersOf(expected)));
  std::vector<Tensor> result;
  for (size_t i = 0; i < found.size(); ++i)
    result.push_back(Tensor::of<double>(found[i].dims(), minus(numbers[i], error)));
  return result;
}

double noiseToSignal(const std::vector<Tensor> &expected, const std::vector<Tensor> &found) {
  double noise = 0, signal = 0;
  for (size_t k = 0; k < expected.size(); ++k) {
    Numbers a = numbersOf(expected[k]), b = numbersOf(found.at(k));
    for (size_t i = 0; i < a.size(); ++i) {
      noise += (a[i] - b[i]) * (a[i] - b[i]);
      signal += a[i] * a[i];
    }
  }
  return signal > 0 ? noise / signal : noise;
}

} // namespace lathe::quantize
