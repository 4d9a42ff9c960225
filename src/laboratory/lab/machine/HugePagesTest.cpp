#include "lab/providers/HugePages.h"

#include "runtime/Tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sys/mman.h>

using namespace lathe;
using namespace lathe::lab;

/// KiB of huge pages in the mapping that contains `address`.
static int64_t hugeKib(const void *address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    long long kib = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      inside = uintptr_t(address) >= begin && uintptr_t(address) < end;
    else if (inside && std::sscanf(line.c_str(), "AnonHugePages: %lld kB", &kib) == 1)
      return kib;
  }
  return 0;
}

/// Why huge pages may be missing, or "".
static std::string withoutHugePages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string modes;
  std::getline(file, modes);
  if (modes.find("[madvise]") == std::string::npos && modes.find("[always]") == std::string::npos)
    return "this system has no transparent huge pages: '" + modes + "'";
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return "the sanitizer brings its own malloc";
#endif
  return "";
}

TEST(HugePages, operandsLieInThem) {
  allocateInHugePages();
  std::vector<Tensor> operands;
  for (int64_t elements : {1 << 10, 100000, 3 << 20}) {
    operands.emplace_back(ElementType::f32, std::vector<int64_t>{elements});
    EXPECT_EQ(uintptr_t(operands.back().data()) % 64, 0u);
    std::memset(operands.back().data(), 1, size_t(operands.back().bytes()));
  }
  EXPECT_EQ(operands[2].as<char>()[operands[2].bytes() - 1], 1);
  if (std::string reason = withoutHugePages(); !reason.empty())
    GTEST_SKIP() << reason;
  int64_t kib = hugeKib(operands[2].data());
  if (kib == 0)
    GTEST_SKIP() << "the system had no huge page left";
  EXPECT_GE(kib, 12 << 10);
  EXPECT_LT(operands[0].as<char>(), operands[2].as<char>()); // one region, filled from its beginning
  EXPECT_LT(operands[2].as<char>() - operands[0].as<char>(), 4 << 20);
}

TEST(HugePages, whatALibraryMapsKeepsItsContent) {
  constexpr size_t bytes = 8 << 20;
  auto *memory =
      static_cast<char *>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  for (size_t i = 0; i < bytes; i += 4096)
    memory[i] = char(i >> 12);
  collapseMappings();
  for (size_t i = 0; i < bytes; i += 4096)
    ASSERT_EQ(memory[i], char(i >> 12));
  ::munmap(memory, bytes);
}
