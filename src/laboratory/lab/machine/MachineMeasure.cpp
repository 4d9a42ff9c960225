// Measures the ceilings: every figure is the best of many short runs, so that other programs on the machine have little
// influence.
#include "lab/judging/FullSpeed.h"
#include "lab/judging/Statistics.h"
#include "lab/machine/Machine.h"
#include "lab/machine/MachineKernels.h"
#include "package/Package.h"
#include "runtime/Cpu.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <numeric>
#include <thread>

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace lathe::lab {

namespace {

using Clock = std::chrono::steady_clock;
double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// CPUs that this process may use. One CPU of every core comes first; systems number siblings either last or
/// consecutively.
std::vector<int> usableCpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> first, later;
  std::vector<std::string> coresSeen;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return first;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed))
      continue;
    std::string siblings;
    char path[128], line[256] = "";
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    if (std::FILE *file = std::fopen(path, "re")) {
      if (std::fgets(line, sizeof line, file))
        siblings = line;
      std::fclose(file);
    }
    bool seen = !siblings.empty() && std::find(coresSeen.begin(), coresSeen.end(), siblings) != coresSeen.end();
    (seen ? later : first).push_back(cpu);
    coresSeen.push_back(siblings);
  }
  first.insert(first.end(), later.begin(), later.end());
  return first;
}

void pinTo(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  pthread_setaffinity_np(pthread_self(), sizeof one, &one); // best effort
}

/// Memory of one thread, reused for all points.
class Buffer {
public:
  Buffer() = default;
  Buffer(const Buffer &) = delete;
  ~Buffer() { release(); }
  /// At least `bytes`, first touched by the calling thread. Null if there is no memory.
  char *atLeast(size_t bytes) {
    if (size >= bytes)
      return begin;
    release();
    void *got = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED)
      return nullptr;
#ifdef MADV_HUGEPAGE
    madvise(got, bytes, MADV_HUGEPAGE); // otherwise TLB misses would be measured, not the memory
#endif
    begin = static_cast<char *>(got);
    size = bytes;
    // Not zero, because some memory systems move zeros faster.
    uint64_t value = 0x9e3779b97f4a7c15;
    for (size_t i = 0; i + 8 <= bytes; i += 8, value = value * 6364136223846793005 + 1442695040888963407)
      std::memcpy(begin + i, &value, 8);
    return begin;
  }

private:
  void release() {
    if (begin)
      munmap(begin, size);
    begin = nullptr;
    size = 0;
  }
  char *begin = nullptr;
  size_t size = 0;
};

/// All threads leave it together. It spins, because waking a sleeping thread takes longer than a run.
class SpinBarrier {
public:
  explicit SpinBarrier(int threads) : threads(threads) {}
  void wait() {
    int turn = turns.load();
    if (arrived.fetch_add(1) + 1 == threads) {
      arrived.store(0);
      turns.store(turn + 1);
      return;
    }
    for (int spins = 0; turns.load() == turn; ++spins)
      if (spins > 2000)
        sched_yield();
  }

private:
  const int threads;
  std::atomic<int> arrived{0}, turns{0};
};

class Measurement {
public:
  Measurement(const MeasureOptions &options, int hardwareThreads)
      : options(options), cpus(usableCpus()), buffers(size_t(hardwareThreads)) {}

