// For tests: the random generator and its seed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace lathe {

/// The base seed of random tests in this run: the environment variable LATHE_SEED, else a random number.
inline uint64_t baseSeed() {
  static uint64_t seed = [] {
    const char *given = std::getenv("LATHE_SEED");
    return given ? std::stoull(given) : std::random_device()();
  }();
  return seed;
}

/// Seeds for a test with random kernels: 1 to `kept`, which are the same in every run, and a quarter as many new ones,
/// which begin with baseSeed(). Prints both ranges. LATHE_SEED repeats a run; set it to a failed seed to test that seed
/// first among the new ones.
inline std::vector<uint64_t> randomSeeds(uint64_t kept) {
  std::vector<uint64_t> seeds;
  for (uint64_t i = 0; i < kept; ++i)
    seeds.push_back(i + 1);
  for (uint64_t i = 0; i < kept / 4; ++i)
    seeds.push_back(baseSeed() + i);
  std::printf("[          ] seeds 1 to %llu, then from LATHE_SEED=%llu on\n", static_cast<unsigned long long>(kept),
              static_cast<unsigned long long>(baseSeed()));
  return seeds;
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
