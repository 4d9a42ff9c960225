#include "lab/judging/FullSpeed.h"

#include "lab/judging/Statistics.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <vector>

namespace lathe::lab {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds readingTime{100};

/// Independent chains of multiplications, twice as many as needed to hide their latency. They are limited by the
/// multiplier, so a second thread on the core slows them down. Returns a value that depends on all chains.
double arithmetic(double from) {
  using Vector = double __attribute__((vector_size(16)));
  constexpr int chains = 12, steps = 64;
  Vector values[chains];
#pragma GCC unroll 12
  for (int i = 0; i < chains; ++i)
    values[i] = Vector{from, from + i};
  for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i)
      values[i] *= 0.999;
  }
  double sum = 0;
#pragma GCC unroll 12
  for (int i = 0; i < chains; ++i)
    sum += values[i][0] + values[i][1];
  return sum / chains;
}

/// Calls of `arithmetic` per second, until the time is over.
double rate() {
  double value = 1, seconds = 0;
  size_t count = 0;
  Clock::time_point begin = Clock::now();
  do {
    for (int i = 0; i < 4; ++i, ++count)
      value = arithmetic(value);
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  } while (Clock::now() - begin < readingTime);
  volatile double used = value;
  (void)used;
  return double(count) / seconds;
}

std::vector<int> processors() {
  std::vector<int> found;
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &allowed))
        found.push_back(cpu);
  return found;
}

void bindTo(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ::pthread_setaffinity_np(::pthread_self(), sizeof one, &one); // measuring also works with unbound threads
}

} // namespace

SpeedReading readSpeed(int threads) {
  std::vector<int> cpus = processors();
  if (threads < 1 || size_t(threads) > cpus.size())
    return {};
  if (threads == 1) {
    double alone = rate();
    return {alone, alone};
  }
  bool bound = size_t(threads) == cpus.size();
  SpeedReading reading;
  std::atomic<int> ready{0}, aloneDone{0};
  std::vector<double> rates(size_t(threads), 0);
  auto measure = [&](size_t index) {
    if (bound)
      bindTo(cpus[index]);
    ready.fetch_add(1);
    while (ready.load() < threads)
      std::this_thread::yield();
    if (index == 0) {
      reading.alone = rate();
      aloneDone.store(1);
      aloneDone.notify_all();
    } else {
      aloneDone.wait(0); // sleeps, so that thread 0 is alone
    }
    ready.fetch_add(1);
    while (ready.load() < 2 * threads)
      ; // all begin together
    rates[index] = rate();
  };
  {
    std::vector<std::jthread> started;
    for (size_t index = 0; index < rates.size(); ++index)
      started.emplace_back(measure, index);
  }
  reading.slowest = *std::min_element(rates.begin(), rates.end());
  return reading;
}

FullSpeed::FullSpeed(int threads, double allowance)
    : FullSpeed(Hooks{[threads, never = std::getenv("LATHE_NO_WAIT") != nullptr] {
                        return never ? SpeedReading() : readSpeed(threads);
                      },
                      [] { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); },
                      [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }},
                allowance) {}

FullSpeed::FullSpeed(Hooks given, double allowance) : hooks(std::move(given)), allowance(allowance) {}

bool FullSpeed::full(const SpeedReading &reading) {
  constexpr size_t remembered = 64;
  constexpr double shared = 0.7, slowed = 0.9, usual = 90; // usual is a percentile
  recent.push_back(reading);
  if (recent.size() > remembered)
    recent.pop_front();
  std::vector<double> rates;
  for (const SpeedReading &past : recent)
    rates.push_back(past.slowest);
  return reading.slowest >= shared * reading.alone && reading.slowest >= slowed * percentile(rates, usual);
}

bool FullSpeed::await(double atMost) {
  constexpr double pause = 0.005; // seconds between readings
  ++calls;
  double began = hooks.now(), end = began + std::min(atMost, allowance);
  bool good = full(hooks.read());
  while (!good && hooks.now() + pause <= end) {
    hooks.sleep(pause);
    good = full(hooks.read());
  }
  double seconds = hooks.now() - began;
  waited += seconds;
  allowance = std::max(0.0, allowance - seconds);
  refused += !good;
  return good;
}

} // namespace lathe::lab
