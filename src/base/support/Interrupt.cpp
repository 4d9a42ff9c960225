#include "support/Interrupt.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <pthread.h>
#include <thread>
#include <unistd.h>

namespace lathe {
namespace {

constexpr int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

/// Never destroyed: a signal may come while the program is leaving.
struct Registry {
  std::recursive_mutex mutex;
  std::map<uint64_t, std::function<void()>> actions; // by age
  uint64_t last = 0;
  std::string name;
  struct sigaction before[std::size(caught)] = {};
};

Registry &registry() {
  static auto *registry = [] {
    auto *made = new Registry;
    // A child of fork has one thread: a mutex that another thread held would stay locked in it for ever.
    ::pthread_atfork([] { lathe::registry().mutex.lock(); }, [] { lathe::registry().mutex.unlock(); },
                     [] { new (&lathe::registry().mutex) std::recursive_mutex; });
    return made;
  }();
  return *registry;
}

// Variables that the handler reads. They are set before it is installed.
int toWatcher = -1;
pid_t ownPid = 0;
std::atomic<int64_t> firstSignal{0}; // nanoseconds of the monotonic clock; 0: none came yet
static_assert(std::atomic<int64_t>::is_always_lock_free, "the handler uses it");

void onSignal(int signal) {
  int error = errno;
  if (::getpid() != ownPid) { // a child that has not executed another program: the signal's default action
    ::signal(signal, SIG_DFL);
    ::raise(signal);
    errno = error;
    return;
  }
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  int64_t now = int64_t(time.tv_sec) * 1000000000 + time.tv_nsec, first = 0;
  // `timeout` and shells may send one request twice.
  if (!firstSignal.compare_exchange_strong(first, now) && now - first > 1000000000)
    ::_exit(128 + signal);
  auto byte = static_cast<unsigned char>(signal);
  [[maybe_unused]] ssize_t told = ::write(toWatcher, &byte, 1);
  while (signal == SIGPIPE) // going on would only report the write that failed
    ::pause();
  errno = error;
}

/// Runs all actions, then calls the handler that was installed before, or ends the process.
[[noreturn]] void finish(int signal) {
  Registry &all = registry();
  all.mutex.lock(); // for ever: nothing is registered or forgotten any more
  // By number, as an action may register others while it runs, and end them.
  for (auto next = all.actions.end(); next != all.actions.begin();) {
    uint64_t number = (--next)->first;
    try {
      std::function<void()> action = next->second;
      action();
    } catch (...) { // the others are still to be run
    }
    next = all.actions.lower_bound(number);
  }
  for (size_t i = 0; i < std::size(caught); ++i)
    if (caught[i] == signal && all.before[i].sa_handler != SIG_DFL) {
      all.before[i].sa_handler(signal);
      while (true)
        ::pause();
    }
  if (signal != SIGHUP && signal != SIGPIPE) {
    std::string line =
        fmt::format("{}{}: interrupted (SIG{})\n", ::isatty(2) ? "\r\033[K" : "", all.name, ::sigabbrev_np(signal));
    [[maybe_unused]] ssize_t said = ::write(2, line.data(), line.size());
  }
  ::_exit(128 + signal);
}

void startWatcher(int descriptor) {
  // The watcher takes no signal itself: its own handler would wait for it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([descriptor] {
    unsigned char signal = 0;
    while (::read(descriptor, &signal, 1) != 1) {
    }
    finish(signal);
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace

void catchInterrupts(const std::string &name) {
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  all.name = name;
  if (toWatcher >= 0)
    return;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return; // signals end the process as they always do
  toWatcher = ends[1];
  ownPid = ::getpid();
  startWatcher(ends[0]);
  for (size_t i = 0; i < std::size(caught); ++i) {
    struct sigaction action = {};
    action.sa_handler = onSignal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    ::sigaction(caught[i], nullptr, &all.before[i]);
    if (all.before[i].sa_handler != SIG_IGN)
      ::sigaction(caught[i], &action, nullptr);
  }
}

void endQuietly() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {}, action = {};
    action.sa_handler = [](int number) { ::_exit(128 + number); };
    sigemptyset(&action.sa_mask);
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      ::sigaction(signal, &action, nullptr);
  }
}

Cleanup::Cleanup(std::function<void()> action) {
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  id = ++all.last;
  all.actions.emplace(id, std::move(action));
}

Cleanup::~Cleanup() {
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  all.actions.erase(id);
}

HoldCleanups::HoldCleanups() { registry().mutex.lock(); }
HoldCleanups::~HoldCleanups() { registry().mutex.unlock(); }

// The thread of the clean-ups keeps the mutex for ever.
void haltIfInterrupted() { HoldCleanups passes; }

} // namespace lathe
