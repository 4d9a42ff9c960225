// The machine code is made for.
#pragma once

#include "machine/MachineFacts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lathe {

struct Target {
  std::string triple;                // "x86_64-unknown-linux-gnu"
  std::string cpu;                   // LLVM's name: "znver5", "x86-64-v3"
  std::vector<std::string> features; // LLVM's names, present ones only, sorted: "avx512f"
  uint64_t featureBits = 0;          // package::CpuFeature bits of `features` and the architecture
  unsigned vectorBits = 128;         // widest register the generator uses
  unsigned vectorRegisters = 16;     // of that width
  bool chosenVectorBits = false;     // not the CPU's own: wider ones LLVM splits, and 512 bits are for tests
  MachineFacts machine;              // what priors plan with besides registers

  bool has(const std::string &feature) const;
  /// Elements of `bits` each that fill one vector register.
  unsigned lanes(unsigned bits = 32) const { return vectorBits / bits; }
  /// Channels in one block of the blocked layout: the fp32 lanes of this target.
  unsigned channelBlock() const { return lanes(32); }
  /// Multiply-add instructions of this target's vectors that begin in one cycle.
  double fmaPerCycle() const;
  /// "x86_64 znver5"
  std::string str() const;
  /// Key for caches and tuning records: architecture, CPU, features, cache sizes and sharing; no rates.
  std::string key() const;

  /// "native", an LLVM CPU name ("x86-64-v3", "znver4"), a triple with options ("aarch64-linux-gnu,cpu=cortex-a76"), or
  /// TVM's spelling ("llvm -mcpu=core-avx2 -mattr=+avx512f -mtriple=..."). "vector-width=BITS" (128, 256, 512) makes
  /// the generator use other vectors than the CPU's widest: code laid out for AVX-512 can be run without it. "machine"
  /// stands for the CPU and features of `given`. Throws Error listing what was expected.
  ///
  /// Facts are those of `given` (of --machine), which must be of the same architecture. Without it a native target has
  /// this machine's own (machine/System.h), any other those of the table for its CPU.
  static Target parse(const std::string &text, const MachineFacts *given = nullptr);
};

} // namespace lathe
