#include "codegen/testing/KernelEmulation.h"

#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace lathe {
namespace {

/// A file that is removed at the end.
class TemporaryFile {
public:
  TemporaryFile() {
    int descriptor = ::mkstemp(path.data());
    require(descriptor >= 0, "{}: cannot create: {}", path, std::strerror(errno));
    file = ::fdopen(descriptor, "w+b");
  }
  ~TemporaryFile() {
    std::fclose(file);
    ::unlink(path.c_str());
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  void put(const void *data, size_t bytes) {
    require(std::fwrite(data, 1, bytes, file) == bytes, "{}: cannot write", path);
  }
  void put(int64_t word) { put(&word, sizeof word); }

  std::string path = "/tmp/lathe-emulated-XXXXXX";
  std::FILE *file = nullptr;
};

llvm::Triple::ArchType hostArchitecture() { return llvm::Triple(llvm::sys::getProcessTriple()).getArch(); }

} // namespace

std::string testTargetName() {
  const char *given = std::getenv("LATHE_TEST_TARGET");
  return given && *given ? given : "native";
}

Target testTarget() { return Target::parse(testTargetName()); }

bool needsEmulator(const Target &target) { return llvm::Triple(target.triple).getArch() != hostArchitecture(); }

void runEmulated(const CodeImage &image, const Target &target, std::span<GuardedBuffer> memory,
                 const std::vector<int64_t> &dims, const std::vector<std::pair<int64_t, int64_t>> &slots,
                 int64_t scratchBytes) {
  require(llvm::Triple(target.triple).getArch() == llvm::Triple::aarch64, "no emulator for {}", target.str());
  TemporaryFile job, result;
  for (size_t word : {image.bytes.size(), size_t(image.entries.at(0)), memory.size(), dims.size(), slots.size(),
                      size_t(scratchBytes)})
    job.put(int64_t(word));
  job.put(image.bytes.data(), image.bytes.size());
  for (GuardedBuffer &buffer : memory) {
    job.put(int64_t(buffer.bytes()));
    job.put(int64_t(buffer.aligned()));
    job.put(buffer.data(), buffer.bytes());
  }
  job.put(dims.data(), dims.size() * sizeof(int64_t));
  for (auto [begin, end] : slots) {
    job.put(begin);
    job.put(end);
  }
  std::fflush(job.file);
  std::string command = fmt::format("qemu-aarch64 -cpu {} {} < {} > {}", target.cpu == "generic" ? "max" : target.cpu,
                                    LATHE_EMULATED_CALL, job.path, result.path);
  int status = std::system(command.c_str());
  require(status == 0, "'{}' fails with status {:#x}", command, status);
  for (GuardedBuffer &buffer : memory)
    require(std::fread(buffer.data(), 1, buffer.bytes(), result.file) == buffer.bytes(), "{}: too short", result.path);
}

} // namespace lathe
