#include "lab/resources/FrequencyCap.h"

#include "machine/System.h"
#include "support/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/ranges.h>
#include <set>
#include <sys/file.h>
#include <unistd.h>

namespace lathe::lab {
namespace {

std::string folderOf(const std::string &root, int cpu) {
  return fmt::format("{}{}/cpu{}/cpufreq", root, kernelCpus, cpu);
}

int64_t kilohertz(const std::string &file) { return std::atoll(firstLine(file).c_str()); }

/// The files with the limits of the CPUs. CPUs that share a policy share a file.
std::set<std::string> limitsOf(const std::string &root, const NumberList &cpus) {
  std::set<std::string> files;
  for (int cpu : cpus)
    files.insert((std::filesystem::canonical(folderOf(root, cpu)) / "scaling_max_freq").string());
  return files;
}

} // namespace

FrequencyRange frequencyRange(const std::string &root, const NumberList &cpus) {
  FrequencyRange range;
  for (int cpu : cpus) {
    std::string folder = folderOf(root, cpu);
    int64_t least = kilohertz(folder + "/cpuinfo_min_freq"), most = kilohertz(folder + "/cpuinfo_max_freq");
    require(most > 0 && std::filesystem::exists(folder + "/scaling_max_freq"),
            "the kernel shows no frequencies of CPU {} ({}): a virtual machine has none, its host may", cpu, folder);
    range.least = std::max(range.least, least);
    range.most = std::max(range.most, most);
  }
  return range;
}

FrequencyCap::FrequencyCap(process::ChangedSystem &system, const std::string &root, const NumberList &cpus, int64_t khz)
    : system(system) {
  std::set<std::string> read;
  try {
    for (const std::string &file : limitsOf(root, cpus)) {
      int lock = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
      require(lock >= 0, "{}: cannot be read: {}", file, std::strerror(errno));
      locks.push_back(lock);
      require(::flock(lock, LOCK_EX | LOCK_NB) == 0, "{}: another process of Lathe holds a limit", file);
      files.push_back(file);
      std::string before = process::systemText(file), text = system.write(file, std::to_string(khz));
      require(text == std::to_string(khz) || text != before, "{}: stays {} although {} was written", file, before, khz);
      read.insert(fmt::format("{:g}", double(std::atoll(text.c_str())) / 1e3));
    }
  } catch (...) {
    release();
    throw;
  }
  stated = fmt::format("{} MHz", fmt::join(read, ", "));
}

FrequencyCap::~FrequencyCap() { release(); }

void FrequencyCap::release() {
  for (const std::string &file : files)
    system.undo(file);
  for (int lock : locks)
    ::close(lock);
}

} // namespace lathe::lab
