// How threads of a pool wait for each other: by spinning for a short time, then asleep in the kernel.
#pragma once

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lathe::runtime {

using Word = std::atomic<uint32_t>;
static_assert(sizeof(Word) == sizeof(uint32_t));

/// Sleeps until another thread wakes `word`; returns at once if `word` is not `value`. May return early.
inline void sleepWhile(Word &word, uint32_t value) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
/// Wakes all threads that sleep on `word`. Safe in signal handlers.
inline void wake(Word &word) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

inline constexpr std::chrono::microseconds spinTime{100};

template <class Done> bool spinBriefly(const Done &done) {
  for (int i = 0; i < 64; ++i) {
    if (done())
      return true;
    relax();
  }
  return false;
}

/// Spins until `done()` is true or `spinTime` is over; returns `done()`.
template <class Done> bool spinUntil(const Done &done) {
  if (spinBriefly(done)) // mostly, and the clock costs as much as a fork
    return true;
  auto limit = std::chrono::steady_clock::now() + spinTime;
  do {
    if (spinBriefly(done))
      return true;
  } while (std::chrono::steady_clock::now() < limit);
  return done();
}

} // namespace lathe::runtime