  /// Runs `once(repeats, thread)` on all threads at once, with `repeats` chosen such that a run takes about a
  /// millisecond. Returns the least seconds of one repeat.
  template <class Once> double bestSeconds(int threads, Once once) {
    constexpr double patience = 1; // seconds
    FullSpeed &speed = speeds.try_emplace(threads, threads).first->second;
    speed.await(patience);
    Clock::time_point began = Clock::now();
    int64_t repeats = 1;
    double best = 0;
    SpinBarrier barrier(threads);
    std::vector<Clock::time_point> begins(static_cast<size_t>(threads)), ends(static_cast<size_t>(threads));
    bool done = false;
    auto body = [&](int thread) {
      if (!cpus.empty())
        pinTo(cpus[size_t(thread) % cpus.size()]);
      once(1, thread); // first touch, warm-up
      auto measuringSince = Clock::now();
      bool calibrated = false;
      int runs = 0;
      while (true) {
        barrier.wait();
        if (done)
          return;
        begins[size_t(thread)] = Clock::now();
        once(repeats, thread);
        ends[size_t(thread)] = Clock::now();
        barrier.wait();
        if (thread != 0)
          continue;
        auto begin = *std::min_element(begins.begin(), begins.end()), end = *std::max_element(ends.begin(), ends.end());
        double seconds = std::chrono::duration<double>(end - begin).count();
        if (!calibrated && seconds < 0.7e-3 && repeats < (int64_t(1) << 40)) {
          repeats = std::max(repeats + 1, int64_t(double(repeats) * std::min(100.0, 1e-3 / std::max(seconds, 1e-7))));
          continue;
        }
        calibrated = true;
        double one = seconds / double(repeats);
        best = runs == 0 ? one : std::min(best, one);
        done = ++runs >= 3 && secondsSince(measuringSince) >= options.secondsPerPoint;
      }
    };
    std::vector<std::thread> others;
    for (int thread = 1; thread < threads; ++thread)
      others.emplace_back(body, thread);
    std::thread first(body, 0); // a new thread, because this thread's affinity must stay
    first.join();
    for (auto &other : others)
      other.join();
    speed.measured(secondsSince(began));
    return best;
  }

  double clockGhz() {
    const int64_t chain = 100000;
    double seconds = bestSeconds(1, [](int64_t repeats, int) {
      for (int64_t i = 0; i < repeats; ++i)
        clockChain(chain);
    });
    return double(chain) / seconds / 1e9;
  }

  /// The clock of `threads` threads that compute with `load` all the time: the mean over the threads of the medians of
  /// short chains between long pieces of the load. A core keeps its clock for longer than a chain lasts.
  double clockGhz(const ArithmeticKernel &load, int threads) {
    const int64_t chain = 40000, iterations = 40000;
    std::vector<std::vector<double>> seconds(static_cast<size_t>(threads));
    bestSeconds(threads, [&](int64_t repeats, int thread) {
      for (int64_t i = 0; i < repeats; ++i) {
        load.run(iterations);
        Clock::time_point begin = Clock::now();
        clockChain(chain);
        seconds[size_t(thread)].push_back(secondsSince(begin));
      }
    });
    double sum = 0;
    for (std::vector<double> &times : seconds)
      sum += double(chain) / median(times) / 1e9;
    return sum / threads;
  }

  double gflops(const ArithmeticKernel &kernel, int threads) {
    double seconds = bestSeconds(threads, [&](int64_t repeats, int) { kernel.run(repeats * 64); });
    return kernel.operationsPerIteration * 64 * threads / seconds / 1e9;
  }

  /// `bytes` is the working set of one thread.
  Bandwidth bandwidth(const StreamKernels &kernels, bool beyondCaches, size_t bytes, int threads) {
    size_t half = bytes / 2;
    auto rate = [&](size_t moved, auto &&stream) {
      double seconds = bestSeconds(threads, [&](int64_t repeats, int thread) {
        char *memory = buffers[size_t(thread)].atLeast(bytes);
        for (int64_t i = 0; memory && i < repeats; ++i)
          stream(memory);
      });
      return double(moved) * threads / seconds / 1e9;
    };
    Bandwidth result;
    result.read = rate(bytes, [&](char *memory) { kernels.read(memory, bytes); });
    result.write = rate(bytes, [&](char *memory) { kernels.write(memory, bytes); });
    result.copy = rate(2 * half, [&](char *memory) { kernels.copy(memory + half, memory, half); });
    if (beyondCaches && kernels.writeAround) {
      result.write = std::max(result.write, rate(bytes, [&](char *memory) { kernels.writeAround(memory, bytes); }));
      result.copy =
          std::max(result.copy, rate(2 * half, [&](char *memory) { kernels.copyAround(memory + half, memory, half); }));
    }
    return result;
  }

private:
  const MeasureOptions &options;
  std::vector<int> cpus;
  std::vector<Buffer> buffers;
  std::map<int, FullSpeed> speeds; // by threads
};

