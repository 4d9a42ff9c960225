#include "lab/resources/Placement.h"

#include "support/Error.h"

#include <cerrno>
#include <cstring>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lathe::lab {
namespace {

constexpr size_t bitsPerWord = 8 * sizeof(unsigned long);
constexpr size_t mostCpus = 8192, mostNodes = 1024; // of Linux on any machine

std::vector<unsigned long> bitsOf(const NumberList &numbers, size_t most) {
  std::vector<unsigned long> words(most / bitsPerWord, 0);
  for (int number : numbers)
    words.at(size_t(number) / bitsPerWord) |= 1UL << (size_t(number) % bitsPerWord);
  return words;
}

NumberList numbersOf(const std::vector<unsigned long> &words) {
  NumberList numbers;
  for (size_t i = 0; i < words.size() * bitsPerWord; ++i)
    if (words[i / bitsPerWord] >> (i % bitsPerWord) & 1)
      numbers.push_back(int(i));
  return numbers;
}

bool bindCpus(const NumberList &cpus) {
  std::vector<unsigned long> words = bitsOf(cpus, mostCpus);
  return ::syscall(SYS_sched_setaffinity, 0, words.size() * sizeof words[0], words.data()) == 0;
}

MemoryNode::Policy policy() {
  MemoryNode::Policy policy;
  policy.nodes.assign(mostNodes / bitsPerWord, 0);
  require(::syscall(SYS_get_mempolicy, &policy.mode, policy.nodes.data(), mostNodes, nullptr, 0) == 0,
          "the system does not tell the memory policy: {}", std::strerror(errno));
  return policy;
}

bool setPolicy(const MemoryNode::Policy &policy) {
  bool bound = policy.mode != MPOL_DEFAULT;
  return ::syscall(SYS_set_mempolicy, policy.mode, bound ? policy.nodes.data() : nullptr,
                   bound ? mostNodes : size_t(0)) == 0;
}

} // namespace

NumberList CpuAffinity::read() {
  std::vector<unsigned long> words(mostCpus / bitsPerWord, 0);
  require(::syscall(SYS_sched_getaffinity, 0, words.size() * sizeof words[0], words.data()) > 0,
          "the system does not tell the CPUs of this process: {}", std::strerror(errno));
  return numbersOf(words);
}

CpuAffinity::CpuAffinity(const NumberList &cpus) : before(read()) {
  require(bindCpus(cpus), "the system does not bind this process to the CPUs {}: {}", numberListText(cpus),
          std::strerror(errno));
  if (NumberList now = read(); now != cpus) {
    bindCpus(before);
    fail("the CPUs {} of this process read back as {}", numberListText(cpus), numberListText(now));
  }
}

CpuAffinity::~CpuAffinity() { bindCpus(before); }

NumberList MemoryNode::read() {
  Policy now = policy();
  return now.mode == MPOL_BIND ? numbersOf(now.nodes) : NumberList();
}

MemoryNode::MemoryNode(int node) : before(policy()) {
  require(setPolicy({MPOL_BIND, bitsOf({node}, mostNodes)}), "the system does not bind memory to node {}: {}", node,
          std::strerror(errno));
  if (NumberList now = read(); now != NumberList{node}) {
    setPolicy(before);
    fail("the memory node {} reads back as '{}'", node, numberListText(now));
  }
}

MemoryNode::~MemoryNode() { setPolicy(before); }

} // namespace lathe::lab
