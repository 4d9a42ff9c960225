// For tests of ScalarBuilder's functions: makes and runs kernels that apply a function to every element.
#pragma once

#include "codegen/builder/Scalar.h"
#include "codegen/testing/KernelTesting.h"
#include "ir/Context.h"

#include <cmath>
#include <random>

namespace lathe {

template <class T> ElementType elementType() { return sizeof(T) == 4 ? ElementType::f32 : ElementType::f64; }

/// Compiles a kernel that computes y[i] = f(a[i], b[i]) for the vectors begin to end of `lanes` elements each.
template <class T>
std::unique_ptr<LoadedKernel>
compileFunction(const Target &target, int64_t lanes,
                const std::function<mlir::Value(ScalarBuilder &, mlir::Value, mlir::Value)> &f,
                bool relaxedMath = false) {
  auto context = makeContext();
  KernelBuilder k(context.get(), target, "kernel", {false, false, true}, 0, relaxedMath);
  ElementType type = elementType<T>();
  k.loop(k.begin(), k.end(), 1, [&](mlir::Value i) {
    mlir::Value at = k.mul(i, lanes);
    mlir::Value x = k.load(k.buffer(0), at, type, lanes), y = k.load(k.buffer(1), at, type, lanes);
    ScalarBuilder scalar(k, type, type, x);
    k.store(f(scalar, x, y), k.buffer(2), at, type);
  });
  auto module = k.finish();
  return std::make_unique<LoadedKernel>(*module, target);
}

template <class T>
std::vector<T> evaluate(const LoadedKernel &kernel, int64_t lanes, std::vector<T> a, std::vector<T> b) {
  size_t count = a.size();
  a.resize((count + lanes - 1) / lanes * lanes);
  b.resize(a.size());
  std::vector<T> y(a.size());
  void *buffers[] = {a.data(), b.data(), y.data()};
  kernel.call(buffers, nullptr, 0, a.size() / lanes, nullptr);
  y.resize(count);
  return y;
}

/// Returns arguments for testing a function: numbers of every magnitude up to `largest`, more of them near special
/// values, and the special values.
template <class T> std::vector<T> arguments(double largest, std::mt19937_64 &random) {
  std::vector<T> result = {T(0),
                           T(-0.0),
                           T(1),
                           T(-1),
                           std::numeric_limits<T>::infinity(),
                           -std::numeric_limits<T>::infinity(),
                           std::numeric_limits<T>::quiet_NaN()};
  std::uniform_real_distribution<double> exponent(-std::numeric_limits<T>::max_exponent + 2,
                                                  std::numeric_limits<T>::max_exponent);
  std::uniform_real_distribution<double> mantissa(-2, 2), sign(-1, 1);
  auto put = [&](double x) {
    if (std::fabs(x) <= largest && std::fabs(x) >= std::numeric_limits<T>::min())
      result.push_back(static_cast<T>(x));
  };
  put(std::numeric_limits<T>::min());
  put(std::numeric_limits<T>::max());
  for (int i = 0; i < 60000; ++i) {
    put(std::ldexp(mantissa(random), static_cast<int>(exponent(random))));
    put(mantissa(random));
    put(1 + sign(random) * 0.3);
    put(mantissa(random) * 10);
    put(mantissa(random) * (sizeof(T) == 4 ? 55 : 380));
    put(mantissa(random) * 1e5);
  }
  return result;
}

} // namespace lathe