size_t roundedTo2K(double bytes) { return std::max<size_t>(4096, size_t(bytes) / 4096 * 4096); }

/// Bytes for each of `threads` threads to stream over, so that the data is in level `index` and not in the level before
/// it.
size_t workingSet(const std::vector<MemoryLevel> &levels, size_t index, int threads) {
  int64_t before = 0;
  for (size_t i = 0; i < index; ++i)
    before = std::max(before, levels[i].bytes / std::min(threads, levels[i].sharedBy));
  const MemoryLevel &level = levels[index];
  if (level.bytes > 0) {
    double share = double(level.bytes) / std::min(threads, level.sharedBy);
    // About half of the capacity: other data needs room, too, and placement is imperfect.
    return roundedTo2K(std::max(index == 0 ? share * 0.5 : share * 0.6, double(before) * 1.5));
  }
  // Memory: well beyond the last cache, but within a quarter of the free memory.
  int64_t lastTotal = index > 0 ? levels[index - 1].bytes : int64_t(8) << 20;
  double wanted = std::max(4.0 * double(lastTotal), double(int64_t(128) << 20)) / threads;
  double free = double(sysconf(_SC_AVPHYS_PAGES)) * double(sysconf(_SC_PAGESIZE)) / 4 / threads;
  return roundedTo2K(std::clamp(std::min(wanted, free), double(4 << 20), double(int64_t(1) << 30)));
}

/// The numbers of threads that are measured: 1, 2, 3, 4, 6, 8, 12, 16, ... and `most`.
std::vector<int> threadCounts(int most) {
  std::vector<int> counts;
  for (int count = 1; count <= most; ++count) {
    bool powerOfTwo = (count & (count - 1)) == 0, threeTimes = count % 3 == 0 && ((count / 3) & (count / 3 - 1)) == 0;
    if (powerOfTwo || threeTimes || count == most)
      counts.push_back(count);
  }
  return counts;
}

/// Interpolates linearly between measured counts. `at` returns the figure for a number of threads.
template <class At> void interpolate(const std::vector<int> &counts, At at) {
  for (size_t i = 0; i + 1 < counts.size(); ++i)
    for (int threads = counts[i] + 1; threads < counts[i + 1]; ++threads) {
      double part = double(threads - counts[i]) / (counts[i + 1] - counts[i]);
      at(threads) = at(counts[i]) + part * (at(counts[i + 1]) - at(counts[i]));
    }
}

bool has(const MachineCeilings &machine, std::string_view feature) {
  // The system must grant tile registers: calling cpuFeatures of the runtime requests them.
  if (feature.starts_with("amx") && !(runtime::cpuFeatures() & package::featureBits({std::string(feature)})))
    return false;
  return feature.empty() ||
         std::find(machine.features.begin(), machine.features.end(), feature) != machine.features.end();
}

/// The loops under which clocks are measured: one for each width of vectors, the widest first.
std::vector<const ArithmeticKernel *> clockKernels(const MachineCeilings &machine) {
  std::vector<const ArithmeticKernel *> loads;
  for (const ArithmeticKernel &kernel : arithmeticKernels())
    if (kernel.type == ElementType::f32 && has(machine, kernel.feature))
      loads.push_back(&kernel);
  return loads;
}

