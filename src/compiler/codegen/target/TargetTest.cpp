#include "codegen/target/Target.h"
#include "codegen/target/Caches.h"

#include "package/Package.h"
#include "support/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe {
namespace {

std::string errorOf(const std::string &text) {
  try {
    Target::parse(text);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Target, native) {
  Target target = Target::parse("native");
  EXPECT_FALSE(target.cpu.empty());
  EXPECT_EQ(target.lanes(32) * 32, target.vectorBits);
  EXPECT_NE(target.featureBits, 0u);
}

TEST(Target, cpuNames) {
  Target v3 = Target::parse("x86-64-v3");
  EXPECT_TRUE(v3.has("avx2"));
  EXPECT_TRUE(v3.has("fma"));
  EXPECT_FALSE(v3.has("avx512f"));
  EXPECT_EQ(v3.vectorBits, 256u);
  EXPECT_EQ(v3.vectorRegisters, 16u);
  EXPECT_EQ(v3.channelBlock(), 8u);
  EXPECT_EQ(v3.str(), "x86_64 x86-64-v3");
  EXPECT_TRUE(v3.featureBits & package::featureBit(package::CpuFeature::x86_64));
  EXPECT_TRUE(v3.featureBits & package::featureBit(package::CpuFeature::avx2));

  Target zen4 = Target::parse("znver4");
  EXPECT_EQ(zen4.vectorBits, 512u);
  EXPECT_EQ(zen4.vectorRegisters, 32u);
  EXPECT_TRUE(zen4.has("avx512vnni"));

  Target arm = Target::parse("cortex-a76");
  EXPECT_TRUE(arm.triple.starts_with("aarch64"));
  EXPECT_EQ(arm.vectorBits, 128u);
  EXPECT_EQ(arm.vectorRegisters, 32u);
  EXPECT_TRUE(arm.has("dotprod"));
}

TEST(Target, tripleWithOptions) {
  Target target = Target::parse("aarch64-linux-gnu,cpu=cortex-a72,+dotprod");
  EXPECT_EQ(target.cpu, "cortex-a72");
  EXPECT_TRUE(target.has("dotprod"));
  EXPECT_TRUE(target.featureBits & package::featureBit(package::CpuFeature::aarch64));
}

TEST(Target, tvmSpelling) {
  Target target = Target::parse("llvm -mcpu=core-avx2");
  EXPECT_EQ(target.vectorBits, 256u);
  Target removed = Target::parse("llvm -mcpu=znver4 -mattr=-avx512f -mtriple=x86_64-linux-gnu");
  EXPECT_FALSE(removed.has("avx512f"));
  EXPECT_FALSE(removed.has("avx512vl")); // implied by nothing once avx512f is gone
  EXPECT_EQ(removed.vectorBits, 256u);
  EXPECT_NE(removed.key(), Target::parse("znver4").key());
}

TEST(Target, vectorWidth) {
  Target wide = Target::parse("x86-64-v3,vector-width=512");
  EXPECT_EQ(wide.channelBlock(), 16u);
  EXPECT_EQ(wide.vectorRegisters, 32u);
  EXPECT_FALSE(wide.has("avx512f"));
  EXPECT_NE(wide.key(), Target::parse("x86-64-v3").key());
  Target narrow = Target::parse("llvm -mcpu=znver4 -vector-width=256");
  EXPECT_EQ(narrow.channelBlock(), 8u);
  EXPECT_EQ(narrow.vectorRegisters, 16u);
  EXPECT_EQ(Target::parse("znver4,vector-width=512").key(), Target::parse("znver4").key());
  EXPECT_THAT(errorOf("native,vector-width=100"), testing::HasSubstr("'100', expected 128, 256 or 512"));
  EXPECT_THAT(errorOf("cortex-a76,vector-width=512"), testing::HasSubstr("have 128 bits"));
}

TEST(Target, factsAreNotOneFeature) {
  // Sapphire Rapids with and without AMX, which a host may hide.
  for (const char *text : {"sapphirerapids", "sapphirerapids,-amx-tile,-amx-int8,-amx-bf16"}) {
    Caches caches = cachesOf(Target::parse(text), 1);
    EXPECT_EQ(caches.secondLevel, 2048 * 1024) << text;
    EXPECT_EQ(caches.fromMemory, 5) << text;
  }
  EXPECT_EQ(cachesOf(Target::parse("znver5"), 1).fromMemory, 10);
  EXPECT_EQ(Target::parse("znver4").fmaPerCycle(), 1);
  EXPECT_EQ(Target::parse("znver4,vector-width=256").fmaPerCycle(), 2);
  EXPECT_EQ(cachesOf(Target::parse("znver3"), 1).aheadCosts, 0.125);
  EXPECT_EQ(cachesOf(Target::parse("cortex-a76"), 1).firstLevel, 64 * 1024);
}

TEST(Target, factsOfAnotherMachine) {
  MachineFacts spr =
      machineFromTable("sapphirerapids", "x86_64",
                       {"avx", "avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "f16c", "fma", "sse4.2"});
  Target target = Target::parse("machine", &spr);
  EXPECT_EQ(target.cpu, "sapphirerapids");
  EXPECT_TRUE(target.has("avx512f"));
  for (const char *hidden : {"amx-tile", "amx-int8", "amx-bf16", "avx512fp16", "avx512bf16"})
    EXPECT_FALSE(target.has(hidden)) << hidden;
  EXPECT_EQ(cachesOf(target, 1).secondLevel, 2048 * 1024);

  // The code of one CPU and the facts of another: the key has both, but no rates.
  Target mixed = Target::parse("znver4", &spr);
  EXPECT_EQ(mixed.cpu, "znver4");
  EXPECT_EQ(cachesOf(mixed, 1).fromMemory, 5);
  EXPECT_NE(mixed.key(), Target::parse("znver4").key());
  EXPECT_THAT(mixed.key(), testing::EndsWith("L1=48K/1 L2=2M/1 of sapphirerapids"));
  spr.memoryBytesPerCycle = 4;
  EXPECT_EQ(mixed.key(), Target::parse("znver4", &spr).key());

  // Memory that delivers 6 bytes a cycle to all cores: one reads 4, two have 3 each.
  spr.sharedMemoryBytesPerCycle = 6;
  Target shared = Target::parse("machine", &spr);
  EXPECT_EQ(cachesOf(shared, 1).fromMemory, 4);
  EXPECT_EQ(cachesOf(shared, 2).fromMemory, 3);
  EXPECT_EQ(cachesOf(shared, 8).fromMemory, 0.75);
  EXPECT_EQ(shared.key(), target.key());

  EXPECT_THROW(Target::parse("cortex-a76", &spr), Error);
  spr.cpu = "i9000";
  EXPECT_THROW(Target::parse("machine", &spr), Error);
  EXPECT_THAT(errorOf("machine"), testing::HasSubstr("--machine FILE, which was not given"));
}

TEST(Target, errors) {
  EXPECT_THAT(errorOf("pentium99"), testing::HasSubstr("pentium99"));
  EXPECT_THAT(errorOf(""), testing::HasSubstr("empty"));
  EXPECT_THAT(errorOf("x86-64"), testing::HasSubstr("sse4.2"));
  EXPECT_THAT(errorOf("mips-linux-gnu"), testing::HasSubstr("not supported"));
  EXPECT_THAT(errorOf("znver4,+nonsense"), testing::HasSubstr("nonsense"));
  EXPECT_THAT(errorOf("llvm -march=x"), testing::HasSubstr("-march=x"));
}

} // namespace
} // namespace lathe
