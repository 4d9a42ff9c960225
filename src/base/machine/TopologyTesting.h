// Recorded trees of machines for tests: folders with the files below /sys and /proc that describe a machine.
#pragma once

#include "machine/NumberList.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <stdlib.h>
#include <string>

namespace lathe {

/// A folder of the test's own, which the destructor removes.
class RecordedTree {
public:
  RecordedTree() {
    std::string pattern = (std::filesystem::temp_directory_path() / "recorded-XXXXXX").string();
    root = ::mkdtemp(pattern.data());
  }
  ~RecordedTree() { std::filesystem::remove_all(root); }
  RecordedTree(const RecordedTree &) = delete;
  RecordedTree &operator=(const RecordedTree &) = delete;

  std::string root;

  void write(const std::string &file, const std::string &text) const {
    std::filesystem::path path = root + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  std::string read(const std::string &file) const {
    std::ifstream stream(root + "/" + file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  void cpu(int number, int package, const std::string &siblings, const std::string &sharesL3, const char *bytes) const {
    std::string folder = fmt::format("sys/devices/system/cpu/cpu{}/", number);
    write(folder + "topology/physical_package_id", std::to_string(package));
    write(folder + "topology/thread_siblings_list", siblings);
    auto cache = [&](int index, const char *type, int level, const char *size, const std::string &shared) {
      std::string own = fmt::format("{}cache/index{}/", folder, index);
      write(own + "type", type);
      write(own + "level", std::to_string(level));
      write(own + "size", size);
      write(own + "shared_cpu_list", shared);
    };
    cache(0, "Data", 1, "48K", siblings);
    cache(1, "Instruction", 1, "32K", siblings);
    cache(2, "Unified", 3, bytes, sharesL3);
  }
  void online(const std::string &cpus) const { write("sys/devices/system/cpu/online", cpus); }
  void allow(const std::string &cpus, const std::string &nodes) const {
    write("proc/thread-self/status",
          fmt::format("Name:\tlathe\nCpus_allowed_list:\t{}\nMems_allowed_list:\t{}", cpus, nodes));
  }
  void node(int number, const std::string &cpus) const {
    write(fmt::format("sys/devices/system/node/node{}/cpulist", number), cpus);
  }
  /// The range and the limit of every CPU's frequency, in kHz.
  void frequencies(const NumberList &cpus, int least, int most) const {
    for (int cpu : cpus) {
      std::string folder = fmt::format("sys/devices/system/cpu/cpu{}/cpufreq/", cpu);
      write(folder + "cpuinfo_min_freq", std::to_string(least));
      write(folder + "cpuinfo_max_freq", std::to_string(most));
      write(folder + "scaling_max_freq", std::to_string(most));
    }
  }

  /// Two performance cores of two threads each (0-3) and four efficiency cores (4-7).
  void hybrid() const {
    online("0-7");
    allow("0-7", "0");
    for (int number = 0; number < 8; ++number)
      cpu(number, 0, number < 2 ? "0-1" : number < 4 ? "2-3" : std::to_string(number), "0-7", "24576K");
    write("sys/devices/cpu_core/cpus", "0-3");
    write("sys/devices/cpu_atom/cpus", "4-7");
  }
  /// Four cores of two threads, which Linux numbers 0-3 and 4-7.
  void threaded() const {
    online("0-7");
    allow("0-7", "0");
    for (int number = 0; number < 8; ++number)
      cpu(number, 0, fmt::format("{},{}", number % 4, number % 4 + 4), "0-7", "16M");
  }
  /// Two packages of four cores, each with a last-level cache and a memory node of its own.
  void twoSockets() const {
    online("0-7");
    allow("0-7", "0-1");
    for (int number = 0; number < 8; ++number)
      cpu(number, number / 4, std::to_string(number), number < 4 ? "0-3" : "4-7", "32768K");
    write("sys/devices/system/node/online", "0-1");
    write("sys/devices/system/node/has_memory", "0-1");
    node(0, "0-3");
    node(1, "4-7");
  }
  /// The machine `twoSockets` in a container that may use four of its CPUs and one of its nodes.
  void container() const {
    twoSockets();
    allow("2-5", "0");
  }
  /// A processor whose L3 has 11 ways that resctrl can give away, on two packages.
  void resctrl() const {
    write("sys/fs/resctrl/info/L3/cbm_mask", "7ff");
    write("sys/fs/resctrl/info/L3/min_cbm_bits", "1");
    write("sys/fs/resctrl/schemata", "    MB:0=100;1=100\n    L3:0=7ff;1=7ff");
    write("sys/fs/resctrl/tasks", "1");
  }
};

} // namespace lathe