std::vector<ClockFacts> clocksOf(const MachineCeilings &machine, Measurement &measurement,
                                 const std::vector<int> &counts,
                                 const std::function<void(std::string_view what)> &progress) {
  std::vector<ClockFacts> clocks;
  for (const ArithmeticKernel *kernel : clockKernels(machine)) {
    ClockFacts clock{kernel->vectorBits(), std::vector<double>(size_t(counts.back()), 0.0)};
    for (int count : counts) {
      progress(kernel->instruction);
      clock.ghz[size_t(count) - 1] = measurement.clockGhz(*kernel, count);
    }
    interpolate(counts, [&](int count) -> double & { return clock.ghz[size_t(count) - 1]; });
    clocks.insert(clocks.begin(), std::move(clock));
  }
  return clocks;
}

std::string now() {
  std::time_t time = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

} // namespace

double measurePeak(int threads, ElementType type, double seconds) {
  MachineCeilings machine = describeMachine();
  MeasureOptions options{.maxThreads = threads, .secondsPerPoint = seconds, .progress = {}};
  Measurement measurement(options, threads);
  for (auto &kernel : arithmeticKernels()) // the best first
    if (kernel.type == type && has(machine, kernel.feature))
      return measurement.gflops(kernel, threads);
  return 0;
}

double measureClock(double seconds) {
  MeasureOptions options{.maxThreads = 1, .secondsPerPoint = seconds, .progress = {}};
  return Measurement(options, 1).clockGhz();
}

MachineCeilings measureMachine(const MeasureOptions &options) {
  MachineCeilings machine = describeMachine();
  machine.measured = now();
  int threads = std::max(1, machine.hardwareThreads);
  if (options.maxThreads > 0)
    threads = std::min(threads, options.maxThreads);
  // The best kernel of each type, and for bytes the best kernel of every instruction set, because slower ones limit
  // targets without dot products. Streams with the widest registers.
  std::vector<const ArithmeticKernel *> kernels;
  for (auto &kernel : arithmeticKernels())
    if (has(machine, kernel.feature) &&
        (kernel.type == ElementType::i8 ||
         std::none_of(kernels.begin(), kernels.end(), [&](auto *chosen) { return chosen->type == kernel.type; })))
      kernels.push_back(&kernel);
  const StreamKernels *streams = nullptr;
  for (auto &candidate : streamKernels())
    if (!streams && has(machine, candidate.feature))
      streams = &candidate;

  auto counts = threadCounts(threads);
  int total = int(counts.size() * (kernels.size() + machine.levels.size() + clockKernels(machine).size())), done = 0;
  auto progress = [&](std::string_view what) {
    if (options.progress)
      options.progress(what, done, total);
    ++done;
  };
  Measurement measurement(options, threads);
  machine.clockGhz = measurement.clockGhz();
  machine.clocks = clocksOf(machine, measurement, counts, progress);
  for (auto *kernel : kernels) {
    ArithmeticCeiling ceiling{kernel->type, kernel->instruction, std::vector<double>(size_t(threads), 0.0)};
    for (int count : counts) {
      progress(kernel->instruction);
      ceiling.gflops[size_t(count) - 1] = measurement.gflops(*kernel, count);
    }
    interpolate(counts, [&](int count) -> double & { return ceiling.gflops[size_t(count) - 1]; });
    machine.arithmetic.push_back(std::move(ceiling));
  }
  for (size_t index = 0; index < machine.levels.size(); ++index) {
    MemoryLevel &level = machine.levels[index];
    level.bandwidth.resize(size_t(threads));
    for (int count : counts) {
      progress(level.name);
      level.bandwidth[size_t(count) - 1] =
          measurement.bandwidth(*streams, level.bytes == 0, workingSet(machine.levels, index, count), count);
    }
    for (auto figure : {&Bandwidth::read, &Bandwidth::write, &Bandwidth::copy})
      interpolate(counts, [&](int count) -> double & { return level.bandwidth[size_t(count) - 1].*figure; });
  }
  progress("done");
  return machine;
}

} // namespace lathe::lab
