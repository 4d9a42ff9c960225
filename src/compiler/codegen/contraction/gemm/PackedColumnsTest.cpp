// Matrix products by weights of 4 or 8 bits: kernels against the references, and the bytes in which weights are stored.
#include "codegen/contraction/gemm/PackedColumns.h"
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/PackedProducts.h"
#include "codegen/testing/RandomKernels.h"

#include <gtest/gtest.h>

#include <cstring>

namespace lathe {
namespace {

using Problem = PackedProduct;

/// "" or a difference. Codes are up to 7 here, everything else up to 1.
std::string check(KernelUnderTest &kernel, const Problem &problem, const std::string &schedule, int64_t open) {
  std::vector<Tensor> inputs = kernel.randomInputs(-1, 1, {{"M", open}});
  Tensor codes(ElementType::i64, inputs[1].dims());
  for (int64_t i = 0; i < codes.elements(); ++i)
    codes.as<int64_t>()[i] = (i * 7919 + 13) % 16 - (problem.codes[0] == 'u' ? 0 : 8);
  inputs[1] = codes.convertedTo(inputs[1].type());
  std::vector<Tensor> got = kernel.run(inputs, schedule), expected = kernel.expected(inputs);
  constexpr double largestProduct = 17; // (15 + 1) * 1 * 1, and a bias
  return difference(got[0], expected[0], 1e-6, largestProduct * double(problem.blocks * problem.steps));
}

TEST(Packed, kernelsMatchReferences) {
  Target target = testTarget();
  int direct = 0, panels = 0;
  for (uint64_t seed : randomSeeds(80)) {
    Random random(seed);
    Problem problem = randomPackedProduct(random);
    int64_t open = random.in(1, 20);
    KernelUnderTest kernel(problem.str(), target, seed);
    Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(kernel.problem());
    ASSERT_TRUE(facts.done()) << facts.reason() << "\n" << problem.str();
    ASSERT_TRUE(static_cast<const ContractionFacts &>(**facts).gemm->packed) << problem.str();
    ASSERT_EQ(check(kernel, problem, "", open), "") << "LATHE_SEED=" << seed << "\n" << problem.str();
    Schedule schedule = randomSchedule(random, **facts, "gemm");
    if (!legal(**facts, schedule))
      continue;
    (schedule.number("packb") ? panels : direct) += 1;
    ASSERT_EQ(check(kernel, problem, schedule.str(), open), "") << schedule.str() << ", LATHE_SEED=" << seed << "\n"
                                                                << problem.str();
  }
  EXPECT_GT(direct, 5) << "LATHE_SEED=" << baseSeed();
  EXPECT_GT(panels, 5) << "LATHE_SEED=" << baseSeed();
}

TEST(Packed, priorReadsCodesWhereRowsAreFew) {
  Target target = testTarget();
  for (int64_t rows : {1, 4, 5}) {
    Problem problem{rows, 3, 32, 64, "i4", "tensor<3x1x64xf32>", "", true, false};
    KernelUnderTest kernel(problem.str(), target);
    EXPECT_EQ(priorSchedule(kernel.problem())->number("packb"), rows > 4) << rows;
  }
}

TEST(Packed, schedulesThatCannotAreDeclined) {
  Target target = testTarget();
  KernelUnderTest kernel(Problem{8, 2, 32, 64, "i8", "tensor<2x1x64xf32>", "", true, false}.str(), target);
  EXPECT_NE(kernel.declined("gemm/2 mr=8 vectors=1 packb=0"), "");
  EXPECT_NE(kernel.declined("gemm/2 mr=4 vectors=1 kc=32 packb=1"), "");
  EXPECT_EQ(kernel.declined("gemm/2 mr=4 vectors=1 packb=0"), "");
}

/// Bytes that the kernel stores of constant `argument`.
template <class T>
std::vector<T> stored(KernelUnderTest &kernel, unsigned argument, ElementType type, std::vector<int64_t> dims,
                      const std::vector<char> &bytes) {
  Outcome<GeneratedKernel> generated = generate(kernel.problem(), Schedule::parse("gemm/2 mr=1 vectors=1 packb=0"));
  EXPECT_TRUE(generated.done());
  std::vector<char> packed = generated->packings[argument]->pack({type, std::move(dims), bytes, false});
  std::vector<T> result(packed.size() / sizeof(T));
  std::memcpy(result.data(), packed.data(), packed.size());
  return result;
}

TEST(Packed, fourBitsAreStoredEightStepsAWord) {
  Target target = Target::parse("native,vector-width=512");
  // Two blocks of nine steps, two columns: code (block * 9 + step) * 2 + column, modulo 16.
  KernelUnderTest kernel(Problem{1, 2, 9, 2, "i4", "tensor<2x1x2xf32>", "", true, false}.str(), target);
  std::vector<char> bytes(18);
  for (int i = 0; i < 36; ++i)
    bytes[i / 2] = static_cast<char>(bytes[i / 2] | (i & 15) << (i % 2 * 4));
  std::vector<uint32_t> words = stored<uint32_t>(kernel, 1, ElementType::i4, {2, 9, 2}, bytes);
  ASSERT_EQ(words.size(), 2u * 2 * 16); // blocks, units, lanes
  EXPECT_EQ(words[0], 0xeca86420u);     // steps 0 to 7 of column 0
  EXPECT_EQ(words[1], 0xfdb97531u);
  EXPECT_EQ(words[2], 0u);           // no column
  EXPECT_EQ(words[16], 0u);          // step 8, code 16
  EXPECT_EQ(words[17], 1u);          // code 17
  EXPECT_EQ(words[32], 0x0eca8642u); // code 18 and on: 2, 4, 6, ..., 0
  EXPECT_EQ(words[33], 0x1fdb9753u);
  EXPECT_EQ(words[48], 2u); // code 34
}

TEST(Packed, unsignedBytesAreStoredSignedAndZeroPointsFollow) {
  Target target = Target::parse("native,vector-width=512");
  KernelUnderTest kernel(Problem{1, 1, 2, 3, "ui8", "tensor<3xf32>", "tensor<3xf32>", false, false}.str(), target);
  const std::vector<char> bytes = {0, 1, char(128), char(255), 5, 127};
  std::vector<int8_t> codes = stored<int8_t>(kernel, 1, ElementType::u8, {2, 3}, bytes);
  ASSERT_EQ(codes.size(), 32u);
  EXPECT_EQ(std::vector<int8_t>(codes.begin(), codes.begin() + 4), (std::vector<int8_t>{-128, -127, 0, 0}));
  EXPECT_EQ(std::vector<int8_t>(codes.begin() + 16, codes.begin() + 20), (std::vector<int8_t>{127, -123, -1, 0}));
  const float zeros[] = {128, 0, 130};
  std::vector<char> zeroBytes(sizeof zeros);
  std::memcpy(zeroBytes.data(), zeros, sizeof zeros);
  std::vector<float> less = stored<float>(kernel, 3, ElementType::f32, {3}, zeroBytes);
  EXPECT_EQ(std::vector<float>(less.begin(), less.begin() + 3), (std::vector<float>{0, -128, 2}));
}

} // namespace
} // namespace lathe
