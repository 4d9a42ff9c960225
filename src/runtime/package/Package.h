// The file format `model.lathe`, for its writer (package/Writer.h) and its reader (runtime/).
//
//   Header                       64 bytes
//   Section table                Header::sectionCount x Section
//   sections, each page-aligned  plan (flatbuffer, plan.fbs), constants, code per target
//
// Little-endian. Sections are in the order of the table, padded with zeros to the next alignment, and
// nothing follows the last section. The header's hash covers header, section table, plan and code and is
// always checked when a package is loaded. The hash of the constants is checked, too, unless the
// caller declines it, because that reads the whole file. So every byte is checked. The hashes find
// damage, not malice: a package holds native code, and loading one means trusting it.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace lathe::package {

inline constexpr char magic[8] = {'L', 'A', 'T', 'H', 'E', 'P', 'K', 'G'};
/// Version of the format. Versions added: 2: aliases with an offset, 3: rules, 4: facts of machines and element ranges,
/// 5: costs of image loops, 6: rules of bodies, 7: element ranges of indices, 8: outputs that grow in place, 9: places,
/// waits, devices and memory spaces, and a hash that covers the header.
inline constexpr uint32_t formatVersion = 9;
inline constexpr uint32_t oldestFormat = 8;         // oldest version of the format that the loader reads
inline constexpr uint64_t sectionAlignment = 16384; // a multiple of the page size of every supported machine
inline constexpr uint64_t constantAlignment = 64;

struct Header {
  char magic[8];
  uint32_t formatVersion;
  uint32_t kernelAbi; // LATHE_KERNEL_ABI for which the code was compiled
  uint64_t fileBytes;
  /// XXH3-64 of the header with a hash of 0 (from format 9 on), the section table, the plan and every code section.
  uint64_t hash;
  uint32_t sectionCount;
  uint32_t reserved[7];
};
static_assert(sizeof(Header) == 64 && std::is_trivially_copyable_v<Header>);

enum class SectionKind : uint32_t { plan = 1, constants = 2, code = 3 };

struct Section {
  SectionKind kind;
  uint32_t flags;  // reserved, 0
  uint64_t offset; // first byte of the section in the file, a multiple of sectionAlignment
  uint64_t bytes;
  uint64_t hash;     // XXH3-64 of the bytes of the section
  uint64_t features; // code sections: bits of CpuFeature that the CPU must have; all other sections: 0
  char target[88];   // code sections: the target as text, "x86_64 znver4", zero-terminated; all other sections: empty
};
static_assert(sizeof(Section) == 128 && std::is_trivially_copyable_v<Section>);

/// Beginning of a code section. An entry offset (uint64_t, from the start of the section) for each kernel follows, in
/// order of plan and kernel, then position-independent code with its read-only data. The code imports nothing and
/// needs no relocation; it is mapped in place, readable and executable.
struct CodePrefix {
  uint32_t kernelCount;
  uint32_t reserved;
};

/// CPU features that the code in a package may require, with the number of their bit. Names are LLVM's ("avx512f");
/// the architecture is a feature, too. Append only: packages store the numbers.
// clang-format off: a feature a line
#define LATHE_CPU_FEATURES(X)                                                                                          \
  X(0, x86_64, "x86_64")                                                                                               \
  X(1, avx, "avx")                                                                                                     \
  X(2, avx2, "avx2")                                                                                                   \
  X(3, fma, "fma")                                                                                                     \
  X(4, f16c, "f16c")                                                                                                   \
  X(5, bmi2, "bmi2")                                                                                                   \
  X(6, avx512f, "avx512f")                                                                                             \
  X(7, avx512bw, "avx512bw")                                                                                           \
  X(8, avx512dq, "avx512dq")                                                                                           \
  X(9, avx512vl, "avx512vl")                                                                                           \
  X(10, avx512cd, "avx512cd")                                                                                          \
  X(11, avx512vnni, "avx512vnni")                                                                                      \
  X(12, avx512bf16, "avx512bf16")                                                                                      \
  X(13, avxvnni, "avxvnni")                                                                                            \
  X(14, sse42, "sse4.2")                                                                                               \
  X(15, bmi, "bmi")                                                                                                    \
  X(16, lzcnt, "lzcnt")                                                                                                \
  X(17, movbe, "movbe")                                                                                                \
  X(18, popcnt, "popcnt")                                                                                              \
  X(19, avx512ifma, "avx512ifma")                                                                                      \
  X(20, avx512vbmi, "avx512vbmi")                                                                                      \
  X(21, avx512vbmi2, "avx512vbmi2")                                                                                    \
  X(22, avx512bitalg, "avx512bitalg")                                                                                  \
  X(23, avx512vpopcntdq, "avx512vpopcntdq")                                                                            \
  X(24, gfni, "gfni")                                                                                                  \
  X(25, vaes, "vaes")                                                                                                  \
  X(26, vpclmulqdq, "vpclmulqdq")                                                                                      \
  X(27, amxtile, "amx-tile")                                                                                           \
  X(28, amxint8, "amx-int8")                                                                                           \
  X(29, amxbf16, "amx-bf16")                                                                                           \
  X(30, avx512fp16, "avx512fp16")                                                                                      \
  X(31, avx512vp2intersect, "avx512vp2intersect")                                                                      \
  X(40, aarch64, "aarch64")                                                                                            \
  X(41, neon, "neon")                                                                                                  \
  X(42, dotprod, "dotprod")                                                                                            \
  X(43, i8mm, "i8mm")                                                                                                  \
  X(44, bf16, "bf16")                                                                                                  \
  X(45, fullfp16, "fullfp16")                                                                                          \
  X(46, sve, "sve")                                                                                                    \
  X(47, sve2, "sve2")                                                                                                  \
  X(56, riscv64, "riscv64")                                                                                            \
  X(57, rvv, "v")
// clang-format on

enum class CpuFeature : uint32_t {
#define X(bit, id, text) id = bit,
  LATHE_CPU_FEATURES(X)
#undef X
};

inline uint64_t featureBit(CpuFeature feature) { return uint64_t(1) << static_cast<uint32_t>(feature); }
/// Names of the CPU features in `bits` for messages: "avx2 fma ...".
std::string featureNames(uint64_t bits);
/// Bits of the CPU features with the given LLVM names. Unknown names are ignored.
uint64_t featureBits(const std::vector<std::string> &llvmNames);

} // namespace lathe::package
