#include "runtime/Cpu.h"

#include "package/Package.h"
#include "support/Error.h"

#include <atomic>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__) || defined(__riscv)
#include <sys/auxv.h>
#endif

namespace lathe::runtime {
namespace {

using package::CpuFeature;
using package::featureBit;

#if defined(__x86_64__)
struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};
Registers cpuid(unsigned leaf, unsigned subleaf) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d);
  return r;
}

/// Register state the operating system saves and restores (XCR0).
uint64_t savedState() {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low | (uint64_t(high) << 32);
}

/// Linux hands out AMX tile state only on request.
bool requestAmx() {
  constexpr int requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

uint64_t detect() {
  uint64_t bits = featureBit(CpuFeature::x86_64);
  auto add = [&](unsigned reg, unsigned bit, CpuFeature feature) {
    if (reg >> bit & 1)
      bits |= featureBit(feature);
  };
  Registers one = cpuid(1, 0), seven = cpuid(7, 0), sevenOne = cpuid(7, 1), extended = cpuid(0x80000001, 0);
  add(one.c, 20, CpuFeature::sse42);
  add(one.c, 22, CpuFeature::movbe);
  add(one.c, 23, CpuFeature::popcnt);
  add(seven.b, 3, CpuFeature::bmi);
  add(seven.b, 8, CpuFeature::bmi2);
  add(extended.c, 5, CpuFeature::lzcnt);
  add(seven.c, 8, CpuFeature::gfni);
  uint64_t saved = one.c >> 27 & 1 ? savedState() : 0;
  bool ymm = (saved & 0x6) == 0x6, zmm = (saved & 0xe6) == 0xe6, tiles = (saved & 0x60000) == 0x60000;
  if (ymm) {
    add(one.c, 28, CpuFeature::avx);
    add(one.c, 12, CpuFeature::fma);
    add(one.c, 29, CpuFeature::f16c);
    add(seven.b, 5, CpuFeature::avx2);
    add(seven.c, 9, CpuFeature::vaes);
    add(seven.c, 10, CpuFeature::vpclmulqdq);
    add(sevenOne.a, 4, CpuFeature::avxvnni);
  }
  if (zmm) {
    add(seven.b, 16, CpuFeature::avx512f);
    add(seven.b, 17, CpuFeature::avx512dq);
    add(seven.b, 21, CpuFeature::avx512ifma);
    add(seven.b, 28, CpuFeature::avx512cd);
    add(seven.b, 30, CpuFeature::avx512bw);
    add(seven.b, 31, CpuFeature::avx512vl);
    add(seven.c, 1, CpuFeature::avx512vbmi);
    add(seven.c, 6, CpuFeature::avx512vbmi2);
    add(seven.c, 11, CpuFeature::avx512vnni);
    add(seven.c, 12, CpuFeature::avx512bitalg);
    add(seven.c, 14, CpuFeature::avx512vpopcntdq);
    add(seven.d, 8, CpuFeature::avx512vp2intersect);
    add(seven.d, 23, CpuFeature::avx512fp16);
    add(sevenOne.a, 5, CpuFeature::avx512bf16);
  }
  if (tiles && (seven.d >> 24 & 1) && requestAmx()) {
    add(seven.d, 24, CpuFeature::amxtile);
    add(seven.d, 25, CpuFeature::amxint8);
    add(seven.d, 22, CpuFeature::amxbf16);
  }
  return bits;
}
#elif defined(__aarch64__)
uint64_t detect() {
  // Bits of AT_HWCAP and AT_HWCAP2 (Linux, arch/arm64/include/uapi/asm/hwcap.h).
  uint64_t bits = featureBit(CpuFeature::aarch64), first = ::getauxval(AT_HWCAP), second = ::getauxval(AT_HWCAP2);
  auto add = [&](uint64_t word, unsigned bit, CpuFeature feature) {
    if (word >> bit & 1)
      bits |= featureBit(feature);
  };
  add(first, 1, CpuFeature::neon);
  add(first, 10, CpuFeature::fullfp16);
  add(first, 20, CpuFeature::dotprod);
  add(first, 22, CpuFeature::sve);
  add(second, 1, CpuFeature::sve2);
  add(second, 13, CpuFeature::i8mm);
  add(second, 14, CpuFeature::bf16);
  return bits;
}
#elif defined(__riscv)
uint64_t detect() {
  uint64_t bits = featureBit(CpuFeature::riscv64);
  if (::getauxval(AT_HWCAP) >> ('v' - 'a') & 1)
    bits |= featureBit(CpuFeature::rvv);
  return bits;
}
#else
uint64_t detect() { return 0; }
#endif

} // namespace

uint64_t cpuFeatures() {
  static const uint64_t bits = detect();
  return bits;
}

int availableCpus() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    return CPU_COUNT(&set);
  long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<int>(online) : 1;
}

void bindToCpu(pthread_t thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cpu >= 0 && cpu < CPU_SETSIZE)
    CPU_SET(cpu, &set);
  require(::pthread_setaffinity_np(thread, sizeof set, &set) == 0,
          "a thread cannot be bound to CPU {}: the process may not use it", cpu);
}

unsigned forksSoFar() {
  static std::atomic<unsigned> forks{0};
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });
  static_cast<void>(registered);
  return forks;
}

void moveOffThisCpu(pthread_t thread) {
  int here = ::sched_getcpu();
  cpu_set_t allowed;
  if (here < 0 || here >= CPU_SETSIZE || ::pthread_getaffinity_np(thread, sizeof allowed, &allowed) != 0)
    return;
  cpu_set_t elsewhere = allowed;
  CPU_CLR(here, &elsewhere);
  if (CPU_COUNT(&elsewhere) == 0 || ::pthread_setaffinity_np(thread, sizeof elsewhere, &elsewhere) != 0)
    return;
  ::pthread_setaffinity_np(thread, sizeof allowed, &allowed);
}

#if defined(__x86_64__)
KernelFloatMode::KernelFloatMode() : saved(_mm_getcsr()) {
  _mm_setcsr(0x1f80 | 0x8000 | 0x0040); // all exceptions masked; flush to zero; denormals are zero
}
KernelFloatMode::~KernelFloatMode() { _mm_setcsr(static_cast<unsigned>(saved)); }
#elif defined(__aarch64__)
KernelFloatMode::KernelFloatMode() {
  __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
  uint64_t flush = (uint64_t(1) << 24) | (uint64_t(1) << 19); // FZ, FZ16
  __asm__ volatile("msr fpcr, %0" : : "r"(flush));
}
KernelFloatMode::~KernelFloatMode() { __asm__ volatile("msr fpcr, %0" : : "r"(saved)); }
#else
KernelFloatMode::KernelFloatMode() : saved(0) {}
KernelFloatMode::~KernelFloatMode() = default;
#endif

} // namespace lathe::runtime
