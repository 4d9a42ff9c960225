// Writes packages (format: package/Package.h).
//
//   Constants constants;
//   plan::ProgramT program;                       // filled by the plan builder (package/plan.fbs, object API)
//   value->storage = plan::Storage::Constant;
//   value->offset = constants.add(std::move(bytes));
//   value->bytes = std::to_string(byteCount);
//   writePackage("model.lathe", program, constants, {CodeSection{"x86_64 znver4", features, image, entries}});
//
// The writer asserts what the reader checks, so that a broken plan builder fails early: every code
// section has one entry per kernel of the program, and each entry is inside its image.
#pragma once

#include "package/Package.h"
#include "package/plan_generated.h"

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace lathe::package {

/// Builds the constants section of a package. Equal contents are stored once.
class Constants {
public:
  /// Adds the bytes of a constant and returns their offset in the section, a multiple of constantAlignment. Padding is
  /// zero.
  uint64_t add(std::vector<char> bytes);
  /// Adds the elements of a string tensor: each is a 32-bit length and its bytes. `byteCount` receives the value for
  /// Value.bytes.
  uint64_t addStrings(std::span<const std::string> elements, uint64_t &byteCount);

  uint64_t bytes() const { return end; }
  struct Chunk {
    uint64_t offset;
    std::vector<char> bytes;
  };
  std::span<const Chunk> chunks() const { return stored; }

private:
  std::vector<Chunk> stored; // stored contents, in the order of their offsets
  std::unordered_multimap<uint64_t, size_t> byHash;
  uint64_t end = 0;
};

/// Machine code of all kernels of the program for one target.
struct CodeSection {
  std::string target;    // name of the target, "x86_64 znver4"; at most 87 bytes
  uint64_t features = 0; // CpuFeature bits that the CPU must have, including the architecture
  // machine code: position-independent, imports nothing; placed at a multiple of 4096 bytes
  std::vector<char> image;
  std::vector<uint64_t> entries; // offset of each kernel in `image`, in the order of plans, then of Plan.kernels
};

/// Alignment of machine code inside its section, in bytes; page-relative addressing (AArch64 ADRP) relies on it.
inline constexpr uint64_t imageAlignment = 4096;

/// Writes a package to `path` as a PendingFile, so that a reader sees the old file or the new one. Returns the size in
/// bytes. If that fails, throws Error ("model.lathe: cannot write: No space left on device") and leaves no file
/// behind. `code` may be empty for a program without kernels, which runs on references only.
uint64_t writePackage(const std::string &path, const plan::ProgramT &program, const Constants &constants,
                      std::span<const CodeSection> code);

/// Returns the bytes of the package that writePackage would write.
std::vector<char> packageBytes(const plan::ProgramT &program, const Constants &constants,
                               std::span<const CodeSection> code);

} // namespace lathe::package
