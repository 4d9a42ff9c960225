// The CPUs, caches and memory nodes of a machine, as Linux lists them below /sys and /proc, and selections of its CPUs.
#pragma once

#include "machine/NumberList.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

/// Folder below which sys/ and proc/ are read and written: "" for this machine. Tests set $LATHE_SYSTEM_ROOT to a
/// recorded tree.
std::string systemRoot();

/// The kind of a CPU's core on a machine with several kinds. On Arm machines with three kinds, the middle one is
/// `between`.
enum class CoreKind { only, performance, efficiency, between };

/// A CPU as the kernel counts them: a hardware thread.
struct LogicalCpu {
  int number = 0, package = 0;
  std::optional<int> node; // memory node; empty: the kernel states none
  CoreKind kind = CoreKind::only;
  NumberList siblings;        // CPUs of the same core, this one included
  NumberList cacheCpus;       // CPUs that share the last-level cache, this one included; empty: unknown
  int64_t cacheBytes = 0;     // size of the last-level cache; 0: unknown
  std::string cacheName = {}; // name of the last-level cache, "L3"
};

struct Topology {
  std::string root;                     // folder from which the topology was read
  std::vector<LogicalCpu> cpus;         // online CPUs, in ascending order; empty: the system lists none
  std::map<int, NumberList> nodes;      // CPUs of every node that has memory; empty: a kernel without memory nodes
  NumberList allowedCpus, allowedNodes; // CPUs and memory nodes that this process may use

  const LogicalCpu *find(int number) const; // the online CPU with this number; null: there is none
};

/// Reads the topology of the machine whose files are below `root`. What the calling thread may use is read from
/// proc/thread-self/status.
Topology readTopology(const std::string &root = systemRoot());

/// Returns the CPUs that `text` selects among those that this process may use. A CPU is selected if it meets all parts
/// of the text, which are joined by +:
///
///   0-3,8          these CPUs
///   performance    CPUs of the kind of core with the highest performance
///   efficiency     CPUs of the kind of core with the lowest performance
///   one-per-core   the first CPU of every core, so that no two share a core
///   node:N         CPUs of the memory node N
///   package:N      CPUs of the package (socket) N
///
/// Throws Error, which begins with "--cpus TEXT: ", if the machine has no such CPUs or the process may not use them.
NumberList selectCpus(const Topology &machine, const std::string &text);

} // namespace lathe
