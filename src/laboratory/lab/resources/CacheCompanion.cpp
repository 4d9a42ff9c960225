#include "lab/resources/CacheCompanion.h"

#include "lab/resources/Placement.h"
#include "support/Error.h"

#include <string_view>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lathe::lab {
namespace {

constexpr int64_t lineBytes = 64;

/// Reads one byte of every line. Returns their sum, so that the reads stay.
unsigned readOnce(const volatile unsigned char *buffer, int64_t bytes) {
  unsigned sum = 0;
  for (int64_t at = 0; at < bytes; at += lineBytes)
    sum += buffer[at];
  return sum;
}

/// The companion's process. It writes a line to `output` when it occupies the cache, then reads until it is killed.
int occupy(int cpu, int64_t bytes, int output) {
  // Locks that the parent's descriptors hold must end with the parent, which may be killed.
  ::close_range(3, unsigned(output) - 1, 0);
  ::close_range(unsigned(output) + 1, ~0U, 0);
  try {
    CpuAffinity bound(NumberList{cpu});
    void *memory = ::mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(memory != MAP_FAILED, "no memory of {} bytes", bytes);
    auto *buffer = static_cast<volatile unsigned char *>(memory);
    for (int64_t at = 0; at < bytes; at += lineBytes)
      buffer[at] = 1;
    readOnce(buffer, bytes);
    std::string line = fmt::format("CPU {} reads {} bytes\n", numberListText(CpuAffinity::read()), bytes);
    if (::write(output, line.data(), line.size()) != ssize_t(line.size()))
      return 1;
    while (true)
      readOnce(buffer, bytes);
  } catch (const Error &error) {
    std::string_view why = error.what();
    [[maybe_unused]] ssize_t said = ::write(2, why.data(), why.size());
    return 1;
  }
}

} // namespace

CacheCompanion::CacheCompanion(int cpu, int64_t bytes) {
  constexpr double patience = 60; // seconds
  auto started =
      process::Child::fork("the cache companion", [=](int output) { return occupy(cpu, bytes, output); }, {});
  require(started.ok(), "{}", started.ok() ? "" : started.failure().message());
  child = std::move(*started);
  auto ended = child->pump(patience, [&] { return child->output.find('\n') != std::string::npos; });
  require(!ended, "{}", ended ? ended->message() : "");
  stated = child->output.substr(0, child->output.find('\n'));
}

void CacheCompanion::check() {
  siginfo_t exited{};
  bool asked = child->alive() && ::waitid(P_PID, id_t(child->id()), &exited, WEXITED | WNOHANG | WNOWAIT) == 0;
  if (asked && exited.si_pid == 0)
    return;
  auto ended = child->alive() ? child->pump(1, [] { return false; }) : std::nullopt;
  fail("{}: nothing occupied its share of the cache", ended ? ended->message() : "the cache companion has ended");
}

} // namespace lathe::lab
