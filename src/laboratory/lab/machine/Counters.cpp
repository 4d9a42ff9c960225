#include "lab/machine/Counters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lathe::lab {

const CounterEvents hardwareEvents = {{{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
                                       {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
                                       {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES}}};

namespace {

/// A descriptor, or -1 with errno. `leader` is the leader of the thread's group, -1 for its first event.
int openEvent(const CounterEvent &event, pid_t thread, int leader) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.exclude_kernel = attributes.exclude_hv = 1; // allowed on all systems
  attributes.inherit = 1;                                // also threads that this thread starts
  // A whole group is scheduled on the processor or not at all, so its values belong to the same interval.
  attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return int(::syscall(SYS_perf_event_open, &attributes, thread, -1, leader, PERF_FLAG_FD_CLOEXEC));
}

std::vector<pid_t> threadsOfThisProcess() {
  std::vector<pid_t> threads;
  std::error_code ignored;
  for (auto &entry : std::filesystem::directory_iterator("/proc/self/task", ignored))
    threads.push_back(pid_t(std::atoi(entry.path().filename().c_str())));
  return threads;
}

int64_t processorNanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}

} // namespace

std::string counterFailure(int error) {
  const char *name = ::strerrorname_np(error);
  std::string text = fmt::format("perf_event_open: {}, ", name ? name : std::to_string(error));
  switch (error) {
  case ENOENT:
  case ENODEV:
  case EOPNOTSUPP:
    return text + "this machine, or the virtual machine that it is, has no such counter";
  case EACCES:
  case EPERM: {
    std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
    int level = 0;
    if (file >> level && level > 2)
      return text + fmt::format("kernel.perf_event_paranoid is {}, expected 2 at most", level);
    return text + "the system forbids it (a container's filter of system calls, perhaps)";
  }
  case ENOSYS:
    return text + "the kernel, or the sandbox around this program, has no such call";
  default:
    return text + std::strerror(error);
  }
}

Counters::Counters(const CounterEvents &events) {
  std::vector<std::string> missing;
  int error = 0;
  auto first = pid_t(::syscall(SYS_gettid));
  int leader = -1;
  for (size_t i = 0; i < events.size(); ++i) {
    int descriptor = openEvent(events[i], first, leader);
    counted[i] = descriptor >= 0;
    if (descriptor < 0) {
      missing.emplace_back(events[i].name);
      error = error ? error : errno;
    } else if (leader < 0) {
      leaders.push_back(leader = descriptor);
    } else {
      members.push_back(descriptor);
    }
  }
  if (!missing.empty())
    reason = fmt::format("{}: {}", fmt::join(missing, ", "), counterFailure(error));
  if (leader < 0)
    return;
  for (pid_t thread : threadsOfThisProcess()) {
    if (thread == first)
      continue;
    int own = -1;
    for (size_t i = 0; i < events.size(); ++i) {
      if (!counted[i])
        continue;
      int descriptor = openEvent(events[i], thread, own);
      if (descriptor < 0 && errno == ESRCH && own < 0)
        break;              // it has ended meanwhile
      if (descriptor < 0) { // with only some of the threads, no figure would be meaningful
        reason = fmt::format("thread {}: {}", thread, counterFailure(errno));
        close();
        return;
      }
      (own < 0 ? leaders : members).push_back(descriptor);
      own = own < 0 ? descriptor : own;
    }
  }
  // Under some hypervisors counters can be opened but do not advance.
  CounterReading now = read();
  if (std::none_of(now.values.begin(), now.values.end(), [](auto &value) { return value.value_or(0) > 0; })) {
    reason = "cycles, instructions, cache_misses: they can be opened and count nothing, as under some hypervisors";
    close();
  }
}

Counters::~Counters() { close(); }

void Counters::close() {
  for (auto *list : {&members, &leaders}) {
    for (int descriptor : *list)
      ::close(descriptor);
    list->clear();
  }
}

bool addGroup(CounterReading &reading, std::span<const uint64_t> words,
              const std::array<bool, CounterReading::events> &counted) {
  auto wanted = size_t(std::count(counted.begin(), counted.end(), true));
  if (words.size() != 3 + wanted || words[0] != wanted)
    return false;
  reading.enabledNs += words[1];
  reading.runningNs += words[2];
  size_t next = 3;
  for (size_t i = 0; i < counted.size(); ++i)
    if (counted[i])
      reading.values[i] = reading.values[i].value_or(0) + words[next++];
  return true;
}

CounterReading Counters::read() const {
  CounterReading reading;
  for (int leader : leaders) {
    std::array<uint64_t, 3 + CounterReading::events> words{};
    ssize_t bytes = ::read(leader, words.data(), sizeof words);
    if (bytes < 0 || !addGroup(reading, std::span(words).first(size_t(bytes) / sizeof words[0]), counted)) {
      reading.values = {};
      break;
    }
  }
  reading.cpuNs = processorNanoseconds();
  return reading;
}

Counts between(const CounterReading &before, const CounterReading &after) {
  Counts counts;
  counts.cpuNs = after.cpuNs - before.cpuNs;
  double enabled = double(after.enabledNs) - double(before.enabledNs);
  double running = double(after.runningNs) - double(before.runningNs);
  bool any = std::any_of(after.values.begin(), after.values.end(), [](auto &value) { return value.has_value(); });
  counts.multiplexed = any && running < 0.99 * enabled;
  if (counts.multiplexed)
    return counts;
  std::optional<int64_t> *results[] = {&counts.cycles, &counts.instructions, &counts.cacheMisses};
  for (size_t i = 0; i < CounterReading::events; ++i)
    if (before.values[i] && after.values[i] && *after.values[i] >= *before.values[i])
      *results[i] = int64_t(*after.values[i] - *before.values[i]);
  return counts;
}

} // namespace lathe::lab
