// The table of algorithms (schedule/Algorithms.h) and the table of kernel families agree.
#include "codegen/testing/KernelTesting.h"
#include "schedule/Algorithms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe {
namespace {

std::string kernelOf(const char *family) {
  return fmt::format("func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {{nn.family = \"{}\"}} {{\n"
                     "  %0 = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}}\n",
                     family);
}

TEST(Families, everyAlgorithmIsOneOfItsFamilys) {
  for (const Algorithm &algorithm : algorithms())
    if (*algorithm.family) {
      KernelUnderTest kernel(kernelOf(algorithm.family), Target::parse("x86-64-v3"), 1);
      EXPECT_THAT(kernel.declined(algorithm.str()), testing::Not(testing::HasSubstr("no kernel family")))
          << algorithm.str();
      EXPECT_THAT(kernel.declined(algorithm.str()), testing::Not(testing::HasSubstr("is no algorithm of")))
          << algorithm.str();
    }
}

TEST(Families, anAlgorithmOfAnotherFamilyIsDeclined) {
  KernelUnderTest kernel(kernelOf("elementwise"), Target::parse("x86-64-v3"), 1);
  EXPECT_EQ(kernel.declined("map/2 grain=64"), "");
  for (const Algorithm &algorithm : algorithms())
    if (std::string_view(algorithm.family) != "elementwise") {
      EXPECT_EQ(kernel.declined(algorithm.str()),
                algorithm.str() + " is no algorithm of the family 'elementwise', expected map/2");
    }
}

TEST(Families, whatNoAlgorithmDeclaresIsAnErrorInAll) {
  for (const Algorithm &algorithm : algorithms()) {
    if (!*algorithm.family)
      continue;
    KernelUnderTest kernel(kernelOf(algorithm.family), Target::parse("x86-64-v3"), 1);
    Schedule misspelt = Schedule::parse(algorithm.str() + " grian=1"), word = Schedule::parse(algorithm.str());
    word.words[algorithm.parameters.front().name] = "abc";
    EXPECT_THROW(generate(kernel.problem(), misspelt), Error) << algorithm.str();
    EXPECT_THROW(generate(kernel.problem(), word), Error) << algorithm.str();
  }
}

} // namespace
} // namespace lathe
