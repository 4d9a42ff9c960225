// The seed of a random test.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace lathe {

/// $LATHE_TEST_SEED, which repeats a test, or else a fresh seed.
inline uint64_t testSeed() {
  const char *given = std::getenv("LATHE_TEST_SEED");
  return given ? std::stoull(given) : std::random_device()();
}

} // namespace lathe
