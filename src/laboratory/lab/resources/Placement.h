// Where a thread and its memory are: CPUs and memory node. Threads and processes that the thread starts inherit both.
#pragma once

#include "machine/NumberList.h"

#include <vector>

namespace lathe::lab {

/// Binds the calling thread to CPUs while the object lives. Construction and destruction are on the same thread. Throws
/// Error if the system refuses.
class CpuAffinity {
public:
  explicit CpuAffinity(const NumberList &cpus);
  ~CpuAffinity();
  CpuAffinity(const CpuAffinity &) = delete;
  CpuAffinity &operator=(const CpuAffinity &) = delete;

  /// The CPUs on which the calling thread may run, as the kernel states them.
  static NumberList read();

private:
  NumberList before;
};

/// Binds the memory that the calling thread touches first to one memory node, while the object lives: pages come from
/// that node alone. Pages of files that are in the page cache already stay where they are. Throws Error if the system
/// refuses.
class MemoryNode {
public:
  explicit MemoryNode(int node);
  ~MemoryNode();
  MemoryNode(const MemoryNode &) = delete;
  MemoryNode &operator=(const MemoryNode &) = delete;

  struct Policy {
    int mode = 0;
    std::vector<unsigned long> nodes; // bits
  };
  /// The nodes to which the calling thread's memory is bound, as the kernel states them; empty: not bound.
  static NumberList read();

private:
  Policy before;
};

} // namespace lathe::lab
