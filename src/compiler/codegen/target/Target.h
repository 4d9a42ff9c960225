// The target of code generation: architecture, CPU and its features.
#pragma once

#include "machine/MachineFacts.h"
#include "package/DeviceKind.h"
#include "support/ElementType.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lathe {

struct Target {
  std::string triple;                // "x86_64-unknown-linux-gnu"
  std::string cpu;                   // LLVM's name: "znver5", "x86-64-v3"
  std::vector<std::string> features; // LLVM's names of present features, sorted: "avx512f"
  uint64_t featureBits = 0;          // package::CpuFeature bits of `features` and the architecture
  unsigned vectorBits = 128;         // widest register the generator uses
  unsigned vectorRegisters = 16;     // number of registers of that width
  bool chosenVectorBits =
      false; // vectorBits was chosen by "vector-width" and may differ from the CPU's; LLVM splits wider vectors
  MachineFacts machine; // facts for the hand-written rules: caches and rates
  DeviceKind device = DeviceKind::host;

  bool has(const std::string &feature) const;
  /// Number of elements of `bits` bits in one vector register.
  unsigned lanes(unsigned bits = 32) const { return vectorBits / bits; }
  /// Returns the element types for which kernels support values with blocked channels; values of other types stay
  /// row-major.
  static std::span<const ElementType> blockedTypes();
  /// Returns the number of channels in a block, for values of a type in blockedTypes(). For f32: the lanes of one
  /// vector.
  unsigned channelBlock(ElementType type = ElementType::f32) const;
  /// Returns the number of vector multiply-add instructions that start per cycle.
  double fmaPerCycle() const;
  /// Returns the architecture and the CPU as text: "x86_64 znver5".
  std::string str() const;
  /// Returns the part that the target has in the keys of caches and tuning records: architecture, CPU, features, sizes
  /// and sharing of caches. Rates are not part of it.
  std::string key() const;

  /// Parses a target: "native", an LLVM CPU name ("x86-64-v3", "znver4"), a triple with options
  /// ("aarch64-linux-gnu,cpu=cortex-a76"), or TVM's form ("llvm -mcpu=core-avx2 -mattr=+avx512f -mtriple=...").
  /// "vector-width=BITS" (128, 256, 512) selects other vectors than the widest of the CPU, so that code laid out for
  /// AVX-512 runs without it. "machine" means the CPU and features of `given`. Throws Error with the valid forms.
  ///
  /// `given` has the facts from --machine and must have the same architecture. Without `given`, a native target has
  /// the facts of this machine (machine/System.h). Any other target has the facts that the table of machines lists for
  /// its CPU.
  static Target parse(const std::string &text, const MachineFacts *given = nullptr);
};

} // namespace lathe
