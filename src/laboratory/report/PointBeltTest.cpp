#include "report/PointBelt.h"

#include "support/Error.h"
#include "support/ErrorTesting.h"

#include <gtest/gtest.h>

namespace lathe::report {
namespace {

store::Point point(size_t number) {
  store::Point point;
  point.provider = std::to_string(number);
  return point;
}

TEST(PointBelt, KeepsTheOrder) {
  for (size_t count : {0, 1, 127, 128, 129, 5000}) {
    std::vector<std::string> used, expected;
    PointBelt belt([&](const store::Point &point) { used.push_back(point.provider); });
    for (size_t i = 0; i < count; ++i) {
      belt.add(point(i));
      expected.push_back(std::to_string(i));
    }
    belt.finish();
    EXPECT_EQ(used, expected);
  }
}

/// The caller gets the exception at the end at the latest, and does not wait forever before.
TEST(PointBelt, ThrowsWhatTheUserThrows) {
  for (size_t bad : {0, 100, 4999})
    EXPECT_EQ(errorOf([&] {
                size_t used = 0;
                PointBelt belt([&](const store::Point &) { require(used++ != bad, "point {} is bad", bad); });
                for (size_t i = 0; i < 5000; ++i)
                  belt.add(point(i));
                belt.finish();
              }),
              "point " + std::to_string(bad) + " is bad");
}

TEST(PointBelt, IsLeftByAnError) {
  size_t used = 0;
  EXPECT_EQ(errorOf([&] {
              PointBelt belt([&](const store::Point &) { ++used; });
              for (size_t i = 0; i < 5000; ++i) {
                belt.add(point(i));
                require(i != 3000, "the store is gone");
              }
            }),
            "the store is gone");
  EXPECT_LE(used, 3001u);
}

} // namespace
} // namespace lathe::report
