#include "support/Memory.h"

#include "support/Error.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

TEST(Memory, Sizes) {
  EXPECT_EQ(sizeText(0), "0 bytes");
  EXPECT_EQ(sizeText(1023), "1023 bytes");
  EXPECT_EQ(sizeText(1024), "1.0 KiB");
  EXPECT_EQ(sizeText(uint64_t(3) << 29), "1.5 GiB");
  EXPECT_EQ(sizeText(UINT64_MAX), "16.0 EiB");
}

TEST(Memory, RefusesWhatNoMachineHas) {
  EXPECT_GT(memoryLimit(), uint64_t(1) << 24);
  requireMemory(1 << 20, "a test");
  try {
    requireMemory(UINT64_MAX, "a test");
    ADD_FAILURE() << "16 EiB were accepted";
  } catch (const Error &error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("a test needs 16.0 EiB, this machine has ")) << error.what();
  }
}

} // namespace
} // namespace lathe
