// The text of a quantisation.
#include "support/Quantization.h"

#include "support/Error.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

TEST(Quantization, TextsGiveTheSameNumbersBack) {
  for (const Quantization &how :
       {Quantization{{0.0039215689f}, {-128}, 0}, Quantization{{1e-30f, 0.1f, 3e20f}, {0, 7, -3}, 2},
        Quantization{{0.3f}, {INT64_MIN}, 0}})
    EXPECT_EQ(Quantization::parse(how.str()), how) << how.str();
  EXPECT_EQ((Quantization{{0.5f}, {3}, 0}).str(), "0.5 * (q - 3)");
  EXPECT_EQ((Quantization{{0.5f, 0.25f}, {3, 0}, 1}).str(), "0.5 * (q - 3), 0.25 * (q - 0) along axis 1");
}

TEST(Quantization, OtherTextsAreErrors) {
  for (const char *text :
       {"", "0.5", "0.5 * (q - )", "0.5 * (q - 3) ", "-0.5 * (q - 3)", "0 * (q - 3)", "nan * (q - 3)", "inf * (q - 0)",
        "0.5 * (q - 3) along axis 1", "0.5 * (q - 3), 0.5 * (q - 3)", "0.5 * (q - 3), 0.5 * (q - 3) along axis -1",
        "0.5 * (q - 99999999999999999999)"})
    EXPECT_THROW(Quantization::parse(text), Error) << text;
}

} // namespace
} // namespace lathe
