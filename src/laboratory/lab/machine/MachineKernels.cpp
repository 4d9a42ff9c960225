#include "lab/machine/MachineKernels.h"

#include <cstring>
#include <string_view>

namespace lathe::lab {

// Repeats a macro for consecutive register numbers.
#define TIMES_8_TO_15(M) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)
#define TIMES_4_TO_15(M) M(4) M(5) M(6) M(7) TIMES_8_TO_15(M)
#define TIMES_16_TO_31(M)                                                                                              \
  M(16) M(17) M(18) M(19) M(20) M(21) M(22) M(23) M(24) M(25) M(26) M(27) M(28) M(29) M(30) M(31)
#define TIMES_8_TO_31(M) TIMES_8_TO_15(M) TIMES_16_TO_31(M)
#define TIMES_0_TO_15(M) M(0) M(1) M(2) M(3) TIMES_4_TO_15(M)

#if defined(__x86_64__)

#define CLOBBER_YMM                                                                                                    \
  "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9", "ymm10", "ymm11", "ymm12", "ymm13",  \
      "ymm14", "ymm15"
#define CLOBBER_ZMM                                                                                                    \
  "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8", "zmm9", "zmm10", "zmm11", "zmm12", "zmm13",  \
      "zmm14", "zmm15", "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", "zmm23", "zmm24", "zmm25",      \
      "zmm26", "zmm27", "zmm28", "zmm29", "zmm30", "zmm31"
#define ZERO_ZMM(n) "vpxord %%zmm" #n ", %%zmm" #n ", %%zmm" #n "\n\t"
#define ZERO_YMM(n) "vpxor %%ymm" #n ", %%ymm" #n ", %%ymm" #n "\n\t"
#define LOOP_BEGIN ".p2align 6\n1:\n\t"
#define LOOP_END "dec %0\n\tjnz 1b\n\tvzeroupper"

// The multiplicands are normal numbers in all of the types (0x3f003f00: 0.50, two 0.5 in bf16, small bytes).
static const uint32_t multiplicand = 0x3f003f00;

// Twelve independent accumulators would be enough (latency 4 to 6, two a cycle); the registers allow 24.
#define ARITHMETIC_ZMM(NAME, TARGETS, STEP)                                                                            \
  __attribute__((target(TARGETS), noinline)) static void NAME(int64_t iterations) {                                    \
    asm volatile("vpbroadcastd %1, %%zmm0\n\tvpbroadcastd %1, %%zmm1\n\t" TIMES_8_TO_31(ZERO_ZMM)                      \
                     LOOP_BEGIN TIMES_8_TO_31(STEP) LOOP_END                                                           \
                 : "+r"(iterations)                                                                                    \
                 : "m"(multiplicand)                                                                                   \
                 : CLOBBER_ZMM, "cc");                                                                                 \
  }
#define ARITHMETIC_YMM(NAME, TARGETS, STEP)                                                                            \
  __attribute__((target(TARGETS), noinline)) static void NAME(int64_t iterations) {                                    \
    asm volatile("vpbroadcastd %1, %%ymm0\n\tvpbroadcastd %1, %%ymm1\n\t" TIMES_4_TO_15(ZERO_YMM)                      \
                     LOOP_BEGIN TIMES_4_TO_15(STEP) LOOP_END                                                           \
                 : "+r"(iterations)                                                                                    \
                 : "m"(multiplicand)                                                                                   \
                 : CLOBBER_YMM, "cc");                                                                                 \
  }

#define FMA_PS_ZMM(n) "vfmadd231ps %%zmm0, %%zmm1, %%zmm" #n "\n\t"
#define FMA_PD_ZMM(n) "vfmadd231pd %%zmm0, %%zmm1, %%zmm" #n "\n\t"
#define DOT_BYTES_ZMM(n) "vpdpbusd %%zmm0, %%zmm1, %%zmm" #n "\n\t"
#define DOT_BF16_ZMM(n) "vdpbf16ps %%zmm0, %%zmm1, %%zmm" #n "\n\t"
#define FMA_PS_YMM(n) "vfmadd231ps %%ymm0, %%ymm1, %%ymm" #n "\n\t"
#define FMA_PD_YMM(n) "vfmadd231pd %%ymm0, %%ymm1, %%ymm" #n "\n\t"
#define DOT_BYTES_YMM(n) "%{vex%} vpdpbusd %%ymm0, %%ymm1, %%ymm" #n "\n\t"
// Without dot-product instructions bytes are widened and multiplied in pairs. vpmaddubsw multiplies four, but saturates
// at 16 bits, so its sums may differ from the exact sums.
#define MADD_PAIRS_ZMM(n) "vpmaddwd %%zmm0, %%zmm1, %%zmm2\n\tvpaddd %%zmm2, %%zmm" #n ", %%zmm" #n "\n\t"
#define MADD_PAIRS_YMM(n) "vpmaddwd %%ymm0, %%ymm1, %%ymm2\n\tvpaddd %%ymm2, %%ymm" #n ", %%ymm" #n "\n\t"

ARITHMETIC_ZMM(fmaPsZmm, "avx512f", FMA_PS_ZMM)
ARITHMETIC_ZMM(fmaPdZmm, "avx512f", FMA_PD_ZMM)
ARITHMETIC_ZMM(dotBytesZmm, "avx512f,avx512vnni", DOT_BYTES_ZMM)
ARITHMETIC_ZMM(dotBf16Zmm, "avx512f,avx512bf16", DOT_BF16_ZMM)
ARITHMETIC_YMM(fmaPsYmm, "avx2,fma", FMA_PS_YMM)
ARITHMETIC_YMM(fmaPdYmm, "avx2,fma", FMA_PD_YMM)
ARITHMETIC_YMM(dotBytesYmm, "avx2,avxvnni", DOT_BYTES_YMM)
ARITHMETIC_ZMM(maddPairsZmm, "avx512f,avx512bw", MADD_PAIRS_ZMM)
ARITHMETIC_YMM(maddPairsYmm, "avx2", MADD_PAIRS_YMM)

// All tile registers have 16 rows of 64 bytes: four sums, each of one pair of operands.
#define ARITHMETIC_TILES(NAME, PRODUCT)                                                                                \
  __attribute__((noinline)) static void NAME(int64_t iterations) {                                                     \
    alignas(64) uint8_t config[64] = {1}; /* palette */                                                                \
    alignas(64) static uint32_t operands[16 * 16];                                                                     \
    for (int tile = 0; tile < 8; ++tile) {                                                                             \
      config[16 + 2 * tile] = 64;                                                                                      \
      config[48 + tile] = 16;                                                                                          \
    }                                                                                                                  \
    for (uint32_t &group : operands)                                                                                   \
      group = multiplicand;                                                                                            \
    asm volatile("ldtilecfg %1\n\t"                                                                                    \
                 "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3\n\t"                        \
                 "tileloadd (%2,%3,1), %%tmm4\n\ttileloadd (%2,%3,1), %%tmm5\n\t"                                      \
                 "tileloadd (%2,%3,1), %%tmm6\n\ttileloadd (%2,%3,1), %%tmm7\n\t"                                      \
                 ".p2align 6\n1:\n\t" PRODUCT " %%tmm6, %%tmm4, %%tmm0\n\t" PRODUCT                                    \
                 " %%tmm7, %%tmm4, %%tmm1\n\t" PRODUCT " %%tmm6, %%tmm5, %%tmm2\n\t" PRODUCT                           \
                 " %%tmm7, %%tmm5, %%tmm3\n\t"                                                                         \
                 "dec %0\n\tjnz 1b\n\ttilerelease"                                                                     \
                 : "+r"(iterations)                                                                                    \
                 : "m"(config), "r"(operands), "r"(int64_t(64))                                                        \
                 : "memory", "cc");                                                                                    \
  }
ARITHMETIC_TILES(dotBf16Tiles, "tdpbf16ps")
ARITHMETIC_TILES(dotBytesTiles, "tdpbusd")

// Baseline x86-64: separate multiply and add.
__attribute__((noinline)) static void mulAddXmm(int64_t iterations) {
  asm volatile("movd %1, %%xmm0\n\tpshufd $0, %%xmm0, %%xmm0\n\t"
               "1:\n\t"
#define MUL_ADD_XMM(n) "movaps %%xmm0, %%xmm1\n\tmulps %%xmm0, %%xmm1\n\taddps %%xmm1, %%xmm" #n "\n\t"
               TIMES_4_TO_15(MUL_ADD_XMM) "dec %0\n\tjnz 1b"
               : "+r"(iterations)
               : "m"(multiplicand)
               : "xmm0", "xmm1", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                 "xmm14", "xmm15", "cc");
}

std::span<const ArithmeticKernel> arithmeticKernels() {
  // Operations per instruction: lanes * products per lane * 2; 24 (zmm) or 12 instructions per iteration.
  static const ArithmeticKernel kernels[] = {
      {ElementType::f32, "vfmadd231ps zmm", "avx512f", 24 * 16 * 2, fmaPsZmm},
      {ElementType::f32, "vfmadd231ps ymm", "fma", 12 * 8 * 2, fmaPsYmm},
      {ElementType::f32, "mulps, addps xmm", "", 12 * 4 * 2, mulAddXmm},
      {ElementType::f64, "vfmadd231pd zmm", "avx512f", 24 * 8 * 2, fmaPdZmm},
      {ElementType::f64, "vfmadd231pd ymm", "fma", 12 * 4 * 2, fmaPdYmm},
      {ElementType::bf16, "tdpbf16ps", "amx-bf16", 4 * 16 * 16 * 32 * 2, dotBf16Tiles},
      {ElementType::bf16, "vdpbf16ps zmm", "avx512bf16", 24 * 16 * 2 * 2, dotBf16Zmm},
      {ElementType::i8, "tdpbusd", "amx-int8", 4 * 16 * 16 * 64 * 2, dotBytesTiles},
      {ElementType::i8, "vpdpbusd zmm", "avx512vnni", 24 * 16 * 4 * 2, dotBytesZmm},
      {ElementType::i8, "vpdpbusd ymm", "avxvnni", 12 * 8 * 4 * 2, dotBytesYmm},
      {ElementType::i8, "vpmaddwd, vpaddd zmm", "avx512bw", 24 * 16 * 2 * 2, maddPairsZmm},
      {ElementType::i8, "vpmaddwd, vpaddd ymm", "avx2", 12 * 8 * 2 * 2, maddPairsYmm},
  };
  return kernels;
}

// Streams: 1 KiB (zmm) or 512 bytes (ymm) per round. The data is not zero, because Zen 5 writes lines of zeros to
// memory at twice the normal rate.
#define FIRST_ZMM "%%zmm0"
#define FIRST_YMM "%%ymm0"
#define LOAD_ZMM(n) "vmovaps " #n "*64(%0), %%zmm" #n "\n\t"
#define STORE_ZMM(n) "vmovaps %%zmm0, " #n "*64(%0)\n\t"
#define STORE_AROUND_ZMM(n) "vmovntps %%zmm0, " #n "*64(%0)\n\t"
#define MOVE_IN_ZMM(n) "vmovaps " #n "*64(%1), %%zmm" #n "\n\t"
#define MOVE_OUT_ZMM(n) "vmovaps %%zmm" #n ", " #n "*64(%0)\n\t"
#define MOVE_AROUND_ZMM(n) "vmovntps %%zmm" #n ", " #n "*64(%0)\n\t"
#define LOAD_YMM(n) "vmovaps " #n "*32(%0), %%ymm" #n "\n\t"
#define STORE_YMM(n) "vmovaps %%ymm0, " #n "*32(%0)\n\t"
#define STORE_AROUND_YMM(n) "vmovntps %%ymm0, " #n "*32(%0)\n\t"
#define MOVE_IN_YMM(n) "vmovaps " #n "*32(%1), %%ymm" #n "\n\t"
#define MOVE_OUT_YMM(n) "vmovaps %%ymm" #n ", " #n "*32(%0)\n\t"
#define MOVE_AROUND_YMM(n) "vmovntps %%ymm" #n ", " #n "*32(%0)\n\t"

#define READS(NAME, TARGETS, STEP, SUFFIX)                                                                             \
  __attribute__((target(TARGETS), noinline)) static void NAME(const void *from, size_t bytes) {                        \
    asm volatile(LOOP_BEGIN TIMES_0_TO_15(LOAD_##SUFFIX) "add $" #STEP ", %0\n\tsub $" #STEP                           \
                                                         ", %1\n\tjnz 1b\n\tvzeroupper"                                \
                 : "+r"(from), "+r"(bytes)                                                                             \
                 :                                                                                                     \
                 : CLOBBER_##SUFFIX, "cc", "memory");                                                                  \
  }
#define STORES(NAME, TARGETS, STEP, SUFFIX, STORE, FENCE)                                                              \
  __attribute__((target(TARGETS), noinline)) static void NAME(void *to, size_t bytes) {                                \
    asm volatile("vpbroadcastd %2, " FIRST_##SUFFIX                                                                    \
                 "\n\t" LOOP_BEGIN TIMES_0_TO_15(STORE) "add $" #STEP ", %0\n\tsub $" #STEP ", %1\n\tjnz 1b\n\t" FENCE \
                                                        "vzeroupper"                                                   \
                 : "+r"(to), "+r"(bytes)                                                                               \
                 : "m"(multiplicand)                                                                                   \
                 : CLOBBER_##SUFFIX, "cc", "memory");                                                                  \
  }
#define COPIES(NAME, TARGETS, STEP, SUFFIX, STORE, FENCE)                                                              \
  __attribute__((target(TARGETS), noinline)) static void NAME(void *to, const void *from, size_t bytes) {              \
    asm volatile(LOOP_BEGIN TIMES_0_TO_15(MOVE_IN_##SUFFIX)                                                            \
                     TIMES_0_TO_15(STORE) "add $" #STEP ", %0\n\tadd $" #STEP ", %1\n\tsub $" #STEP                    \
                                          ", %2\n\tjnz 1b\n\t" FENCE "vzeroupper"                                      \
                 : "+r"(to), "+r"(from), "+r"(bytes)                                                                   \
                 :                                                                                                     \
                 : CLOBBER_##SUFFIX, "cc", "memory");                                                                  \
  }
#define STREAMS(SUFFIX, TARGETS, STEP)                                                                                 \
  READS(read##SUFFIX, TARGETS, STEP, SUFFIX)                                                                           \
  STORES(write##SUFFIX, TARGETS, STEP, SUFFIX, STORE_##SUFFIX, "")                                                     \
  STORES(writeAround##SUFFIX, TARGETS, STEP, SUFFIX, STORE_AROUND_##SUFFIX, "sfence\n\t")                              \
  COPIES(copy##SUFFIX, TARGETS, STEP, SUFFIX, MOVE_OUT_##SUFFIX, "")                                                   \
  COPIES(copyAround##SUFFIX, TARGETS, STEP, SUFFIX, MOVE_AROUND_##SUFFIX, "sfence\n\t")

STREAMS(ZMM, "avx512f", 1024)
STREAMS(YMM, "avx2", 512)

void clockChain(int64_t operations) {
  int64_t rounds = operations / 16 + 1;
  uint64_t value = 1, other = 3;
#define XOR(n) "xor %2, %1\n\t"
  asm volatile("1:\n\t" TIMES_0_TO_15(XOR) "dec %0\n\tjnz 1b" : "+r"(rounds), "+r"(value) : "r"(other) : "cc");
}

#elif defined(__aarch64__)

#define CLOBBER_NEON                                                                                                   \
  "v0", "v1", "v2", "v3", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20",     \
      "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31"
#define ZERO_NEON(n) "movi v" #n ".4s, #0\n\t"
#define ARITHMETIC_NEON(NAME, ATTRIBUTE, STEP)                                                                         \
  ATTRIBUTE __attribute__((noinline)) static void NAME(int64_t iterations) {                                           \
    asm volatile("movi v0.8h, #0x3f, lsl #8\n\tmovi v1.8h, #0x3f, lsl #8\n\t" TIMES_8_TO_31(                           \
                     ZERO_NEON) ".p2align 6\n1:\n\t" TIMES_8_TO_31(STEP) "subs %0, %0, #1\n\tb.ne 1b"                  \
                 : "+r"(iterations)                                                                                    \
                 :                                                                                                     \
                 : CLOBBER_NEON, "cc");                                                                                \
  }
#define FMLA_S(n) "fmla v" #n ".4s, v0.4s, v1.4s\n\t"
#define FMLA_D(n) "fmla v" #n ".2d, v0.2d, v1.2d\n\t"
#define SDOT(n) "sdot v" #n ".4s, v0.16b, v1.16b\n\t"
#define SMMLA(n) "smmla v" #n ".4s, v0.16b, v1.16b\n\t"
// Without dot products: multiplies bytes to 16 bits, and adds pairs of products to sums of 32 bits.
#define SMULL_SADALP(n)                                                                                                \
  "smull v2.8h, v0.8b, v1.8b\n\tsmull2 v3.8h, v0.16b, v1.16b\n\tsadalp v" #n ".4s, v2.8h\n\tsadalp v" #n               \
  ".4s, v3.8h\n\t"
#define BFMMLA(n) "bfmmla v" #n ".4s, v0.8h, v1.8h\n\t"
ARITHMETIC_NEON(smullSadalp, , SMULL_SADALP)
ARITHMETIC_NEON(fmlaS, , FMLA_S)
ARITHMETIC_NEON(fmlaD, , FMLA_D)
ARITHMETIC_NEON(sdot, __attribute__((target("dotprod"))), SDOT)
ARITHMETIC_NEON(smmla, __attribute__((target("i8mm"))), SMMLA)
ARITHMETIC_NEON(bfmmla, __attribute__((target("bf16"))), BFMMLA)

std::span<const ArithmeticKernel> arithmeticKernels() {
  static const ArithmeticKernel kernels[] = {
      {ElementType::f32, "fmla 4s", "", 24 * 4 * 2, fmlaS},
      {ElementType::f64, "fmla 2d", "", 24 * 2 * 2, fmlaD},
      {ElementType::bf16, "bfmmla 4s", "bf16", 24 * 16 * 2, bfmmla},
      {ElementType::i8, "smmla 4s", "i8mm", 24 * 32 * 2, smmla},
      {ElementType::i8, "sdot 4s", "dotprod", 24 * 16 * 2, sdot},
      {ElementType::i8, "smull, sadalp 4s", "", 24 * 16 * 2, smullSadalp},
  };
  return kernels;
}

void clockChain(int64_t operations) {
  int64_t rounds = operations / 16 + 1;
  uint64_t value = 1, other = 3;
#define EOR(n) "eor %1, %1, %2\n\t"
  asm volatile("1:\n\t" TIMES_0_TO_15(EOR) "subs %0, %0, #1\n\tb.ne 1b"
               : "+r"(rounds), "+r"(value)
               : "r"(other)
               : "cc");
}

#else

/// Plain loops, as the compiler translates them.
__attribute__((noinline)) static void plainMulAdd(int64_t iterations) {
  float sums[32] = {};
  float a = 0.5f, b = 0.25f;
  asm volatile("" : "+m"(a), "+m"(b));
  for (int64_t i = 0; i < iterations; ++i) {
    for (float &sum : sums)
      sum += a * b;
    asm volatile("" : "+m"(sums));
  }
}

std::span<const ArithmeticKernel> arithmeticKernels() {
  static const ArithmeticKernel kernels[] = {{ElementType::f32, "compiled multiply and add", "", 64, plainMulAdd}};
  return kernels;
}

void clockChain(int64_t operations) {
  for (uint64_t value = 1; operations > 0; --operations)
    asm volatile("" : "+r"(value));
}

#endif

int ArithmeticKernel::vectorBits() const {
  std::string_view text = instruction;
  return text.ends_with("zmm") ? 512 : text.ends_with("ymm") ? 256 : 128;
}

__attribute__((noinline)) static void readPlain(const void *from, size_t bytes) {
  auto *words = static_cast<const uint64_t *>(from);
  uint64_t bits[16] = {};
  for (size_t i = 0; i < bytes / 8; i += 16)
    for (size_t j = 0; j < 16; ++j)
      bits[j] |= words[i + j];
  asm volatile("" : : "m"(bits));
}
static void writePlain(void *to, size_t bytes) {
  std::memset(to, 0x3f, bytes);
  asm volatile("" : : "r"(to) : "memory");
}
static void copyPlain(void *to, const void *from, size_t bytes) {
  std::memcpy(to, from, bytes);
  asm volatile("" : : "r"(to) : "memory");
}

std::span<const StreamKernels> streamKernels() {
  static const StreamKernels kernels[] = {
#if defined(__x86_64__)
      {"avx512f", readZMM, writeZMM, copyZMM, writeAroundZMM, copyAroundZMM},
      {"avx2", readYMM, writeYMM, copyYMM, writeAroundYMM, copyAroundYMM},
#endif
      {"", readPlain, writePlain, copyPlain, nullptr, nullptr},
  };
  return kernels;
}

} // namespace lathe::lab
