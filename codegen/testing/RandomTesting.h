// For tests: the random generator and its seed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <random>
#include <string>

namespace lathe {

/// The seed of this run: environment variable LATHE_SEED, else random.
inline uint64_t baseSeed() {
  static uint64_t seed = [] {
    const char *given = std::getenv("LATHE_SEED");
    return given ? std::stoull(given) : std::random_device()();
  }();
  return seed;
}

struct Random {
  std::mt19937_64 engine;
  explicit Random(uint64_t seed) : engine(seed) {}
  int64_t in(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine); }
  bool chance(int64_t oneIn) { return in(1, oneIn) == 1; }
  template <class T> T of(std::initializer_list<T> values) {
    return *(values.begin() + in(0, int64_t(values.size()) - 1));
  }
};

} // namespace lathe
